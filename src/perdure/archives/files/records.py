"""One record of an archive file, open for reading.

How it works: the head is read when the record is opened, the block when it is asked for, piece by
piece. `payload` undoes what the transfer added, the chunks and the content coding, as a browser
would; `raw` gives the record as it lies in the file, uncompressed. A record of an ARC file has the
fields that a WARC record of it would have.

What must stay true: a block that is shorter than its head says is Corrupt, never an end; more than
`STEEPEST` times the bytes that lie in the file is OverBudget, and told before it is given; memory
is bounded.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from perdure.archives.dates import second, whole_second
from perdure.archives.files import heads
from perdure.archives.files.heads import LONGEST_HEAD, Fields, Head
from perdure.archives.files.windows import GZIP, PIECE, Damaged, Readable, Window
from perdure.archives.libraries import library
from perdure.errors import Corrupt, OverBudget

UNMEASURED = 64 << 20
"""Bytes of a payload that nobody asks how they came about."""
STEEPEST = 2200
"""Times the bytes in the file: twice what deflate can reach, so that only what was compressed
twice, or with a coding made for it, gets there."""
_LONGEST_CHUNK_LINE = 4096
_SAMPLE = 512
"""Bytes of text that cannot be taken for a bare deflate stream to their end."""
_MOST_SPARE = 256 << 10
"""Bytes of a payload that may turn out not to be in the coding that its head says."""
_CODINGS = ("Transfer-Encoding", "Content-Encoding")


class WarcRecord:
    """A record; implements `perdure.archives.port.ArchivedRecord`."""

    def __init__(self, window: Window, source: Callable[[], Readable], where: str, length: int):
        """Raises Corrupt where no head of a record begins there. Closes the window in the end.

        `source` gives the bytes from the first of the record on, as often as it is called; `where`
        names it in errors; `length` is that of the record in the file, in bytes.
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
            piece = self._read()
            text = (text + piece).lstrip(b"\r\n") if not text.strip() else text + piece
            arc = not text.startswith(b"WARC/")
            found = heads.arc_head(text) if arc else None
            end = found[2] if found else -1 if arc else heads.end_of_head(text)
            if 0 <= end <= LONGEST_HEAD:
                break
            if not piece or len(text) > LONGEST_HEAD:
                raise self._corrupt("no head of a record")
        self._text = text[:end]
        if found:
            self._head, address, _ = found
            self.fields = _as_warc(self._head, address)
        else:
            self.fields = heads.warc_fields(self._text)
            self._head = heads.warc_head(self.fields)
        return text[end:]

    @property
    def head(self) -> Head:
        """What an index has of it."""
        return self._head

    def _read_http(self) -> None:
        """The head of the HTTP message, where the block begins with one."""
        start = self._buffer
        limit = LONGEST_HEAD if self._head.length is None else self._head.length
        while (end := heads.end_of_head(start[:limit])) < 0 and len(start) < min(
            limit, LONGEST_HEAD
        ):
            piece = self._read()
            if not piece:
                break
            start += piece
        self._buffer = start
        begins = self._head.kind == "request" or start.startswith(b"HTTP/")
        if end < 0 and len(start) >= limit and begins:
            end = limit  # a head and nothing else, as many revisits have
        if end < 0 or end > LONGEST_HEAD:
            self._head_is_endless = begins and len(start) >= LONGEST_HEAD
            return
        if self._head.kind != "request":
            self.status, self.reason = heads.status_line(start)
            if self.status is None:
                return
        self._http = start[:end]

    @cached_property
    def headers(self) -> Fields:
        """Of the archived HTTP message, in order, as recorded."""
        return heads.fields(heads.first_line(self._http)[1])

    def block(self) -> Iterator[bytes]:
        """The block as recorded. Raises Corrupt where it is shorter than its head says."""
        buffer = self._rewound()
        left = self._head.length
        while True:
            piece = buffer if left is None else buffer[:left]
            if piece:
                yield piece
            if left is not None:
                left -= len(piece)
                if not left:
                    return
            buffer = self._read()
            if not buffer:
                if left:
                    raise self._corrupt(f"{left} bytes missing at the end of the block")
                return

    def _rewound(self) -> bytes:
        """The first bytes of the block; the stream stands behind them."""
        if self._begun:
            self._stream = self._source()
            return self._read_head()
        self._begun = True
        buffer, self._buffer = self._buffer, b""
        return buffer

    def raw(self) -> Iterator[bytes]:
        block = self.block()
        yield self._text
        yield from block

    def entity(self) -> Iterator[bytes]:
        """The block without its HTTP head: chunks and codings are as recorded.

        Raises Corrupt, and OverBudget where that head is longer than heads are read.
        """
        if self._head_is_endless:
            what = f"the head of the HTTP message in {self._where}"
            raise OverBudget(what=what, limit=f"{LONGEST_HEAD} bytes")
        behind = len(self._http)
        for piece in self.block():
            if behind >= len(piece):
                behind -= len(piece)
                continue
            yield piece[behind:]
            behind = 0

    def unchunked(self) -> Iterator[bytes]:
        """The entity without the chunks of the transfer; its content coding is as recorded."""
        pieces = self.entity()
        if "chunked" in heads.value_of(self.headers, "Transfer-Encoding").lower():
            pieces = _unchunked(pieces)
        return pieces

    @property
    def payload_length(self) -> int | None:
        """See `ArchivedRecord`: what is neither chunked nor coded is the rest of the block."""
        coded = any(heads.value_of(self.headers, name) for name in _CODINGS)
        if coded or self._head.length is None or self._head_is_endless:
            return None
        return self._head.length - len(self._http)

    def payload(self) -> Iterator[bytes]:
        pieces = self.unchunked()
        codings = heads.value_of(self.headers, "Content-Encoding").lower()
        for coding in reversed([one.strip() for one in codings.split(",") if one.strip()][:4]):
            pieces = self._decoded(pieces, coding)
        return self._measured(pieces)

    def _measured(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        limit = max(UNMEASURED, STEEPEST * self._length)
        total = 0
        for piece in pieces:
            total += len(piece)
            if total > limit:
                raise OverBudget(what=f"the payload of {self._where}", limit=f"{limit} bytes")
            yield piece

    def _decoded(self, pieces: Iterator[bytes], coding: str) -> Iterator[bytes]:
        if coding in ("gzip", "x-gzip", "deflate"):
            return _inflated(pieces, coding, self._corrupt)
        if coding in ("br", "zstd"):
            return _unpacked(pieces, coding, self._corrupt)
        return pieces  # `identity`, or one that nobody knows: as it is

    def _read(self) -> bytes:
        try:
            return self._stream.read(PIECE)
        except Damaged as error:
            raise self._corrupt(str(error)) from None

    def _corrupt(self, found: str) -> Corrupt:
        return Corrupt(
            identifier=self._where, where="its archive file", promised="a whole record", found=found
        )

    def close(self) -> None:
        self._window.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _as_warc(head: Head, address: str) -> Fields:
    """The fields that a WARC record has where an ARC record has one line."""
    found = [("WARC-Type", head.kind)]
    if head.uri:
        found.append(("WARC-Target-URI", head.uri))
    with suppress(ValueError):  # a date that is none is left out: nothing is made up
        found.append(("WARC-Date", whole_second(second(head.date))))
    if address and address != "0.0.0.0":  # noqa: S104  # ARC's way to say that it is not known
        found.append(("WARC-IP-Address", address))
    if head.content_type:
        found.append(("Content-Type", head.content_type))
    if head.length is not None:
        found.append(("Content-Length", str(head.length)))
    return found


def _unchunked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Without the framing of chunks (RFC 9112 section 7.1).

    Many records say `chunked` and are not, because whoever wrote them had undone it: what does not
    begin with a chunk is given as it is, and so is the rest behind a chunk that cannot be one.
    """
    buffer = b""
    left = 0
    begun = False
    for piece in pieces:
        buffer += piece
        while buffer:
            if left:
                part = buffer[:left]
                yield part
                left -= len(part)
                buffer = buffer[len(part) :]
                continue
            text = buffer.lstrip(b"\r\n") if buffer[:1] in b"\r\n" else buffer
            line, newline, rest = text.partition(b"\n")
            if not newline and len(text) < _LONGEST_CHUNK_LINE:
                break
            size = line.partition(b";")[0].strip()
            if not newline or not _is_hexadecimal(size):
                yield buffer
                yield from pieces
                return
            left, buffer, begun = int(size, 16), rest, True
            if not left:
                return
    rest = buffer.strip(b"\r\n")
    if not begun or (rest and not _is_hexadecimal(rest)):  # else framing, cut off
        yield buffer


def _is_hexadecimal(text: bytes) -> bool:
    return 0 < len(text) <= 16 and all(byte in b"0123456789abcdefABCDEF" for byte in text)


def _inflated(
    pieces: Iterator[bytes], coding: str, corrupt: Callable[[str], Corrupt]
) -> Iterator[bytes]:
    """gzip, zlib and, as `deflate`, the bare stream; what is none of them stays as it is."""
    first = b""
    while len(first) < _SAMPLE and (piece := next(pieces, b"")):
        first += piece
    if first.startswith(GZIP) or _is_zlib(first):
        inflate = zlib.decompressobj(47)
    elif first and coding == "deflate":
        inflate = zlib.decompressobj(-15)
    else:
        yield from _chain(first, pieces)
        return
    spare: bytes | None = b""  # all that was read, until something comes out of it
    for piece in _chain(first, pieces):
        spare = _longer(spare, piece)
        fed = piece
        while fed:
            try:
                part = inflate.decompress(fed, PIECE)
            except zlib.error as error:
                if spare is not None:  # it says that it is compressed, and is not
                    yield from _chain(spare, pieces)
                    return
                raise corrupt(f"content coding: {error}") from None
            if part:
                spare = None
                yield part
            fed = inflate.unconsumed_tail
            if inflate.eof:
                return
    while part := inflate.decompress(b"", PIECE):
        yield part
    if not inflate.eof:
        raise corrupt("content coding: it ends too early")


def _longer(spare: bytes | None, piece: bytes) -> bytes | None:
    """What is kept to be given back, and more of it; None where that is nothing or too much."""
    return None if spare is None or len(spare) > _MOST_SPARE else spare + piece


def _is_zlib(start: bytes) -> bool:
    return len(start) > 1 and start[0] & 15 == 8 and int.from_bytes(start[:2], "big") % 31 == 0


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _unpacked(
    pieces: Iterator[bytes], coding: str, corrupt: Callable[[str], Corrupt]
) -> Iterator[bytes]:
    """Brotli and zstd; what is neither stays as it is.

    Brotli has no mark to be known by: it is none where the reader gives up before it has given
    anything, and without having asked for more than there is.
    """
    stream_io: Any = library("fastwarc.stream_io")
    source = _Reading(pieces)
    reader = (stream_io.BrotliReader if coding == "br" else stream_io.ZstdReader)(source)
    while True:
        try:
            part: bytes = reader.read(PIECE)
            if not part:  # what lies behind the end of the coding is told at the next reading
                part = reader.read(PIECE)
        except (OSError, ValueError) as error:
            if source.spare is not None and not (source.spare and source.ended):
                yield from _chain(source.spare, source.rest())
                return
            raise corrupt(f"content coding: {error}") from None
        if not part:
            return
        source.spare = None
        yield part


class _Reading:
    """Pieces as a file, as FastWARC's readers take one."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._waiting = b""
        self._at = 0
        self.spare: bytes | None = b""
        """All that was read, as long as it may have to be given back."""
        self.ended = False
        """Whether more was asked for than there is."""

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
        self.spare = _longer(self.spare, given)
        return given

    def rest(self) -> Iterator[bytes]:
        """What was not read."""
        return _chain(self._waiting, self._pieces)

    def seek(self, _offset: int, _whence: int = 0) -> int:
        raise OSError("read from beginning to end")

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        """Whoever gives the pieces closes what they come from."""
