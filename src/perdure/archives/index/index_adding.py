"""Write captures of many archive files to the index, as an index of another program lists them.

How it works: all is one transaction. Each archive file gets its entry at the end, when the number
of its captures is known. An archive file that the index has already keeps its entry.

What must stay true: no part of the transaction is visible before it is durable; the entry of a file
says that its methods are not known, so that `archive reindex` reads it if you ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import apsw

from perdure.archives.index.rows import WRITTEN, Row, make_row
from perdure.archives.index.sqlite_index import BUSY, FILE, ArchiveFile, storage_errors
from perdure.archives.port import Capture

_INSERT = f"INSERT OR IGNORE INTO captures({WRITTEN}) VALUES(?,?,{{file}},?,?,?,?,?,?,?,?,?,?)"
_FILE = "INSERT INTO files VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"
_TOGETHER = 10_000


class IndexAddition:
    """Adds the captures of several files. Use as a context manager: leaving it early undoes it."""

    def __init__(self, root: Path) -> None:
        with storage_errors("the index of captures"):
            self._connection = apsw.Connection(str(root / FILE), flags=apsw.SQLITE_OPEN_READWRITE)
            self._connection.set_busy_timeout(BUSY)
            self._connection.pragma("synchronous", "FULL")
            self._connection.execute("BEGIN IMMEDIATE")
            self._last = self._connection.execute("SELECT max(id) FROM files").get or 0
        self._files: dict[int, ArchiveFile] = {}
        self._counts: dict[int, int] = {}
        self._waiting: dict[int, list[Row]] = {}
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.close()

    def add_file(self, file: ArchiveFile) -> int:
        """Give an archive file its number."""
        self._last += 1
        self._files[self._last] = file
        self._counts[self._last] = 0
        return self._last

    def add_capture(self, file: int, capture: Capture) -> None:
        """Add a capture of a file. Raises StorageFailed or Unavailable."""
        self._counts[file] += 1
        self._waiting.setdefault(file, []).append(make_row(capture))
        self._size += 1
        if self._size >= _TOGETHER:
            self._write_rows()

    def _write_rows(self) -> None:
        with storage_errors("the index of captures"):
            for file, rows in self._waiting.items():
                self._connection.executemany(_INSERT.format(file=file), sorted(rows))
        self._waiting.clear()
        self._size = 0

    def finish(self) -> None:
        """Commit everything durably. Raises StorageFailed or Unavailable."""
        self._write_rows()
        with storage_errors("the index of captures"):
            self._connection.executemany(_FILE, self._list_entries())
            self._connection.execute("COMMIT")

    def _list_entries(self) -> Iterator[Row]:
        for number, one in self._files.items():
            count = self._counts[number]
            yield (number, one.name, one.path, one.base, one.size, one.modified, one.shared,
                   one.added, count, count, 0, None, count)  # fmt: skip
