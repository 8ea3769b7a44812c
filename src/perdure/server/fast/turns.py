"""Look-ups in a store behind a network: those of one turn of the event loop are one query.

How it works: a request waits (`AnswerLater`) for a state of the registry that was read after the
request had arrived. All requests that wait share one query, and the next one begins when there is
a free connection; so with more requests, each query answers more of them. What a request needs is
guessed from its target. If that does not suffice, it waits again, for a state that has everything.

The state has the count of revisions, too: what is remembered is valid if it was found under the
same count. With the setting `stale_ms`, a state is used for as long.

What must stay true: a request is answered from one state only, and a state answers no request
that arrived after it was asked for; so it is taken once for each request that waited for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

from perdure.registry import Registry
from perdure.server.protocol.http import AnswerLater
from perdure.storage.ports import RevisionCounter
from perdure.storage.turn_ports import NOTHING, TurnReader, TurnState, Wants

_UNKNOWN = TurnState(-1, -1, -1, {}, {}, {})
_ALL = 1 << 31
_Again = Callable[[], None]


class _TurnCounts:
    """The counts of the state from which a request is being answered."""

    def __init__(self) -> None:
        self.state = _UNKNOWN

    def __getitem__(self, place: int) -> int:
        return self.state.changes if place else self.state.revisions


class TurnQueries:
    """Looks up for the requests of one event loop, as `perdure.server.fast.lookups.LookUps`."""

    def __init__(
        self, reader: TurnReader, *, stale_ms: int = 0, foresees_rules: bool = False
    ) -> None:
        """`foresees_rules`: there may be rules that the store does not have, as in a mirror."""
        self.counts = _TurnCounts()
        """Of the state from which a request is being answered."""
        self.turn = 0
        self.is_held = False
        self.queries = 0
        """Queries that were sent."""
        self._reader = reader
        self._stale = stale_ms / 1000
        self._foresees_rules = foresees_rules
        self._thread = threading.get_ident()
        self._waiting: list[tuple[Wants, _Again]] = []
        self._is_due = False
        self._wants = NOTHING
        """What the request being answered has asked for so far."""
        self._given: TurnState | None = None
        """The state that was read for the request that is about to be answered again."""
        self._last = _UNKNOWN
        self._last_asked = float("-inf")
        """When `_last` was asked for, on the clock of the event loop."""
        self.has_failed = False
        """True if the registry could not be read for the request that is about to be answered."""

    @property
    def changes(self) -> int:
        return self.counts.state.changes

    @property
    def last_rule(self) -> int:
        """The number of the newest rule in that state; -1 if there may be others elsewhere."""
        return -1 if self._foresees_rules else self.counts.state.last_rule

    # One request
    # -----------

    def take_state(self) -> bool:
        """Begin to answer a request from the state that it waited for. False if it did not wait."""
        given = self._given
        if given is None:
            self._wants = NOTHING
            if not self._stale:
                return False
            if asyncio.get_running_loop().time() - self._last_asked > self._stale:
                return False
            given = self._last
        self._given = None
        self.counts.state = given
        self.is_held = True
        self.turn += 1
        return True

    def release_state(self) -> None:
        """End the answer to a request. `take_state` begins the next one."""

    def drop_state(self) -> None:
        """Know nothing any more: the request is answered, or it waits."""
        self.counts.state = _UNKNOWN
        self.is_held = False
        self._wants = NOTHING

    def wait_for_key(self, key: str | None) -> AnswerLater:
        """The request to wait for a state in which the record of a key is known, if it is given."""
        return self._wait(NOTHING if key is None else Wants(frozenset((key,))))

    def _wait(self, wants: Wants) -> AnswerLater:
        return AnswerLater(partial(self._start_waiting, wants))

    def find_record(self, key: str) -> str | None:
        """Return the stored form of a record, or None. Raises AnswerLater if it is not known."""
        try:
            return self.counts.state.records[key]
        except KeyError:
            wants = self._wants
            raise self._wait(wants._replace(keys=wants.keys | {key})) from None

    find_stored = find_record

    def find_referring(self, reference: str, *, limit: int = _ALL) -> list[str]:
        """Return keys as `RecordLookUp` does. Raises AnswerLater if they are not known."""
        sought = reference, limit
        try:
            return self.counts.state.referring[sought]
        except KeyError:
            wants = self._wants
            raise self._wait(wants._replace(references=wants.references | {sought})) from None

    def find_last(self, low: str, high: str) -> tuple[str, str] | None:
        """Return the last record of a range. Raises AnswerLater if it is not known."""
        try:
            return self.counts.state.lasts[low, high]
        except KeyError:
            wants = self._wants
            raise self._wait(wants._replace(ranges=wants.ranges | {(low, high)})) from None

    def is_answering(self) -> bool:
        """Return True if this thread is answering a request from a state."""
        return self.is_held and threading.get_ident() == self._thread

    # All that wait
    # -------------

    def _start_waiting(self, wants: Wants, again: _Again) -> None:
        self._waiting.append((wants, again))
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._send_due)

    def _send_due(self) -> None:
        self._is_due = False
        self._send()

    def _send(self) -> None:
        """Ask for all requests that wait, if there is a free connection."""
        if not self._waiting or not self._reader.is_free:
            return
        batch, self._waiting = self._waiting, []
        self._thread = threading.get_ident()
        self.queries += 1
        asked = asyncio.get_running_loop().time()
        self._reader.read_state(_join_wants(batch), partial(self._give, batch, asked))

    def _give(
        self, batch: list[tuple[Wants, _Again]], asked: float, state: TurnState | None
    ) -> None:
        """Have the requests answered that waited for a state."""
        if state is not None and asked > self._last_asked:
            self._last, self._last_asked = state, asked
        self._send()  # for those that came meanwhile
        for wants, again in batch:
            self._given, self._wants, self.has_failed = state, wants, state is None
            try:
                again()
            except Exception as error:  # the others are still answered
                context = {"message": "a request was not answered again", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
        self._given, self.has_failed = None, False

    def close(self) -> None:
        """Close the connections. No request is answered any more."""
        self._reader.close()


def open_turns(registry: Registry, generation: RevisionCounter) -> TurnQueries | None:
    """Open the look-ups of a store behind a network, or return None if it is not behind one.

    The delegations, too, are then looked up in the state from which a request is answered.
    """
    reader = registry.records.open_turns()
    if reader is None:
        return None
    turns = TurnQueries(
        reader,
        stale_ms=registry.settings.stale_ms,
        foresees_rules=bool(registry.fence.find_origin()),
    )
    records = registry.records

    def count_revisions() -> int:
        return turns.counts[0] if turns.is_answering() else generation.revision_count

    def find_referring(reference: str) -> list[str]:
        find = turns.find_referring if turns.is_answering() else records.find_referring
        return find(reference)

    registry.delegations.watch_revisions(count_revisions, find_referring)
    return turns


def _join_wants(batch: list[tuple[Wants, _Again]]) -> Wants:
    """All that some requests want."""
    keys: set[str] = set()
    references: set[tuple[str, int]] = set()
    ranges: set[tuple[str, str]] = set()
    for wants, _ in batch:
        if wants is NOTHING:
            continue
        keys |= wants.keys
        references |= wants.references
        ranges |= wants.ranges
    if not keys and not references and not ranges:
        return NOTHING
    return Wants(frozenset(keys), frozenset(references), frozenset(ranges))
