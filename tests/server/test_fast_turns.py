"""Requests that share look-ups in a store behind a network: which state answers which of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.server.fast.turns import TurnQueries
from perdure.server.protocol.http import AnswerLater
from perdure.storage.turn_ports import TurnState, Wants

KEY = "pdi:a"


class Registry:
    """A registry behind a network, with one record that counts changes, and its reader."""

    def __init__(self, lanes: int) -> None:
        self.changes = 0
        self.lanes: list[Callable[[], None] | None] = [None] * lanes

    @property
    def is_free(self) -> bool:
        return None in self.lanes

    def read_state(self, wants: Wants, then: Callable[[TurnState | None], None]) -> None:
        """The state is that of this moment, the oldest one that a server could return."""
        at = self.changes
        records = {key: str(at) if key == KEY else None for key in wants.keys}
        lane = self.lanes.index(None)
        self.lanes[lane] = partial(then, TurnState(at, at, 0, records, {}, {}))

    def finish(self, lane: int) -> None:
        """Let an answer arrive, if one is on its way."""
        lane %= len(self.lanes)
        arriving, self.lanes[lane] = self.lanes[lane], None
        if arriving is not None:
            arriving()

    def close(self) -> None:
        """Do nothing."""


class Client:
    """A connection, whose next request may arrive while one waits. It is answered after that."""

    def __init__(self, turns: TurnQueries, registry: Registry) -> None:
        self._turns = turns
        self._registry = registry
        self._arrived: list[int] = []
        self._is_waiting = False
        self.answers: list[tuple[int, str]] = []
        """For each request, the changes when it arrived, and the record that answered it."""

    def send(self) -> None:
        self._arrived.append(self._registry.changes)
        if not self._is_waiting:
            self._answer_next()

    def _answer_next(self) -> None:
        self._is_waiting = False
        while self._arrived and not self._is_waiting:
            try:
                found = self._look_up()
            except AnswerLater as later:
                self._is_waiting = True
                later.start(self._answer_next)
            else:
                self.answers.append((self._arrived.pop(0), found))

    def _look_up(self) -> str:
        if not self._turns.take_state():
            raise self._turns.wait_for_key(KEY)
        try:
            return self._turns.find_record(KEY) or ""
        finally:
            self._turns.drop_state()

    @property
    def unanswered(self) -> int:
        return len(self._arrived)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 2)),
        st.tuples(st.just("finish"), st.integers(0, 1)),
        st.tuples(st.sampled_from(["change", "turn"]), st.just(0)),
    ),
    max_size=60,
)


async def play(steps: list[tuple[str, int]], lanes: int) -> list[Client]:
    registry = Registry(lanes)
    turns = TurnQueries(registry)
    clients = [Client(turns, registry) for _ in range(3)]
    for step, number in steps:
        match step:
            case "send":
                clients[number].send()
            case "finish":
                registry.finish(number)
            case "change":
                registry.changes += 1
            case _:
                await asyncio.sleep(0)
    for _ in range(4 * len(steps) + 4):  # at most two states for each request
        await asyncio.sleep(0)
        registry.finish(0)
        registry.finish(1)
    return clients


PIPELINED = [("send", 0), ("turn", 0), ("change", 0), ("send", 0), ("finish", 0)]
"""The second request arrives while the state for the first one is on its way."""


@settings(max_examples=60)
@example(PIPELINED, 1)
@given(STEPS, st.integers(1, 2))
def test_a_state_is_never_older_than_its_request(steps: list[tuple[str, int]], lanes: int) -> None:
    """Issue: "no node gives an answer older than the last acknowledged change"."""
    clients = asyncio.run(play(steps, lanes))
    for client in clients:
        assert not client.unanswered
        assert all(int(found) >= changes for changes, found in client.answers)


def test_requests_of_one_turn_share_a_query() -> None:
    """ "look-ups of one turn of the event loop are one `= ANY` query" """

    async def count() -> int:
        registry = Registry(2)
        turns = TurnQueries(registry)
        waiting = [Client(turns, registry) for _ in range(64)]
        for client in waiting:
            client.send()
        for _ in range(3):
            await asyncio.sleep(0)
            registry.finish(0)
        assert all(client.answers for client in waiting)
        return turns.queries

    assert asyncio.run(count()) == 1
