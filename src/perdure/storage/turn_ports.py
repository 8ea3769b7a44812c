"""The port of a store behind a network: what several requests need of it, read by one query.

How it works: the event loop says what the requests of one turn need (`Wants`), and is called with
one state of the registry that has all of it (`TurnState`). Nothing waits meanwhile.

What must stay true: a state is never older than the call that asked for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Wants(NamedTuple):
    """The needs of a request, as far as they are known."""

    keys: frozenset[str] = frozenset()
    """Of records."""
    references: frozenset[tuple[str, int]] = frozenset()
    """Whose records are sought (`perdure.model.references`), each with the most that are needed."""
    ranges: frozenset[tuple[str, str]] = frozenset()
    """Of keys, both ends included; the last record of each is sought."""


NOTHING = Wants()


class TurnState(NamedTuple):
    """A state of the registry, as far as it was wanted. Nothing else is known of it."""

    revisions: int
    """As `perdure.storage.ports.RevisionCounter.revision_count`."""
    changes: int
    """A number from 0 that differs in each state. It has no other meaning."""
    last_rule: int
    """The number of the newest reading rule, or 0."""
    records: dict[str, str | None]
    """For each wanted key, the stored form of its record, or None if it has no record."""
    referring: dict[tuple[str, int], list[str]]
    """For each wanted reference, the keys of records that may have it, sorted."""
    lasts: dict[tuple[str, str], tuple[str, str] | None]
    """For each wanted range, the key and the stored form of its last record, or None."""


class TurnReader(Protocol):
    """Reads states for the event loop. Its methods never wait."""

    @property
    def is_free(self) -> bool:
        """True if it can begin to read at once."""

    def read_state(self, wants: Wants, then: Callable[[TurnState | None], None]) -> None:
        """Read a state, and call `then` with it; with None if the registry cannot be read.

        Call this only in the event loop, and while the reader is free.
        """

    def close(self) -> None:
        """Close the connections. Then nothing is called any more."""
