"""A registry file that a registry leaves.

How it works: one transaction holds the lock of SQLite's only writer, and adds triggers that refuse
each further row, and a note of the new place: so a process that has had the file open all the time
is refused, too.

What must stay true: the file that was left stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

from perdure.model.changes import (
    ChangeMark,
)
from perdure.storage.moving_ports import OtherRows, PastLine, WholeRecord
from perdure.storage.sqlite.changelog import Epochs
from perdure.storage.sqlite.opening import (
    CLOSED,
    FILE,
    MOVED,
    find_note,
    open_file,
    storage_errors,
)
from perdure.storage.sqlite.records import SqliteRecords

NOTE = "INSERT OR REPLACE INTO meta VALUES(?, ?)"
"""The statement that writes into `meta`."""
_CLOSE = """
CREATE TRIGGER moved_{0} BEFORE INSERT ON {0} BEGIN SELECT RAISE(ABORT, '{1}'); END;
CREATE TRIGGER moved_{0}_update BEFORE UPDATE ON {0} BEGIN SELECT RAISE(ABORT, '{1}'); END;
"""
_CLOSED = ("changes", "records", "answered", "segments", "tokens", "rules", "epochs")
_WAIT = 60_000  # milliseconds for a batch that is under way
_RANGE = """
SELECT key, record, position, sum FROM records WHERE key>? AND key<=? ORDER BY key LIMIT ?
"""
_RANGE_ON = "SELECT key, record, position, sum FROM records WHERE key>? ORDER BY key LIMIT ?"
_ONE = "SELECT key, record, position, sum FROM records WHERE key=?"
_PAST = """
SELECT key, revision, record, position, sum FROM history WHERE key>=? AND key<=?
  ORDER BY key, revision
"""
_GRANTS = "SELECT name, digest, token, sum FROM tokens ORDER BY name"
_GRANT_CHANGES = """
SELECT number, name, at, actor, before, after, position, sum FROM token_changes ORDER BY number
"""
_RULES = "SELECT number, key, rule, sum FROM rules ORDER BY number"
_ANSWERS = "SELECT actor, once, request, receipt, at, sum FROM answered ORDER BY actor, once"
_SEGMENTS = "SELECT number, length, opened, grows, sum FROM segments ORDER BY number"


class WholeFile:
    """A registry file as it is stored, as the port `perdure.storage.moving_ports.WholeRegistry`."""

    def __init__(self, records: SqliteRecords) -> None:
        self.records = records

    def read_range(self, after: str, until: str | None, *, limit: int) -> list[WholeRecord]:
        with self.records.hold_snapshot():
            rows = (
                self._read("records", _RANGE_ON, (after, limit))
                if until is None
                else self._read("records", _RANGE, (after, until, limit))
            )
            if not rows:
                return []
            return self._join_past(rows, self._read("history", _PAST, (rows[0][0], rows[-1][0])))

    def read_some(self, keys: Sequence[str]) -> list[WholeRecord]:
        found: list[WholeRecord] = []
        with self.records.hold_snapshot():
            for key in sorted(set(keys)):
                rows = self._read("records", _ONE, (key,))
                found += self._join_past(rows, self._read("history", _PAST, (key, key)))
        return found

    def _read(self, table: str, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Rows without their checksums. Raises Corrupt if one is damaged."""
        rows = self.records._fetch_all(statement, values)
        if table == "records":
            self.records._check_rows(table, [(row[0], row[1], row[2], row[3]) for row in rows])
        elif table == "history":
            self.records._check_rows(table, [(row[0], row[2], row[3], row[4]) for row in rows])
        else:
            self.records._check_rows(table, rows)
        return [row[:-1] for row in rows]

    def _join_past(self, rows: list[Any], past: list[Any]) -> list[WholeRecord]:
        epochs = Epochs.load_epochs(self.records._ask_registry)

        def find_mark(position: int | None) -> ChangeMark | None:
            return None if position is None else epochs.find_mark(position)

        earlier = {
            key: tuple(PastLine(one[1], one[2], find_mark(one[3])) for one in some)
            for key, some in groupby(past, itemgetter(0))
        }
        return [
            WholeRecord(key, text, find_mark(position), earlier.get(key, ()))
            for key, text, position in rows
        ]

    def read_others(self) -> OtherRows:
        with self.records.hold_snapshot():
            epochs = Epochs.load_epochs(self.records._ask_registry)
            return OtherRows(
                tokens=self._read("tokens", _GRANTS),
                token_changes=[
                    (*row[1:6], None if row[6] is None else epochs.find_mark(row[6]))
                    for row in self._read("token_changes", _GRANT_CHANGES)
                ],
                rules=self._read("rules", _RULES),
                answers=self._read("answered", _ANSWERS),
                segments=[(*row[:3], bool(row[3])) for row in self._read("segments", _SEGMENTS)],
            )

    def close(self) -> None:
        self.records.close()


class FileDeparture:
    """The lock of the only writer of a file, as the port `Departure`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def leave(self, to: str) -> None:
        with storage_errors("the registry"):
            for table in _CLOSED:
                self._connection.execute(_CLOSE.format(table, CLOSED)).fetchall()
            self._connection.execute(NOTE, (MOVED, to)).fetchall()
            self._connection.execute("COMMIT").fetchall()

    def change_bytes(self, to: str) -> None:
        """Do nothing: a writer looks at the settings in each batch, while it holds this lock."""


@contextmanager
def hold_writers(root: Path) -> Iterator[FileDeparture]:
    """Take the lock of the only writer, after the batch that is under way. Raises Unavailable."""
    with storage_errors("the registry"):
        connection = open_file(str(root / FILE), apsw.SQLITE_OPEN_READWRITE)
    with closing(connection):
        with storage_errors("the registry"):
            connection.set_busy_timeout(_WAIT)
            connection.pragma("synchronous", "FULL")
            connection.execute("BEGIN IMMEDIATE").fetchall()
        try:
            yield FileDeparture(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK").fetchall()


def find_new_place(root: Path) -> str:
    """The address to which the registry of a file was moved, or an empty text."""
    return find_place_note(root / FILE, MOVED)


def find_place_note(path: Path, name: str) -> str:
    """A note in a file, or an empty text if there is none."""
    if not path.exists():
        return ""
    with (
        storage_errors("the registry"),
        closing(open_file(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection,
    ):
        return find_note(connection, name)
