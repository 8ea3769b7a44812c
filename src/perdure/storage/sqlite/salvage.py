"""What a registry file that is damaged, or only old, still tells: row by row, as far as it goes.

How it works: each table is read in the order of its key. Where a page cannot be read, reading that
table ends there, and what was in the way is noted.

What must stay true: nothing that can be read is passed over in silence, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from perdure.errors.processes import InUse
from perdure.model import stored
from perdure.model.records import Record
from perdure.storage.sqlite.records import FILE, SqliteWriter

_COPIED = {"history": 3, "tokens": 3, "answered": 5, "token_changes": 6}
"""Tables that are taken over as they are, and how many columns they have."""
_ABSENT = "no such table: token_changes"
"""Of a file that was last written before there was one."""


class Salvage:
    """An old registry file. Use as a context manager; `problems` tells what could not be read.

    Raises Unavailable where another process has it open.
    """

    def __init__(self, root: Path) -> None:
        self.problems: list[str] = []
        self._connection: apsw.Connection | None = None
        path = root / FILE
        if not path.exists():
            self.problems.append("there is none")
            return
        try:
            self._connection = _alone(path)
        except (apsw.BusyError, apsw.LockedError) as error:
            user = "another process has it open; stop the server first"
            raise InUse(used="the registry", user=user) from error
        except apsw.Error as error:
            self.problems.append(str(error))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._connection:
            self._connection.close()

    def records(self) -> Iterator[tuple[str, Record]]:
        """Current revisions, in the order of their keys."""
        for key, text in self._rows("records", 2):
            yield str(key), stored.decode(str(text))

    def copy_into(self, writer: SqliteWriter) -> None:
        """Takes over histories, tokens and idempotency keys. Runs in the caller's transaction."""
        for table, columns in _COPIED.items():
            marks = ",".join("?" * columns)
            statement = f"INSERT OR IGNORE INTO {table} VALUES({marks})"
            writer.connection.executemany(statement, self._rows(table, columns))

    def _rows(self, table: str, columns: int) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
        if self._connection is None:
            return
        try:
            for row in self._connection.execute(f"SELECT * FROM {table} ORDER BY 1"):  # noqa: S608
                if len(row) != columns:
                    raise apsw.CorruptError(f"{len(row)} columns, where there should be {columns}")
                yield row
        except apsw.Error as error:
            if str(error) != _ABSENT:
                self.problems.append(f"{table}: {error}")


def _alone(path: Path) -> apsw.Connection:
    """A connection that has the file for itself, with what was in its log moved into it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:
        connection.close()
        raise
    return connection
