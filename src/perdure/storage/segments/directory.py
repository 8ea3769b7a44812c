"""The stored bytes: a directory of numbered WARC segments, which are read by offset.

How it works: `segments/000001.warc` is open or freshly sealed; a sealed segment moves into an OCFL
object below `archive/` (see `perdure.storage.segments.ocfl`) at a path that its number determines.
A reader keeps a bounded number of files open. If a segment moves meanwhile, the reader finds it at
its new path.

What must stay true: a number always names the same bytes; a read that meets the end of the file
raises Corrupt and never returns fewer bytes than requested.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from perdure.errors import Corrupt
from perdure.storage.segments import ocfl

CHUNK = 256 * 1024  # bytes; measured: at this size, pread keeps up with sendfile
_MOST_OPEN = 128


def segment_path(root: Path, number: int) -> Path:
    """The path of an open or freshly sealed segment."""
    return root / "segments" / f"{number:06d}.warc"


def list_segments(root: Path) -> list[int]:
    """The numbers of all segments, sealed or not, in order."""
    loose = (int(path.stem) for path in (root / "segments").glob("[0-9]*.warc"))
    return sorted({*loose, *ocfl.list_objects(root)})


class Segments:
    """Reads segments of a registry directory. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._open: OrderedDict[int, _File] = OrderedDict()
        self._lock = threading.Lock()

    def find_path(self, number: int) -> Path:
        """The file of a segment. Raises Corrupt if it does not exist."""
        for path in self._list_paths(number):
            if path.exists():
                return path
        raise _make_missing(number)

    def open_segment(self, number: int) -> _File:
        """The open file of a segment. Keep a reference while you read, so that it stays open."""
        with self._lock:
            held = self._open.get(number)
            if held is None:
                held = self._open[number] = self._open_file(number)
                if len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(number)
            return held

    def _open_file(self, number: int) -> _File:
        # Try to open each path: the segment may move between a test of the path and its opening.
        for path in self._list_paths(number):
            with contextlib.suppress(FileNotFoundError):
                return _File(path)
        raise _make_missing(number)

    def _list_paths(self, number: int) -> tuple[Path, Path]:
        return segment_path(self._root, number), ocfl.content_path(self._root, number)

    def read_bytes(self, number: int, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`. Raises Corrupt if the file is shorter."""
        return b"".join(self.read_chunks(number, offset, length))

    def read_chunks(self, number: int, offset: int, length: int) -> Iterator[bytes]:
        """The same bytes in chunks of at most 256 KiB, so that memory use stays constant."""
        file = self.open_segment(number)
        end = offset + length
        while offset < end:
            piece = file.read_at(min(CHUNK, end - offset), offset)
            if not piece:
                raise Corrupt(
                    identifier=f"segment {number}",
                    where=f"offset {offset}",
                    promised=f"{end - offset} more bytes",
                    found="the end of the file",
                )
            offset += len(piece)
            yield piece

    def close(self) -> None:
        with self._lock:
            self._open.clear()


class _File:
    """An open file that closes itself when the last reader drops it."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read_at(self, length: int, offset: int) -> bytes:
        return os.pread(self.fd, length, offset)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)


def _make_missing(number: int) -> Corrupt:
    return Corrupt(
        identifier=f"segment {number}", where="segments/", promised="a file", found="none"
    )
