"""Rebuild of a registry file, with everything that can still be read from the old one.

How it works: records come first from the segments and then from the old file. Changes, histories,
tokens and idempotency keys are copied unchanged. If no change of the old file wrote the line of a
record, the record is marked. At the end, a new epoch begins with a change for each marked record.

What must stay true: no readable content is left out silently, and nothing is guessed; an unchanged
record keeps the position of its change.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from perdure.errors.processes import InUse
from perdure.model import stored
from perdure.model.changes import Deed, Epoch
from perdure.model.records import Record
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.opening import FILE, FIRST_FORMAT

ACT = "rebuild"
_OF_NO_CHANGE = -1  # position of a record until `note_renewed`
_SOME = 1000
_COPIED = {
    "history": "key, revision, record, position",
    "tokens": "name, digest, token",
    "answered": "actor, once, request, receipt, at",
    "token_changes": "number, name, at, actor, before, after, position",
    "words": "number, text",
    "epochs": "epoch, start, reason, previous_epoch, previous_number, previous_chain",
    "changes": "position, row",
}
"""Tables that are copied unchanged, and their columns."""
_LATER = ("words", "epochs", "changes")
"""Tables that the first format does not have."""
_ABSENT = "no such table: token_changes"
"""The error for a file of a release that did not have this table yet."""
_PUT = "INSERT OR REPLACE INTO records VALUES(?,?,?)"
Saved = tuple[str, str, int | None]
"""The key and the stored form of a record, and the position of its change."""


class SqliteSalvage:
    """An old registry file. Use it as a context manager.

    `problems` describes what could not be read. Raises Unavailable if another process has it open.
    """

    def __init__(self, root: Path) -> None:
        self.problems: list[str] = []
        self._connection: apsw.Connection | None = None
        self._has_positions = False
        self.is_unnumbered = False
        """True if its changes certainly never had numbers."""
        path = root / FILE
        if not path.exists():
            self.problems.append("it does not exist")
            return
        try:
            self._connection = _open_alone(path)
            found: int = self._connection.execute("PRAGMA user_version").get
            self._has_positions = found > FIRST_FORMAT
            numbered = "SELECT 1 FROM epochs WHERE epoch>0"
            self.is_unnumbered = (
                not self._has_positions or self._connection.execute(numbered).get is None
            )
        except (apsw.BusyError, apsw.LockedError) as error:
            user = "it is open in another process; stop the server first"
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

    def read_records(self) -> Iterator[tuple[str, Record, int | None]]:
        """Current revisions with the positions of their changes, in the order of their keys."""
        for key, text, position in self._read_rows("records", "key, record, position"):
            yield (
                str(key),
                stored.decode_stored(str(text)),
                position if position is None else int(position),
            )

    def copy_into(self, journal: SqliteJournal) -> None:
        """Copy the tables that are taken over unchanged. Runs in the caller's transaction."""
        for table, columns in _COPIED.items():
            if table not in _LATER or not self.is_unnumbered:
                marks = ",".join("?" * (columns.count(",") + 1))
                statement = f"INSERT OR IGNORE INTO {table}({columns}) VALUES({marks})"
                journal.connection.executemany(statement, self._read_rows(table, columns))

    def _read_rows(self, table: str, columns: str) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
        if self._connection is None:
            return
        if not self._has_positions:
            columns = columns.replace("position", "NULL")
        try:
            statement = f"SELECT {columns} FROM {table} ORDER BY 1"  # noqa: S608
            yield from self._connection.execute(statement)
        except apsw.Error as error:
            if str(error) != _ABSENT:
                self.problems.append(f"{table}: {error}")


def _open_alone(path: Path) -> apsw.Connection:
    """Open a connection with exclusive access to the file, and move its log into it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:
        connection.close()
        raise
    return connection


class RenewedJournal(SqliteJournal):
    """The new file."""

    _is_unnumbered = False

    def put_record(self, key: str, record: Record) -> None:
        """Store a record read from the segments, in place of any other."""
        self._put_row(key, record, _OF_NO_CHANGE)

    def keep_record(
        self, key: str, record: Record, position: int | None, past: Record | None
    ) -> None:
        """Store a record that the old file has.

        If `past` is given, `record` is a new revision with more in it, and `past` goes to the
        history.
        """
        if position is not None and position > self._changes.position:
            position = _OF_NO_CHANGE  # its change was lost
        if past is not None:
            text = stored.encode_stored(past).decode()
            self._only.execute(
                "INSERT OR IGNORE INTO history VALUES(?,?,?,?)",
                (key, past.revision, text, position),
            )
            position = _OF_NO_CHANGE
        self._put_row(key, record, position)

    def _put_row(self, key: str, record: Record, position: int | None) -> None:
        self._only.execute(_PUT, (key, stored.encode_stored(record).decode(), position))

    def take_over(self, old: SqliteSalvage) -> None:
        """Take over everything but the records. Runs in the caller's transaction."""
        old.copy_into(self)
        self._changes.load_state()
        self._is_unnumbered = old.is_unnumbered

    def note_renewed(self, at: str, actor: str) -> None:
        """Begin a new epoch, with a change for each record that no earlier change wrote.

        If the old changes cannot be read, the earlier epochs are not known. The number of the new
        one is then the minutes since 1970. If the changes of the registry never had numbers, they
        are numbered as if a writer had opened it.
        """
        is_numbered = not self._is_unnumbered
        if is_numbered:
            self.begin_batch()
            if self._changes.head is None:
                minutes = int(datetime.fromisoformat(at).timestamp()) // 60
                self._changes.begin_epoch(Epoch(epoch=minutes, reason=ACT), at, actor)
            else:
                self.begin_epoch(ACT, at, actor)
            self.commit_batch()
        low = ""
        while rows := self._find_unnoted(low):
            self.begin_batch()
            for key, text in rows:
                revision = stored.decode_stored(text).revision
                deed = Deed(ACT, at, actor)
                place = (
                    self._changes.note_change(deed, ((key, text),), revision)
                    if is_numbered
                    else None
                )
                self._only.execute(_PUT, (key, text, place))
            self.commit_batch()
            self.tidy_up()
            low = rows[-1][0]
        if not is_numbered:
            self.number_changes(at)

    def _find_unnoted(self, low: str) -> list[tuple[str, str]]:
        return self._fetch_all(
            "SELECT key, record FROM records WHERE key>? AND position=? ORDER BY key LIMIT ?",
            (low, _OF_NO_CHANGE, _SOME),
        )
