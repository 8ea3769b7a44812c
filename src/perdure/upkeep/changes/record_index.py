"""Followers that keep something for each record in a SQLite file: their common half.

How it works: such a follower names its tables and indexes one record. This class opens the file,
finds the records of each change, and writes the head of the change in the transaction in which they
are indexed, so an interrupted run resumes after its last change. Whatever cannot be read is noted
in the table `unread`, and is read again when its record changes.

What must stay true: you may delete the file at any time; the next run makes the same rows. A
damaged record is noted and hides no other. What is deleted is overwritten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

import apsw

from perdure.errors import Corrupt, StorageFailed
from perdure.ids import Identifier
from perdure.model.changes import WITHOUT_RECORDS, ChainHead, Change
from perdure.model.records import Record, Representation
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.storage.ports import Records, RevisionCounter

_BUSY_MS = 10_000
_AHEAD = 256  # records
_WHAT = "the index"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS head (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER, number INTEGER, chain TEXT
);
CREATE TABLE IF NOT EXISTS unread (
    key TEXT NOT NULL, name TEXT NOT NULL PRIMARY KEY, problem TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS unread_key ON unread (key);
"""


class UnreadDocument(NamedTuple):
    """A document or a record that could not be read to index it."""

    name: str
    """The name of the document, or the key of the damaged record."""
    problem: str


class RecordIndex(ABC):
    """An index of the records of one registry. For one thread."""

    schema: ClassVar[str]
    """Creates the tables, unless they exist."""
    tables: ClassVar[tuple[str, ...]]
    """The tables with what the index keeps for records."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self.connection = apsw.Connection(str(path))
        self.connection.set_busy_timeout(_BUSY_MS)
        self.connection.pragma("secure_delete", "on")
        self.connection.pragma("synchronous", "NORMAL")
        self.connection.execute(_SCHEMA + self.schema)
        self._has_unread = True

    def close(self) -> None:
        self.connection.close()

    def empty_log(self) -> None:
        """Empty the write-ahead log, which still has the pages from before a deletion.

        A search that is under way may keep it for a moment; then the next call empties it.
        """
        with suppress(apsw.BusyError, apsw.LockedError):
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    # following
    # ---------

    def last_head(self) -> ChainHead | None:
        """Return the last change that was indexed."""
        row = self.connection.execute("SELECT epoch, number, chain FROM head").fetchone()
        return ChainHead(epoch=row[0], number=row[1], chain=row[2]) if row else None

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        """Index the records of changes, in transactions that end when `is_batch_full`."""
        single = [one.first for one in changes if one.count == 1 and one.act not in WITHOUT_RECORDS]
        self.prepare_keys(single)
        with records.open_counter() as counter:
            self._take_changes(changes, records, counter, RecordsAhead(records, counter, single))

    def _take_changes(
        self,
        changes: Sequence[Change],
        records: Records,
        counter: RevisionCounter,
        ahead: RecordsAhead,
    ) -> None:
        waiting = iter(changes)
        change = next(waiting, None)
        while change is not None:
            with self.connection:
                self.begin_batch()
                while change is not None:
                    last = change
                    if change.act not in WITHOUT_RECORDS:
                        self._take_change(change, records, counter, ahead)
                    change = next(waiting, None)
                    if self.is_batch_full():
                        break
                self.end_batch()
                self.connection.execute(
                    "INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)",
                    (last.epoch, last.number, last.chain.hex()),
                )

    def index_keys(self, keys: Iterable[str], records: Records) -> None:
        """Index some records before their changes have their turn. Raises StorageFailed."""
        try:
            with self.connection:
                self.begin_batch()
                for key in keys:
                    self._index_present(key, records)
                self.end_batch()
        except apsw.Error as error:
            raise StorageFailed(what=_WHAT, reason=str(error)) from error

    def _index_present(self, key: str, records: Records) -> None:
        try:
            record = records.find_record(key)
        except Corrupt as damage:
            self._index_again(key, None)
            self.note_unread(key, key, damage)
        else:
            self._index_again(key, record)

    def reset(self) -> None:
        """Forget everything."""
        with self.connection:
            for table in (*self.tables, "unread", "head"):
                self.connection.execute(f"DELETE FROM {table}")  # noqa: S608  (our own names)

    def _take_change(
        self, change: Change, records: Records, counter: RevisionCounter, ahead: RecordsAhead
    ) -> None:
        try:
            keys = list_keys(change, records)
        except Corrupt as damage:
            self.note_unread(change.first, change.first, damage)
            return
        if change.count > 1:
            self.prepare_keys(keys)
            ahead = RecordsAhead(records, counter, keys)
        for key in keys:
            try:
                record = ahead.find_record(key)
            except Corrupt as damage:
                self._index_again(key, None)
                self.note_unread(key, key, damage)
            else:
                if record is None or record.revision <= change.revision:
                    self._index_again(key, record)  # else a later change has its turn

    def _index_again(self, key: str, record: Record | None) -> None:
        if self._has_unread:
            self.connection.execute("DELETE FROM unread WHERE key = ?", (key,))
        self.index_record(key, record)

    def begin_batch(self) -> None:
        """Prepare for some changes, in their transaction."""
        found = self.connection.execute("SELECT 1 FROM unread LIMIT 1").fetchone()
        self._has_unread = found is not None

    def prepare_keys(self, keys: Sequence[str]) -> None:  # noqa: B027  (not every index can)
        """Prepare for some records, which are then indexed one after the other."""

    def is_batch_full(self) -> bool:
        """Return True after a change if the next one begins another transaction.

        By default each change is in one of its own, because a record may take long to read.
        """
        return True

    def end_batch(self) -> None:  # noqa: B027  (not every index remembers something)
        """Write what was remembered of some changes, in their transaction."""

    @abstractmethod
    def index_record(self, key: str, record: Record | None) -> None:
        """Make the rows of a record equal to what it is now; None if it cannot be read."""

    # unread documents
    # ----------------

    def note_unread(self, key: str, name: str, problem: Exception) -> None:
        """Note that a document, or a record, could not be read."""
        self._has_unread = True
        query = "INSERT OR REPLACE INTO unread VALUES (?, ?, ?)"
        self.connection.execute(query, (key, name, str(problem)))

    def list_unread(self) -> list[UnreadDocument]:
        """Return the documents and records that could not be read, so are not searched, by name.

        It is read again when its record changes.
        """
        query = "SELECT name, problem FROM unread ORDER BY name"
        return [UnreadDocument(*row) for row in self.connection.execute(query)]


class RecordsAhead:
    """Records that are wanted in order, read several at a time.

    A record that was read ahead is given only if no record was revised since, as the counter of
    revisions says: what was withdrawn meanwhile is not indexed again.
    """

    def __init__(self, records: Records, counter: RevisionCounter, keys: Sequence[str]) -> None:
        self._records = records
        self._counter = counter
        self._keys = keys if counter.is_mapped else ()  # else a look at it costs as much
        self._next = 0
        self._known: dict[str, Record] = {}
        self._count = -1

    def find_record(self, key: str) -> Record | None:
        """Return the current revision of a record. Raises Corrupt."""
        if not self._keys:
            return self._records.find_record(key)
        if self._count != self._counter.revision_count:
            self._known = {}
        if not self._known and self._keys[self._next : self._next + 1] == [key]:
            self._read_ahead()
        found = self._known.pop(key, None)
        return self._records.find_record(key) if found is None else found

    def _read_ahead(self) -> None:
        wanted = self._keys[self._next : self._next + _AHEAD]
        self._next += len(wanted)
        self._count = self._counter.revision_count  # read before the records
        with suppress(Corrupt):  # then each one is read alone
            self._known = self._records.find_records(wanted)


def list_keys(change: Change, records: Records) -> list[str]:
    """Return the keys of the records that a change wrote. Raises Corrupt."""
    if change.count == 1:
        return [change.first]
    return [key for key, _ in records.find_lines(change)]


def list_held(key: str, record: Record) -> Iterator[tuple[Identifier, int, Representation]]:
    """Yield the documents of a record that are neither withdrawn nor completely erased.

    Each has the name of exactly this document, and the number of its version.
    """
    if record.tombstone is not None:
        return
    name = identify_record(key, record)
    for version in record.versions:
        if version.tombstone is None:
            for held in version.representations:
                if not held.is_erased:
                    yield (
                        qualify_identifier(name, version.number, held.format),
                        version.number,
                        held,
                    )
