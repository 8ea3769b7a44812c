"""Queues of work that takes long, such as cutting parts: a little is done at a time, in fair turns.

How it works: a `WorkQueue` gives a few turns at a time. If none is free, a request waits in the
line of its client's address, and the addresses take turns (round robin). One address never has all
turns: the last one is kept for others. So a client waits for what it asked itself, and at most for
one turn of each other address, however much these ask.

A line has a bound, and so have all lines of a queue together. If the queue is full, the newest
request of the longest line makes room, unless the line of the newcomer would be as long. A request
whose client has left is dropped. One whose client has closed its sending side, which is how most
clients leave, comes after the others of its line.

If a client leaves while a confined process cuts its part, that process is stopped.

A part that is generated while it is sent keeps its turn until it was read or dropped, because it
keeps a decoder.

What must stay true: every turn ends; what is refused has done nothing; only the event loop changes
a queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import msgspec

from perdure.errors.processes import ClientLeft, QueueFull
from perdure.errors.quotas import TooManyWaiting
from perdure.extractors.confined import AT_ONCE
from perdure.extractors.errands import Errand, start_errand
from perdure.extractors.port import Part, Stream
from perdure.server.common.clients import RequestClient, find_current_client

_CUTTERS = 4  # threads
_LISTERS = 2  # threads; each that computes delays the event loop
_SENDERS = 8  # threads, each with a chunk of a body that is generated while it is sent
_QUERIES = 2  # processes
_PACKAGE, _OBJECT = "perdure.extractors.", ":EXTRACTOR"  # of usual names of extractors
_UNWATCHED = 0.5  # seconds that work takes before its client is watched, which costs a task
_RECENT = 0.2  # the weight of the last turn in the usual length of a turn
_UNKNOWN = 1.0  # seconds; the length of a turn before any was taken
_LONGEST_WAIT = 120  # seconds for which a refused client has to wait at most


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """The most requests that may wait in a queue; 0 means any number."""

    per_address: int = 0
    in_all: int = 0


class WorkQueue:
    """A queue of one kind of work, with threads for it. Use it only in the event loop."""

    def __init__(self, name: str, turns: int, bounds: QueueBounds = QueueBounds()) -> None:
        self.name = name
        self.refused_per_address = 0
        """Requests that were refused since this was set to 0, because too many of one address
        waited."""
        self.refused_in_all = 0
        """The same, because too many waited in all."""
        self.dropped = 0
        """Requests whose client left while they waited, since this was set to 0."""
        self.waiting = 0
        """Requests that wait."""
        self._turns = turns
        self._most_each = max(turns - 1, 1)
        self._bounds = bounds
        self._threads = ThreadPoolExecutor(turns, thread_name_prefix=f"perdure-{name}")
        self._lines: dict[str, deque[_Ticket]] = {}  # by address, in the order of their turns
        self._taken: Counter[str] = Counter()  # turns, by address
        self._running: set[WorkTurn] = set()
        self._usual: float | None = None  # seconds that a turn takes

    async def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do work in a thread when it is the client's turn, and return the result.

        Raises TooManyWaiting, QueueFull, ClientLeft, and the errors of the work.
        """
        with await self.take_turn():
            return await self._do_work(work, *arguments)

    async def cut_part(self, work: Callable[..., Part], *arguments: Any) -> Part:
        """Cut a part in the same way. If it is generated while it is sent, the turn lasts until
        then. Raises the same errors.
        """
        turn, loop = await self.take_turn(), asyncio.get_running_loop()
        try:
            part: Part = await self._do_work(work, *arguments)
            if isinstance(part.body, Stream):
                held = _HeldChunks(part.body.chunks, turn, loop)
                return msgspec.structs.replace(part, body=Stream(held, part.body.length))
        except BaseException:
            turn.end()
            raise
        turn.end()
        return part

    async def _do_work(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do work in a thread. If it takes longer and its client leaves, it is abandoned: what
        waits for a confined process ends with ClientLeft."""
        loop, client = asyncio.get_running_loop(), find_current_client()
        errand = Errand(self.name)
        begin = partial(copy_context().run, start_errand, errand, work, *arguments)
        done = loop.run_in_executor(self._threads, begin)
        if not client.can_be_watched:
            return await done
        departures: list[asyncio.Future[None]] = []

        async def abandon_work() -> None:
            await client.wait_until_gone()
            errand.abandon()

        def watch_client() -> None:
            departures.append(asyncio.ensure_future(abandon_work()))

        timer = loop.call_later(_UNWATCHED, watch_client)
        try:
            return await done
        finally:
            timer.cancel()
            for departure in departures:
                departure.cancel()

    async def take_turn(self) -> WorkTurn:
        """Wait for a turn of the client whose request the running task answers.

        Raises TooManyWaiting or QueueFull if too many requests wait, ClientLeft.
        """
        client = find_current_client()
        self._make_room(client)
        ticket = _Ticket(client, asyncio.get_running_loop().create_future())
        self._lines.setdefault(client.address, deque()).append(ticket)
        self.waiting += 1
        self._give_turns()
        if not ticket.granted.done():
            await self._wait_for_turn(ticket)
        return ticket.granted.result()

    async def _wait_for_turn(self, ticket: _Ticket) -> None:
        departure = None
        if ticket.client.can_be_watched:
            departure = asyncio.ensure_future(ticket.client.wait_until_gone())
            departure.add_done_callback(lambda _: self._drop_ticket(ticket))
        try:
            await ticket.granted
        except asyncio.CancelledError:  # the server stops
            self._remove_ticket(ticket)
            if not ticket.granted.cancelled() and ticket.granted.exception() is None:
                ticket.granted.result().end()
            raise
        finally:
            if departure is not None:
                departure.cancel()

    # bounds
    # ------

    def _make_room(self, client: RequestClient) -> None:
        """Raise TooManyWaiting or QueueFull if a request of a client may not wait.

        If the queue is full, and the client waits for less than another one, the newest request of
        that one is refused instead.
        """
        line = self._lines.get(client.address, ())
        if not line and self._has_turn_for(client.address):
            return
        most = self._bounds.per_address
        if client.has_limits and most and len(line) >= most:
            self.refused_per_address += 1
            raise TooManyWaiting(kind=self.name, limit=most, wait=self._find_wait(client.address))
        if not self._bounds.in_all or self.waiting < self._bounds.in_all:
            return
        self.refused_in_all += 1
        full = QueueFull(kind=self.name, limit=self._bounds.in_all, wait=self._find_wait())
        longest = max(self._lines.values(), key=len)
        if len(longest) <= len(line) + 1:
            raise full
        refused = longest[-1]
        self._remove_ticket(refused)
        refused.granted.set_exception(full)

    def _find_wait(self, address: str | None = None) -> int:
        """Return the seconds until what waits now is done: all of it, or that of one address.

        It is estimated from the usual length of a turn, or the time that the running ones have
        taken if that is longer. An address has its share of the turns.
        """
        now = time.monotonic()
        ages = [turn.find_age(now) for turn in self._running]
        running = sum(ages) / len(ages) if ages else 0.0
        seconds = max(self._usual or 0.0, running) or _UNKNOWN
        waiting, turns = self.waiting, float(self._turns)
        if address is not None:
            waiting = len(self._lines.get(address, ()))
            turns = min(self._most_each, self._turns / max(len(self._lines), 1))
        return min(max(ceil(waiting * seconds / turns), 1), _LONGEST_WAIT)

    # turns
    # -----

    def _has_turn_for(self, address: str) -> bool:
        return self._taken.total() < self._turns and self._taken[address] < self._most_each

    def _give_turns(self) -> None:
        """Give free turns to those who wait for them, one address after the other."""
        while (address := next(filter(self._has_turn_for, self._lines), None)) is not None:
            line = self._lines[address]
            ticket = next((one for one in line if not one.client.sends_no_more()), line[0])
            self._remove_ticket(ticket)
            if line:  # the address comes last now
                self._lines[address] = self._lines.pop(address)
            self._taken[address] += 1
            turn = WorkTurn(self, address)
            self._running.add(turn)
            ticket.granted.set_result(turn)

    def end_turn(self, turn: WorkTurn, address: str) -> None:
        """Take a turn back. Only `WorkTurn` calls this."""
        seconds = turn.find_age(time.monotonic())
        usual = seconds if self._usual is None else self._usual
        self._usual = usual + _RECENT * (seconds - usual)
        self._running.discard(turn)
        self._taken[address] -= 1
        if not self._taken[address]:
            del self._taken[address]
        self._give_turns()

    def _drop_ticket(self, ticket: _Ticket) -> None:
        """Drop the request of a client that has left."""
        if not ticket.granted.done():
            self.dropped += 1
            self._remove_ticket(ticket)
            ticket.granted.set_exception(ClientLeft(kind=self.name))

    def _remove_ticket(self, ticket: _Ticket) -> None:
        address = ticket.client.address
        line = self._lines.get(address)
        if line is not None and ticket in line:
            self.waiting -= 1
            line.remove(ticket)
            if not line:
                del self._lines[address]


class WorkTurn:
    """The right to do one piece of work."""

    __slots__ = ("_address", "_queue", "_start")

    def __init__(self, queue: WorkQueue, address: str) -> None:
        self._queue: WorkQueue | None = queue
        self._address = address
        self._start = time.monotonic()

    def end(self) -> None:
        """End the turn, unless it has ended."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.end_turn(self, self._address)

    def find_age(self, now: float) -> float:
        """Return the seconds that it has taken, by the monotonic clock."""
        return now - self._start

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.end()


class WorkQueues:
    """The queues of one worker. `bounds` hold for work that may take seconds."""

    def __init__(self, bounds: QueueBounds) -> None:
        self.cutting = WorkQueue("cutting", _CUTTERS)
        """Work that is cut or hashed in this process."""
        self.listing = WorkQueue("lists", _LISTERS, bounds)
        """Lists of many records."""
        self.sending = WorkQueue("bodies", _SENDERS)
        """Bodies that are generated while they are sent."""
        self.searching = WorkQueue("searches", AT_ONCE, bounds)
        self.citing = WorkQueue("citations", AT_ONCE, bounds)
        self.quoting = WorkQueue("quotations", AT_ONCE, bounds)
        self.querying = WorkQueue("queries", _QUERIES, bounds)
        """Queries in SPARQL."""
        self._bounds = bounds
        self._extractors: dict[str, WorkQueue] = {}

    def find_queue(self, place: str) -> WorkQueue:
        """Return the queue of an extractor, or the common one if `place` is empty.

        Each has its own, so that slow requests delay only requests for the same kind of part.
        """
        if not place:
            return self.cutting
        queue = self._extractors.get(place)
        if queue is None:
            name = place.removeprefix(_PACKAGE).removesuffix(_OBJECT)
            queue = self._extractors[place] = WorkQueue(name, AT_ONCE, self._bounds)
        return queue

    def __iter__(self) -> Iterator[WorkQueue]:
        yield from (self.cutting, self.listing, self.sending, self.searching)
        yield from (self.citing, self.quoting, self.querying, *self._extractors.values())


class _Ticket:
    """A request that waits for a turn."""

    __slots__ = ("client", "granted")

    def __init__(self, client: RequestClient, granted: asyncio.Future[WorkTurn]) -> None:
        self.client = client
        self.granted = granted


class _HeldChunks(Iterator[bytes]):
    """The chunks of a part that is generated while it is sent. They are read in other threads."""

    def __init__(
        self, chunks: Iterator[bytes], turn: WorkTurn, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._chunks: Iterator[bytes] | None = chunks
        self._turn = turn
        self._loop = loop

    def __next__(self) -> bytes:
        if self._chunks is None:
            raise StopIteration
        try:
            return next(self._chunks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._chunks is not None:
            self._chunks = None
            with contextlib.suppress(RuntimeError):  # the loop is closed: the server has stopped
                self._loop.call_soon_threadsafe(self._turn.end)

    __del__ = close
