"""The bytes of a part over HTTP: its digest, its length, and the requested ranges of it.

How it works: most parts are a sequence of pieces, some of them spans of a segment. The length of
such a part is known in advance, its digest costs one reading, and a range of it costs no more than
a range of a complete document. A part that is generated while it is sent, such as a minute of
video, has its digest and often its length only at the end. Only requests for the digest or for a
range wait for them: then the part is generated twice, first to be measured and then to be sent.
So it is never stored, however long it is and however slowly the client reads. Its length is
remembered, because it never changes.

What must stay true: a range is a range of the part, whose bytes are the same each time it is cut.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from functools import partial
from http import HTTPStatus

import msgspec

from perdure.extractors.port import Body, Part, Pieces, Source, Stream, body_chunks, body_within
from perdure.extractors.port import Span as Stored
from perdure.model.records import Representation
from perdure.parts import Selector
from perdure.server.common import bodies, digests, problems
from perdure.server.common.answers import Answer, Fields
from perdure.server.common.conditions import Span, ranges
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held
from perdure.storage.segments.directory import Segments

_DIGESTED = 32 << 20  # bytes; the digest of a longer part is sent only on request
_ENDLESS = 1 << 62  # bytes; more than any part has


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A part that was cut, with its source."""

    found: Part
    tag: bytes
    """Its entity tag."""
    source: Source
    """The document that the part was cut from, by `selector`."""
    selector: Selector
    representation: Representation
    modified: datetime
    """The time when the representation was committed."""
    kind: bytes
    """Its content type."""

    def with_body(self, body: Body) -> Cut:
        return msgspec.structs.replace(self, found=msgspec.structs.replace(self.found, body=body))


async def answer(service: Service, request: Request, cut: Cut, fields: Fields) -> Answer:
    """Answer with the part, or the requested bytes of it. `fields` are its other header fields."""
    cut, digest = await _told(service, request, cut)
    fields = [*fields, *digest, (b"accept-ranges", b"bytes")]
    body, length = cut.found.body, cut.found.length
    spans = None if length is None else _ranges(request, length, cut)
    if length is None or spans is None or (len(spans) > 1 and isinstance(body, Stream)):
        if length is not None:
            fields.append((b"content-length", b"%d" % length))
        return _sent(service, HTTPStatus.OK, fields, cut)
    if not spans:
        return problems.answer(problems.no_such_range(length), request)
    if len(spans) > 1 and not isinstance(body, Stream):
        read = partial(_read, service.registry.segments, cut.representation, body)
        return held.byteranges(fields, cut.kind, length, spans, read)
    start, stop = spans[0]
    fields.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, length)))
    fields.append((b"content-length", b"%d" % (stop - start)))
    return _sent(service, HTTPStatus.PARTIAL_CONTENT, fields, cut, spans[0])


def _ranges(request: Request, length: int, cut: Cut) -> list[Span] | None:
    if b"range" not in request.fields or request.method != "GET":
        return None
    return ranges(request, length, cut.tag, cut.modified)


# digest and length
# -----------------


async def _told(service: Service, request: Request, cut: Cut) -> tuple[Cut, Fields]:
    """Return the part, with its length if needed, and the field of its digest.

    The digest is computed only if it is requested or cheap.
    """
    body = cut.found.body
    algorithm = digests.chosen(request, digests.ALGORITHMS)
    if isinstance(body, Stream) or (cut.found.length or 0) > _DIGESTED:
        algorithm = algorithm if b"want-repr-digest" in request.fields else None
    if isinstance(body, Stream) and body.length is None:
        body.length = service.counted.get(cut.tag)
    needed = cut.found.length is None and _is_less(request, cut)
    if algorithm is None and not needed:
        return cut, []
    digest = digests.hasher(algorithm or digests.ALGORITHMS[0])
    if isinstance(body, Stream):
        cut = await _counted(service, request, cut, digest)
    else:
        await service.cut(_update, digest, body_chunks(body, cut.source))
    if algorithm is None:
        return cut, []
    return cut, [(b"repr-digest", digests.field(digest.digest(), algorithm))]


def _is_less(request: Request, cut: Cut) -> bool:
    """Return True if the requested range is less than the part, whatever its length."""
    spans = _ranges(request, _ENDLESS, cut)
    return spans is not None and len(spans) < 2 and spans != [(0, _ENDLESS)]


async def _counted(service: Service, request: Request, cut: Cut, digest: digests.Hash) -> Cut:
    """Measure a part that is generated while it is sent. For GET, it is then generated again."""
    length = 0
    async for chunk in _made(service, _passing(digest, body_chunks(cut.found.body, cut.source))):
        length += len(chunk)
    service.count(cut.tag, length)
    chunks: Iterator[bytes] = iter(())
    if request.method == "GET":
        again = await service.cut_out(service.registry.parts.extract, cut.source, cut.selector)
        chunks = body_chunks(again.body, cut.source)
    return cut.with_body(Stream(chunks, length))


def _passing(digest: digests.Hash, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _update(digest: digests.Hash, chunks: Iterator[bytes]) -> None:
    for chunk in chunks:
        digest.update(chunk)


# bytes
# -----


def _sent(
    service: Service, status: int, fields: Fields, cut: Cut, span: Span | None = None
) -> Answer:
    """Make an answer with the part, or with a span of it."""
    fields = [(b"content-type", cut.kind), *fields]
    body, one = cut.found.body, cut.representation
    if isinstance(body, Stream):
        chunks = body.chunks if span is None else bodies.within(body.chunks, span)
        return Answer(status, fields, stream=_made(service, chunks))
    segments = service.registry.segments
    pieces = body if span is None else body_within(body, *span)
    at_hand = [piece for piece in pieces if isinstance(piece, bytes)]
    if len(at_hand) == len(pieces):
        return Answer(status, fields, body=b"".join(at_hand))
    if len(pieces) == 1 and isinstance(pieces[0], Stored):
        return bodies.body(status, fields, segments, one, (pieces[0].start, pieces[0].stop))
    return Answer(status, fields, stream=_read(segments, one, pieces))


async def _read(
    segments: Segments, one: Representation, body: Pieces, span: Span | None = None
) -> AsyncIterator[bytes]:
    """Yield pieces of a representation and generated bytes, or a span of them."""
    for piece in body if span is None else body_within(body, *span):
        if isinstance(piece, Stored):
            async for chunk in bodies.read(segments, one, (piece.start, piece.stop)):
                yield chunk
        elif piece:
            yield piece


async def _made(service: Service, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a body while it is generated. If the client leaves, the generation stops."""
    while chunk := await service.follow(chunks):
        yield chunk
