"""Requests that wait for slow work: the addresses take turns, and no flood locks others out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.deployment import deployed, text, wait_until

from perdure.errors import Unavailable
from perdure.errors.processes import ClientLeft, QueueFull
from perdure.errors.quotas import TooManyWaiting
from perdure.extractors.port import Part, Stream
from perdure.parts.selectors import View
from perdure.server.common.clients import RequestClient, set_current_client
from perdure.server.common.queues import QueueBounds, WorkQueue, WorkTurn

TURNS = 3


async def ask(queue: WorkQueue, client: RequestClient | str) -> WorkTurn:
    """Take a turn for a client, as a task of its own does."""
    limited = RequestClient(client, has_limits=True) if isinstance(client, str) else client
    set_current_client(limited)
    return await queue.take_turn()


class Askers:
    """Requests of addresses, and the order in which they were given turns."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue = queue
        self.order: list[str] = []
        self.turns: list[tuple[str, WorkTurn]] = []
        self.errors: list[tuple[str, Unavailable]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self, *clients: RequestClient | str) -> None:
        for client in clients:
            self.tasks.append(asyncio.create_task(self._ask(client)))
            await settle()

    async def _ask(self, client: RequestClient | str) -> None:
        address = client if isinstance(client, str) else client.address
        try:
            turn = await ask(self.queue, client)
        except Unavailable as error:
            self.errors.append((address, error))
        else:
            self.order.append(address)
            self.turns.append((address, turn))

    async def end(self, address: str | None = None) -> None:
        """End the oldest turn, or the oldest one of an address."""
        at = next(i for i, (one, _) in enumerate(self.turns) if address in (None, one))
        self.turns.pop(at)[1].end()
        await settle()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(work: Callable[[], Any]) -> None:
    asyncio.run(work())


def test_one_address_never_has_all_turns() -> None:
    async def work() -> None:
        asked = Askers(WorkQueue("q", TURNS))
        await asked.begin(*"aaaa")
        assert asked.order == ["a"] * (TURNS - 1)
        await asked.begin("b")
        assert asked.order[-1] == "b"
        assert asked.queue.waiting == 2

    run(work)


def test_the_addresses_take_turns() -> None:
    """However much one asks, the other waits at most for one turn of it."""

    async def work() -> None:
        asked = Askers(WorkQueue("q", 1))
        await asked.begin(*"aaaaa", *"bb", "c")
        assert asked.order == ["a"]
        for _ in range(7):
            await asked.end()
        assert asked.order == list("aabcabaa")
        await asked.end()
        assert asked.queue.waiting == 0

    run(work)


@given(st.lists(st.sampled_from(["a", "b", "c", "end"]), max_size=40), st.integers(1, 4))
def test_every_turn_is_given_once_and_fairly(events: list[str], turns: int) -> None:
    """ "So a client waits for what it asked itself, and at most for one turn of each other
    address": while a request waits, no other address gets two turns between two of its own."""

    async def work() -> None:
        asked = Askers(WorkQueue("q", turns))
        waiting = {"a": 0, "b": 0, "c": 0}
        since = {one: dict.fromkeys("abc", 0) for one in "abc"}  # turns of others while it waits
        for event in events:
            before = len(asked.order)
            if event != "end":
                waiting[event] += 1
                await asked.begin(event)
            elif asked.turns:
                await asked.end()
            for given_to in asked.order[before:]:
                waiting[given_to] -= 1
                since[given_to] = dict.fromkeys("abc", 0)
                for other in "abc":
                    # an address with all the turns that it may have is not waiting for others
                    held = sum(one == other for one, _ in asked.turns)
                    if other != given_to and waiting[other] and held < max(turns - 1, 1):
                        since[other][given_to] += 1
                        assert since[other][given_to] <= 1
            for one in "abc":
                if not waiting[one]:
                    since[one] = dict.fromkeys("abc", 0)
            assert len(asked.turns) <= turns
        while asked.turns:
            await asked.end()
        assert sorted(asked.order) == sorted(one for one in events if one != "end")
        assert asked.queue.waiting == 0

    run(work)


def test_an_address_may_have_so_many_waiting() -> None:
    async def work() -> None:
        asked = Askers(WorkQueue("q", 1, QueueBounds(per_address=2)))
        await asked.begin(*"aaaab")
        ((address, error),) = asked.errors
        assert isinstance(error, TooManyWaiting)
        assert (address, error.limit, error.kind) == ("a", 2, "q")
        assert error.wait > 0
        assert "waiting_per_address" in str(error)
        assert asked.queue.refused_per_address == 1
        await asked.end()
        await asked.begin("a")
        assert len(asked.errors) == 1  # there is room again

    run(work)


def list_waits(asked: Askers) -> list[int]:
    return [error.wait for _, error in asked.errors if isinstance(error, TooManyWaiting)]


def test_a_refused_client_is_told_how_long_the_others_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time of what waits, by the length of earlier turns, or of one that has lasted longer. An
    address has its share of the turns.
    """
    clock = 0.0
    monkeypatch.setattr("perdure.server.common.queues.time.monotonic", lambda: clock)

    async def work() -> None:
        nonlocal clock
        asked = Askers(WorkQueue("q", 3, QueueBounds(per_address=4)))
        await asked.begin(*"aa")  # one address has at most two of three turns
        clock = 6.0
        await asked.end()
        await asked.end()  # a turn takes six seconds
        await asked.begin(*"aaaaaaa")
        assert list_waits(asked) == [4 * 6 / 2]
        await asked.begin(*"bbcca")  # three addresses wait, so that each has one turn of three
        assert list_waits(asked)[1:] == [4 * 6 / 1]
        clock = 26.0  # the turns that are taken now have lasted for 20 seconds
        await asked.begin("a")
        assert list_waits(asked)[2:] == [4 * 20 / 1]

    run(work)


def test_this_machine_may_have_any_number_waiting() -> None:
    async def work() -> None:
        asked = Askers(WorkQueue("q", 1, QueueBounds(per_address=1)))
        await asked.begin(*[RequestClient("127.0.0.1")] * 5)
        assert not asked.errors
        assert asked.queue.waiting == 4

    run(work)


def test_the_longest_line_makes_room_in_a_full_queue() -> None:
    async def work() -> None:
        asked = Askers(WorkQueue("q", 1, QueueBounds(in_all=3)))
        await asked.begin(*"aaaa", "b")
        ((address, error),) = asked.errors
        assert isinstance(error, QueueFull)
        assert (address, error.limit) == ("a", 3)
        assert "waiting_requests" in str(error)
        await asked.begin("b")  # its line would be as long as the longest
        assert [one for one, _ in asked.errors] == ["a", "b"]
        assert asked.queue.refused_in_all == 2
        assert asked.queue.waiting == 3
        await asked.end()
        await asked.end()
        assert asked.order == ["a", "a", "b"] or asked.order == ["a", "b", "a"]

    run(work)


def test_who_has_left_is_dropped() -> None:
    async def work() -> None:
        gone = asyncio.Event()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        asked = Askers(WorkQueue("q", 1))
        await asked.begin("a", RequestClient("b", receive=receive), "c")
        gone.set()
        await settle()
        ((address, error),) = asked.errors
        assert address == "b"
        assert isinstance(error, ClientLeft)
        assert (asked.queue.dropped, asked.queue.waiting) == (1, 1)
        await asked.end()
        assert asked.order == ["a", "c"]

    run(work)


def test_who_may_have_left_comes_last_in_its_line() -> None:
    async def work() -> None:
        asked = Askers(WorkQueue("q", 1))
        ended = RequestClient("a", sends_no_more=lambda: True)
        await asked.begin("a", ended, "b", "a", "a")
        for _ in range(3):
            await asked.end()
        assert [one.done() for one in asked.tasks] == [True, False, True, True, True]
        await asked.end()
        assert asked.order == list("aabaa")

    run(work)


def test_a_request_that_is_stopped_leaves_the_queue() -> None:
    async def work() -> None:
        asked = Askers(WorkQueue("q", 1))
        await asked.begin(*"aab")
        asked.tasks[1].cancel()
        await settle()
        assert asked.queue.waiting == 1
        asked.turns[0][1].end()
        asked.tasks[2].cancel()  # it was given the turn in the meantime, but has not run since
        await settle()
        await asked.begin("c")
        assert asked.order == ["a", "c"]

    run(work)


@pytest.mark.parametrize("way", ["read", "dropped", "broken"])
def test_a_part_that_is_generated_keeps_its_turn(way: str) -> None:
    async def work() -> None:
        queue = WorkQueue("q", 1)

        def make_chunks() -> Iterator[bytes]:
            yield b"a"
            yield b"b"
            if way == "broken":
                raise OSError("the decoder died")

        def cut() -> Part:
            return Part(
                selector=View("page"), media_type="video/mp4", body=Stream(make_chunks(), 2)
            )

        set_current_client(RequestClient("a"))
        part = await queue.cut_part(cut)
        body = part.body
        assert isinstance(body, Stream)
        assert body.length == 2
        other = asyncio.create_task(ask(queue, "b"))
        chunk = await asyncio.to_thread(next, body.chunks)
        assert chunk == b"a"
        await settle()
        assert not other.done()
        if way == "dropped":
            del part, body
        else:
            with contextlib.suppress(OSError):
                assert await asyncio.to_thread(list, body.chunks) == [b"b"]
        (await asyncio.wait_for(other, 10)).end()

    run(work)


def test_what_fails_ends_its_turn() -> None:
    async def work() -> None:
        queue = WorkQueue("q", 1)

        def fail() -> Part:
            raise ZeroDivisionError

        for run_work in (queue.run, queue.cut_part):
            with pytest.raises(ZeroDivisionError):
                await run_work(fail)
        assert await queue.run(lambda: 1) == 1

    run(work)


# over a real connection
# ----------------------

SLOW = f"%23xpointer={quote('//row[a=following::a]', safe='')}"
QUICK = f"%23xpointer={quote('/rows/row[1]', safe='')}"


def read_metrics(site: Any, begin: str) -> float:
    lines = site.get("/metrics").body.decode().splitlines()
    return sum(float(one.rsplit(" ", 1)[1]) for one in lines if one.startswith(begin))


def test_a_flood_of_parts_delays_only_itself(tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    rows = b"<rows>" + b"".join(b"<row><a>%d</a></row>" % one for one in range(30_000)) + b"</rows>"
    with deployed(tmp_path / "registry", waiting_per_address=3) as site:
        name = site.mint(text(rows, "xml", "application/xml"))
        small = site.mint(text(b"<rows><row>1</row></rows>", "xml", "application/xml"))
        hostile = "X-Forwarded-For: 192.0.2.1"
        request = f"GET /{name}{SLOW} HTTP/1.1\r\nHost: a\r\n{hostile}\r\n\r\n".encode()
        wires = []
        for _ in range(5):  # two are cut, three wait
            wires.append(site.connect())
            wires[-1].sendall(request)
        waiting = 'perdure_waiting_requests{queue="'
        wait_until(lambda: read_metrics(site, waiting) == 3)
        refused = site.get(f"/{name}{SLOW}", hostile)
        assert refused.status == 429
        wait = int(refused.headers["retry-after"])
        assert refused.headers["ratelimit"] == f'"waiting";r=0;t={wait}'
        assert refused.headers["ratelimit-policy"] == '"waiting";q=3;qu="concurrent-requests"'
        problem = json.loads(refused.body)
        assert (problem["code"], problem["limit"]) == ("too-many-requests", 3)
        assert read_metrics(site, 'perdure_limited_requests_total{limit="waiting"}') == 1

        polite = site.get(f"/{small}{QUICK}", "X-Forwarded-For: 198.51.100.7")
        assert (polite.status, polite.body) == (200, b"<row>1</row>")

        for wire in wires:  # reset, not closed
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.close()
        wait_until(lambda: read_metrics(site, waiting) == 0)
        assert read_metrics(site, "perdure_dropped_requests_total") >= 1


def test_parts_of_clients_that_left_are_neither_cut_nor_kept_waiting(tmp_path: Path) -> None:
    """They close their sockets, as clients do, and do not reset their connections."""
    pytest.importorskip("lxml")
    rows = b"<rows>" + b"".join(b"<row><a>%d</a></row>" % one for one in range(30_000)) + b"</rows>"
    with deployed(tmp_path / "registry") as site:
        name = site.mint(text(rows, "xml", "application/xml"))
        wires = [site.connect() for _ in range(12)]
        for wire in wires:
            wire.sendall(f"GET /{name}{SLOW} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        waiting, dropped = 'perdure_waiting_requests{queue="', "perdure_dropped_requests_total"
        wait_until(lambda: read_metrics(site, waiting) >= 8)
        for wire in wires:
            wire.close()
        wait_until(lambda: read_metrics(site, waiting) == 0)
        assert read_metrics(site, dropped) >= 8
