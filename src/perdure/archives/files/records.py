"""Read one record of an archive file.

How it works: the head is read when the record is opened; the block is read piece by piece when you
ask for it. `read_payload` removes the chunks and the content coding of the transfer, as a browser
does. `read_raw` yields the record as it is in the file, uncompressed. An ARC record is given the
fields that a WARC record would have.

What must stay true: a block that is shorter than its head says raises Corrupt and never simply
ends; a payload of more than `STEEPEST` times its bytes in the file raises OverBudget before the
excess is yielded; memory is bounded.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Self

from perdure.archives.dates import format_second, parse_second
from perdure.archives.files import heads
from perdure.archives.files.chunks import remove_chunks
from perdure.archives.files.heads import LONGEST_HEAD, ArchivedHead, Fields
from perdure.archives.files.windows import GZIP, PIECE, DamagedBytes, Readable, Window
from perdure.archives.libraries import import_library
from perdure.errors.archive_corruption import (
    ArchivedBlockCutOff,
    ArchivedBytesDamaged,
    ArchivedHeadMissing,
    CodingCutOff,
    CodingDamaged,
)
from perdure.errors.limits import HttpHeadTooLong, PayloadTooLong

UNMEASURED = 64 << 20
"""Bytes of a payload that are always allowed."""
STEEPEST = 2200
"""Largest ratio of a payload to its bytes in the file. It is twice what deflate can reach, so only
data that was compressed twice, or crafted for the purpose, exceeds it."""
_SAMPLE = 512
"""Bytes that are enough to tell text from a bare deflate stream."""
_MOST_SPARE = 256 << 10
"""Bytes of a payload kept in case it is not in the coding that its head announces."""
_CODINGS = ("Transfer-Encoding", "Content-Encoding")


class WarcRecord:
    """A record; implements `perdure.archives.port.ArchivedRecord`."""

    def __init__(self, window: Window, source: Callable[[], Readable], where: str, length: int):
        """Open a record. Raises Corrupt if it has no head. `close` closes the window, too.

        Each call of `source` opens the bytes from the first of the record on; `where` names the
        record in errors; `length` is that of the record in the file, in bytes.
        """
        self._window = window
        self._source = source
        self._where = where
        self._length = length
        self._stream = source()
        self._begun = False
        self._buffer = self._read_head()
        self.status: int | None = None
        self.reason = ""
        self._http = b""
        self._head_is_endless = False
        self._speaks_http = heads.speaks_http(
            self._head.kind, self._head.uri, self._head.content_type
        )
        if self._speaks_http:
            self._read_http()

    def _read_head(self) -> bytes:
        text = b""
        while True:
            piece = self._read_piece()
            text = (text + piece).lstrip(b"\r\n") if not text.strip() else text + piece
            arc = not text.startswith(b"WARC/")
            found = heads.parse_arc_head(text) if arc else None
            end = found[2] if found else -1 if arc else heads.find_end_of_head(text)
            if 0 <= end <= LONGEST_HEAD:
                break
            if not piece or len(text) > LONGEST_HEAD:
                raise ArchivedHeadMissing(record=self._where)
        self._text = text[:end]
        if found:
            self._head, address, _ = found
            self.fields = _make_warc_fields(self._head, address)
        else:
            self.fields = heads.parse_warc_fields(self._text)
            self._head = heads.parse_warc_head(self.fields)
        return text[end:]

    @property
    def head(self) -> ArchivedHead:
        """The fields of the head that an index needs."""
        return self._head

    @property
    def head_text(self) -> bytes:
        """The head as recorded, with the blank line that ends it."""
        return self._text

    def _read_http(self) -> None:
        """Read the head of the HTTP message, if the block begins with one."""
        start = self._buffer
        limit = LONGEST_HEAD if self._head.length is None else self._head.length
        while (end := heads.find_end_of_head(start[:limit])) < 0 and len(start) < min(
            limit, LONGEST_HEAD
        ):
            piece = self._read_piece()
            if not piece:
                break
            start += piece
        self._buffer = start
        begins = self._head.kind == "request" or heads.begins_http(start)
        if end < 0 and len(start) >= limit and begins:
            end = limit  # only a head, as in many revisits
        if end < 0 or end > LONGEST_HEAD:
            self._head_is_endless = begins and len(start) >= LONGEST_HEAD
            return
        if self._head.kind != "request":
            self.status, self.reason = heads.parse_status_line(start)
            if self.status is None:
                return
        self._http = start[:end]

    @cached_property
    def headers(self) -> Fields:
        """Header fields of the archived HTTP message, in order, as recorded."""
        return heads.parse_fields(heads.split_first_line(self._http)[1])

    def read_block(self) -> Iterator[bytes]:
        """Yield the block as recorded. Raises Corrupt if it is shorter than its head says."""
        buffer = self._rewind_block()
        left = self._head.length
        while True:
            piece = buffer if left is None else buffer[:left]
            if piece:
                yield piece
            if left is not None:
                left -= len(piece)
                if not left:
                    return
            buffer = self._read_piece()
            if not buffer:
                if left:
                    raise ArchivedBlockCutOff(record=self._where, missing=left)
                return

    def _rewind_block(self) -> bytes:
        """Return the first bytes of the block, with the stream positioned after them."""
        if self._begun:
            self._stream = self._source()
            return self._read_head()
        self._begun = True
        buffer, self._buffer = self._buffer, b""
        return buffer

    def read_raw(self) -> Iterator[bytes]:
        block = self.read_block()
        yield self._text
        yield from block

    def read_entity(self) -> Iterator[bytes]:
        """Yield the block without its HTTP head; chunks and codings are as recorded.

        Raises Corrupt, or OverBudget if the head is longer than `LONGEST_HEAD`.
        """
        if self._head_is_endless:
            raise HttpHeadTooLong(record=self._where, most=LONGEST_HEAD)
        behind = len(self._http)
        for piece in self.read_block():
            if behind >= len(piece):
                behind -= len(piece)
                continue
            yield piece[behind:]
            behind = 0

    def read_unchunked(self) -> Iterator[bytes]:
        """Yield the entity without the chunks of the transfer; its coding is as recorded."""
        pieces = self.read_entity()
        if "chunked" in heads.find_value(self.headers, "Transfer-Encoding").lower():
            pieces = remove_chunks(pieces)
        return pieces

    @property
    def payload_length(self) -> int | None:
        """See `ArchivedRecord`. Without chunks and coding, it is the rest of the block."""
        coded = any(heads.find_value(self.headers, name) for name in _CODINGS)
        if coded or self._head.length is None or self._head_is_endless:
            return None
        return self._head.length - len(self._http)

    def read_payload(self) -> Iterator[bytes]:
        pieces = self.read_unchunked()
        codings = heads.find_value(self.headers, "Content-Encoding").lower()
        for coding in reversed([one.strip() for one in codings.split(",") if one.strip()][:4]):
            pieces = self._decode_pieces(pieces, coding)
        return self._measure_pieces(pieces)

    def _measure_pieces(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        limit = max(UNMEASURED, STEEPEST * self._length)
        total = 0
        for piece in pieces:
            total += len(piece)
            if total > limit:
                raise PayloadTooLong(record=self._where, most=limit)
            yield piece

    def _decode_pieces(self, pieces: Iterator[bytes], coding: str) -> Iterator[bytes]:
        if coding in ("gzip", "x-gzip", "deflate"):
            return _inflate_pieces(pieces, coding, self._where)
        if coding in ("br", "zstd"):
            return _unpack_pieces(pieces, coding, self._where)
        return pieces  # `identity`, or an unknown coding: unchanged

    def _read_piece(self) -> bytes:
        try:
            return self._stream.read(PIECE)
        except DamagedBytes as error:
            raise ArchivedBytesDamaged(record=self._where, fault=str(error)) from None

    def close(self) -> None:
        self._window.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_warc_fields(head: ArchivedHead, address: str) -> Fields:
    """Return the fields of a WARC record for the single line of an ARC record."""
    found = [("WARC-Type", head.kind)]
    if head.uri:
        found.append(("WARC-Target-URI", head.uri))
    with suppress(ValueError):  # an invalid date is left out: nothing is invented
        found.append(("WARC-Date", format_second(parse_second(head.date))))
    if address and address != "0.0.0.0":  # noqa: S104  # ARC's way to say that it is unknown
        found.append(("WARC-IP-Address", address))
    if head.content_type:
        found.append(("Content-Type", head.content_type))
    if head.length is not None:
        found.append(("Content-Length", str(head.length)))
    return found


def _inflate_pieces(pieces: Iterator[bytes], coding: str, record: str) -> Iterator[bytes]:
    """Inflate gzip, zlib and, for `deflate`, a bare stream; yield other data unchanged."""
    first = b""
    while len(first) < _SAMPLE and (piece := next(pieces, b"")):
        first += piece
    if first.startswith(GZIP) or _is_zlib(first):
        inflate = zlib.decompressobj(47)
    elif first and coding == "deflate":
        inflate = zlib.decompressobj(-15)
    else:
        yield from _chain_pieces(first, pieces)
        return
    spare: bytes | None = b""  # everything read so far, until something was inflated
    for piece in _chain_pieces(first, pieces):
        spare = _extend_spare(spare, piece)
        fed = piece
        while fed:
            try:
                part = inflate.decompress(fed, PIECE)
            except zlib.error as error:
                if spare is not None:  # it claims to be compressed, but is not
                    yield from _chain_pieces(spare, pieces)
                    return
                raise CodingDamaged(record=record, fault=str(error)) from None
            if part:
                spare = None
                yield part
            fed = inflate.unconsumed_tail
            if inflate.eof:
                return
    while part := inflate.decompress(b"", PIECE):
        yield part
    if not inflate.eof:
        raise CodingCutOff(record=record)


def _extend_spare(spare: bytes | None, piece: bytes) -> bytes | None:
    """Append a piece to the spare bytes; None if there are none, or too many."""
    return None if spare is None or len(spare) > _MOST_SPARE else spare + piece


def _is_zlib(start: bytes) -> bool:
    return len(start) > 1 and start[0] & 15 == 8 and int.from_bytes(start[:2], "big") % 31 == 0


def _chain_pieces(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _unpack_pieces(pieces: Iterator[bytes], coding: str, record: str) -> Iterator[bytes]:
    """Decompress Brotli and zstd; yield other data unchanged.

    Brotli has no magic number. Data is not Brotli if the reader fails before it has produced
    anything and without having reached the end of the data.
    """
    stream_io: Any = import_library("fastwarc.stream_io")
    source = _PieceFile(pieces)
    reader = (stream_io.BrotliReader if coding == "br" else stream_io.ZstdReader)(source)
    while True:
        try:
            part: bytes = reader.read(PIECE)
            if not part:  # data after the end of the coding raises at the next read
                part = reader.read(PIECE)
        except (OSError, ValueError) as error:
            if source.spare is not None and not (source.spare and source.ended):
                yield from _chain_pieces(source.spare, source.read_rest())
                return
            raise CodingDamaged(record=record, fault=str(error)) from None
        if not part:
            return
        source.spare = None
        yield part


class _PieceFile:
    """Pieces in the form of a file, for FastWARC's readers."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._waiting = b""
        self._at = 0
        self.spare: bytes | None = b""
        """Everything read so far, as long as it may have to be yielded unchanged."""
        self.ended = False
        """Whether the reader asked for more data than there is."""

    def read(self, size: int = -1) -> bytes:
        while not self._waiting:
            piece = next(self._pieces, None)
            if piece is None:
                self.ended = True
                return b""
            self._waiting = piece
        given = self._waiting if size < 0 else self._waiting[:size]
        self._waiting = self._waiting[len(given) :]
        self._at += len(given)
        self.spare = _extend_spare(self.spare, given)
        return given

    def read_rest(self) -> Iterator[bytes]:
        """Yield the data that was not read yet."""
        return _chain_pieces(self._waiting, self._pieces)

    def seek(self, _offset: int, _whence: int = 0) -> int:
        raise OSError("this file can only be read from beginning to end")

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        """Do nothing: the owner of the pieces closes their source."""
