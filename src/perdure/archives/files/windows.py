"""Read the bytes of an archive file: a stretch of it, or a compressed member.

How it works: a `Window` is a file, or one that is stored in a ZIP file at an offset. It is read
with `pread`, so that threads can share it; it is not mapped, because another process could truncate
it. A member is the unit of compression, usually one record. For gzip, zlib reports where a member
ends. For zstd and lz4, FastWARC's readers do not, so the caller searches for the next frame.

What must stay true: at most a few hundred kibibytes are held in memory, however large a member is;
damage raises Damaged after the bytes before it were returned.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

from perdure.archives.libraries import import_library
from perdure.errors.root import count_things

PIECE = 64 << 10
GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
LZ4 = b"\x04\x22\x4d\x18"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
_LONGEST_DICTIONARY = 16 << 20
_SEARCHED = 4 << 20
CODECS = {"gzip": GZIP, "zstd": ZSTD, "lz4": LZ4}


class DamagedBytes(ValueError):
    """Compressed bytes that are damaged or incomplete. The text says how."""


@lru_cache(maxsize=8)
def compile_needle(needle: bytes) -> re.Pattern[bytes]:
    """Compile a pattern for a few bytes: in compressed data it is twice as fast as `find`."""
    return re.compile(re.escape(needle))


class Window:
    """A stretch of a file, from `base` on. Offsets count from its beginning."""

    def __init__(self, path: str | Path, base: int = 0, size: int | None = None) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._base = base
        there = max(os.fstat(self._fd).st_size - base, 0)
        self.size = there if size is None else min(size, there)
        self._at = 0
        self._last_at = 0
        self._last = self._before = b""
        """The last two results of `read`: a scan of a file looks back at them."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return at most `length` bytes from an offset."""
        start = offset - self._last_at
        if start >= 0 and start + length <= len(self._last):
            return self._last[start : start + length]
        start += len(self._before)
        if start >= 0 and start + length <= len(self._before):
            return self._before[start : start + length]
        length = min(length, self.size - offset)
        return os.pread(self._fd, length, self._base + offset) if length > 0 else b""

    def find_bytes(self, needle: bytes, start: int, stop: int) -> int:
        """Return the first offset of `needle` in [start, stop), or -1."""
        stop = min(stop, self.size)
        search = compile_needle(needle).search
        while start < stop:
            piece = self.read_at(start, min(4 * PIECE, stop - start))
            found = search(piece)
            if found:
                return start + found.start()
            if start + len(piece) >= stop or len(piece) < len(needle):
                return -1
            start += len(piece) - len(needle) + 1
        return -1

    # The interface of a file, for libraries that read files

    def read(self, size: int = -1) -> bytes:
        piece = self.read_at(self._at, self.size - self._at if size < 0 else size)
        follows = self._at == self._last_at + len(self._last)
        self._last_at, self._last, self._before = self._at, piece, self._last if follows else b""
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def detect_codec(window: Window, offset: int = 0) -> str:
    """Return `gzip`, `zstd` or `lz4`, or empty if the data at the offset is not compressed."""
    start = window.read_at(offset, 4)
    if start == _ZSTD_DICTIONARY:
        return "zstd"
    return next((name for name, magic in CODECS.items() if start.startswith(magic)), "")


def find_next_frame(window: Window, codec: str, start: int) -> int:
    """Return the offset of the next member with a record, from `start` on, or the end of the file.

    The few bytes that begin a member also occur in compressed data by chance, so each is tried.
    """
    magic = CODECS[codec]
    while (start := window.find_bytes(magic, start, window.size)) >= 0:
        if begins_record(window, codec, start):
            return start
        start += 1
    return window.size


def search_codec(window: Window) -> str:
    """Return how a file with a damaged beginning is compressed; empty if that is not known."""
    for codec in CODECS:
        start = window.find_bytes(CODECS[codec], 0, _SEARCHED)
        while 0 <= start < _SEARCHED:
            if begins_record(window, codec, start):
                return codec
            start = window.find_bytes(CODECS[codec], start + 1, _SEARCHED)
    return ""


def begins_within(window: Window) -> bool:
    """Return whether an uncompressed record seems to begin near the start of a file."""
    return window.find_bytes(b"\r\nWARC-Type:", 0, _SEARCHED) >= 0


def begins_record(window: Window, codec: str, offset: int) -> bool:
    try:
        return open_member(window, codec, offset).read(5) == b"WARC/"
    except DamagedBytes:
        return False


class Readable(Protocol):
    """A source of bytes with an end."""

    def read(self, size: int) -> bytes: ...


class PlainMember:
    """Uncompressed bytes, up to `stop`."""

    def __init__(self, window: Window, offset: int, stop: int) -> None:
        self._window = window
        self._at = offset
        self._stop = stop

    def read(self, size: int) -> bytes:
        piece = self._window.read_at(self._at, min(size, self._stop - self._at))
        self._at += len(piece)
        return piece


class GzipMember:
    """The contents of one gzip member, or of several that follow each other."""

    def __init__(
        self, window: Window, offset: int, *, several: bool = False, feed: int = PIECE
    ) -> None:
        """`feed`: compressed bytes read at a time. Data before damage in the same bytes is lost."""
        self._window = window
        self._size = feed
        self._next = offset
        self._several = several
        self._inflate = zlib.decompressobj(31)
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; empty at the end. Raises Damaged."""
        while not self._inflate.eof:
            fed = self._inflate.unconsumed_tail or self._read_compressed()
            try:
                piece = self._inflate.decompress(fed, size)
            except zlib.error as error:
                raise DamagedBytes(f"gzip: {error}") from None
            if piece:
                return piece
            if not fed:
                raise DamagedBytes("gzip: the file ends within a member")
        if self._several and self._window.read_at(self.end, 3) == GZIP:
            self._next = self.end
            self._inflate = zlib.decompressobj(31)
            return self.read(size)
        return b""

    def _read_compressed(self) -> bytes:
        piece = self._window.read_at(self._next, self._size)
        self._next += len(piece)
        return piece

    @property
    def end(self) -> int:
        """Offset after the member, once it was read to its end."""
        return self._next - len(self._inflate.unused_data)


class FramedMember:
    """The contents of zstd or lz4 frames, up to `stop`."""

    def __init__(self, window: Window, codec: str, offset: int, stop: int) -> None:
        self._window, self._codec, self._offset, self._stop = window, codec, offset, stop
        self._reader: Any = None

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; empty at the end. Raises Damaged."""
        try:
            if self._reader is None:
                self._reader = self._open_reader()
            piece: bytes = self._reader.read(size)
        except (OSError, ValueError) as error:
            raise DamagedBytes(f"{self._codec}: {error}") from None
        return piece

    def _open_reader(self) -> Any:
        stream_io: Any = import_library("fastwarc.stream_io")
        source = _StretchFile(self._window, self._offset, self._stop)
        if self._codec == "lz4":
            return stream_io.Lz4Reader(source)
        return stream_io.ZstdReader(source, dictionary=read_dictionary(self._window))


class _StretchFile:
    """A file object for a stretch, for FastWARC's readers."""

    def __init__(self, window: Window, offset: int, stop: int) -> None:
        self._window, self._start, self._stop, self._at = window, offset, stop, offset

    def read(self, size: int = -1) -> bytes:
        left = self._stop - self._at
        piece = self._window.read_at(self._at, left if size < 0 else min(size, left))
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: self._start, os.SEEK_CUR: self._at, os.SEEK_END: self._stop}[whence]
        self._at = min(max(start + offset, self._start), self._stop)
        return self.tell()

    def tell(self) -> int:
        return self._at - self._start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Do nothing: the window stays open."""


def read_dictionary(window: Window) -> bytes | None:
    """Return the dictionary at the start of a `.warc.zst` file (the WARC-zstd proposal of 2019)."""
    start = window.read_at(0, 8)
    if start[:4] != _ZSTD_DICTIONARY:
        return None
    length = int.from_bytes(start[4:8], "little")
    if length > _LONGEST_DICTIONARY:
        raise DamagedBytes(f"its dictionary of {count_things(length, 'byte')} is too large")
    text = window.read_at(8, length)
    if text[:4] == ZSTD:
        stream_io: Any = import_library("fastwarc.stream_io")
        text = stream_io.ZstdReader(_StretchFile(window, 8, 8 + length)).read(_LONGEST_DICTIONARY)
    return text


def find_first_frame(window: Window) -> int:
    """Return the offset at which records begin: after the dictionary, if the file has one."""
    start = window.read_at(0, 8)
    if start[:4] != _ZSTD_DICTIONARY or len(start) < 8:
        return 0
    return min(8 + int.from_bytes(start[4:8], "little"), window.size)


def open_member(window: Window, codec: str, offset: int, length: int = 0) -> Readable:
    """Open the uncompressed bytes at an offset. `length`: bytes in the file, if known."""
    stop = offset + length if length else window.size
    if codec == "gzip":
        return GzipMember(window, offset, feed=min(length, PIECE) or PIECE)
    if codec:
        return FramedMember(window, codec, offset, stop)
    return PlainMember(window, offset, stop)


def open_whole(window: Window, codec: str) -> Readable:
    """Open a file that was compressed as one stream."""
    if codec == "gzip":
        return GzipMember(window, 0, several=True)
    return FramedMember(window, codec, 0, window.size)


def read_pieces(source: Readable, size: int = PIECE) -> Iterator[bytes]:
    while piece := source.read(size):
        yield piece
