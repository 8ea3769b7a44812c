"""Bringing the indexes of citations and of passages up to date, each under its own lock.

How it works: both are followers of the changes (`perdure.upkeep.changes.following`). The index of
passages needs numpy (`perdure[text]`); without it, only citations are indexed.

What must stay true: an index that cannot be written is an error with the reason, never an answer
that looks complete.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import apsw

from perdure.errors import MissingLibrary
from perdure.errors.unavailable import FollowerFailed
from perdure.registry import Registry
from perdure.upkeep.changes.document_index import DocumentIndex
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.citations.citation_index import CitationIndex

if TYPE_CHECKING:
    from perdure.upkeep.quotations.passage_index import PassageIndex

Progress = Callable[[int], None]


def _ignore(_taken: int) -> None:
    """Report no progress."""


def has_passages() -> bool:
    """Return True if the library that the index of passages needs is installed."""
    return find_spec("numpy") is not None


@contextlib.contextmanager
def open_citations(registry: Registry) -> Iterator[CitationIndex]:
    """Open the index of citations as it is. Raises FollowerFailed."""
    with _failures("the index of citations"), contextlib.closing(CitationIndex(registry)) as index:
        yield index


@contextlib.contextmanager
def open_passages(registry: Registry) -> Iterator[PassageIndex]:
    """Open the index of passages as it is. Raises MissingLibrary or FollowerFailed."""
    if not has_passages():
        raise MissingLibrary(task="finding quotations", extra="text", library="numpy")
    from perdure.upkeep.quotations.passage_index import PassageIndex

    with _failures("the index of passages"), contextlib.closing(PassageIndex(registry)) as index:
        yield index


def bring_up_to_date(index: DocumentIndex, report: Progress = _ignore) -> None:
    """Let an index take all changes that it has not seen. Raises FollowerFailed."""
    with _failures("the index"):
        for step in catch_up(index.registry.records, index):
            report(step.taken)


@contextlib.contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except (apsw.Error, OSError) as error:
        raise FollowerFailed(what=what, reason=str(error)) from error
