"""Followers that keep something for each held document in a SQLite file: their common half.

How it works: the table `document` has a row for each held document: its name, and the digest and
reading of its bytes. A change of a record (`record_index`) adds and removes rows, and a subclass
adds and removes what it keeps of them. A document that cannot be read has no row.

What must stay true: one process writes at a time. Tables in another format are made again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.changes import ChainHead, Change, ChangeMark
from perdure.model.records import Record, Representation
from perdure.registry import Registry
from perdure.storage.ports import Records
from perdure.upkeep.changes.record_index import RecordIndex, list_held

DOCUMENTS = """
CREATE TABLE IF NOT EXISTS document (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, name TEXT NOT NULL UNIQUE,
    sha512 TEXT NOT NULL, reading TEXT NOT NULL, day TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS document_key ON document (key);
"""
"""The table of documents: the beginning of the schema of each such index."""


class HeldDocument(NamedTuple):
    """A document: exactly these bytes under this name."""

    name: Identifier
    """With version and format, if the scheme has them."""
    held: Representation
    day: str
    """The day on which it was deposited, such as `2026-11-21`."""


class DocumentIndex(RecordIndex):
    """An index of the documents of one registry. For one thread."""

    format: ClassVar[int]
    """The format of the tables."""

    def __init__(self, registry: Registry, file: Path) -> None:
        self.registry = registry
        self._file = registry.root / file
        super().__init__(self._file)
        if self.connection.pragma("user_version") != self.format:
            with self.hold_lock():
                self._create_again()

    def _create_again(self) -> None:
        with self.connection:
            for table in self.tables:
                self.connection.execute(f"DROP TABLE IF EXISTS {table}")
            self.connection.execute(self.schema)
            self.connection.execute("DELETE FROM head; DELETE FROM unread")
        self.connection.pragma("user_version", self.format)

    @contextlib.contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Wait until no other process writes."""
        fd = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    # what a subclass keeps
    # ---------------------

    @abstractmethod
    def add_contents(self, number: int, document: HeldDocument) -> None:
        """Keep what is needed of a new document.

        Raises PerdureError or ValueError if it cannot be read; then it has no row.
        """

    @abstractmethod
    def remove_contents(self, number: int) -> None:
        """Remove everything that is kept of a document."""

    def forget_contents(self) -> None:
        """Forget what was collected for a transaction, whether it was committed or not."""

    # following
    # ---------

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        with self.hold_lock():
            head = self.last_head()
            fresh = [one for one in changes if head is None or _is_after(one, head)]
            try:
                super().take_changes(fresh, records)  # another process may have taken the others
            finally:
                self.forget_contents()

    def reset(self) -> None:
        with self.hold_lock():
            self._create_again()

    def begin_batch(self) -> None:
        super().begin_batch()
        self.forget_contents()

    def index_record(self, key: str, record: Record | None) -> None:
        held = {} if record is None else {str(one[0]): one for one in list_held(key, record)}
        query = "SELECT id, name, sha512, reading FROM document WHERE key = ?"
        rows: list[tuple[Any, ...]] = self.connection.execute(query, (key,)).fetchall()
        for number, name, sha512, reading in rows:
            one = held[name][2] if name in held else None
            if one is not None and (one.sha512, str(one.reading)) == (sha512, reading):
                del held[name]
            else:
                self.remove_contents(number)
                self.connection.execute("DELETE FROM document WHERE id = ?", (number,))
        if record is not None and held:
            days = {one.number: one.at for one in record.versions}
            for identifier, version, one in held.values():
                day = (one.at or days[version])[:10]
                self._add_document(key, HeldDocument(identifier, one, day))

    def _add_document(self, key: str, document: HeldDocument) -> None:
        name, held, day = document
        self.connection.execute(
            "INSERT INTO document (key, name, sha512, reading, day) VALUES (?, ?, ?, ?, ?)",
            (key, str(name), held.sha512, str(held.reading), day),
        )
        number = self.connection.last_insert_rowid()
        try:
            self.add_contents(number, document)
        except (PerdureError, ValueError) as problem:  # damaged, too large, no library to read it
            self.connection.execute("DELETE FROM document WHERE id = ?", (number,))
            self.note_unread(key, str(name), problem)

    # looking up
    # ----------

    def find_mark(self) -> ChangeMark | None:
        """Return the last change that the index has seen."""
        head = self.last_head()
        return None if head is None else head.mark


def _is_after(change: Change, head: ChainHead) -> bool:
    return (change.epoch, change.number) > (head.epoch, head.number)
