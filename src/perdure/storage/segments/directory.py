"""The files of segments: their paths, and the few that are open for readers.

How it works: `segments/000001.warc` is open or freshly sealed; a sealed segment moves into an OCFL
object below `archive/` (see `perdure.storage.segments.ocfl`) at a path that its number determines.
A reader keeps a bounded number of files open. If a segment moves meanwhile, the reader finds it at
its new path.

What must stay true: a number always names the same bytes.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from perdure.errors import Corrupt
from perdure.errors.segment_corruption import SegmentMissing
from perdure.storage.segments import ocfl

SEGMENTS = "segments"
"""The directory of the segments that are not sealed."""
_MOST_OPEN = 128


def segment_path(root: Path, number: int) -> Path:
    """The path of an open or freshly sealed segment."""
    return root / SEGMENTS / f"{number:06d}.warc"


def list_loose(root: Path) -> list[Path]:
    """The files of all segments that are not sealed, and of those whose sealing was interrupted."""
    return sorted((root / SEGMENTS).glob("[0-9]*.warc"))


def list_segments(root: Path) -> list[int]:
    """The numbers of all segments, sealed or not, in order."""
    loose = (int(path.stem) for path in list_loose(root))
    return sorted({*loose, *ocfl.list_objects(root)})


def find_path(root: Path, number: int) -> Path:
    """The file of a segment. Raises Corrupt if it does not exist."""
    for path in _list_paths(root, number):
        if path.exists():
            return path
    raise make_missing(number)


def make_missing(number: int) -> Corrupt:
    """The error that a segment does not exist."""
    return SegmentMissing(segment=number)


def _list_paths(root: Path, number: int) -> Iterator[Path]:
    yield segment_path(root, number)
    yield ocfl.content_path(root, number)


class SegmentFiles:
    """The open files of a registry directory. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._open: OrderedDict[int, SegmentFile] = OrderedDict()
        self._lock = threading.Lock()

    def open_segment(self, number: int) -> SegmentFile:
        """The open file of a segment. Keep a reference while you read, so that it stays open."""
        with self._lock:
            held = self._open.get(number)
            if held is None:
                held = self._open[number] = SegmentFile(self._root, number)
                if len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            else:
                self._open.move_to_end(number)
            return held

    def close(self) -> None:
        with self._lock:
            self._open.clear()


class SegmentFile:
    """An open segment that closes itself when the last reader drops it."""

    def __init__(self, root: Path, number: int) -> None:
        self._root = root
        self._number = number
        # Try to open each path: the segment may move between a test of the path and its opening.
        for path in _list_paths(root, number):
            with contextlib.suppress(FileNotFoundError):
                self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                self._opened = path
                return
        raise make_missing(number)

    @property
    def path(self) -> Path:
        """The present path of the segment, which may have moved since it was opened."""
        if os.path.exists(self._opened):  # noqa: PTH110  (each part asks; half the time of a Path)
            return self._opened
        return find_path(self._root, self._number)

    def read(self, length: int, offset: int) -> bytes:
        """At most `length` bytes from `offset`."""
        return os.pread(self.fd, length, offset)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)
