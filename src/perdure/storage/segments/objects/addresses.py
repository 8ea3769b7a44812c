"""Addresses of bytes in an S3 store, and how they are shown: without their secret.

    s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-1

How it works: the address names the bucket, and the prefix of all keys. Options say where the server
is and how to ask it. The credentials are in the environment, as for all programs that speak S3
(`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`), or in the address before the
bucket (`s3://KEY:SECRET@bucket/…`), with `%2F` for `/`.

What must stay true: no service is asked for credentials unless the address says so
(`credentials=instance`); no message, log or answer has the secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from perdure.errors.object_stores import (
    ObjectAddressMalformed,
    ObjectCredentialsMissing,
    ObjectOptionInvalid,
    ObjectOptionUnknown,
)
from perdure.model.store_addresses import hide_password

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*", re.ASCII)
_ENDPOINT = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[^?#]*)?", re.ASCII)
_REGION = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_OPTIONS = {
    "endpoint": (_ENDPOINT, "", "the http(s) URL of the server"),
    "region": (_REGION, "us-east-1", "the name of a region"),
    "style": (re.compile("path|host"), "path", "path or host: where the bucket is in a URL"),
    "credentials": (re.compile("given|instance"), "given", "given or instance"),
    "timeout": (_NUMBER, "30", "seconds for a request"),
    "retry": (_NUMBER, "20", "seconds for which a request is repeated"),
    "cache_bytes": (_NUMBER, str(1 << 30), "bytes of documents that are kept on this machine"),
}
"""The options of an address: form, default, and what they are."""


class ObjectAddress(NamedTuple):
    """An address, taken apart."""

    bucket: str
    prefix: str
    """Without a slash at either end; empty for the bucket itself."""
    options: dict[str, str]
    key: str
    secret: str
    session: str
    shown: str
    """The address without its secret."""

    @property
    def timeout(self) -> int:
        """The seconds that one request may take."""
        return int(self.options["timeout"])

    @property
    def retry(self) -> int:
        """The seconds for which a request is repeated."""
        return int(self.options["retry"])

    @property
    def cache_bytes(self) -> int:
        """The bytes of documents that are kept on this machine."""
        return int(self.options["cache_bytes"])

    def scrub_text(self, text: str) -> str:
        """A message of the library, in one line, without the secret."""
        for secret in (self.secret, self.session):
            if secret:
                text = text.replace(secret, "***")
        return " ".join(text.split())


def parse_address(text: str, environment: Mapping[str, str]) -> ObjectAddress:
    """Take an address apart, and find its credentials.

    Raises BadSettings, without the secret.
    """
    shown = hide_password(text)
    scheme, separator, rest = text.partition("://")
    if scheme != "s3" or not separator or "#" in rest:
        raise ObjectAddressMalformed(setting="bytes", value=shown)
    rest, _, query = rest.partition("?")
    user, at, place = rest.rpartition("@")
    bucket, _, prefix = place.partition("/")
    prefix = prefix.removesuffix("/")
    is_prefix = not prefix or (
        _PREFIX.fullmatch(prefix) and not {".", ".."}.intersection(prefix.split("/"))
    )
    key, colon, secret = user.partition(":")
    if not _BUCKET.fullmatch(bucket) or not is_prefix or "/" in user or (at and not colon):
        raise ObjectAddressMalformed(setting="bytes", value=shown)
    options = _read_options(query, shown)
    session = ""
    if at:
        key, secret = unquote(key), unquote(secret)
    elif options["credentials"] == "given":
        key = environment.get("AWS_ACCESS_KEY_ID", "")
        secret = environment.get("AWS_SECRET_ACCESS_KEY", "")
        session = environment.get("AWS_SESSION_TOKEN", "")
        if not (key and secret):
            raise ObjectCredentialsMissing(setting="bytes", value=shown)
    return ObjectAddress(bucket, prefix, options, key, secret, session, shown)


def _read_options(query: str, shown: str) -> dict[str, str]:
    options = {name: default for name, (_, default, _) in _OPTIONS.items()}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _OPTIONS:
            known = tuple(_OPTIONS)
            raise ObjectOptionUnknown(setting="bytes", value=shown, option=name, known=known)
        form, _, needed = _OPTIONS[name]
        if not form.fullmatch(value):
            raise ObjectOptionInvalid(setting="bytes", value=shown, option=name, needed=needed)
        options[name] = value
    return options
