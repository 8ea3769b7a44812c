"""Bytes at the end of segments: append records, make them durable, undo the uncommitted ones.

How it works: the records of a batch collect in memory. One call writes them (one for every 8 MiB of
a large batch) and one `fdatasync` flushes them. The disk starts with written data at once, so the
flush has little left to wait for. Content that arrived as a file becomes a segment of its own:
the appender writes the head into the space reserved at its start, flushes the file and renames it
into place. A registry has one appender, in the process that holds the write lock.

What must stay true: `end` grows only through `note_commit`, which the registrar calls after its
transaction is durable; `rewind_batch` undoes everything else; a flush that failed is never
repeated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from perdure.errors.corruption import FileTooShort
from perdure.storage.byte_ports import FlushFailed
from perdure.storage.durable import sync_directory
from perdure.storage.segments import warc
from perdure.storage.segments.directory import segment_path
from perdure.storage.spool import HEAD_ROOM

_MOST_BUFFERED = 8 * 1024 * 1024


class _AdoptedFile(NamedTuple):
    """A spooled file that became a segment, with its earlier path and length."""

    source: Path
    end: int


class Appender:
    """Appends to the open segment `number`, whose committed length is `end`.

    Raises Corrupt if the file is shorter than the registry says.
    """

    def __init__(self, root: Path, *, number: int, end: int, next_number: int) -> None:
        self._root = root
        self.number = number
        self.end = end
        self._next = next_number
        self._adopted: dict[int, _AdoptedFile] = {}
        self._buffer: list[bytes] = []
        self._written = end
        self._position = end
        self.record_ids = warc.make_record_ids()
        """New ids for the heads of records."""
        self._fd = -1
        if number:
            self._open_segment(number, end)

    def _open_segment(self, number: int, end: int) -> None:
        path = segment_path(self._root, number)
        size = path.stat().st_size
        if size < end:
            raise FileTooShort(file=path.name, expected=end, size=size)
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        if size > end:
            self._set_aside(path, end, size)

    def _set_aside(self, path: Path, end: int, size: int) -> None:
        """Move the bytes of an interrupted batch to `aside`, where you can inspect them.

        They are never served.
        """
        aside = self._root / "aside"
        aside.mkdir(exist_ok=True)
        with (aside / f"{path.stem}-{end}-{size}.tail").open("wb") as file:
            offset = end
            while piece := os.pread(self._fd, 1 << 20, offset):
                file.write(piece)
                offset += len(piece)
            file.flush()
            os.fsync(file.fileno())
        os.ftruncate(self._fd, end)
        os.fsync(self._fd)

    def start_segment(self) -> int:
        """Close the open segment, open a new one, and return its number.

        If it raises OSError, the earlier segment is still open.
        """
        number = self._take_number()
        path = segment_path(self._root, number)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with _translate_errors():
                sync_directory(path.parent)
        except FlushFailed:
            os.close(fd)
            raise
        self.close()
        self._fd = fd
        self.number, self.end, self._written, self._position = number, 0, 0, 0
        return number

    def retire_segment(self) -> None:
        """Close the open segment; the next record needs another. Between batches only."""
        self.close()
        self.number = self.end = self._written = self._position = 0

    def append_record(self, head: bytes, data: bytes) -> tuple[int, int]:
        """Queue a record, and return the segment and the offset of its first content byte.

        Raises OSError if a large batch cannot be written.
        """
        offset = self._position + len(head)
        self._buffer += (head, data, warc.TRAILER)
        self._position = offset + len(data) + len(warc.TRAILER)
        if self._position - self._written > _MOST_BUFFERED:
            self._write_records()
        return self.number, offset

    def adopt_file(self, block: warc.WarcBlock, source: Path) -> tuple[int, int]:
        """Turn a spooled file into a segment of its own, durable at once. Raises OSError."""
        number = self._take_number()
        target = segment_path(self._root, number)
        fd = os.open(source, os.O_RDWR | os.O_CLOEXEC)
        try:
            _write_all(fd, warc.make_head(block, id=next(self.record_ids), size=HEAD_ROOM), 0)
            _write_all(fd, warc.TRAILER, HEAD_ROOM + block.length)
            with _translate_errors():
                os.fsync(fd)
        finally:
            os.close(fd)
        source.replace(target)
        with _translate_errors():
            sync_directory(target.parent)
        self._adopted[number] = _AdoptedFile(source, HEAD_ROOM + block.length)
        return number, HEAD_ROOM

    def send_records(self) -> None:
        """Start writing all queued records to the disk, without waiting for it.

        Raises OSError if they cannot be written (then `rewind_batch` and go on).
        """
        if self._buffer:
            self._write_records()

    def flush_records(self) -> None:
        """Make all queued records durable.

        Raises OSError if they cannot be written, FlushFailed if they may be lost (then stop).
        """
        self.send_records()
        if self._position > self.end:
            with _translate_errors():
                os.fdatasync(self._fd)

    def _write_records(self) -> None:
        data = b"".join(self._buffer)
        self._buffer.clear()
        _write_all(self._fd, data, self._written)
        # Linux begins to write dirty pages that are not needed, and drops only clean ones
        # (mm/fadvise.c). If this write fails, the flush reports it.
        os.posix_fadvise(self._fd, self._written, len(data), os.POSIX_FADV_DONTNEED)
        self._written += len(data)

    def list_lengths(self) -> list[tuple[int, int]]:
        """Number and new length of every segment that grows in this batch."""
        grown = [(number, one.end + len(warc.TRAILER)) for number, one in self._adopted.items()]
        return [*grown, (self.number, self._position)] if self._position > self.end else grown

    def note_commit(self) -> None:
        """Accept the new end, which the registry has committed."""
        self.end = self._position
        self._adopted.clear()

    def rewind_batch(self) -> None:
        """Undo everything queued or written since the last commit.

        Spooled files get back their content and their place.
        """
        self._buffer.clear()
        self._written = self._position = self.end
        for number, one in self._adopted.items():
            path = segment_path(self._root, number)
            os.truncate(path, one.end)
            path.replace(one.source)
        self._adopted.clear()
        if self._fd >= 0:
            os.ftruncate(self._fd, self.end)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _take_number(self) -> int:
        number = self._next
        self._next += 1
        return number


def _write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FlushFailed(error.errno, error.strerror) from error
