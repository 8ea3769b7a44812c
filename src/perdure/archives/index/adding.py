"""Write the index of captures: add a file to it, or move captures out to runs.

How it works: each is one transaction on a connection of its own. SQLite lets one process write at a
time; the others wait, and readers see the state before the transaction.

What must stay true: no part of a transaction is visible before it is durable; a transaction that is
left early has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

import apsw
import msgspec

from perdure.archives.index.exporting import is_exported
from perdure.archives.index.rows import COLUMNS, WRITTEN, Row, make_row
from perdure.archives.index.sqlite_index import (
    BUSY,
    FILE,
    NAMES,
    ArchiveFile,
    RunRow,
    SqliteCaptures,
    storage_errors,
)
from perdure.archives.port import Capture
from perdure.errors.conflicts import ArchiveFileTaken

_INSERT = f"INSERT INTO captures({WRITTEN}) VALUES(?,?,{{file}},?,?,?,?,?,?,?,?,?,?)"
_MOVABLE = (
    f"SELECT {COLUMNS} FROM captures WHERE listed IS NULL "  # noqa: S608
    "ORDER BY key, date, file, offset"
)


class FileAddition:
    """Adds a file to the index. Nothing of it is visible before `finish_file`.

    Rows are collected in memory up to `_TOGETHER`, so that a small file holds the lock of the index
    only while they are written. Use as a context manager: leaving it early undoes everything.
    """

    _TOGETHER = 10_000

    def __init__(self, root: Path) -> None:
        with storage_errors("the index of captures"):
            self._connection = apsw.Connection(str(root / FILE), flags=apsw.SQLITE_OPEN_READWRITE)
            self._connection.set_busy_timeout(BUSY)
            self._connection.pragma("synchronous", "FULL")
            self._connection.pragma("cache_size", -32_768)  # KiB
            self._connection.pragma("secure_delete", True)  # what an erased file had
        self._waiting: list[Row] = []
        self._id = 0
        self.captures = 0
        """Those that `archive export-cdxj` lists: no requests, nor records about captures."""
        self._lines = 0
        self._methods = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _roll_back(self._connection)

    def add_capture(self, capture: Capture) -> None:
        """Add a capture. Raises StorageFailed or Unavailable."""
        self._lines += 1
        self.captures += is_exported(capture, every=False)
        self._methods += bool(capture.method)
        self._waiting.append(make_row(capture))
        if len(self._waiting) >= self._TOGETHER:
            self._write_rows()

    def _begin_transaction(self) -> int:
        if not self._id:
            with storage_errors("the index of captures"):
                self._connection.execute("BEGIN IMMEDIATE")
                last = self._connection.execute("SELECT max(id) FROM files").get
            self._id = (last or 0) + 1
        return self._id

    def _write_rows(self) -> None:
        id = self._begin_transaction()
        self._waiting.sort()
        with storage_errors("the index of captures"):
            self._connection.executemany(_INSERT.format(file=id), self._waiting)
        self._waiting.clear()

    def finish_file(self, file: ArchiveFile, flaws: Iterable[tuple[int, str]]) -> ArchiveFile:
        """Commit the file durably. Raises Conflict if its name was taken in the meantime."""
        id = self._begin_transaction()
        self._write_rows()
        done = msgspec.structs.replace(
            file, id=id, lines=self._lines, captures=self.captures, methods=self._methods
        )
        try:
            with storage_errors("the index of captures"):
                self._connection.execute(
                    "INSERT INTO files VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    (
                        id,
                        done.name,
                        done.path,
                        done.base,
                        done.size,
                        done.modified,
                        done.shared,
                        done.added,
                        done.records,
                        done.lines,
                        done.flaws,
                        done.methods,
                        done.captures,
                    ),
                )
                self._connection.executemany(
                    "INSERT INTO flaws VALUES(?,?,?,?)",
                    ((id, number, *flaw) for number, flaw in enumerate(flaws)),
                )
                self._connection.execute("COMMIT")
        except apsw.ConstraintError:
            raise ArchiveFileTaken(identifier=done.name) from None
        return done

    def forget_file(self, file: ArchiveFile) -> None:
        """Remove a file and its captures, in the same transaction as the additions."""
        self._begin_transaction()
        with storage_errors("the index of captures"):
            for statement in (
                "DELETE FROM captures WHERE file=?",
                "DELETE FROM flaws WHERE file=?",
                "DELETE FROM files WHERE id=?",
            ):
                self._connection.execute(statement, (file.id,))

    def mark_current(self, file: ArchiveFile) -> None:
        """Record that the entry of a file without captures of its own is complete."""
        with storage_errors("the index of captures"):
            self._connection.execute("UPDATE files SET methods=0, content=0 WHERE id=?", (file.id,))

    def move_file(self, file: ArchiveFile, path: str) -> None:
        """Record a new path for a file."""
        with storage_errors("the index of captures"):
            self._connection.execute("UPDATE files SET path=? WHERE id=?", (path, file.id))


def empty_log(root: Path) -> bool:
    """Move the log of SQLite into the index, so that the log has nothing of earlier states.

    Return False if others are reading an earlier state.
    """
    with storage_errors("the index of captures"):
        connection = apsw.Connection(str(root / FILE), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(BUSY)
            ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
    return not is_busy


class Compaction:
    """The index while captures move from SQLite to runs: others can read but not write.

    Use as a context manager; leaving it undoes everything that was not committed.
    """

    def __init__(self, root: Path) -> None:
        with storage_errors("the index of captures"):
            self._connection = apsw.Connection(str(root / FILE), flags=apsw.SQLITE_OPEN_READWRITE)
            self._connection.set_busy_timeout(BUSY)
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("BEGIN IMMEDIATE")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _roll_back(self._connection)

    def read_captures(self, index: SqliteCaptures) -> Iterator[Capture]:
        """Return the captures in SQLite that can move, in order.

        Those that lists have under another key stay: runs have one order only.
        """
        return (index.read_row(*row) for row in self._connection.execute(_MOVABLE))

    def read_file_names(self) -> set[str]:
        return {name for (name,) in self._connection.execute(NAMES)}

    def commit_spill(self, run: RunRow) -> None:
        """Commit a run that replaces the captures of `read_captures`."""
        self._commit_run([], run, "DELETE FROM captures WHERE listed IS NULL")

    def commit_merge(self, rows: Iterable[RunRow], run: RunRow) -> None:
        """Commit a run that replaces several runs."""
        self._commit_run(rows, run, "")

    def _commit_run(self, rows: Iterable[RunRow], run: RunRow, also: str) -> None:
        with storage_errors("the index of captures"):
            for row in rows:
                self._connection.execute("DELETE FROM runs WHERE name=?", (row.name,))
            self._connection.execute(
                "INSERT INTO runs VALUES(?,?,?,?)", (run.name, run.level, run.lines, run.size)
            )
            if also:
                self._connection.execute(also)
            self._connection.execute("COMMIT")


def _roll_back(connection: apsw.Connection) -> None:
    """Undo everything that was not committed, and close the connection."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.close()
