"""Counter of changes to records in PostgreSQL, which all nodes see at once.

How it works: a batch that revises a record adds one to a row of the table `generation` in its own
transaction; each writing session has one of sixteen rows, so that nodes do not wait for each other.
A cache stores each answer with the sum that was read before the look-up; the answer is valid while
the sum is the same. So what a node remembers is never older than the last acknowledged change,
whichever node made it. The price is one query for each answer that is remembered.

What must stay true: the row is changed in the transaction of the batch. After it, a node that died
in between would leave the others stale; before it, a reader could keep the old record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from perdure.errors import Unavailable

STRIPES = 16
_REVISIONS = "SELECT sum(count)::bigint FROM generation"
_CHANGES = "SELECT hashtextextended(pg_current_snapshot()::text, 0)"
"""Differs whenever a transaction has ended, so after each change; it has no other meaning."""
_NO_HASH = 1 << 64
Ask = Callable[[str], Sequence[Any]]


class DatabaseCounts:
    """Revisions and changes so far; each is read when it is asked for.

    If the database does not answer, a count is one that was never returned before: then nothing
    that is remembered is valid, and the look-up that follows reports the failure.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._failures = 0

    def __getitem__(self, place: int) -> int:
        try:
            return int(self._ask(_CHANGES if place else _REVISIONS)[0][0])
        except Unavailable:
            self._failures += 1
            return -self._failures if place == 0 else _NO_HASH + self._failures


class DatabaseCounter:
    """The counter, as the port `perdure.storage.ports.RevisionCounter`."""

    is_mapped = False

    def __init__(self, ask: Ask) -> None:
        self.counts = DatabaseCounts(ask)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def revision_count(self) -> int:
        return self.counts[0]

    @property
    def change_count(self) -> int:
        return self.counts[1]

    def note_revision(self) -> None:
        """Do nothing: the batch itself counted its revisions."""

    def note_change(self) -> None:
        """Do nothing: each transaction changes the count."""

    def close(self) -> None:
        """Do nothing: the reader owns the connection."""
