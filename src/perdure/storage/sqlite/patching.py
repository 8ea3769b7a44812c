"""An earlier copy of a registry file, brought up to date by writing only the pages that differ.

How it works: while the registry is read at one moment, its bytes are compared with those of the
earlier copy, and the runs of pages that differ are kept beside it (`compare_copy`). Later they are
written over the copy, as SQLite itself does it in its rollback mode: first the pages as they were
go to a journal, which is flushed; then the new ones are written and flushed; then the journal is
removed. If a crash comes in between, SQLite finds the journal when the copy is opened, and rolls it
back (https://www.sqlite.org/fileformat2.html, section 3).

A copy that is in use, or has several names (hard links to backups of other days), or is larger
than the registry, is left alone: the caller makes a complete new file.

What must stay true: every connection that SQLite opens to the copy sees the earlier state or the
new one. The copy is locked from the comparison until the last page is written, and read and written
only through SQLite's VFS, which keeps the locks of this process.
"""

from __future__ import annotations

import os
import secrets
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import apsw

from perdure.storage.durable import sync_directory

_FLAGS = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
_RUN = struct.Struct(">QI")
"""Offset and length of a run of pages."""
_MAGIC = bytes.fromhex("d9d505f920a163d7")
_HEAD = struct.Struct(">8sIIIII")
"""The head of a journal: magic, records, nonce, pages before, sector size, page size."""
_SECTOR = 512
_PENDING_BYTE = 1 << 30
"""SQLite locks this byte, and never uses the page that it is on."""
_SUMMED_EVERY = 200  # bytes
_LARGEST_SHARE = 4
"""If more than one page of so many differs, a new file costs less."""


class EarlierCopy:
    """An earlier copy that is locked: others may read it, but not write to it."""

    def __init__(self, path: Path, file: apsw.VFSFile, page: int) -> None:
        self.path = path
        self.file = file
        self.page = page
        self.size: int = file.xFileSize()

    def close(self) -> None:
        """Release the lock."""
        self.file.xClose()

    def lock_alone(self) -> bool:
        """Lock out readers, too. Return False if there are some."""
        try:
            self.file.xLock(apsw.SQLITE_LOCK_EXCLUSIVE)
        except apsw.BusyError:
            return False
        return not has_log(self.path)

    def replace_runs(self, runs: BinaryIO, size: int) -> None:
        """Write runs of pages, so that the copy has `size` bytes. Needs `lock_alone`."""
        journal = _name_journal(self.path)
        self._write_journal(journal, runs)
        sync_directory(self.path.parent)
        for offset, data in read_runs(runs):
            self.file.xWrite(data, offset)
        if self.file.xFileSize() != size:
            self.file.xTruncate(size)
        self.file.xSync(apsw.SQLITE_SYNC_FULL)
        journal.unlink()
        sync_directory(self.path.parent)

    def _write_journal(self, path: Path, runs: BinaryIO) -> None:
        """Write the pages as they are, from which SQLite restores them after a crash."""
        nonce, count = secrets.randbits(32), 0
        with path.open("wb") as journal:
            journal.write(bytes(_SECTOR))
            for offset, data in read_runs(runs):
                last = min(offset + len(data), self.size)
                for at in range(offset, last, self.page):
                    before = self.file.xRead(self.page, at)
                    journal.write(struct.pack(">I", at // self.page + 1))
                    journal.write(before)
                    journal.write(struct.pack(">I", _sum_page(before, nonce)))
                    count += 1
            journal.seek(0)
            pages = self.size // self.page
            journal.write(_HEAD.pack(_MAGIC, count, nonce, pages, _SECTOR, self.page))
            journal.flush()
            os.fsync(journal.fileno())


def lock_copy(path: Path, page: int) -> EarlierCopy | None:
    """Lock an earlier copy of a registry file, or return None if it must not be written over."""
    try:
        if path.is_symlink() or path.stat().st_nlink != 1:
            return None
        file = apsw.VFSFile("", str(path.resolve()), _FLAGS)
    except (OSError, apsw.Error):
        return None
    with suppress(apsw.Error):
        file.xLock(apsw.SQLITE_LOCK_SHARED)
        file.xLock(apsw.SQLITE_LOCK_RESERVED)
        copy = EarlierCopy(path, file, page)
        is_whole = copy.size > 0 and copy.size % page == 0 and not has_log(path)
        if is_whole and int.from_bytes(file.xRead(2, 16), "big") % 65535 == page % 65535:
            return copy
    file.xClose()
    return None


def compare_copy(
    source: apsw.VFSFile, size: int, copy: EarlierCopy, runs: BinaryIO, pages: int
) -> Iterator[float]:
    """Write the runs of pages in which a copy differs from the first `size` bytes of `source`.

    Yields the share done; less than 1 at the end if too many pages differ. Compares `pages` pages
    at a time.
    """
    page, changed, done = copy.page, 0, 0
    most = size // page // _LARGEST_SHARE
    while done < size:
        ours = source.xRead(min(pages * page, size - done), done)
        common = min(len(ours), max(copy.size - done, 0))
        theirs = copy.file.xRead(common, done) if common else b""
        if ours != theirs:
            for start, stop in _find_runs(ours, theirs, page, done):
                runs.write(_RUN.pack(done + start, stop - start))
                runs.write(ours[start:stop])
                changed += (stop - start) // page
            if changed > most:
                return
        done += len(ours)
        yield done / size


def read_runs(runs: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Read the runs that `compare_copy` wrote: the offset of each, and its bytes."""
    runs.seek(0)
    while head := runs.read(_RUN.size):
        offset, length = _RUN.unpack(head)
        yield offset, runs.read(length)


def _find_runs(ours: bytes, theirs: bytes, page: int, begin: int) -> Iterator[tuple[int, int]]:
    """Find the runs of pages that differ; never the page of the lock."""
    first = None
    for at in range(0, len(ours), page):
        differs = ours[at : at + page] != theirs[at : at + page]
        if differs and (begin + at) // page != _PENDING_BYTE // page:
            first = at if first is None else first
        elif first is not None:
            yield first, at
            first = None
    if first is not None:
        yield first, len(ours)


def _sum_page(data: bytes, nonce: int) -> int:
    """The checksum of a page in a journal (section 3 of the file format)."""
    return (nonce + sum(data[len(data) - _SUMMED_EVERY : 0 : -_SUMMED_EVERY])) & 0xFFFFFFFF


def has_log(path: Path) -> bool:
    """Return True if SQLite has a log or a journal beside a file, which belongs to its state."""
    log, journal = path.with_name(f"{path.name}-wal"), _name_journal(path)
    return journal.exists() or (log.exists() and log.stat().st_size > 0)


def _name_journal(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")
