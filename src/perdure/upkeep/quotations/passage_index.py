"""The index of passages: the fingerprints of all held texts, kept by a follower of the changes.

How it works: `followers/quotations.sqlite` has a row for each held document: its name, its digest,
and its fingerprints with their places, sorted, 9 bytes each. What cannot be read is noted there. A
change of a record replaces the rows of that record, so a document that is withdrawn or erased
leaves the index (`perdure.upkeep.changes.record_index`).

What must stay true: you may delete the file at any time; the next run makes the same rows. The
index contains no text, and a deleted row is overwritten. What it finds is a hint only
(`perdure.upkeep.quotations.finding` compares it).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.records import Record, Representation
from perdure.registry import Registry
from perdure.upkeep.changes.record_index import RecordIndex, list_held
from perdure.upkeep.quotations.fingerprints import (
    CHARACTERS,
    WORDS,
    Fingerprints,
    find_fingerprints,
)
from perdure.upkeep.quotations.words import Numbers, fold_text

FILE = Path("followers", "quotations.sqlite")
_PRINT = 5  # bytes
_SCHEMA = """
CREATE TABLE IF NOT EXISTS document (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, name TEXT NOT NULL UNIQUE, sha512 TEXT NOT NULL,
    reading TEXT NOT NULL, words BLOB NOT NULL, characters BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS document_key ON document (key);
"""


class IndexedDocument(NamedTuple):
    """A document of the index: the name of exactly these bytes, and its fingerprints."""

    key: str
    name: str
    sha512: str
    words: Fingerprints
    """In the order of the numbers, not of the places."""
    characters: Fingerprints


class PassageIndex(RecordIndex):
    """The index of one registry. For one thread."""

    schema = _SCHEMA
    tables = ("document",)

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        super().__init__(registry.root / FILE)

    # following
    # ---------

    def index_record(self, key: str, record: Record | None) -> None:
        held = {} if record is None else {one: held for one, _, held in list_held(key, record)}
        wanted = {(str(name), one.sha512, str(one.reading)) for name, one in held.items()}
        query = "SELECT id, name, sha512, reading FROM document WHERE key = ?"
        present = set()
        for number, *stored in self.connection.execute(query, (key,)).fetchall():
            if tuple(stored) in wanted:
                present.add(tuple(stored))
            else:
                self.connection.execute("DELETE FROM document WHERE id = ?", (number,))
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
            self.note_unread(key, str(name), problem)
            return
        self.connection.execute(
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

    def list_documents(self) -> Iterator[IndexedDocument]:
        """Yield every document of the index."""
        query = "SELECT key, name, sha512, words, characters FROM document ORDER BY id"
        for key, name, sha512, words, characters in self.connection.execute(query):
            yield IndexedDocument(
                key, name, sha512, _unpack_fingerprints(words), _unpack_fingerprints(characters)
            )


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
