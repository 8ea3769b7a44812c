"""What a reader has already, and which ranges are wanted (RFC 9110 sections 13 and 14).

What must stay true: an entity tag is strong. It is made of the SHA-512 and the format, neither of
which changes while the other stays.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus

from werkzeug.http import parse_date, parse_etags, parse_range_header

from perdure.model import Record, Representation
from perdure.server.request import Request

CONDITIONS = frozenset(
    (b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since")
)
Span = tuple[int, int]
"""Bytes from the first, counted from 0, up to and without the second."""

_MOST_RANGES = 32  # section 14.2: a server may ignore "many small ranges"


def etag(held: Representation) -> bytes:
    """The strong entity tag: 160 bits of the SHA-512, and the format, for the bytes of one format
    may be another's too."""
    return f'"{held.sha512[:40]}-{held.format}"'.encode()


def last_modified(record: Record, held: Representation) -> datetime:
    """When the representation was committed."""
    at = held.at or next(
        version.at for version in record.versions if held in version.representations
    )
    return _moment(at)


@lru_cache(maxsize=1024)
def _moment(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)


def precondition(request: Request, tag: bytes, modified: datetime) -> HTTPStatus | None:
    """304 or 412 where a condition of the request says so (RFC 9110 section 13.2.2)."""
    name = tag.decode()[1:-1]
    if b"if-match" in request.fields:
        asked = parse_etags(request.text(b"if-match"))
        if not (asked.star_tag or asked.is_strong(name)):
            return HTTPStatus.PRECONDITION_FAILED
    elif b"if-unmodified-since" in request.fields:
        since = parse_date(request.text(b"if-unmodified-since"))
        if since is not None and modified > since:
            return HTTPStatus.PRECONDITION_FAILED
    if b"if-none-match" in request.fields:
        if has_already(request, tag):
            return HTTPStatus.NOT_MODIFIED
    elif b"if-modified-since" in request.fields:
        since = parse_date(request.text(b"if-modified-since"))
        if since is not None and modified <= since:
            return HTTPStatus.NOT_MODIFIED
    return None


def has_already(request: Request, tag: bytes) -> bool:
    """Whether the client says that it has this already (`If-None-Match`)."""
    asked = parse_etags(request.text(b"if-none-match"))
    return asked.star_tag or asked.contains_weak(tag.decode()[1:-1])


def ranges(
    request: Request, length: int, tag: bytes, modified: datetime
) -> list[tuple[int, int]] | None:
    """The ranges asked for, as starts and ends; empty where none can be given; None: all of it.

    RFC 9110 section 14.2: a Range field that is malformed, of another unit, under an If-Range that
    does not hold, or costlier than the whole is ignored.
    """
    condition = request.fields.get(b"if-range")
    if condition is not None and condition != tag:
        since = None if condition[-1:] == b'"' else parse_date(condition.decode("latin-1"))
        if since != modified:
            return None
    asked = parse_range_header(request.text(b"range"))
    if asked is None or asked.units != "bytes" or len(asked.ranges) > _MOST_RANGES:
        return None
    spans = []
    for start, stop in asked.ranges:
        first = max(length + start, 0) if start < 0 else start
        last = length if stop is None else min(stop, length)
        if first < last:
            spans.append((first, last))
    if len(spans) > 1 and sum(last - first for first, last in spans) > length:
        return None
    return spans
