"""Bytes held here, over HTTP: conditions, ranges, digests, and streaming with little memory.

How it works: all header fields follow from the representation and the way in which it was asked
for. The file is read in pieces of 256 KiB. Where the last byte of a piece is in the page cache
(asked with RWF_NOWAIT, which never waits for the disk), it is read at once; else a thread reads it,
so that a slow disk holds up nobody else.

What must stay true: an entity tag is strong, for it is made of the SHA-512 and the format; a body
that turns out to be shorter than promised raises Corrupt; bytes that others have deposited can run
no script in our name.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus

from werkzeug.http import http_date, parse_date, parse_etags, parse_range_header

from perdure import formats
from perdure.blobs.segments import CHUNK, Segments
from perdure.errors import Corrupt
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.model import Fetch, Record, Representation
from perdure.server import digests
from perdure.server.answers import Answer, Fields, link, links, token, uri
from perdure.server.redirects import described_by
from perdure.server.request import Request
from perdure.server.targets import path_of, uri_of

_CONDITIONS = frozenset(
    (b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since")
)
_MOST_RANGES = 32  # RFC 9110 section 14.2: a server may ignore "many small ranges"
_FOR_EVER = b"public, max-age=31536000, immutable"

# What a browser shows without running anything in it. All else is shown in a sandbox: no script,
# no form, an origin of its own.
_PASSIVE = re.compile(
    r"text/(?:plain|csv)|application/(?:json|octet-stream|pdf)|audio/.+|video/.+|font/.+|"
    r"image/(?!svg).+"
)


def answer(
    request: Request, segments: Segments, step: Fetch, record: Record, *, fresh: int, chosen: bool
) -> Answer:
    """The answer to GET of a representation; of HEAD too, whose body nobody sends.

    It may be kept for `fresh` seconds, if not for ever. `chosen`: the format was not named in the
    request, so another header might have had another answer.
    """
    held = step.representation
    tag, modified = etag(held), last_modified(record, held)
    fields: Fields = [
        (b"etag", tag),
        (b"last-modified", _http_date(modified)),
        (b"content-location", uri(uri_of(step.identifier))),
        (b"cache-control", _FOR_EVER if step.pinned else b"public, max-age=%d" % fresh),
        (b"accept-ranges", b"bytes"),
        *links(
            (
                link(f"{request.base}/{path_of(step.identifier)}", "cite-as"),
                described_by(step.identifier),
            )
        ),
    ]
    if chosen:
        fields.append((b"vary", b"accept, accept-language"))
    if not request.fields.keys().isdisjoint(_CONDITIONS):
        status = precondition(request, tag, modified)
        if status is not None:
            without_length = status == HTTPStatus.NOT_MODIFIED
            return Answer(
                status, fields if without_length else [*fields, (b"content-length", b"0")]
            )
    fields += _about_content(held)
    if digests.is_wanted(request):
        fields.append((b"repr-digest", digests.of(held)))
    fields.append((b"content-disposition", _disposition(step.identifier, held)))
    spans = None
    if b"range" in request.fields and request.method == "GET":
        spans = ranges(request, held.length, tag, modified)
    if spans is None:
        fields += [(b"content-type", content_type(held)), (b"content-length", b"%d" % held.length)]
        return _with_body(HTTPStatus.OK, fields, segments, held, (0, held.length))
    return _partial(fields, segments, held, spans)


# what was asked under which condition
# ------------------------------------


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


@lru_cache(maxsize=1024)
def _http_date(moment: datetime) -> bytes:
    return http_date(moment).encode()


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


# header fields
# -------------


def content_type(held: Representation) -> bytes:
    """The media type with its charset."""
    kind = held.media_type
    if held.charset and "charset=" not in kind:
        kind = f"{kind}; charset={held.charset}"
    return _printable(kind)


def _printable(text: str) -> bytes:
    """A value of our own grammars, whatever a bulk load may have brought in."""
    return "".join(one if " " <= one <= "~" else "_" for one in text).encode("ascii")


def _about_content(held: Representation) -> Fields:
    fields: Fields = [(b"x-content-type-options", b"nosniff")]
    if not _PASSIVE.match(held.media_type):
        fields.append((b"content-security-policy", b"sandbox"))
    if held.language:
        fields.append((b"content-language", _printable(held.language)))
    return fields


def _disposition(identifier: Identifier, held: Representation) -> bytes:
    """A file name for who saves it: letters, digits, dots, hyphens and underscores only."""
    name = str(identifier.whole)
    if isinstance(identifier, Pdi):
        day = (identifier.date or "").replace("/", "-")
        version = f".v{identifier.version}" if identifier.version else ""
        name = f"{identifier.series}.{day}.{identifier.uid}{version}"
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", name)[:128].strip("._")
    return f'inline; filename="{name}.{token(formats.extension(held.format))}"'.encode()


# bodies
# ------


def _partial(
    fields: Fields, segments: Segments, held: Representation, spans: Sequence[tuple[int, int]]
) -> Answer:
    if not spans:
        return Answer(
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            [(b"content-range", b"bytes */%d" % held.length), (b"content-length", b"0")],
        )
    if len(spans) == 1:
        start, stop = spans[0]
        fields += [
            (b"content-type", content_type(held)),
            (b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, held.length)),
            (b"content-length", b"%d" % (stop - start)),
        ]
        return _with_body(HTTPStatus.PARTIAL_CONTENT, fields, segments, held, (start, stop))
    parts = []
    for start, stop in spans:
        head: Fields = [
            (b"content-type", content_type(held)),
            (b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, held.length)),
        ]
        parts.append((head, held, (start, stop)))
    return multipart(HTTPStatus.PARTIAL_CONTENT, b"byteranges", fields, segments, parts)


Part = tuple[Fields, Representation, tuple[int, int]]
"""One body part: its header fields, and the bytes of a representation from start to stop."""


def multipart(
    status: HTTPStatus, subtype: bytes, fields: Fields, segments: Segments, parts: Sequence[Part]
) -> Answer:
    """Several body parts in one message (RFC 2046 section 5.1), of a length that is known ahead."""
    boundary = secrets.token_hex(16).encode()
    heads: list[bytes] = []
    length = 0
    for head, _, (start, stop) in parts:
        lines = b"".join(b"%s: %s\r\n" % field for field in head)
        heads.append(b"%s--%s\r\n%s\r\n" % (b"\r\n" if heads else b"", boundary, lines))
        length += len(heads[-1]) + stop - start
    end = b"\r\n--%s--\r\n" % boundary

    async def body() -> AsyncIterator[bytes]:
        for head, (_, held, (start, stop)) in zip(heads, parts, strict=True):
            yield head
            async for piece in read(segments, held, start, stop):
                yield piece
        yield end

    fields = [
        *fields,
        (b"content-type", b"multipart/%s; boundary=%s" % (subtype, boundary)),
        (b"content-length", b"%d" % (length + len(end))),
    ]
    return Answer(status, fields, stream=body())


def _with_body(
    status: HTTPStatus,
    fields: Fields,
    segments: Segments,
    held: Representation,
    span: tuple[int, int],
) -> Answer:
    start, stop = span
    if stop - start <= CHUNK:
        file = segments.file(held.segment)
        at_once = _read_at_once(file.fd, stop - start, held.offset + start)
        if at_once is not None:
            return Answer(status, fields, body=_whole(at_once, held, start, stop))
    return Answer(status, fields, stream=read(segments, held, start, stop))


async def read(
    segments: Segments, held: Representation, start: int, stop: int
) -> AsyncIterator[bytes]:
    """The bytes of a representation from `start` to `stop`, in pieces of at most 256 KiB.

    Raises Corrupt where the file ends too early.
    """
    file = segments.file(held.segment)
    loop = asyncio.get_running_loop()
    while start < stop:
        length = min(CHUNK, stop - start)
        piece = _read_at_once(file.fd, length, held.offset + start)
        if piece is None:
            piece = await loop.run_in_executor(None, file.read, length, held.offset + start)
        yield _whole(piece, held, start, start + length)
        start += length


def _read_at_once(fd: int, length: int, offset: int) -> bytes | None:
    """Bytes from the page cache; None where the disk would have to be waited for."""
    if length <= 0:
        return b""
    try:
        os.preadv(fd, (bytearray(1),), offset + length - 1, os.RWF_NOWAIT)
    except BlockingIOError:
        return None
    except OSError:  # a file system without RWF_NOWAIT: nothing can be said ahead
        return None
    return os.pread(fd, length, offset)


def _whole(piece: bytes, held: Representation, start: int, stop: int) -> bytes:
    if len(piece) != stop - start:
        raise Corrupt(
            identifier=f"segment {held.segment}",
            where=f"offset {held.offset + start + len(piece)}",
            promised=f"{held.length} bytes, sha512 {held.sha512}",
            found="the end of the file",
        )
    return piece
