"""The index of passages: the fingerprints of all held texts, kept by a follower of the changes.

How it works: `followers/quotations.sqlite` has a row for each held document: its name, its digest,
and its fingerprints with their places, sorted, 9 bytes each. What cannot be read is noted there. A
change of a record replaces the rows of that record, so a document that is withdrawn or erased
leaves the index. The rows and the head of the change are written in one transaction, so an
interrupted run resumes after its last change.

What must stay true: you may delete the file at any time; the next run makes the same rows. The
index contains no text, and a deleted row is overwritten. What it finds is a hint only
(`perdure.upkeep.quotations.finding` compares it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier
from perdure.model.changes import WITHOUT_RECORDS, ChainHead, Change
from perdure.model.records import Record, Representation
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.registry import Registry
from perdure.storage.ports import Records
from perdure.upkeep.quotations.fingerprints import (
    CHARACTERS,
    WORDS,
    Fingerprints,
    find_fingerprints,
)
from perdure.upkeep.quotations.words import Numbers, fold_text

FILE = Path("followers", "quotations.sqlite")
_BUSY_MS = 10_000
_PRINT = 5  # bytes
_SCHEMA = """
CREATE TABLE IF NOT EXISTS head (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER, number INTEGER, chain TEXT
);
CREATE TABLE IF NOT EXISTS document (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL UNIQUE, sha512 TEXT NOT NULL,
    reading TEXT NOT NULL, words BLOB NOT NULL, characters BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS document_key ON document (key);
CREATE TABLE IF NOT EXISTS unread (
    key TEXT NOT NULL, name TEXT NOT NULL PRIMARY KEY, problem TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS unread_key ON unread (key);
"""


class IndexedDocument(NamedTuple):
    """A document of the index: the name of exactly these bytes, and its fingerprints."""

    key: str
    name: str
    sha512: str
    words: Fingerprints
    """In the order of the numbers, not of the places."""
    characters: Fingerprints


class UnreadDocument(NamedTuple):
    """A document or a record that could not be read when it was to be indexed."""

    name: str
    """The name of the document, or the key of the damaged record."""
    problem: str


class PassageIndex:
    """The index of one registry. For one thread."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        path = registry.root / FILE
        path.parent.mkdir(exist_ok=True)
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(_BUSY_MS)
        self._connection.pragma("secure_delete", "on")
        self._connection.pragma("synchronous", "NORMAL")
        self._connection.execute(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    # following
    # ---------

    def last_head(self) -> ChainHead | None:
        row = self._connection.execute("SELECT epoch, number, chain FROM head").fetchone()
        return ChainHead(epoch=row[0], number=row[1], chain=row[2]) if row else None

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        """Take changes, each in a transaction of its own: a text may take long to read."""
        for change in changes:
            with self._connection:
                if change.act not in WITHOUT_RECORDS:
                    self._take_change(change, records)
                self._connection.execute(
                    "INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)",
                    (change.epoch, change.number, change.chain.hex()),
                )

    def reset(self) -> None:
        with self._connection:
            self._connection.execute("DELETE FROM document")
            self._connection.execute("DELETE FROM unread")
            self._connection.execute("DELETE FROM head")

    def _take_change(self, change: Change, records: Records) -> None:
        """Index the records of a change again. A damaged one is noted, and hides no other."""
        try:
            keys = _list_keys(change, records)
        except Corrupt as damage:
            self._note_unread(change.first, change.first, damage)
            return
        for key in keys:
            try:
                self._index_record(key, records.find_record(key))
            except Corrupt as damage:
                self._index_record(key, None)
                self._note_unread(key, key, damage)

    def _note_unread(self, key: str, name: str, problem: Exception) -> None:
        query = "INSERT OR REPLACE INTO unread VALUES (?, ?, ?)"
        self._connection.execute(query, (key, name, str(problem)))

    def _index_record(self, key: str, record: Record | None) -> None:
        """Make the rows of a record equal to what it holds now."""
        self._connection.execute("DELETE FROM unread WHERE key = ?", (key,))
        held = {} if record is None else dict(_list_held(key, record))
        wanted = {(str(name), one.sha512, str(one.reading)) for name, one in held.items()}
        query = "SELECT id, name, sha512, reading FROM document WHERE key = ?"
        present = set()
        for number, *stored in self._connection.execute(query, (key,)).fetchall():
            if tuple(stored) in wanted:
                present.add(tuple(stored))
            else:
                self._connection.execute("DELETE FROM document WHERE id = ?", (number,))
        for name, one in held.items():
            if (str(name), one.sha512, str(one.reading)) not in present:
                self._add_document(key, name, one)

    def _add_document(self, key: str, name: Identifier, held: Representation) -> None:
        """Add the fingerprints of a document, if it has a text. Note it if that cannot be read."""
        try:
            source = self._registry.documents.open_source(name, held)
            text = self._registry.parts.read_text(source)
            if text is None:
                return
            folded = fold_text(text.text)
            words = find_fingerprints(folded.words, WORDS)
            characters = find_fingerprints(folded.characters, CHARACTERS)
        except (PerdureError, ValueError) as problem:  # damaged, too large, no library to read it
            self._note_unread(key, str(name), problem)
            return
        self._connection.execute(
            "INSERT INTO document (key, name, sha512, reading, words, characters)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                key,
                str(name),
                held.sha512,
                str(held.reading),
                _pack_fingerprints(words),
                _pack_fingerprints(characters),
            ),
        )

    # looking up
    # ----------

    def list_unread(self) -> list[UnreadDocument]:
        """Return the documents and records that could not be read, so are not searched, by name.

        It is read again when its record changes.
        """
        query = "SELECT name, problem FROM unread ORDER BY name"
        return [UnreadDocument(*row) for row in self._connection.execute(query)]

    def list_documents(self) -> Iterator[IndexedDocument]:
        """Yield every document of the index."""
        query = "SELECT key, name, sha512, words, characters FROM document ORDER BY id"
        for key, name, sha512, words, characters in self._connection.execute(query):
            yield IndexedDocument(
                key, name, sha512, _unpack_fingerprints(words), _unpack_fingerprints(characters)
            )


def _list_keys(change: Change, records: Records) -> list[str]:
    if change.count == 1:
        return [change.first]
    return [key for key, _ in records.find_lines(change)]


def _list_held(key: str, record: Record) -> Iterator[tuple[Identifier, Representation]]:
    """Yield the documents of a record that are neither withdrawn nor completely erased."""
    if record.tombstone is not None:
        return
    name = identify_record(key, record)
    for version in record.versions:
        if version.tombstone is None:
            for held in version.representations:
                if not held.erased or held.blanks:
                    yield qualify_identifier(name, version.number, held.format), held


def _pack_fingerprints(found: Fingerprints) -> bytes:
    """Pack fingerprints, sorted: all numbers of 5 bytes, then all places of 4, little-endian."""
    order = np.argsort(found.prints, kind="stable")
    octets = found.prints[order].astype("<u8").view(np.uint8).reshape(-1, 8)[:, :_PRINT]
    return octets.tobytes() + found.places[order].astype("<u4").tobytes()


def _unpack_fingerprints(data: bytes) -> Fingerprints:
    count = len(data) // (_PRINT + 4)
    octets: NDArray[np.uint8] = np.zeros((count, 8), dtype=np.uint8)
    octets[:, :_PRINT] = np.frombuffer(data, np.uint8, count * _PRINT).reshape(-1, _PRINT)
    prints: Numbers = octets.reshape(-1).view("<u8").astype(np.uint64)
    return Fingerprints(prints, np.frombuffer(data, "<u4", count, count * _PRINT))
