"""Copies of an embedded registry, made while it is in use.

How it works: a copy shows the registry as it is at one moment. In WAL mode, a part of that state is
in the log. So first the log is moved into the file, while the write lock is held for this moment;
then a read transaction begins. As long as it is open, SQLite changes nothing in the file that this
reader may need (https://www.sqlite.org/walformat.html, section 2.3.1), so the file itself is the
state, and its bytes are copied. If another reader keeps the log from being moved, or a writer does
not release the lock soon, SQLite's own backup copies page after page, which takes four times as
long. If the target has an earlier copy, only the pages in which it differs are written
(`perdure.storage.sqlite.patching`).

What must stay true: the source is read only with `open_raw`, so that this process keeps its locks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO

import apsw

from perdure.storage.durable import replace_durably, sync_file, write_all
from perdure.storage.sqlite import patching
from perdure.storage.sqlite.opening import FILE, open_file, open_raw, storage_errors
from perdure.storage.sqlite.records import PinnedRecords

_GONE = """
SELECT 1 FROM main.records AS one WHERE
  NOT EXISTS (SELECT 1 FROM later.records WHERE key=one.key) LIMIT 1
"""
_BEGIN = "BEGIN; SELECT count(*) FROM meta"
_RUNS = "registry.runs"
_PIECE = 1 << 20  # bytes
_PATIENCE = 1000  # milliseconds to wait for the write lock; an import may hold it for longer


def is_past(earlier: Path, later: Path) -> bool:
    """Return True if one registry file may be an earlier state of another.

    This is so if all its identifiers are in the other. Raises StorageFailed, or Unavailable if the
    earlier file cannot be read.
    """
    with storage_errors("the earlier backup"):
        connection = open_file(str(earlier), apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("ATTACH ? AS later", (str(later),))
            return connection.execute(_GONE).get is None
        finally:
            connection.close()


class SqliteCopy:
    """A registry as it is at one moment, and the copy of it in another directory.

    See `perdure.storage.ports.RegistryCopy`.
    """

    def __init__(self, root: Path, fresh: Path, target: Path | None = None) -> None:
        """`fresh` is the file for a complete copy; `target` is the file that it will replace."""
        self._path, self._fresh, self._target = root / FILE, fresh, target
        self._runs = fresh.with_name(_RUNS)
        self._earlier: patching.EarlierCopy | None = None
        self._size = 0
        if target is not None:
            self._drop_files()  # which an interrupted copy has left
        with storage_errors("the backup"), ExitStack() as opened:
            inode = self._path.stat().st_ino if self._path.exists() else None
            name = str(self._path)
            source = opened.enter_context(closing(open_file(name, apsw.SQLITE_OPEN_READWRITE)))
            # The transaction is held to the end, so that the copy is one state of the registry.
            is_whole = _begin_in_file(source, self._path)
            self._file = opened.enter_context(open_raw(self._path))
            # it may be a backup that was just replaced
            self._is_whole = is_whole and self._path.stat().st_ino == inode
            self._source, self._opened = source, opened.pop_all()
        self._segments = PinnedRecords(root, source).list_segments()

    def list_segments(self) -> list[tuple[int, int, str]]:
        return self._segments

    def copy(self, *, pages: int = 256) -> Iterator[float]:
        """Copy `pages` pages at a time."""
        with storage_errors("the backup"), self._opened:
            if self._target is not None and patching.has_log(self._target):
                with suppress(apsw.Error), closing(apsw.Connection(str(self._target))) as earlier:
                    earlier.execute("SELECT 1 FROM meta").fetchall()  # ends what was cut off
            if self._is_whole:
                if (yield from self._compare_earlier(pages)):
                    return
                yield from _copy_file(self._source, self._file, self._fresh, pages)
            else:
                yield from copy_pages(self._source, self._fresh, pages)
            with closing(apsw.Connection(str(self._fresh))) as copied:
                copied.execute("PRAGMA journal_mode=WAL")  # as a served registry; this ends the log

    def _compare_earlier(self, pages: int) -> Generator[float, None, bool]:
        """Keep the pages in which an earlier copy differs. Return False if it cannot be mended."""
        page: int = self._source.pragma("page_size")
        self._size = page * self._source.pragma("page_count")
        earlier = patching.lock_copy(self._target, page) if self._target else None
        if earlier is None or earlier.size > self._size:
            if earlier is not None:
                earlier.close()
            return False
        done = 0.0
        with self._runs.open("wb") as runs:
            for done in patching.compare_copy(self._file, self._size, earlier, runs, pages):
                yield done
        if done < 1:
            self._runs.unlink()
            earlier.close()
            return False
        self._earlier = earlier
        return True

    def install(self) -> None:
        with storage_errors("the new registry"):
            earlier = self._earlier
            if earlier is not None:
                with self._runs.open("rb") as runs:
                    if earlier.lock_alone():
                        earlier.replace_runs(runs, self._size)
                    else:  # another process reads it
                        self._write_fresh(earlier, runs)
            if self._fresh.exists() and self._target is not None:
                sync_file(self._fresh)
                replace_durably(self._fresh, self._target)

    def _write_fresh(self, earlier: patching.EarlierCopy, runs: BinaryIO) -> None:
        """Make a new file of the earlier copy and the pages that differ."""
        with self._fresh.open("wb", buffering=0) as fresh:
            for _ in _copy_bytes(earlier.file, fresh, earlier.size, _PIECE):
                pass
            for offset, data in patching.read_runs(runs):
                fresh.seek(offset)
                write_all(fresh.fileno(), data)
            fresh.truncate(self._size)

    def _drop_files(self) -> None:
        self._fresh.unlink(missing_ok=True)
        self._runs.unlink(missing_ok=True)

    def close(self) -> None:
        self._opened.close()
        if self._earlier is not None:
            self._earlier.close()
            self._earlier = None
        self._drop_files()


def _begin_in_file(source: apsw.Connection, path: Path) -> bool:
    """Begin to read. Return True if all that is read is in the file itself, not in its log."""
    log = moved = 0
    try:
        with closing(open_file(str(path), apsw.SQLITE_OPEN_READWRITE)) as holding:
            source.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)  # most of it, unlocked
            holding.set_busy_timeout(_PATIENCE)
            holding.execute("BEGIN IMMEDIATE")  # no commit comes between the next two lines
            log, moved = source.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            source.execute(_BEGIN)
    except (apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError):
        pass
    if not source.in_transaction:
        source.execute(_BEGIN)
        return False
    return log == moved


def _copy_file(
    source: apsw.Connection, file: apsw.VFSFile, target: Path, pages: int
) -> Iterator[float]:
    """Copy the file, which does not change as long as `source` reads."""
    page = source.pragma("page_size")
    with target.open("wb", buffering=0) as copy:
        yield from _copy_bytes(file, copy, page * source.pragma("page_count"), pages * page)


def _copy_bytes(file: apsw.VFSFile, copy: RawIOBase, size: int, piece: int) -> Iterator[float]:
    done = 0
    while done < size:
        data = file.xRead(min(piece, size - done), done)
        write_all(copy.fileno(), data)
        done += len(data)
        yield done / size


def copy_pages(source: apsw.Connection, target: Path, pages: int) -> Iterator[float]:
    """Copy page after page of what the transaction of `source` reads."""
    with (
        closing(apsw.Connection(str(target))) as copy,
        copy.backup("main", source, "main") as work,
    ):
        while not work.done:
            work.step(pages)
            yield 1 - work.remaining / max(work.page_count, 1)
