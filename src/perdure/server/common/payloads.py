"""Archived payloads as bodies: complete, or a range, like all other bytes that perdure serves.

How it works: a short payload is read at once, so that its length and digest are known. For a longer
payload, the head of the record gives the length unless the payload is chunked or coded. Without a
known length, a request for a range first reads the complete payload to measure it; a request for
the complete payload gets it as it is read, without a length. Ranges count the bytes that are
served, after chunks and codings are undone. A request for several ranges gets the complete payload
(RFC 9110 section 14.2 lets a server choose).

What must stay true: a digest is that of the complete payload, whatever range of it is sent (RFC
9530 section 3); a payload that turns out to be damaged never looks complete; memory is bounded.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from http import HTTPStatus

import msgspec
from werkzeug.http import parse_date

from perdure.archives.dates import format_second
from perdure.archives.opening import OpenedCapture
from perdure.archives.port import ArchivedRecord, Capture
from perdure.errors import Corrupt, OverBudget
from perdure.server.common import digests, problems
from perdure.server.common.answers import Answer, Fields
from perdure.server.common.bodies import cut_span
from perdure.server.common.conditions import Span, is_unmodified, read_ranges
from perdure.server.common.request import Request

AT_HAND = 256 << 10  # bytes


class _PayloadStart(msgspec.Struct, frozen=True):
    """The beginning of a payload, and the rest if there is more."""

    start: bytes
    rest: Iterator[bytes] | None
    """None if `start` is the complete payload."""
    length: int | None
    sha512: bytes | None = None


async def answer_payload(
    request: Request, status: int, fields: Fields, archived: OpenedCapture
) -> Answer:
    """Answer with the payload and these fields. Only status 200 has ranges and conditions.

    Raises Corrupt, OverBudget and PreconditionFailed; an error found later ends the stream.
    """
    try:
        return await _answer_opened(request, status, fields, archived)
    except BaseException:
        archived.record.close()
        raise


async def _answer_opened(
    request: Request, status: int, fields: Fields, archived: OpenedCapture
) -> Answer:
    record = archived.record
    if status != HTTPStatus.OK:
        begun = await asyncio.to_thread(_begin_payload, record)
        return _answer_whole(request, status, fields, record, begun)
    tag, modified = make_entity_tag(archived.holder), _find_modified(archived)
    fields = [*fields, (b"etag", tag), (b"accept-ranges", b"bytes")]
    if is_unmodified(request, tag, modified):
        record.close()
        kept = [one for one in fields if not one[0].startswith(b"content-")]
        return Answer(HTTPStatus.NOT_MODIFIED, kept)
    begun = await asyncio.to_thread(_begin_payload, record)
    if request.method != "GET" or b"range" not in request.fields:
        return _answer_whole(request, status, fields, record, begun)
    if begun.length is None:
        begun = await asyncio.to_thread(_measure_payload, record, begun)
    length = begun.length or 0
    spans = read_ranges(request, length, tag, modified)
    if spans is None or len(spans) > 1:
        return _answer_whole(request, status, fields, record, begun)
    if not spans:
        record.close()
        return problems.answer_problem(problems.no_such_range(length), request)
    return _answer_range(request, fields, record, begun, spans[0])


def make_entity_tag(holder: Capture) -> bytes:
    """Make a strong entity tag: a record in an archive file never changes."""
    place = f"{holder.file}\n{holder.offset}\n{holder.length}\n{holder.digest}"
    return f'"{hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:40]}"'.encode()


def _find_modified(archived: OpenedCapture) -> datetime:
    """Return the Last-Modified time of the payload, or else the time of its capture."""
    named = (value for name, value in archived.headers if name.lower() == "last-modified")
    said = parse_date(next(named, "")[:64])
    time = archived.capture.time
    held = format_second(time[:12] + min(time[12:], "59"))
    return said or datetime.fromisoformat(held).astimezone(UTC)


def _answer_whole(
    request: Request, status: int, fields: Fields, record: ArchivedRecord, begun: _PayloadStart
) -> Answer:
    fields = [*fields, *_write_digest(request, begun)]
    if begun.length is not None:
        fields.append((b"content-length", b"%d" % begun.length))
    if begun.rest is None or request.method == "HEAD":
        record.close()
        return Answer(status, fields, body=begun.start if begun.rest is None else b"")
    return Answer(status, fields, stream=_stream_payload(begun.start, begun.rest, record))


def _answer_range(
    request: Request, fields: Fields, record: ArchivedRecord, begun: _PayloadStart, span: Span
) -> Answer:
    start, stop = span
    fields = [
        *fields,
        *_write_digest(request, begun),
        (b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, begun.length or 0)),
        (b"content-length", b"%d" % (stop - start)),
    ]
    if begun.rest is None:
        record.close()
        return Answer(HTTPStatus.PARTIAL_CONTENT, fields, body=begun.start[start:stop])
    cut = cut_span(record.read_payload(), span)
    return Answer(HTTPStatus.PARTIAL_CONTENT, fields, stream=_stream_payload(b"", cut, record))


def _write_digest(request: Request, begun: _PayloadStart) -> Fields:
    if begun.sha512 is None or not digests.is_wanted(request):
        return []
    return [(b"repr-digest", digests.write_digest(begun.sha512))]


# reading
# -------


def _begin_payload(record: ArchivedRecord) -> _PayloadStart:
    """Read a payload up to `AT_HAND`. A damaged one fails after its readable beginning is sent."""
    start = bytearray()
    rest = iter(record.read_payload())
    try:
        for piece in rest:
            start += piece
            if len(start) > AT_HAND:
                return _PayloadStart(bytes(start), rest, record.payload_length)
    except (Corrupt, OverBudget) as error:
        if not start:
            raise
        return _PayloadStart(bytes(start), _fail_later(error), record.payload_length)
    body = bytes(start)
    return _PayloadStart(body, None, len(body), hashlib.sha512(body).digest())


def _fail_later(error: Corrupt | OverBudget) -> Iterator[bytes]:
    raise error
    yield b""


def _measure_payload(record: ArchivedRecord, begun: _PayloadStart) -> _PayloadStart:
    """Read a payload to its end to measure it, and start again from its beginning."""
    length, sha512 = len(begun.start), hashlib.sha512(begun.start)
    for piece in begun.rest or ():
        length += len(piece)
        sha512.update(piece)
    return _PayloadStart(b"", iter(record.read_payload()), length, sha512.digest())


async def _stream_payload(
    start: bytes, rest: Iterator[bytes], record: ArchivedRecord
) -> AsyncIterator[bytes]:
    try:
        if start:
            yield start
        while (piece := await asyncio.to_thread(next, rest, None)) is not None:
            if piece:
                yield piece
    finally:
        record.close()
