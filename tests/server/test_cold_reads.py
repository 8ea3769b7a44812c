"""Records that must be read from the disk: many at a time, while others are answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.conftest import Desk

from perdure.server.application import Application
from perdure.server.common.bearers import Bearers
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.metrics import Metrics
from perdure.server.common.service import Service
from perdure.server.fast.path import FastPath
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.protocol.http import EXTENSION, AnswerLater
from perdure.storage.generation import Generation
from perdure.storage.ports import RecordLookUp

CLIENTS = 32
TIMEOUT = 60  # seconds, of what would otherwise hang for ever
FIELDS = b"\r\nHost: a\r\n\r\n"


class SlowDisk:
    """Records whose cold look-ups wait until `CLIENTS` of them wait for the disk together."""

    def __init__(self, desk: Desk) -> None:
        self._records = desk.registry.records
        self.barrier = threading.Barrier(CLIENTS)
        self.keys: list[str] = []
        self.threads: set[int] = set()

    def open_lookup(self, *, cold: bool = False) -> RecordLookUp:
        assert cold
        lookup = self._records.open_lookup(cold=cold)
        find_stored = lookup.find_stored

        def find_slowly(key: str) -> str | None:
            self.keys.append(key)
            self.threads.add(threading.get_ident())
            self.barrier.wait(TIMEOUT)
            return find_stored(key)

        lookup.find_stored = find_slowly  # type: ignore[method-assign]
        return lookup


class StatedCounts:
    """Waits for the disk, as a test states them."""

    def __init__(self) -> None:
        self.faults = self.blocks = 0

    def count_faults(self) -> int:
        return self.faults

    def count_blocks(self) -> int:
        return self.blocks


@pytest.fixture
def disk(desk: Desk) -> SlowDisk:
    return SlowDisk(desk)


@pytest.fixture
def cold(desk: Desk, disk: SlowDisk) -> Iterator[ColdReads]:
    made = ColdReads(disk, desk.registry.reading, StatedCounts())  # type: ignore[arg-type]
    made.is_cold = True
    yield made
    disk.barrier.abort()
    made.close()


@pytest.fixture
def generation(desk: Desk) -> Iterator[Generation]:
    with Generation(desk.root) as made:
        yield made


def bind(desk: Desk, name: str) -> bytes:
    """Bind a name to a location, and return its target."""
    desk.bind(name, f"https://a.example/{name}", register=True)
    return f"/{name}".encode()


async def ask(fast: FastPath, target: bytes) -> bytes | None:
    """The fast answer, which may come later."""
    try:
        return fast.answer_request(b"GET", target, FIELDS)
    except AnswerLater as later:
        answered: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        later.start(lambda: answered.set_result(fast.answer_request(b"GET", target, FIELDS)))
        return await answered


def test_many_look_ups_wait_for_the_disk_at_once(
    desk: Desk, disk: SlowDisk, cold: ColdReads, generation: Generation
) -> None:
    """One at a time would never pass the barrier. The event loop itself waits for nothing."""
    targets = [bind(desk, f"urn:example:{number}") for number in range(CLIENTS)]
    fast = FastPath(desk.registry, generation, cold=cold)
    plain = FastPath(desk.registry, generation)

    async def ask_all(one: FastPath) -> list[bytes | None]:
        return await asyncio.gather(*(ask(one, target) for target in targets))

    answers = asyncio.run(ask_all(fast))
    assert all(answers)
    assert answers == asyncio.run(ask_all(plain))
    assert threading.get_ident() not in disk.threads


def test_remembered_answers_do_not_wait(
    desk: Desk, disk: SlowDisk, cold: ColdReads, generation: Generation
) -> None:
    remembered, other = bind(desk, "urn:example:known"), bind(desk, "urn:example:other")
    fast = FastPath(desk.registry, generation, cold=cold)

    async def run() -> None:
        cold.is_cold = False
        known = fast.answer_request(b"GET", remembered, FIELDS)
        await asyncio.sleep(0)
        cold.is_cold = True
        waiting = asyncio.create_task(ask(fast, other))
        await asyncio.sleep(0)
        assert fast.answer_request(b"GET", remembered, FIELDS) == known
        assert known is not None
        assert not waiting.done()
        disk.barrier.abort()
        await asyncio.wait([waiting])

    asyncio.run(run())


def test_an_error_of_the_thread_is_left_to_the_second_look_up(
    desk: Desk, disk: SlowDisk, cold: ColdReads, generation: Generation
) -> None:
    """The record is looked up again, and answers."""
    target = bind(desk, "urn:example:1")
    fast = FastPath(desk.registry, generation, cold=cold)
    disk.barrier.abort()
    complaints: list[Any] = []

    async def run() -> bytes | None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))
        return await ask(fast, target)

    answer = asyncio.run(run())
    assert answer is not None
    assert answer.startswith(b"HTTP/1.1 302 ")
    assert isinstance(complaints[0]["exception"], threading.BrokenBarrierError)


def test_the_plain_way_reads_in_a_thread_first(
    desk: Desk, disk: SlowDisk, cold: ColdReads, generation: Generation
) -> None:
    targets = [bind(desk, f"urn:example:{number}") + b"?info" for number in range(CLIENTS)]
    bearers = Bearers(desk.registry.records, generation)
    service = Service(desk.registry, bearers, Metrics())
    application = Application(service, cold, TasklessWrites(service, cold))

    async def ask_application(target: bytes) -> int:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "http_version": "1.1",
            "scheme": "http",
            "headers": [(b"host", b"a")],
            "extensions": {EXTENSION: {"raw": target}},
        }
        await application(scope, receive, send)
        return int(sent[0]["status"])

    async def ask_all() -> list[int]:
        return await asyncio.gather(*map(ask_application, targets))

    assert set(asyncio.run(ask_all())) == {200}
    assert len(disk.keys) == CLIENTS


def test_waits_of_the_event_loop_make_it_cold_until_threads_wait_no_more(desk: Desk) -> None:
    counts = StatedCounts()
    counts.faults = 1000  # of the start of the process
    reads = ColdReads(desk.registry.records, desk.registry.reading, counts)
    reads.check_waits()
    assert not reads.is_cold
    counts.faults += 1
    reads.check_waits()
    assert not reads.is_cold
    counts.faults += 2
    reads.check_waits()
    assert reads.is_cold
    for _ in range(9):
        reads.check_waits()
        assert reads.is_cold
    reads.check_waits()
    assert not reads.is_cold


def test_it_stays_cold_while_threads_wait(desk: Desk) -> None:
    counts = StatedCounts()
    reads = ColdReads(desk.registry.records, desk.registry.reading, counts)
    reads.is_cold = True

    class EachWaits:
        def count_faults(self) -> int:
            return 0

        def count_blocks(self) -> int:
            counts.blocks += 8
            return counts.blocks

    reads._counts = EachWaits()

    async def look_up(number: int) -> None:
        done = asyncio.Event()
        reads.start_reading(f"urn:example:{number}", done.set)
        await done.wait()

    async def run() -> None:
        for check in range(50):
            await look_up(2 * check)
            await look_up(2 * check + 1)
            reads.check_waits()
            assert reads.is_cold

    asyncio.run(run())
    reads.close()


def test_the_registry_is_read_ahead_while_it_is_cold(desk: Desk) -> None:
    counts = StatedCounts()
    begun = threading.Event()
    ended = threading.Event()

    class ReadAhead:
        def read_ahead(self, is_wanted: Callable[[], bool]) -> None:
            assert is_wanted()
            begun.set()
            while is_wanted():
                ended.wait(0.01)
            ended.set()

    reads = ColdReads(ReadAhead(), desk.registry.reading, counts)  # type: ignore[arg-type]
    reads.check_waits()
    counts.faults += 2
    reads.check_waits()
    assert begun.wait(TIMEOUT)
    reads.close()
    assert ended.is_set()


def test_a_request_that_fails_keeps_no_other_waiting(desk: Desk, cold: ColdReads) -> None:
    cold.is_cold = True
    complaints: list[Any] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, about: complaints.append(about["exception"]))
        answered = asyncio.Event()
        left = iter(range(CLIENTS))

        def fail_or_end() -> None:
            if next(left) == CLIENTS - 1:
                answered.set()
            raise ZeroDivisionError

        for number in range(CLIENTS):
            cold.start_reading(f"urn:example:{number}", fail_or_end)
        await asyncio.wait_for(answered.wait(), TIMEOUT)

    asyncio.run(run())
    assert [type(one) for one in complaints] == [ZeroDivisionError] * CLIENTS


def test_an_event_loop_that_has_ended_is_forgotten(desk: Desk, cold: ColdReads) -> None:
    """Its reads end without it, and those of the next one arrive."""

    async def leave() -> None:
        for number in range(CLIENTS - 1):
            cold.start_reading(f"urn:example:{number}", lambda: None)

    async def stay() -> None:
        answered = asyncio.Event()
        cold.start_reading("urn:example:last", answered.set)
        await asyncio.wait_for(answered.wait(), TIMEOUT)

    asyncio.run(leave())
    asyncio.run(stay())
