"""Digest fields (RFC 9530): what senders promise, what readers wish for, and what we say.

How it works: http-sf reads the structured fields. We keep SHA-512 with every representation and can
check SHA-256 and SHA-512 of an upload; other algorithms are passed over, as section 2 allows.

What must stay true: a promise that cannot be read is refused, a wish that cannot be read is not.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import http_sf

from perdure.errors import InvalidRequest
from perdure.model import Representation
from perdure.server.request import Request

_CHECKED = ("sha-512", "sha-256")
_PROMISES = (b"content-digest", b"repr-digest")
"""The same thing here, for there is no content coding."""


def of(held: Representation) -> bytes:
    """The digest of a whole representation, whatever part of it is sent."""
    return field(bytes.fromhex(held.sha512))


def field(sha512: bytes) -> bytes:
    """A digest as the value of a digest field."""
    return b"sha-512=:%s:" % base64.b64encode(sha512)


def is_wanted(request: Request) -> bool:
    """Whether the reader can do with ours: a preference of 0 means "not acceptable"."""
    wish = request.fields.get(b"want-repr-digest")
    if wish is None:
        return True
    try:
        preference = _members(wish).get("sha-512", (1,))
    except http_sf.StructuredFieldError:
        return True
    return bool(preference[0] != 0)


def promised(request: Request) -> list[tuple[str, bytes]]:
    """Algorithm and digest of all that the sender promises and we can check.

    Raises InvalidRequest for a field that is malformed.
    """
    found: list[tuple[str, bytes]] = []
    for name in _PROMISES:
        if name not in request.fields:
            continue
        try:
            members = _members(request.fields[name])
        except http_sf.StructuredFieldError as error:
            raise InvalidRequest(
                what=f"{name.decode()} field", reason=str(error), rule="RFC 9530 section 2"
            ) from error
        asked = (one for one in _CHECKED if one in members)
        found += [(one, _digest(name, one, members[one][0])) for one in asked]
    return found


def _digest(name: bytes, algorithm: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    raise InvalidRequest(
        what=f"{name.decode()} field",
        reason=f"{algorithm} has no byte sequence; :base64: is needed",
        rule="RFC 9530 section 2",
    )


def _members(field: bytes) -> Mapping[str, Any]:
    """The members of a dictionary, each with its value in the first place."""
    members: Any = http_sf.parse(field, tltype="dictionary")
    found: Mapping[str, Any] = members
    return found
