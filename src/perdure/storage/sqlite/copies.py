"""Copies of an embedded registry, made while it is in use.

How it works: a copy shows the registry as it is at one moment. In WAL mode, a part of that state is
in the log. So first the log is moved into the file, while the write lock is held for this moment;
then a read transaction begins. As long as it is open, SQLite changes nothing in the file that this
reader may need (https://www.sqlite.org/walformat.html, section 2.3.1), so the file itself is the
state, and its bytes are copied. If another reader keeps the log from being moved, or a writer does
not release the lock soon, SQLite's own backup copies page after page, which takes four times as
long.

What must stay true: the source is read only with `open_raw`, so that this process keeps its locks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import apsw

from perdure.storage.durable import write_all
from perdure.storage.sqlite.opening import FILE, open_file, open_raw, storage_errors

_GONE = """
SELECT 1 FROM main.records AS one WHERE
  NOT EXISTS (SELECT 1 FROM later.records WHERE key=one.key) LIMIT 1
"""
_BEGIN = "BEGIN; SELECT count(*) FROM meta"
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


def copy_registry(root: Path, target: Path, *, pages: int = 256) -> Iterator[float]:
    """Copy the registry while it is in use, `pages` at a time, and yield the share done (0 to 1).

    Raises StorageFailed or Unavailable.
    """
    path = root / FILE
    with storage_errors("the backup"), ExitStack() as opened:
        inode = path.stat().st_ino if path.exists() else None
        source = opened.enter_context(closing(open_file(str(path), apsw.SQLITE_OPEN_READWRITE)))
        # The transaction is held to the end, so that the copy is one state of the registry.
        is_whole = _begin_in_file(source, path)
        file = opened.enter_context(open_raw(path))
        if is_whole and path.stat().st_ino == inode:  # it may be a backup that was just replaced
            yield from _copy_file(source, file, target, pages)
        else:
            yield from copy_pages(source, target, pages)
        with closing(apsw.Connection(str(target))) as copied:
            copied.execute("PRAGMA journal_mode=WAL")  # as a served registry; closing ends the log


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
    done, size = 0, page * source.pragma("page_count")
    with target.open("wb", buffering=0) as copy:
        while done < size:
            piece = file.xRead(min(pages * page, size - done), done)
            write_all(copy.fileno(), piece)
            done += len(piece)
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
