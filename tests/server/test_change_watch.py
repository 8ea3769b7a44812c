"""Requests that wait for the next change are woken together, and none is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.server.common.change_watch import ChangeWatch
from perdure.server.common.clients import RequestClient, set_current_client

LONG = 60.0


class Changes:
    """The count that another process writes, and how often it was read."""

    def __init__(self) -> None:
        self.count = 0
        self.looks = 0

    def read(self) -> int:
        self.looks += 1
        return self.count


def watching(work: Callable[[Changes, ChangeWatch, asyncio.Event], Awaitable[None]]) -> None:
    async def run() -> None:
        changes, stopping = Changes(), asyncio.Event()
        watch = ChangeWatch(changes.read, stopping)
        async with asyncio.timeout(20):
            await work(changes, watch, stopping)
        assert watch.waiting_count == 0

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  (the condition cannot call back)
        await asyncio.sleep(0.001)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(["wait", "change", "pause"]), max_size=8))
def test_every_request_is_woken_by_the_next_change(steps: list[str]) -> None:
    """`/changes`: "the answer comes only after another change"."""

    async def work(changes: Changes, watch: ChangeWatch, _stopping: asyncio.Event) -> None:
        asked: list[tuple[int, asyncio.Task[None]]] = []
        for step in steps:
            if step == "wait":
                seen = changes.count
                asked.append((seen, asyncio.create_task(watch.wait_beyond(seen, LONG))))
                await asyncio.sleep(0)
            elif step == "change":
                changes.count += 1
            else:
                await until(lambda: all(one.done() for seen, one in asked if seen != changes.count))
            assert not any(one.done() for seen, one in asked if seen == changes.count)
        changes.count += 1
        await asyncio.gather(*(one for _, one in asked))

    watching(work)


def test_many_requests_cost_one_look() -> None:
    async def work(changes: Changes, watch: ChangeWatch, _stopping: asyncio.Event) -> None:
        asked = [asyncio.create_task(watch.wait_beyond(0, LONG)) for _ in range(200)]
        await asyncio.sleep(0)
        assert watch.waiting_count == 200
        before = changes.looks
        await until(lambda: changes.looks > before + 2)
        assert changes.looks - before < 200
        changes.count = 1
        await asyncio.gather(*asked)

    watching(work)


def test_a_request_that_waits_again_at_once_is_woken_again() -> None:
    """Another one that was woken with it has not gone on yet."""

    async def work(changes: Changes, watch: ChangeWatch, _stopping: asyncio.Event) -> None:
        async def follow() -> None:
            await watch.wait_beyond(0, LONG)
            await watch.wait_beyond(1, LONG)

        following = asyncio.create_task(follow())
        other = asyncio.create_task(watch.wait_beyond(0, LONG))
        await until(lambda: watch.waiting_count == 2)
        changes.count = 1
        await other
        await until(lambda: watch.waiting_count == 1)
        changes.count = 2
        await following

    watching(work)


def test_the_end_of_the_time_the_client_or_the_server() -> None:
    async def work(_changes: Changes, watch: ChangeWatch, stopping: asyncio.Event) -> None:
        await watch.wait_beyond(0, 0.01)
        gone = asyncio.Event()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def ask() -> None:
            set_current_client(RequestClient("a", receive=receive))
            await watch.wait_beyond(0, LONG)

        asked = asyncio.create_task(ask())
        await until(lambda: watch.waiting_count == 1)
        gone.set()
        await asked
        last = asyncio.create_task(watch.wait_beyond(0, LONG))
        await asyncio.sleep(0)
        stopping.set()
        await last

    watching(work)


def test_a_change_before_it_waits_is_not_missed() -> None:
    async def work(changes: Changes, watch: ChangeWatch, _stopping: asyncio.Event) -> None:
        changes.count = 1
        await watch.wait_beyond(0, LONG)

    watching(work)
