"""Requests that wait for the next change: one look at the registry for all of them.

How it works: the process that writes counts changes in shared memory
(`perdure.storage.generation`), so nothing can call this process back. While requests wait, a timer
compares the count, `LOOK_EVERY` seconds after the last time, and wakes all of them if it has grown.
A request that waits costs nothing meanwhile, and a server in which none waits does not look.

What must stay true: no change is missed: a request waits only if the count is still the one that it
saw before it read the changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from perdure.server.common.clients import find_current_client

LOOK_EVERY = 0.02  # seconds


class ChangeWatch:
    """The requests of one worker that wait. `count_changes` returns a number that grows."""

    def __init__(self, count_changes: Callable[[], int], stopping: asyncio.Event) -> None:
        self._count_changes = count_changes
        self._stopping = stopping
        self._waiting: dict[asyncio.Future[None], int] = {}
        """For each request, the count beyond which it waits."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting_count(self) -> int:
        """The number of requests that wait."""
        return len(self._waiting)

    async def wait_beyond(self, seen: int, seconds: float) -> None:
        """Wait until the count is not `seen` any more, the time is over, the client leaves or the
        server stops."""
        if self._count_changes() != seen or self._stopping.is_set():
            return
        loop, client = asyncio.get_running_loop(), find_current_client()
        woken: asyncio.Future[None] = loop.create_future()
        self._waiting[woken] = seen
        if self._timer is None:
            self._timer = loop.call_later(LOOK_EVERY, self._look)
        end = loop.call_later(seconds, _wake, woken)
        departure = None
        if client.can_be_watched:
            departure = asyncio.ensure_future(client.wait_until_gone())
            departure.add_done_callback(lambda _: _wake(woken))
        try:
            await woken
        finally:
            del self._waiting[woken]
            end.cancel()
            if departure is not None:
                departure.cancel()

    def _look(self) -> None:
        """Wake the requests for which there is something new. Look again if any other waits."""
        self._timer = None
        count, is_stopping = self._count_changes(), self._stopping.is_set()
        for woken, seen in self._waiting.items():
            if is_stopping or seen != count:
                _wake(woken)
        if not all(woken.done() for woken in self._waiting):
            self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
