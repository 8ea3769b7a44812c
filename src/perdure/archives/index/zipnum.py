"""ZipNum: a sorted run of captures in small compressed blocks, with the first key of each block.

    run.cdxj.gz   CDXJ, 128 lines in each gzip member
    run.idx       one line for each block: first `key SP time`, file, offset, length, number

How it works: web archives use this form for indexes that are too large for a database; pywb reads
it, too. The keys of the blocks are held in memory (a few bytes for each capture). A look-up is a
binary search among them, one `pread`, the inflation of one block, and a binary search in it.

What must stay true: a run never changes; it is complete on disk before anything refers to it; a
scan costs the same, however many captures a URL has.
"""

from __future__ import annotations

import os
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from perdure.archives.index import cdxj
from perdure.archives.port import Capture
from perdure.errors.archive_corruption import BlockTableDamaged, IndexBlockCutOff, IndexBlockDamaged
from perdure.storage.durable import sync_directory

LINES = 128
"""Lines of a block: fewer cost space, more cost time."""
_LEVEL = 9
_GZIP = 31
_LARGEST_BLOCK = 64 << 20


class WrittenRun(msgspec.Struct, frozen=True):
    """The size of a run that was written."""

    lines: int
    size: int
    """Bytes of both files."""


def run_paths(directory: Path, name: str) -> tuple[Path, Path]:
    """Return the paths of a run's blocks and of their keys."""
    return directory / f"{name}.cdxj.gz", directory / f"{name}.idx"


def write_run(directory: Path, name: str, lines: Iterable[bytes]) -> WrittenRun:
    """Write a run of CDXJ lines that are sorted by key and time. It is durable on return.

    Raises OSError, and then leaves no files.
    """
    blocks, keys = run_paths(directory, name)
    directory.mkdir(parents=True, exist_ok=True)
    count = offset = number = 0
    try:
        with blocks.open("xb") as into, keys.open("xb") as index:
            for block in _split_blocks(lines):
                packed = _pack_block(b"".join(block))
                into.write(packed)
                index.write(
                    b"%b\t%b\t%d\t%d\t%d\n"
                    % (read_position(block[0]), blocks.name.encode(), offset, len(packed), number)
                )
                count, offset, number = count + len(block), offset + len(packed), number + 1
            for file in (into, index):
                file.flush()
                os.fsync(file.fileno())
        sync_directory(directory)
    except BaseException:
        remove_run(directory, name)
        raise
    return WrittenRun(count, offset + keys.stat().st_size)


def _split_blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    for line in lines:
        block.append(line)
        if len(block) == LINES:
            yield block
            block = []
    if block:
        yield block


def _pack_block(text: bytes) -> bytes:
    packing = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return packing.compress(text) + packing.flush()


def remove_run(directory: Path, name: str) -> None:
    """Delete a run. Readers that have it open can go on reading."""
    for path in run_paths(directory, name):
        path.unlink(missing_ok=True)


def read_position(line: bytes) -> bytes:
    """Return `key SP time` of a line."""
    return line[: line.index(b" ", line.index(b" ") + 1)]


class Run:
    """A run, open for reading. Safe to use from several threads."""

    def __init__(self, directory: Path, name: str) -> None:
        """Open a run. Raises FileNotFoundError if it is gone, Corrupt if its index is damaged."""
        blocks, keys = run_paths(directory, name)
        self.name = name
        # Closed with its last reference: a reader may be at work when a merge replaces the run.
        self._file = blocks.open("rb", buffering=0)
        self._keys: list[bytes] = []
        self._offsets = array("Q")
        self._lengths = array("L")
        with keys.open("rb") as index:
            for line in index:
                try:
                    key, _, offset, length, _ = line.rstrip(b"\n").split(b"\t")
                    self._offsets.append(int(offset))
                    self._lengths.append(int(length))
                except (ValueError, OverflowError):
                    raise BlockTableDamaged(run=name) from None
                self._keys.append(key)

    def scan_range(
        self,
        low: str,
        high: str,
        *,
        backwards: bool,
        limit: int,
        keep: Callable[[str], bool] = lambda _: True,
    ) -> list[Capture]:
        """See `perdure.archives.port.Captures`. `keep` decides which archive files count."""
        found: list[Capture] = []
        for line in self.read_lines(low.encode(), high.encode(), backwards=backwards):
            capture = cdxj.parse_line(line)
            if keep(capture.file):
                found.append(capture)
                if len(found) >= limit:
                    break
        return found

    def read_lines(self, low: bytes, high: bytes, *, backwards: bool = False) -> Iterator[bytes]:
        """Yield the lines of a range, in order or in reverse."""
        if backwards:
            block = bisect_left(self._keys, high) - 1
            while block >= 0:
                lines = self._read_block(block)
                end = bisect_left(lines, high, key=read_position)
                start = bisect_left(lines, low, key=read_position)
                yield from reversed(lines[start:end])
                if start:
                    return
                block -= 1
            return
        for block in range(max(bisect_left(self._keys, low) - 1, 0), len(self._keys)):
            if self._keys[block] >= high:
                return
            lines = self._read_block(block)
            start = bisect_left(lines, low, key=read_position)
            end = bisect_left(lines, high, key=read_position)
            yield from lines[start:end]
            if end < len(lines):
                return

    def __iter__(self) -> Iterator[bytes]:
        """Yield all lines, with their line breaks."""
        for block in range(len(self._keys)):
            for line in self._read_block(block):
                yield line + b"\n"

    def _read_block(self, number: int) -> list[bytes]:
        length = self._lengths[number]
        packed = os.pread(self._file.fileno(), length, self._offsets[number])
        try:
            inflate = zlib.decompressobj(_GZIP)
            text = inflate.decompress(packed, _LARGEST_BLOCK)
        except zlib.error as error:
            raise IndexBlockDamaged(run=self.name, block=number, fault=str(error)) from None
        if len(packed) < length or not inflate.eof:
            raise IndexBlockCutOff(run=self.name, block=number)
        lines = text.split(b"\n")
        lines.pop()
        return lines
