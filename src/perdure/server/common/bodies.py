"""Stored bytes as bodies: read in pieces, without waiting for the disk, with little memory.

How it works: a file is read in pieces of 256 KiB. A read of the last byte of a piece with
RWF_NOWAIT, which never waits for the disk, shows whether the piece is in the page cache. If it is,
the piece is read at once. Otherwise a thread reads it, so that a slow disk does not delay other
requests. A short piece is itself read in that way, which saves a system call.

What must stay true: a body that turns out to be shorter than promised raises Corrupt.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence

from perdure.errors.corruption import RepresentationCutOff
from perdure.model.records import Representation
from perdure.server.common.answers import Answer, Fields, FileSpan, write_fields
from perdure.server.common.conditions import Span
from perdure.storage.byte_ports import CHUNK, Bytes, FetchNeeded

_SHORT = 16 * 1024  # bytes; for more, a second system call costs less than a second copy


def answer_span(
    status: int, fields: Fields, source: Bytes, held: Representation, span: Span
) -> Answer:
    """Answer with a span of a representation: as bytes if it is cached, or else as a stream."""
    piece = read_at_once(source, held, span)
    if piece is not None:
        return Answer(status, fields, body=piece)
    start, stop = span
    local, offset = source.find_local(held)
    file = FileSpan(local, offset + start, stop - start)
    return Answer(status, fields, stream=read_span(source, held, span), file=file)


def read_at_once(source: Bytes, held: Representation, span: Span) -> bytes | None:
    """Return a span from the page cache, or None if it is not cached or exceeds 256 KiB.

    Raises Corrupt if the file ends too early.
    """
    start, stop = span
    if stop - start > CHUNK:
        return None
    file, offset = source.find_local(held)
    piece = read_cached(file.fd, stop - start, offset + start)
    return None if piece is None else _check_whole(piece, held, span)


async def read_span(source: Bytes, held: Representation, span: Span) -> AsyncIterator[bytes]:
    """Yield the bytes of a representation within a span, in pieces of at most 256 KiB.

    Raises Corrupt if the file ends too early.
    """
    start, stop = span
    loop = asyncio.get_running_loop()
    try:
        file, offset = source.find_local(held)
    except FetchNeeded:
        file, offset = await loop.run_in_executor(None, source.find_local, held)
    while start < stop:
        length = min(CHUNK, stop - start)
        piece = read_cached(file.fd, length, offset + start)
        if piece is None:
            piece = await loop.run_in_executor(None, file.read, length, offset + start)
        yield _check_whole(piece, held, (start, start + length))
        start += length


def cut_span(pieces: Iterator[bytes], span: Span) -> Iterator[bytes]:
    """Yield the bytes of a span from pieces that can only be read from the beginning."""
    start, stop = span
    at = 0
    for piece in pieces:
        wanted = piece[max(start - at, 0) : stop - at]
        at += len(piece)
        if wanted:
            yield wanted
        if at >= stop:
            return


def read_cached(fd: int, length: int, offset: int) -> bytes | None:
    """Return bytes from the page cache, or None if reading would wait for the disk."""
    if length <= 0:
        return b""
    try:
        if length <= _SHORT:
            piece = bytearray(length)
            if os.preadv(fd, (piece,), offset, os.RWF_NOWAIT) == length:
                return bytes(piece)
        os.preadv(fd, (bytearray(1),), offset + length - 1, os.RWF_NOWAIT)
    except OSError:  # not cached, or the file system does not support the flag
        return None
    return os.pread(fd, length, offset)


def _check_whole(piece: bytes, held: Representation, span: Span) -> bytes:
    start, stop = span
    if len(piece) != stop - start:
        end = held.offset + start + len(piece)
        raise RepresentationCutOff(
            segment=held.segment, at=end, length=held.length, sha512=held.sha512
        )
    return piece


# several in one message
# ----------------------

Part = tuple[Fields, int, AsyncIterator[bytes]]
"""One body part: its header fields, its length, and its bytes."""


def answer_multipart(status: int, subtype: bytes, fields: Fields, parts: Sequence[Part]) -> Answer:
    """Put several body parts into one message of known length (RFC 2046 section 5.1)."""
    boundary = secrets.token_hex(16).encode()
    heads: list[bytes] = []
    length = 0
    for head, size, _ in parts:
        before = b"\r\n" if heads else b""
        heads.append(b"%s--%s\r\n%s\r\n" % (before, boundary, write_fields(head)))
        length += len(heads[-1]) + size
    end = b"\r\n--%s--\r\n" % boundary

    async def write_pieces() -> AsyncIterator[bytes]:
        for head, (_, _, body) in zip(heads, parts, strict=True):
            yield head
            async for piece in body:
                yield piece
        yield end

    fields = [
        *fields,
        (b"content-type", b"multipart/%s; boundary=%s" % (subtype, boundary)),
        (b"content-length", b"%d" % (length + len(end))),
    ]
    return Answer(status, fields, stream=write_pieces())
