"""Look-ups of records for the event loop: one state of the registry for each turn of the loop.

How it works: to keep the state between the look-ups of one turn halves their cost. The state is
released at the end of the turn, or earlier if a record was revised. A record that must be read from
the disk is read by a thread first (`perdure.server.common.cold_reads`).

What must stay true: a record is at most one turn of the event loop old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from perdure.server.common.cold_reads import ColdReads
from perdure.server.protocol.http import AnswerLater
from perdure.storage.ports import CountPair, Records


class LookUps(Protocol):
    """Looks up what the answer to one request needs, in one state of the registry.

    Its functions raise AnswerLater if that must be read before, and Corrupt or Unavailable if it
    cannot be read.
    """

    is_held: bool
    turn: int

    @property
    def find_stored(self) -> Callable[[str], str | None]:
        """As `find_record`, to be called only while a state is held."""

    @property
    def changes(self) -> int:
        """The count of changes before the state that is held, or was held last; -1 if unknown."""

    def find_record(self, key: str) -> str | None:
        """Return the stored form of a record, or None if it does not exist."""

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        """Return the keys of records that may have a reference."""

    def find_last(self, low: str, high: str) -> tuple[str, str] | None:
        """Return the last record of a range of keys: its key and its stored form."""

    def release_state(self) -> None:
        """Let look-ups see the newest acknowledged state."""


class TurnLookUp:
    """Looks up records for the event loop."""

    def __init__(self, records: Records, cold: ColdReads, counts: CountPair | None) -> None:
        """`counts` are those of `perdure.storage.generation`, if they are in memory."""
        self._cold = cold
        self._counts = counts
        self._lookup = records.open_lookup()
        self.find_stored = self._lookup.find_stored
        self.find_referring = self._lookup.find_referring
        self.find_last = self._lookup.find_last_stored
        self.is_held = False
        """True if a state is held, so that look-ups need not wait for the disk. The three functions
        above need it; `find_record` sees to it."""
        self.turn = 0
        """A number that grows with each state that is held."""
        self.changes = -1
        """The count of changes before the state that is held, or was held last; -1 if unknown."""
        self._read_keys: frozenset[str] = frozenset()
        """The keys of records that were read from the disk for the request being answered."""

    def find_record(self, key: str) -> str | None:
        """Return the stored form of a record, or None if it does not exist.

        Raises AnswerLater if the record must be read from the disk before, and Corrupt or
        Unavailable if it cannot be read.
        """
        if not self.is_held:
            if not self._cold.is_cold:
                self._hold_state()
            elif key not in self._read_keys:
                raise AnswerLater(partial(self._read_first, self._read_keys | {key}, key))
        return self.find_stored(key)

    def _read_first(self, keys: frozenset[str], key: str, again: Callable[[], None]) -> None:
        """Read a record from the disk, and then let the request be answered `again`."""

        def answer() -> None:
            self._read_keys = keys
            try:
                again()
            finally:
                self._read_keys = frozenset()

        self._cold.start_reading(key, answer)

    def _hold_state(self) -> None:
        if self._counts is not None:
            self.changes = self._counts[1]
        self._lookup.hold_state()
        self.is_held = True
        self.turn += 1
        asyncio.get_running_loop().call_soon(self.release_state)

    def release_state(self) -> None:
        """Let look-ups see the newest acknowledged state."""
        if self.is_held:
            self.is_held = False
            self._lookup.release_state()
