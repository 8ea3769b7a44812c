"""Digest fields (RFC 9530): digests that senders promise, readers want, and perdure sends.

How it works: http-sf reads the structured fields. perdure stores the SHA-512 of every
representation, and sends no other digest of a complete representation. For a part, whose bytes are
available, it sends SHA-256 to clients that prefer it. It can check both in an upload. Other
algorithms are ignored, as sections 2 and 4 allow.

What must stay true: a malformed promise is refused; a malformed preference is ignored.
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
    """A digest that is being computed, as in `hashlib`."""

    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


ALGORITHMS = ("sha-512", "sha-256")
"""The algorithms that perdure can compute, the default first."""
_PROMISES = (b"content-digest", b"repr-digest")
"""The two mean the same here, because there is no content coding."""


def write_whole_digest(held: Representation) -> bytes:
    """Write the digest of a complete representation, whatever part of it is sent."""
    return write_digest(bytes.fromhex(held.sha512))


def write_digest(digest: bytes, algorithm: str = "sha-512") -> bytes:
    """Write a digest as the value of a digest field."""
    return b"%s=:%s:" % (algorithm.encode(), base64.b64encode(digest))


def start_hash(algorithm: str, data: bytes = b"") -> Hash:
    """Start a digest. The algorithm has its name in digest fields."""
    return hashlib.new(algorithm.replace("-", ""), data)


def choose_algorithm(request: Request, offered: tuple[str, ...] = ALGORITHMS[:1]) -> str | None:
    """Return the offered algorithm that the reader prefers, or None if the default one is
    "not acceptable" (a preference of 0) and no other is wanted (section 4)."""
    try:
        wishes = _read_members(request.fields.get(b"want-repr-digest", b""))
    except http_sf.StructuredFieldError:
        return offered[0]
    found = {one: wishes[one][0] for one in offered if one in wishes}
    wanted = [one for one, wish in found.items() if wish != 0]
    if wanted:
        return max(wanted, key=lambda one: _weigh_wish(found[one]))
    return None if offered[0] in found else offered[0]


def _weigh_wish(wish: object) -> float:
    return float(wish) if isinstance(wish, int) else 0.0


def is_wanted(request: Request) -> bool:
    """Return True if the reader accepts the default algorithm."""
    return choose_algorithm(request) is not None


def read_promised(
    request: Request, names: tuple[bytes, ...] = _PROMISES
) -> list[tuple[str, bytes]]:
    """Return algorithm and digest of each promise in these fields that perdure can check.

    Raises InvalidRequest if a field is malformed.
    """
    found: list[tuple[str, bytes]] = []
    for name in names:
        if name not in request.fields:
            continue
        try:
            members = _read_members(request.fields[name])
        except http_sf.StructuredFieldError as error:
            raise MalformedDigestField(field=name.decode(), fault=str(error)) from error
        asked = (one for one in ALGORITHMS if one in members)
        found += [(one, _check_digest(name, one, members[one][0])) for one in asked]
    return found


def _check_digest(name: bytes, algorithm: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DigestNotBytes(field=name.decode(), algorithm=algorithm)


def _read_members(field: bytes) -> Mapping[str, Any]:
    """Return the members of a dictionary, each as a pair that begins with the value."""
    members: Any = http_sf.parse(field, tltype="dictionary")
    found: Mapping[str, Any] = members
    return found
