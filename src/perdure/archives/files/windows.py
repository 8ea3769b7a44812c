"""Bytes of an archive file: a stretch of it, and what a compressed member of it holds.

How it works: a `Window` is a file, or one that lies stored in a ZIP file at an offset, read with
`pread`, so that threads share it and nothing is mapped that another process could cut off. A
`Member` is what was compressed together, one record as a rule: gzip with zlib, which tells where it
ends; zstd and lz4 with FastWARC's readers, which do not, so that whoever reads on looks for the
next frame.

What must stay true: no more than a few hundred kibibytes are held at a time, however much a member
holds; damage is raised as Damaged, with the bytes before it already given.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from perdure.archives.libraries import library

PIECE = 64 << 10
GZIP = b"\x1f\x8b\x08"
ZSTD = b"\x28\xb5\x2f\xfd"
LZ4 = b"\x04\x22\x4d\x18"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
_LONGEST_DICTIONARY = 16 << 20
_SEARCHED = 4 << 20
CODECS = {"gzip": GZIP, "zstd": ZSTD, "lz4": LZ4}


class Damaged(ValueError):
    """Compressed bytes that cannot be what was written, or not all of it, and why."""


@lru_cache(maxsize=8)
def pattern(needle: bytes) -> re.Pattern[bytes]:
    """Finds a few bytes among compressed ones in half the time of `bytes.find`."""
    return re.compile(re.escape(needle))


class Window:
    """A stretch of a file, from `base` on. Offsets are counted from its beginning."""

    def __init__(self, path: str | Path, base: int = 0, size: int | None = None) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._base = base
        there = max(os.fstat(self._fd).st_size - base, 0)
        self.size = there if size is None else min(size, there)
        self._at = 0
        self._last_at = 0
        self._last = self._before = b""
        """What `read` gave last, and before: who reads a file through looks back at it."""

    def at(self, offset: int, length: int) -> bytes:
        """At most `length` bytes."""
        start = offset - self._last_at
        if start >= 0 and start + length <= len(self._last):
            return self._last[start : start + length]
        start += len(self._before)
        if start >= 0 and start + length <= len(self._before):
            return self._before[start : start + length]
        length = min(length, self.size - offset)
        return os.pread(self._fd, length, self._base + offset) if length > 0 else b""

    def find(self, needle: bytes, start: int, stop: int) -> int:
        """Where `needle` stands first in [start, stop); -1 where it does not."""
        stop = min(stop, self.size)
        search = pattern(needle).search
        while start < stop:
            piece = self.at(start, min(4 * PIECE, stop - start))
            found = search(piece)
            if found:
                return start + found.start()
            if start + len(piece) >= stop or len(piece) < len(needle):
                return -1
            start += len(piece) - len(needle) + 1
        return -1

    # As a file, for libraries that read one

    def read(self, size: int = -1) -> bytes:
        piece = self.at(self._at, self.size - self._at if size < 0 else size)
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def codec_of(window: Window, offset: int = 0) -> str:
    """`gzip`, `zstd`, `lz4`, or empty where what begins there is not compressed."""
    start = window.at(offset, 4)
    if start == _ZSTD_DICTIONARY:
        return "zstd"
    return next((name for name, magic in CODECS.items() if start.startswith(magic)), "")


def next_frame(window: Window, codec: str, start: int) -> int:
    """Where the next member begins that holds a record, from `start` on; else the end.

    The few bytes that begin one occur in compressed data by chance, too, so it is tried.
    """
    magic = CODECS[codec]
    while (start := window.find(magic, start, window.size)) >= 0:
        if begins_record(window, codec, start):
            return start
        start += 1
    return window.size


def codec_within(window: Window) -> str:
    """How a file is compressed whose beginning is damaged; empty where nothing says so."""
    for codec in CODECS:
        start = window.find(CODECS[codec], 0, _SEARCHED)
        while 0 <= start < _SEARCHED:
            if begins_record(window, codec, start):
                return codec
            start = window.find(CODECS[codec], start + 1, _SEARCHED)
    return ""


def begins_within(window: Window) -> bool:
    """Whether a record that is not compressed seems to begin near the beginning of a file."""
    return window.find(b"\r\nWARC-Type:", 0, _SEARCHED) >= 0


def begins_record(window: Window, codec: str, offset: int) -> bool:
    try:
        return member(window, codec, offset).read(5) == b"WARC/"
    except Damaged:
        return False


class Readable(Protocol):
    """Something to read from, up to an end."""

    def read(self, size: int) -> bytes: ...


class Stretch:
    """Bytes as they are, up to `stop`."""

    def __init__(self, window: Window, offset: int, stop: int) -> None:
        self._window = window
        self._at = offset
        self._stop = stop

    def read(self, size: int) -> bytes:
        piece = self._window.at(self._at, min(size, self._stop - self._at))
        self._at += len(piece)
        return piece


class Gunzipped:
    """What one gzip member holds, or several to their end."""

    def __init__(
        self, window: Window, offset: int, *, several: bool = False, feed: int = PIECE
    ) -> None:
        """`feed`: bytes inflated at a time. What comes before damage in them is lost."""
        self._window = window
        self._size = feed
        self._next = offset
        self._several = several
        self._inflate = zlib.decompressobj(31)
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; empty at the end. Raises Damaged."""
        while not self._inflate.eof:
            fed = self._inflate.unconsumed_tail or self._feed()
            try:
                piece = self._inflate.decompress(fed, size)
            except zlib.error as error:
                raise Damaged(f"gzip: {error}") from None
            if piece:
                return piece
            if not fed:
                raise Damaged("gzip: the file ends within a member")
        if self._several and self._window.at(self.end, 3) == GZIP:
            self._next = self.end
            self._inflate = zlib.decompressobj(31)
            return self.read(size)
        return b""

    def _feed(self) -> bytes:
        piece = self._window.at(self._next, self._size)
        self._next += len(piece)
        return piece

    @property
    def end(self) -> int:
        """Behind the member, once it was read to its end."""
        return self._next - len(self._inflate.unused_data)


class Unframed:
    """What zstd or lz4 frames hold, up to `stop`."""

    def __init__(self, window: Window, codec: str, offset: int, stop: int) -> None:
        self._window, self._codec, self._offset, self._stop = window, codec, offset, stop
        self._reader: Any = None

    def read(self, size: int) -> bytes:
        """At most `size` bytes; empty at the end. Raises Damaged."""
        try:
            if self._reader is None:
                self._reader = self._begun()
            piece: bytes = self._reader.read(size)
        except (OSError, ValueError) as error:
            raise Damaged(f"{self._codec}: {error}") from None
        return piece

    def _begun(self) -> Any:
        stream_io: Any = library("fastwarc.stream_io")
        source = _Between(self._window, self._offset, self._stop)
        if self._codec == "lz4":
            return stream_io.Lz4Reader(source)
        return stream_io.ZstdReader(source, dictionary=_dictionary(self._window))


class _Between:
    """A file object over a stretch, as FastWARC's readers take one."""

    def __init__(self, window: Window, offset: int, stop: int) -> None:
        self._window, self._start, self._stop, self._at = window, offset, stop, offset

    def read(self, size: int = -1) -> bytes:
        left = self._stop - self._at
        piece = self._window.at(self._at, left if size < 0 else min(size, left))
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
        """The window stays open."""


def _dictionary(window: Window) -> bytes | None:
    """The dictionary that a `.warc.zst` file may begin with (the WARC-zstd proposal of 2019)."""
    start = window.at(0, 8)
    if start[:4] != _ZSTD_DICTIONARY:
        return None
    length = int.from_bytes(start[4:8], "little")
    if length > _LONGEST_DICTIONARY:
        raise Damaged(f"a dictionary of {length} bytes")
    text = window.at(8, length)
    if text[:4] == ZSTD:
        stream_io: Any = library("fastwarc.stream_io")
        text = stream_io.ZstdReader(_Between(window, 8, 8 + length)).read(_LONGEST_DICTIONARY)
    return text


def member(window: Window, codec: str, offset: int, length: int = 0) -> Readable:
    """The uncompressed bytes from an offset on; `length` where it is known, in the file."""
    stop = offset + length if length else window.size
    if codec == "gzip":
        return Gunzipped(window, offset, feed=min(length, PIECE) or PIECE)
    if codec:
        return Unframed(window, codec, offset, stop)
    return Stretch(window, offset, stop)


def whole(window: Window, codec: str) -> Readable:
    """All that a file holds, where it was compressed as one."""
    if codec == "gzip":
        return Gunzipped(window, 0, several=True)
    return Unframed(window, codec, 0, window.size)


def pieces(source: Readable, size: int = PIECE) -> Iterator[bytes]:
    while piece := source.read(size):
        yield piece
