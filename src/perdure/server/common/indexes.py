"""The indexes that followers keep, open for the threads of a server that read them.

How it works: each thread has its own connection, which is opened when it first needs one, and again
if the file was replaced. `perdure index` writes, in a process of its own; a server only reads, and
takes the last few changes into the counts of names.

What must stay true: an index that cannot be read is an error of the storage, not an empty answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from perdure.registry import Registry
from perdure.upkeep.changes.name_counts import NameCounts
from perdure.upkeep.citations.citation_index import FILE as CITATIONS
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.indexing import (
    open_citations,
    open_name_counts,
    open_passages,
    reporting_failures,
)

if TYPE_CHECKING:
    from perdure.upkeep.quotations.passage_index import PassageIndex


class ReaderIndexes(threading.local):
    """The indexes of one registry, as the current thread has opened them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._citations: CitationIndex | None = None
        self._inode = 0
        self._stack = ExitStack()

    @contextmanager
    def open_citations(self) -> Iterator[CitationIndex]:
        """Open the index of citations. Raises FollowerFailed."""
        with reporting_failures("the index of citations"):
            if self._citations is None or self._find_inode() != self._inode:
                self._stack.close()
                self._citations = self._stack.enter_context(open_citations(self._registry))
                self._inode = self._find_inode()
            yield self._citations

    @contextmanager
    def open_passages(self) -> Iterator[PassageIndex]:
        """Open the index of passages, for one question. Raises MissingLibrary, FollowerFailed."""
        with open_passages(self._registry) as index:
            yield index

    @contextmanager
    def open_name_counts(self) -> Iterator[NameCounts]:
        """Open the counts of names, for one question. Raises FollowerFailed."""
        with open_name_counts(self._registry) as counts:
            yield counts

    def _find_inode(self) -> int:
        try:
            return (self._registry.root / CITATIONS).stat().st_ino
        except OSError:
            return 0
