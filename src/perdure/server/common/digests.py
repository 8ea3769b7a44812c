"""Digest fields (RFC 9530): what senders promise, what readers wish for, and what we say.

How it works: http-sf reads the structured fields. We keep SHA-512 with every representation, and
tell nothing else of a whole. Of a part, whose bytes are at hand, we tell SHA-256 to whoever prefers
it, and can check both of an upload. Other algorithms are passed over, as sections 2 and 4 allow.

What must stay true: a promise that cannot be read is refused, a wish that cannot be read is not.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import http_sf

from perdure.errors.requests import DigestNotBytes, MalformedDigestField
from perdure.model.records import Representation
from perdure.server.common.request import Request


class Hash(Protocol):
    """A digest that is being computed."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


ALGORITHMS = ("sha-512", "sha-256")
"""What we can compute, the usual one first."""
_PROMISES = (b"content-digest", b"repr-digest")
"""The same thing here, for there is no content coding."""


def of(held: Representation) -> bytes:
    """The digest of a whole representation, whatever part of it is sent."""
    return field(bytes.fromhex(held.sha512))


def field(digest: bytes, algorithm: str = "sha-512") -> bytes:
    """A digest as the value of a digest field."""
    return b"%s=:%s:" % (algorithm.encode(), base64.b64encode(digest))


def hasher(algorithm: str, data: bytes = b"") -> Hash:
    """What computes digests of an algorithm, which is named as in digest fields."""
    return hashlib.new(algorithm.replace("-", ""), data)


def chosen(request: Request, offered: tuple[str, ...] = ALGORITHMS[:1]) -> str | None:
    """The algorithm that the reader prefers of those that are offered; None where the usual one is
    "not acceptable", a preference of 0, and no other is wanted (section 4)."""
    try:
        wishes = _members(request.fields.get(b"want-repr-digest", b""))
    except http_sf.StructuredFieldError:
        return offered[0]
    found = {one: wishes[one][0] for one in offered if one in wishes}
    wanted = [one for one, wish in found.items() if wish != 0]
    if wanted:
        return max(wanted, key=lambda one: _weight(found[one]))
    return None if offered[0] in found else offered[0]


def _weight(wish: object) -> float:
    return float(wish) if isinstance(wish, int) else 0.0


def is_wanted(request: Request) -> bool:
    """Whether the reader can do with ours."""
    return chosen(request) is not None


def promised(request: Request, names: tuple[bytes, ...] = _PROMISES) -> list[tuple[str, bytes]]:
    """Algorithm and digest of all that the sender promises in these fields and we can check.

    Raises InvalidRequest for a field that is malformed.
    """
    found: list[tuple[str, bytes]] = []
    for name in names:
        if name not in request.fields:
            continue
        try:
            members = _members(request.fields[name])
        except http_sf.StructuredFieldError as error:
            raise MalformedDigestField(field=name.decode(), fault=str(error)) from error
        asked = (one for one in ALGORITHMS if one in members)
        found += [(one, _digest(name, one, members[one][0])) for one in asked]
    return found


def _digest(name: bytes, algorithm: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DigestNotBytes(field=name.decode(), algorithm=algorithm)


def _members(field: bytes) -> Mapping[str, Any]:
    """The members of a dictionary, each with its value in the first place."""
    members: Any = http_sf.parse(field, tltype="dictionary")
    found: Mapping[str, Any] = members
    return found
