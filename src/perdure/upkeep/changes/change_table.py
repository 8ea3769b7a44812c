"""Followers that take pages of changes into small tables: their common half.

How it works: the tables are in a SQLite file of their own, with the head of the last change that
was taken. A page of changes is taken in one transaction, which begins by reading that head, so
several processes may take changes, and none is taken twice. `perdure index` takes all changes, as
of any `Follower`. A server that finds a few unseen ones takes them itself.

What must stay true: you may delete the file at any time; the next run makes the same rows.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import apsw

from perdure.model.changes import ChainHead, Change
from perdure.storage.ports import Records
from perdure.upkeep.changes.following import count_behind, is_on_chain

_PAGE = 1000  # changes
_BUSY_MS = 10_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS head (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER, number INTEGER, chain TEXT
);
"""


class ChangeTable(ABC):
    """The tables that are kept for one registry. For one thread."""

    file: ClassVar[Path]
    """The file, in the registry directory."""
    format: ClassVar[int]
    """The format of the tables. If it differs, they are made again."""
    schema: ClassVar[str]
    """Creates the tables, unless they exist."""
    tables: ClassVar[tuple[str, ...]]

    def __init__(self, root: Path) -> None:
        """Open the tables. They are kept only in memory if the directory is not writable."""
        path = root / self.file
        self.is_kept = os.access(root, os.W_OK)
        if self.is_kept:
            path.parent.mkdir(exist_ok=True)
        self.connection = apsw.Connection(str(path) if self.is_kept else ":memory:")
        self.connection.set_busy_timeout(_BUSY_MS)
        self.connection.pragma("journal_mode", "wal")
        self.connection.pragma("synchronous", "NORMAL")
        self.connection.pragma("secure_delete", "on")
        if self.connection.pragma("user_version") != self.format:
            with self.writing():
                for table in (*self.tables, "head"):
                    self.connection.execute(f"DROP TABLE IF EXISTS {table}")
                self.connection.execute(_SCHEMA + self.schema)
                self.connection.pragma("user_version", self.format)

    def close(self) -> None:
        self.connection.close()

    def empty_log(self) -> None:
        """Empty the write-ahead log, which still has the pages from before a deletion.

        A reader may keep it for a moment; then the next call empties it.
        """
        with suppress(apsw.BusyError, apsw.LockedError):
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write in one transaction, once no other process does."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @abstractmethod
    def add_changes(self, changes: Sequence[Change], records: Records) -> None:
        """Take a page of changes into the tables, in the transaction that is open."""

    # following
    # ---------

    def last_head(self) -> ChainHead | None:
        """Return the last change that was taken."""
        row = self.connection.execute("SELECT epoch, number, chain FROM head").fetchone()
        return ChainHead(epoch=row[0], number=row[1], chain=row[2]) if row else None

    def reset(self) -> None:
        """Forget everything."""
        with self.writing():
            self._delete_rows()

    def _delete_rows(self) -> None:
        for table in (*self.tables, "head"):
            self.connection.execute(f"DELETE FROM {table}")  # noqa: S608  (our own names)

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        """Take the next changes. Does nothing if another process took or forgot some meanwhile."""
        with self.writing():
            seen = self.last_head()
            due = records.list_changes(seen.mark if seen else None, limit=1)
            if [one.mark for one in due] == [changes[0].mark]:
                self._add_page(changes, records)

    def take_all(self, records: Records) -> Iterator[int]:
        """Take all unseen changes, page by page. Yield the number of those taken so far."""
        taken = 0
        while page := self._take_page(records):
            taken += page
            yield taken

    def take_few(self, records: Records) -> int | None:
        """Take one page of unseen changes.

        Return the number of changes that remain unseen, or None if it is not known.
        """
        seen, now = self.last_head(), records.find_head()
        if now is not None and (seen is None or seen.mark != now.mark):
            self._take_page(records)
            seen = self.last_head()
        if now is None:
            return 0
        return None if seen is None else count_behind(records, seen.mark)

    def _take_page(self, records: Records) -> int:
        """Take the next changes in one transaction. Return their number."""
        with self.writing():
            seen = self.last_head()
            if not is_on_chain(records, seen):
                self._delete_rows()
                seen = None
            changes = records.list_changes(seen.mark if seen else None, limit=_PAGE)
            if changes:
                self._add_page(changes, records)
        return len(changes)

    def _add_page(self, changes: Sequence[Change], records: Records) -> None:
        """Take changes, and note the last one, in the transaction that is open."""
        self.add_changes(changes, records)
        last = changes[-1].head
        self.connection.execute(
            "INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)",
            (last.epoch, last.number, last.chain),
        )
