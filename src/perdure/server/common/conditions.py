"""Conditions and ranges of requests (RFC 9110 sections 13 and 14).

What must stay true: an entity tag is strong. It is made of the SHA-512 and the format, so it
changes whenever one of them does, and with each correction of the media type, charset or language.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from werkzeug.http import parse_date, parse_etags

from perdure.errors.conflicts import ModifiedSince, StateNotNamed
from perdure.model.records import Record, Representation
from perdure.policy.correcting import is_corrected, name_reading
from perdure.server.common.request import Request

CONDITIONS = frozenset(
    (b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since")
)
Span = tuple[int, int]
"""First byte, counted from 0, and the byte after the last."""

_RANGE = re.compile(r"([0-9]{1,99})-([0-9]{1,99})?|-([0-9]{1,99})", re.ASCII)
_MOST_RANGES = 32  # section 14.2: a server may ignore "many small ranges"


def make_etag(held: Representation) -> bytes:
    """Make the strong entity tag: 160 bits of the SHA-512, and the format, because two formats may
    have the same bytes. After a correction, it also has 32 bits of how they are read."""
    corrected = f"-{name_reading(held)}" if is_corrected(held) else ""
    return f'"{held.sha512[:40]}-{held.format}{corrected}"'.encode()


def find_last_modified(record: Record, held: Representation) -> datetime:
    """Return the time when the representation was committed."""
    at = held.at or next(
        version.at for version in record.versions if held in version.representations
    )
    return _read_moment(at)


@lru_cache(maxsize=1024)
def _read_moment(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)


def is_unmodified(request: Request, tag: bytes, modified: datetime) -> bool:
    """Evaluate the conditions of the request: True if the answer is 304.

    The order is that of RFC 9110 section 13.2.2. Raises PreconditionFailed.
    """
    if b"if-match" in request.fields:
        asked = parse_etags(request.read_field(b"if-match"))
        if not (asked.star_tag or asked.is_strong(tag.decode()[1:-1])):
            raise StateNotNamed(identifier=request.target.text, state=tag.decode())
    elif b"if-unmodified-since" in request.fields:
        since = parse_date(request.read_field(b"if-unmodified-since"))
        if since is not None and modified > since:
            raise ModifiedSince(identifier=request.target.text, state=tag.decode())
    if b"if-none-match" in request.fields:
        return has_already(request, tag)
    if b"if-modified-since" in request.fields:
        since = parse_date(request.read_field(b"if-modified-since"))
        return since is not None and modified <= since
    return False


def has_already(request: Request, tag: bytes) -> bool:
    """Return True if the client already has this (`If-None-Match`)."""
    asked = parse_etags(request.read_field(b"if-none-match"))
    return asked.star_tag or asked.contains_weak(tag.decode()[1:-1])


def read_ranges(request: Request, length: int, tag: bytes, modified: datetime) -> list[Span] | None:
    """Return the requested ranges, empty if none is satisfiable, or None for the complete content.

    RFC 9110 section 14.2: a Range field is ignored if it is malformed, has another unit, comes with
    an If-Range that does not match, or asks for more than the complete content.
    """
    condition = request.fields.get(b"if-range")
    if condition is not None and condition != tag:
        since = None if condition[-1:] == b'"' else parse_date(condition.decode("latin-1"))
        if since != modified:
            return None
    spans = _read_satisfiable(request.read_field(b"range"), length)
    if spans is not None and len(spans) > 1 and sum(stop - start for start, stop in spans) > length:
        return None
    return spans


def _read_satisfiable(field: str, length: int) -> list[Span] | None:
    """Read the satisfiable ranges of a Range field, or None if it is invalid (section 14.1.2)."""
    unit, _, listed = field.partition("=")
    asked = [one.strip(" \t") for one in listed.split(",")]
    asked = [one for one in asked if one]  # section 5.6.1.2: elements may be empty
    if unit.lower() != "bytes" or not 0 < len(asked) <= _MOST_RANGES:
        return None
    spans = []
    for one in asked:
        found = _RANGE.fullmatch(one)
        if found is None:
            return None
        first, last, suffix = found.groups()
        if suffix is not None:
            start, stop = max(length - int(suffix), 0), length
        else:
            start, stop = int(first), int(last) + 1 if last else length
            if last and stop <= start:
                return None
        if start < min(stop, length):
            spans.append((start, min(stop, length)))
    return spans
