"""The index of words, opened to be searched.

What must stay true: an index in another format is treated as one that was not made yet.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from perdure.errors.processes import FileUnusable
from perdure.errors.searching import IndexNotMade
from perdure.model.changes import ChainHead
from perdure.upkeep.searching.capture_table import CaptureTable
from perdure.upkeep.searching.text_index import WordTable

FORMAT = 2  # 1 without captures, and without the titles inside files
_READ_BUSY_MS = 5000
_MAPPED = 4 << 30


class IndexReader:
    """An index that is only searched. For one thread."""

    def __init__(self, path: Path) -> None:
        """Open an index; it is empty if it was not made yet. Raises Unavailable."""
        self._path = path
        try:
            self._file = self._identify_file()
            self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            self._connection.set_busy_timeout(_READ_BUSY_MS)
            self._connection.pragma("query_only", "on")
            self._connection.pragma("mmap_size", _MAPPED)
            if self._connection.pragma("user_version") != FORMAT:
                raise IndexNotMade()
            self.words = WordTable(self._connection)
            self.captures = CaptureTable(self._connection, self.words)
        except (FileNotFoundError, apsw.CantOpenError, apsw.SQLError):
            raise IndexNotMade() from None
        except apsw.Error as error:
            raise FileUnusable(file="the index of words", fault=str(error)) from error

    def close(self) -> None:
        self._connection.close()

    def is_current(self) -> bool:
        """Return False if the file was deleted or replaced."""
        try:
            return self._identify_file() == self._file
        except FileNotFoundError:
            return False

    def _identify_file(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino

    def last_head(self) -> ChainHead | None:
        """Return the last change that was indexed."""
        row = self._connection.execute("SELECT epoch, number, chain FROM head").fetchone()
        return ChainHead(epoch=row[0], number=row[1], chain=row[2]) if row else None

    def list_unread(self) -> list[tuple[str, str]]:
        """Return the names of documents that could not be read, each with the reason."""
        rows = self._connection.execute("SELECT name, problem FROM unread ORDER BY name")
        return [(name, problem) for name, problem in rows]
