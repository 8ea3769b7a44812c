"""Looks whether an object store keeps the promises on which the bytes of a registry depend.

How it works: two creations of the same object are tried, the second of which must be refused; what
was written is read, and deleted. The bucket is asked for versioning and object lock.

What must stay true: everything that is written is removed again.
"""

from __future__ import annotations

import secrets

from perdure.errors.object_stores import (
    ConditionIgnored,
    ObjectStoreFailed,
    ObjectTaken,
)
from perdure.storage.segments.objects.addresses import ObjectAddress
from perdure.storage.segments.objects.bucket_settings import BucketSettings, ask_settings
from perdure.storage.segments.objects.client import ObjectClient
from perdure.storage.segments.objects.layout import PROBES
from perdure.storage.store_findings import StoreFinding


def require_conditions(client: ObjectClient) -> None:
    """Raise ConditionIgnored if the store creates an object that exists already."""
    key = f"{PROBES}/{secrets.token_hex(8)}"
    try:
        if not _is_second_refused(client, key):
            raise ConditionIgnored(place=client.name_place(key))
    finally:
        client.delete_objects([key])


def _is_second_refused(client: ObjectClient, key: str) -> bool:
    client.create_object(key, b"first")
    try:
        client.create_object(key, b"second")
    except ObjectTaken:
        return client.read_object(key) == b"first"
    return False


def examine_bucket(client: ObjectClient, address: ObjectAddress) -> list[StoreFinding]:
    """Try what a registry needs of a bucket."""
    shown = f"{address.shown.partition('?')[0]} at {address.options['endpoint'] or 'AWS'}"
    try:
        require_conditions(client)
    except ConditionIgnored as error:
        seen = f"{shown}: a second creation of the same object was accepted"
        return [StoreFinding("conditional creation", "error", seen, error.repair())]
    except ObjectStoreFailed as error:
        return [StoreFinding("object store", "error", error.problem(), error.repair())]
    return [
        StoreFinding("object store", "ok", f"{shown} answers"),
        StoreFinding("conditional creation", "ok", "a second creation is refused, twice tried"),
        *_describe_settings(ask_settings(address)),
    ]


def _describe_settings(found: BucketSettings) -> list[StoreFinding]:
    """Say what the settings of a bucket mean for a registry."""
    if found.versioning is None:
        versioning = StoreFinding("versioning", "note", "the bucket does not say")
    elif found.versioning == "Enabled":
        seen = "on: an object that is lost can be restored, and erased bytes stay in old versions"
        versioning = StoreFinding("versioning", "note", seen)
    else:
        seen = "off: an object that someone deletes or overwrites is lost"
        versioning = StoreFinding("versioning", "note", seen)
    if found.lock is None:
        lock = StoreFinding("object lock", "note", "the bucket does not say")
    elif found.lock:
        seen = f"on, {found.lock}: old versions cannot be deleted before their time, erased or not"
        lock = StoreFinding("object lock", "note", seen)
    else:
        lock = StoreFinding("object lock", "note", "off")
    return [versioning, lock]
