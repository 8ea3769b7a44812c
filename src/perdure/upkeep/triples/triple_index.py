"""The index of triples: the assertions of a registry in a store that SPARQL can query.

How it works: a follower of the changes. `followers/triples.sqlite` has a row for each assertion,
and `followers/triples/` is a store of pyoxigraph, with a graph for each. A graph is removed before
it is written, so a run that was interrupted can be repeated. The store may not be read while it is
written: a writer holds the lock of the index alone, readers share it.

What must stay true: you may delete both at any time; the next run makes the same triples. What was
withdrawn has none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perdure.errors import PerdureError
from perdure.errors.triples import AssertionNotTriples
from perdure.ids import Identifier
from perdure.model.assertions import RETRACTS
from perdure.model.queries import LOCAL_READER
from perdure.model.records import Record
from perdure.reading.assertions import HeldAssertion, is_assertion
from perdure.registry import Registry
from perdure.upkeep.changes.document_index import DOCUMENTS, DocumentIndex, HeldDocument
from perdure.upkeep.triples.library import load_pyoxigraph
from perdure.upkeep.triples.quads import list_quads

FILE = Path("followers", "triples.sqlite")


class TripleIndex(DocumentIndex):
    """The index of one registry. For one thread."""

    format = 1
    schema = DOCUMENTS
    tables = ("document",)

    def __init__(self, registry: Registry) -> None:
        self._ox = load_pyoxigraph()
        self._place = registry.root / FILE.with_suffix("")
        self._fresh = self._place.with_name("triples.fresh")
        self._stale = self._place.with_name("triples.stale")
        self._store: Any = None
        super().__init__(registry, FILE)
        if self._fresh.exists() or self._stale.exists():
            self._finish_copy()

    def _create_again(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        super()._create_again()

    # following
    # ---------

    def index_record(self, key: str, record: Record | None) -> None:
        kept = record if record is not None and is_assertion(record) else None
        super().index_record(key, kept)

    def add_contents(self, number: int, document: HeldDocument) -> None:  # noqa: ARG002
        held = self.registry.assertions.find_assertion(document.name, LOCAL_READER)
        graph = self._ox.NamedNode(str(document.name))
        store = self._open_writing()
        store.remove_graph(graph)
        if held is not None and held.identifier == document.name:
            try:
                store.extend(list(list_quads(held, self._list_invalidated(held))))
            except OSError as error:
                raise AssertionNotTriples(
                    identifier=str(document.name), fault=str(error)
                ) from error

    def _list_invalidated(self, held: HeldAssertion) -> list[Identifier]:
        """Return the assertions of the same actor that an assertion retracts."""
        if RETRACTS not in held.assertion.motivations:
            return []
        found: list[Identifier] = []
        for about in held.assertion.about:
            with contextlib.suppress(PerdureError):  # a citation, a pattern, something elsewhere
                other = self.registry.assertions.find_assertion(about, LOCAL_READER)
                if other is not None and held.identifier in other.retracted_by:
                    found.append(other.identifier)
        return found

    def remove_contents(self, number: int) -> None:
        query = "SELECT name FROM document WHERE id = ?"
        for (name,) in self.connection.execute(query, (number,)).fetchall():
            self._open_writing().remove_graph(self._ox.NamedNode(name))

    def purge_key(self, key: str) -> None:
        """Index a record again, and leave no bytes of its earlier triples in the files.

        A store keeps every text that it ever had, so what is left is copied to a new one.
        """
        query = "SELECT 1 FROM document WHERE key = ? LIMIT 1"
        with self.hold_lock():
            if self.connection.execute(query, (key,)).fetchone() is None:
                return
            try:
                self.index_keys((key,), self.registry.records)
                self._copy_store()
            finally:
                self.forget_contents()
        self.empty_log()

    def _copy_store(self) -> None:
        shutil.rmtree(self._fresh, ignore_errors=True)
        fresh = self._ox.Store(str(self._fresh))
        fresh.bulk_extend(iter(self._open_writing()))
        fresh.flush()
        del fresh
        self.forget_contents()
        self._place.rename(self._stale)
        self._fresh.rename(self._place)
        shutil.rmtree(self._stale)

    def _finish_copy(self) -> None:
        """Finish what a process did that was killed while it copied the store."""
        with self.hold_lock():
            if not self._place.exists() and self._fresh.exists():
                self._fresh.rename(self._place)
            for leftover in (self._fresh, self._stale):
                shutil.rmtree(leftover, ignore_errors=True)

    def end_batch(self) -> None:
        if self._store is not None:
            self._store.flush()

    def forget_contents(self) -> None:
        self._store = None  # closes it

    def _open_writing(self) -> Any:
        if self._store is None:
            self._store = self._ox.Store(str(self._place))
        return self._store

    # reading
    # -------

    @contextlib.contextmanager
    def open_store(self) -> Iterator[Any]:
        """Open the store for reading, while no process writes it."""
        fd = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            if not self._place.exists():
                yield self._ox.Store()
            else:
                yield self._ox.Store.read_only(str(self._place))
        finally:
            os.close(fd)

    def list_names(self) -> Iterator[str]:
        """Yield the identifiers of the assertions that have triples."""
        for (name,) in self.connection.execute("SELECT name FROM document ORDER BY id"):
            yield str(name)
