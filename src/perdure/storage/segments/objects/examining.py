"""Looks whether an object store keeps the promises on which the bytes of a registry depend.

How it works: two creations of the same object are tried, the second of which must be refused; what
was written is read, in part and in full, and deleted.

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
    ]
