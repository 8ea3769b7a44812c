"""A registry file that is made anew, and what the old one still tells.

How it works: records come from the segments first and then from the old file. Changes, histories,
tokens and idempotency keys are taken over as they are. A record whose line no change of the old
file wrote is marked until the end, when a new epoch begins in which each of these is a change.

What must stay true: nothing that can be read is passed over in silence, and nothing is guessed; a
record that is as it was keeps the position of its change.
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
"""Tables that are taken over as they are, and their columns."""
_LATER = ("words", "epochs", "changes")
"""Tables that the first format has not."""
_ABSENT = "no such table: token_changes"
"""Of a file that was last written before there was one."""
_PUT = "INSERT OR REPLACE INTO records VALUES(?,?,?)"
Saved = tuple[str, str, int | None]
"""Key, stored form, and position of its change."""


class Salvage:
    """An old registry file. Use as a context manager; `problems` tells what could not be read.

    Raises Unavailable if another process has it open.
    """

    def __init__(self, root: Path) -> None:
        self.problems: list[str] = []
        self._connection: apsw.Connection | None = None
        self._has_positions = False
        self.is_unnumbered = False
        """Whether it is known that its changes never had numbers."""
        path = root / FILE
        if not path.exists():
            self.problems.append("there is none")
            return
        try:
            self._connection = _alone(path)
            found: int = self._connection.execute("PRAGMA user_version").get
            self._has_positions = found > FIRST_FORMAT
            numbered = "SELECT 1 FROM epochs WHERE epoch>0"
            self.is_unnumbered = (
                not self._has_positions or self._connection.execute(numbered).get is None
            )
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

    def records(self) -> Iterator[tuple[str, Record, int | None]]:
        """Current revisions with the positions of their changes, in the order of their keys."""
        for key, text, position in self._rows("records", "key, record, position"):
            yield (
                str(key),
                stored.decode(str(text)),
                position if position is None else int(position),
            )

    def copy_into(self, journal: SqliteJournal) -> None:
        """Copies what is taken over as it is. Runs in the caller's transaction."""
        for table, columns in _COPIED.items():
            if table not in _LATER or not self.is_unnumbered:
                marks = ",".join("?" * (columns.count(",") + 1))
                statement = f"INSERT OR IGNORE INTO {table}({columns}) VALUES({marks})"
                journal.connection.executemany(statement, self._rows(table, columns))

    def _rows(self, table: str, columns: str) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
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


class RenewedJournal(SqliteJournal):
    """The new file."""

    _is_unnumbered = False

    def put(self, key: str, record: Record) -> None:
        """A record as the segments tell it, whatever was there."""
        self._put(key, record, _OF_NO_CHANGE)

    def keep(self, key: str, record: Record, position: int | None, past: Record | None) -> None:
        """A record that the old file has. With `past`, which goes to the history, it says more
        than that: a new revision."""
        if position is not None and position > self._changes.position:
            position = _OF_NO_CHANGE  # its change was lost
        if past is not None:
            text = stored.encode(past).decode()
            self._only.execute(
                "INSERT OR IGNORE INTO history VALUES(?,?,?,?)",
                (key, past.revision, text, position),
            )
            position = _OF_NO_CHANGE
        self._put(key, record, position)

    def _put(self, key: str, record: Record, position: int | None) -> None:
        self._only.execute(_PUT, (key, stored.encode(record).decode(), position))

    def take_over(self, old: Salvage) -> None:
        """Takes over what lies beside the records. Runs in the caller's transaction."""
        old.copy_into(self)
        self._changes.load()
        self._is_unnumbered = old.is_unnumbered

    def note_renewed(self, at: str, actor: str) -> None:
        """Begins a new epoch, whose changes are the records that no earlier change wrote.

        If the old changes cannot be read, nobody knows which epochs there were: the new one is
        called by the minutes since 1970. A registry whose changes never had numbers gets them as
        if a writer had opened it.
        """
        is_numbered = not self._is_unnumbered
        if is_numbered:
            self.begin()
            if self._changes.head is None:
                minutes = int(datetime.fromisoformat(at).timestamp()) // 60
                self._changes.begin_epoch(Epoch(epoch=minutes, reason=ACT), at, actor)
            else:
                self.begin_epoch(ACT, at, actor)
            self.commit()
        low = ""
        while rows := self._unnoted(low):
            self.begin()
            for key, text in rows:
                revision = stored.decode(text).revision
                deed = Deed(ACT, at, actor)
                place = self._changes.note(deed, ((key, text),), revision) if is_numbered else None
                self._only.execute(_PUT, (key, text, place))
            self.commit()
            self.tidy()
            low = rows[-1][0]
        if not is_numbered:
            self.number_changes(at)

    def _unnoted(self, low: str) -> list[tuple[str, str]]:
        return self._all(
            "SELECT key, record FROM records WHERE key>? AND position=? ORDER BY key LIMIT ?",
            (low, _OF_NO_CHANGE, _SOME),
        )
