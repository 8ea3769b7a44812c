"""The index of passages: the fingerprints of all held texts, kept by a follower of the changes.

How it works: `followers/quotations.sqlite` has a row for each held document
(`perdure.upkeep.changes.document_index`). The fingerprints are in runs
(`perdure.upkeep.quotations.runs`), about 5 bytes each, in the directory `followers/quotations`; the
database lists the runs that count. The fingerprints of a page of changes are collected, and written
as runs before the transaction is committed. Those of a document that was withdrawn or erased are
overwritten.

What must stay true: you may delete the files at any time; the next run makes them again. The index
contains no text. What it finds is a hint only (`perdure.upkeep.quotations.finding` compares it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perdure.model.changes import Change
from perdure.registry import Registry
from perdure.storage.durable import sync_directory
from perdure.storage.ports import Records
from perdure.upkeep.changes.document_index import DOCUMENTS, DocumentIndex, HeldDocument
from perdure.upkeep.quotations import FILE
from perdure.upkeep.quotations.fingerprints import CHARACTERS, WORDS, Fingerprints
from perdure.upkeep.quotations.runs import (
    FingerprintRun,
    Postings,
    RunUnreadable,
    blank_postings,
    list_ranges,
    merge_runs,
    write_run,
)
from perdure.upkeep.quotations.texts import list_prints, open_compared_text
from perdure.upkeep.quotations.words import Numbers, Places

RUNS = Path("followers", "quotations")
_MOST_FRESH = 4_000_000  # fingerprints that are collected before they are written
_GROWTH = 2  # a run is merged with the smaller ones unless it is this many times as long as all
KINDS = {"words": WORDS, "characters": CHARACTERS}
"""What is fingerprinted, and how."""


class IndexedDocument(NamedTuple):
    """A document of the index: the name of exactly these bytes."""

    number: int
    key: str
    name: str
    sha512: str
    day: str
    """The day on which it was deposited."""


class FoundPlaces(NamedTuple):
    """Stretches of held documents that have a fingerprint, one in each row."""

    wanted: Numbers
    """The number of the fingerprint among those that were looked up."""
    documents: Places
    stretches: Places
    """The numbers of the stretches (`STRETCH` characters each) in which it begins."""


class _RunRow(NamedTuple):
    number: int
    kind: str
    size: int
    first: int
    last: int


class PassageIndex(DocumentIndex):
    """The index of one registry. For one thread."""

    format = 5  # before, words at the borders of blocks of a page were one word
    schema = (
        DOCUMENTS
        + """
    CREATE TABLE IF NOT EXISTS run (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, count INTEGER NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL
    );
    """
    )
    tables = ("document", "run")

    def __init__(self, registry: Registry) -> None:
        self._place = registry.root / RUNS
        self._place.mkdir(parents=True, exist_ok=True)
        self._fresh: dict[str, list[Postings]] = {}
        self._fresh_count = 0
        self._gone: set[int] = set()
        self._rewritten: set[int] = set()
        """The runs without any document that is gone."""
        self._opened: dict[int, FingerprintRun] = {}
        super().__init__(registry, FILE)
        try:
            for kind in KINDS:
                self._open_runs(kind)
        except RunUnreadable:
            self.reset()

    def close(self) -> None:
        self._opened.clear()
        super().close()

    # following
    # ---------

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        super().take_changes(changes, records)
        with self.hold_lock():
            self._delete_unlisted()

    def reset(self) -> None:
        self._opened.clear()
        super().reset()

    def add_contents(self, number: int, document: HeldDocument) -> None:
        source = self.registry.documents.open_source(document.name, document.held)
        text = open_compared_text(self.registry.parts, source)
        if text is not None:
            prints = list_prints(text)
            self._collect("words", number, prints.words)
            self._collect("characters", number, prints.characters)

    def remove_contents(self, number: int) -> None:
        self._gone.add(number)

    def is_batch_full(self) -> bool:
        return self._fresh_count >= _MOST_FRESH

    def end_batch(self) -> None:
        """Write what was collected as runs, and merge runs."""
        for kind, found in self._fresh.items():
            self._write_fresh(kind, found)
        for kind in KINDS:
            self._merge_similar(kind)
        self._purge_gone()
        sync_directory(self._place)

    def forget_contents(self) -> None:
        self._fresh.clear()
        self._gone.clear()
        self._rewritten.clear()
        self._fresh_count = 0

    def _collect(self, kind: str, number: int, found: Fingerprints) -> None:
        if len(found.prints):
            documents = np.full(len(found.prints), number, dtype=np.uint32)
            postings = Postings(found.prints, documents, found.places)
            self._fresh.setdefault(kind, []).append(postings)
            self._fresh_count += len(found.prints)

    # writing
    # -------

    def _write_fresh(self, kind: str, found: list[Postings]) -> None:
        joined = Postings(*(np.concatenate(column) for column in zip(*found, strict=True)))
        first, last = int(joined.documents.min()), int(joined.documents.max())
        number = self._add_run(kind, first, last)
        self._set_count(number, write_run(self._name_run(number), joined))

    def _merge_similar(self, kind: str) -> None:
        """Merge small runs, so that each that is left is longer than all smaller ones together."""
        rows = sorted(self._list_runs(kind), key=lambda one: one.size)
        merged, total = 0, 0
        for number, row in enumerate(rows, 1):
            if number > 1 and row.size < _GROWTH * total:
                merged = number
            total += row.size
        if merged:
            self._rewrite_runs(kind, rows[:merged])

    def _purge_gone(self) -> None:
        """Overwrite the fingerprints of the documents that are gone."""
        for row in self._list_runs():
            gone = {number for number in self._gone if row.first <= number <= row.last}
            if gone and row.number not in self._rewritten:
                blank_postings(self._name_run(row.number), gone)

    def _rewrite_runs(self, kind: str, rows: Sequence[_RunRow]) -> None:
        """Replace runs by one, without the documents that are gone."""
        number = self._add_run(kind, min(one.first for one in rows), max(one.last for one in rows))
        runs = [self._open_run(one.number) for one in sorted(rows)]
        count = merge_runs(self._name_run(number), runs, self._gone)
        self._rewritten.add(number)
        self._set_count(number, count)
        for one in rows:
            self.connection.execute("DELETE FROM run WHERE id = ?", (one.number,))
        if not count:
            self.connection.execute("DELETE FROM run WHERE id = ?", (number,))

    def _add_run(self, kind: str, first: int, last: int) -> int:
        query = "INSERT INTO run (kind, count, first, last) VALUES (?, 0, ?, ?)"
        self.connection.execute(query, (kind, first, last))
        return self.connection.last_insert_rowid()

    def _set_count(self, number: int, count: int) -> None:
        self.connection.execute("UPDATE run SET count = ? WHERE id = ?", (count, number))

    def _delete_unlisted(self) -> None:
        """Delete the files of runs that were merged, or whose transaction was lost."""
        listed = {self._name_run(one.number).name for one in self._list_runs()}
        for path in self._place.glob("*.run"):
            if path.name not in listed:
                path.unlink(missing_ok=True)

    def _list_runs(self, kind: str | None = None) -> list[_RunRow]:
        query = "SELECT id, kind, count, first, last FROM run ORDER BY id"
        rows = [_RunRow(*row) for row in self.connection.execute(query)]
        return [one for one in rows if kind in (None, one.kind)]

    def _name_run(self, number: int) -> Path:
        return self._place / f"{number:09}.run"

    def _open_run(self, number: int) -> FingerprintRun:
        if number not in self._opened:
            self._opened[number] = FingerprintRun(self._name_run(number))
        return self._opened[number]

    # looking up
    # ----------

    def find_places(self, kind: str, prints: Numbers, *, most: int) -> FoundPlaces:
        """Return where each fingerprint is, unless it has more than `most` places."""
        runs = self._open_runs(kind)
        if not runs or not len(prints):
            none = np.empty(0, dtype=np.uint32)
            return FoundPlaces(np.empty(0, dtype=np.uint64), none, none)
        bounds = [one.find_bounds(prints) for one in runs]
        counts = [stops - starts for starts, stops in bounds]
        rare = np.sum(counts, axis=0) <= most
        numbers, documents, stretches = [], [], []
        for run, (starts, _), count in zip(runs, bounds, counts, strict=True):
            chosen = np.flatnonzero(rare & (count > 0))
            each = count[chosen]
            found = run.read_postings(list_ranges(starts[chosen], each))
            numbers.append(np.repeat(chosen, each).astype(np.uint64))
            documents.append(found[0])
            stretches.append(found[1])
        return FoundPlaces(
            np.concatenate(numbers), np.concatenate(documents), np.concatenate(stretches)
        )

    def _open_runs(self, kind: str) -> list[FingerprintRun]:
        """Open the runs that count now. A writer may delete one between both steps."""
        while True:
            rows = self._list_runs(kind)
            try:
                found = [self._open_run(one.number) for one in rows]
            except RunUnreadable:
                if rows == self._list_runs(kind):
                    raise
                continue
            listed = {one.number for one in self._list_runs()}
            for number in self._opened.keys() - listed:
                del self._opened[number]
            return found

    def find_document(self, number: int) -> IndexedDocument | None:
        """Return the document with a number, unless it is gone."""
        query = "SELECT id, key, name, sha512, day FROM document WHERE id = ?"
        row = self.connection.execute(query, (number,)).fetchone()
        return IndexedDocument(*row) if row else None

    def list_documents(self) -> Iterator[IndexedDocument]:
        """Yield every document of the index, in the order in which they were indexed."""
        query = "SELECT id, key, name, sha512, day FROM document ORDER BY id"
        for row in self.connection.execute(query):
            yield IndexedDocument(*row)

    def measure_size(self) -> int:
        """Return the bytes of all files of the index."""
        files = [self.registry.root / FILE, *self._place.glob("*.run")]
        return sum(one.stat().st_size for one in files)
