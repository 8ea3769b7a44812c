"""The indexes that followers keep, open for the threads of a server that read them.

How it works: each thread has its own connection, which is opened when it first needs one, and again
if the file was replaced. `perdure index` writes, in a process of its own; a server only reads, and
takes the last few changes into the counts of names and the index of the members of collections.

What must stay true: an index that cannot be read is an error of the storage, not an empty answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from perdure.registry import Registry
from perdure.upkeep.changes.name_counts import NameCounts
from perdure.upkeep.citations.citation_index import FILE as CITATIONS
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.collection.membership_index import FILE as MEMBERS
from perdure.upkeep.collection.membership_index import MembershipIndex
from perdure.upkeep.indexing import (
    open_citations,
    open_memberships,
    open_name_counts,
    open_passages,
    reporting_failures,
)

if TYPE_CHECKING:
    from perdure.upkeep.quotations.passage_index import PassageIndex

Index = TypeVar("Index")


class _KeptIndex(Generic[Index]):
    """An index that a thread keeps open, until its file is replaced."""

    def __init__(self, file: Path, opening: Callable[[], AbstractContextManager[Index]]) -> None:
        self._file = file
        self._opening = opening
        self._stack = ExitStack()
        self._opened: Index | None = None
        self._inode = 0

    def open_again(self) -> Index:
        """Return the index; it is opened if it is not open, or if its file was replaced."""
        if self._opened is None or self._find_inode() != self._inode:
            self._stack.close()
            self._opened = self._stack.enter_context(self._opening())
            self._inode = self._find_inode()
        return self._opened

    def _find_inode(self) -> int:
        try:
            return self._file.stat().st_ino
        except OSError:
            return 0


class ReaderIndexes(threading.local):
    """The indexes of one registry, as the current thread has opened them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        root = registry.root
        self._citations = _KeptIndex(root / CITATIONS, partial(open_citations, registry))
        self._memberships = _KeptIndex(root / MEMBERS, partial(open_memberships, registry))

    @contextmanager
    def open_citations(self) -> Iterator[CitationIndex]:
        """Open the index of citations. Raises FollowerFailed."""
        with reporting_failures("the index of citations"):
            yield self._citations.open_again()

    @contextmanager
    def open_memberships(self) -> Iterator[MembershipIndex]:
        """Open the index of the members of collections. Raises FollowerFailed."""
        with reporting_failures("the index of collections"):
            yield self._memberships.open_again()

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
