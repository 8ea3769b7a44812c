"""The bytes of a part over HTTP: its digest, its length, and the requested ranges of it.

How it works: most parts are a sequence of pieces, some of them spans of the source. The length of
such a part is known in advance, its digest costs one reading, and a range of it costs no more than
a range of a complete document. A part that is generated while it is sent, such as a minute of
video, has its digest and often its length only at the end. Only requests for the digest or for a
range wait for them: then the part is generated twice, first to be measured and then to be sent.
So it is never stored, however long it is and however slowly the client reads. Its length is
remembered, because it never changes.

What must stay true: a range is a range of the part, whose bytes are the same each time it is cut.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from functools import partial
from http import HTTPStatus

import msgspec

from perdure.extractors.port import Body, Part, Pieces, Source, Stream, iterate_body, slice_body
from perdure.extractors.port import Span as Stored
from perdure.model.records import Representation
from perdure.parts import Selector
from perdure.server.common import bodies, digests, problems
from perdure.server.common.answers import Answer, Fields
from perdure.server.common.conditions import Span, read_ranges
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held
from perdure.storage.byte_ports import Bytes

_DIGESTED = 1 << 20  # bytes; the digest of a longer part would delay its first byte by milliseconds
_AT_HAND = 32 << 10  # bytes; hashing them takes less time than asking another thread to do it
_ENDLESS = 1 << 62  # bytes; more than any part has


class CutPart(msgspec.Struct, frozen=True, kw_only=True):
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
    has_digest: bool = True
    """False if its digest is never sent."""

    def with_body(self, body: Body) -> CutPart:
        return msgspec.structs.replace(self, found=msgspec.structs.replace(self.found, body=body))


async def answer_part_bytes(
    service: Service, request: Request, cut: CutPart, fields: Fields
) -> Answer:
    """Answer with the part, or the requested bytes of it. `fields` are its other header fields."""
    cut, digest = await _add_digest(service, request, cut)
    fields = [*fields, *digest, (b"accept-ranges", b"bytes")]
    body, length = cut.found.body, cut.found.length
    spans = None if length is None else _read_ranges(request, length, cut)
    if length is None or spans is None or (len(spans) > 1 and isinstance(body, Stream)):
        if length is not None:
            fields.append((b"content-length", b"%d" % length))
        return _make_answer(service, HTTPStatus.OK, fields, cut)
    if not spans:
        return problems.answer_problem(problems.no_such_range(length), request)
    if len(spans) > 1 and not isinstance(body, Stream):
        read = partial(_read_pieces, service.registry.bytes, cut.representation, body)
        return held.answer_byteranges(fields, cut.kind, length, spans, read)
    start, stop = spans[0]
    fields.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, length)))
    fields.append((b"content-length", b"%d" % (stop - start)))
    return _make_answer(service, HTTPStatus.PARTIAL_CONTENT, fields, cut, spans[0])


def _read_ranges(request: Request, length: int, cut: CutPart) -> list[Span] | None:
    if b"range" not in request.fields or request.method != "GET":
        return None
    return read_ranges(request, length, cut.tag, cut.modified)


# digest and length
# -----------------


def cut_at_hand(
    cut_part: Callable[[Source, Selector], Part], source: Source, selector: Selector
) -> Part:
    """Cut a part. Read it in the same thread if it is short, so that no other one has to."""
    part = cut_part(source, selector)
    if isinstance(part.body, Stream) or part.length is None or part.length > _AT_HAND:
        return part
    return msgspec.structs.replace(part, body=(b"".join(iterate_body(part.body, source)),))


def _is_at_hand(cut: CutPart) -> bool:
    body, length = cut.found.body, cut.found.length
    if isinstance(body, Stream) or length is None or length > _AT_HAND:
        return False
    return all(isinstance(piece, bytes) for piece in body)


async def _add_digest(service: Service, request: Request, cut: CutPart) -> tuple[CutPart, Fields]:
    """Return the part, with its length if needed, and the field of its digest.

    The digest is computed only if it is requested or cheap.
    """
    body = cut.found.body
    algorithm = digests.choose_algorithm(request, digests.ALGORITHMS) if cut.has_digest else None
    if isinstance(body, Stream) or (cut.found.length or 0) > _DIGESTED:
        algorithm = algorithm if b"want-repr-digest" in request.fields else None
    if isinstance(body, Stream) and body.length is None:
        body.length = service.counted.get(cut.tag)
    needed = cut.found.length is None and _is_less(request, cut)
    if algorithm is None and not needed:
        return cut, []
    digest = digests.start_hash(algorithm or digests.ALGORITHMS[0])
    if isinstance(body, Stream):
        cut = await _measure_part(service, request, cut, digest)
    elif _is_at_hand(cut):
        _update_digest(digest, iterate_body(body, cut.source))
    else:
        await service.run_cutter(_update_digest, digest, iterate_body(body, cut.source))
    if algorithm is None:
        return cut, []
    return cut, [(b"repr-digest", digests.write_digest(digest.digest(), algorithm))]


def _is_less(request: Request, cut: CutPart) -> bool:
    """Return True if the requested range is less than the part, whatever its length."""
    spans = _read_ranges(request, _ENDLESS, cut)
    return spans is not None and len(spans) < 2 and spans != [(0, _ENDLESS)]


async def _measure_part(
    service: Service, request: Request, cut: CutPart, digest: digests.Hash
) -> CutPart:
    """Measure a part that is generated while it is sent. For GET, it is then generated again."""
    length = 0
    async for chunk in _stream_chunks(
        service, _pass_on(digest, iterate_body(cut.found.body, cut.source))
    ):
        length += len(chunk)
    service.remember_length(cut.tag, length)
    chunks: Iterator[bytes] = iter(())
    if request.method == "GET":
        again = await service.cut_part(service.registry.parts.cut_part, cut.source, cut.selector)
        chunks = iterate_body(again.body, cut.source)
    return cut.with_body(Stream(chunks, length))


def _pass_on(digest: digests.Hash, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _update_digest(digest: digests.Hash, chunks: Iterator[bytes]) -> None:
    for chunk in chunks:
        digest.update(chunk)


# bytes
# -----


def _make_answer(
    service: Service, status: int, fields: Fields, cut: CutPart, span: Span | None = None
) -> Answer:
    """Make an answer with the part, or with a span of it."""
    fields = [(b"content-type", cut.kind), *fields]
    body, one = cut.found.body, cut.representation
    if isinstance(body, Stream):
        chunks = body.chunks if span is None else bodies.cut_span(body.chunks, span)
        return Answer(status, fields, stream=_stream_chunks(service, chunks))
    source = service.registry.bytes
    pieces = body if span is None else slice_body(body, *span)
    at_hand = [piece for piece in pieces if isinstance(piece, bytes)]
    if len(at_hand) == len(pieces):
        return Answer(status, fields, body=b"".join(at_hand))
    if len(pieces) == 1 and isinstance(pieces[0], Stored):
        return bodies.answer_span(status, fields, source, one, (pieces[0].start, pieces[0].stop))
    return Answer(status, fields, stream=_read_pieces(source, one, pieces))


async def _read_pieces(
    source: Bytes, one: Representation, body: Pieces, span: Span | None = None
) -> AsyncIterator[bytes]:
    """Yield pieces of a representation and generated bytes, or a span of them."""
    for piece in body if span is None else slice_body(body, *span):
        if isinstance(piece, Stored):
            async for chunk in bodies.read_span(source, one, (piece.start, piece.stop)):
                yield chunk
        elif piece:
            yield piece


async def _stream_chunks(service: Service, chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a body while it is generated. If the client leaves, the generation stops."""
    while chunk := await service.read_chunk(chunks):
        yield chunk
