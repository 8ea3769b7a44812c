"""Politeness to servers: one `Host` for each.

How it works: a host is asked over a few connections at a time, with a pause between two requests if
its robots.txt asks for one (`Crawl-delay`). A host that answers 429 or 503 is left alone for as
long as `Retry-After` says, or for twice as long as the time before. robots.txt (RFC 9309) is read
once in a run: a missing file (4xx) allows everything, a file that cannot be read now (5xx) forbids
everything. A host that cannot be reached is not asked again, nor is one that made the run wait in
vain for two minutes in total.

What must stay true: no request goes to a host while it is left alone.
"""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from perdure.errors import PerdureError
from perdure.errors.unavailable import import_library
from perdure.fetching import Cause, Exchange, Fetcher, Unreachable

BUSY = (429, 503)
_FIRST_PAUSE = 1.0  # seconds
_LONGEST_PAUSE = 120.0  # seconds that a run waits for one host
_LONGEST_DELAY = 30.0  # longest Crawl-delay that is respected, in seconds
_LARGEST_ROBOTS = 500 << 10  # bytes, RFC 9309 section 2.5


class Robots:
    """The rules of a robots.txt. `rules` is None if it allows everything, or nothing."""

    def __init__(self, rules: Any, *, everything: bool, agent: str) -> None:
        self._rules = rules
        self._everything = everything
        self._agent = agent

    def allows_url(self, url: str) -> bool:
        if self._rules is None:
            return self._everything
        return bool(self._rules.can_fetch(url, self._agent))

    @property
    def request_delay(self) -> float:
        """Seconds between two requests."""
        delay = self._rules.crawl_delay(self._agent) if self._rules is not None else None
        return min(float(delay or 0), _LONGEST_DELAY)


async def read_robots(fetcher: Fetcher, origin: str) -> Robots:
    """Read the rules of an origin (`https://a.example`).

    Raises Unreachable or InvalidRequest if it cannot or must not be asked anything, Unavailable
    without protego.
    """
    agent = fetcher.user_agent.partition("/")[0]
    try:
        chain = await fetcher.follow_redirects(f"{origin}/robots.txt")
    except Unreachable as error:
        if error.cause == Cause.REDIRECTS.value:  # section 2.3.1.2: "unavailable"
            return Robots(None, everything=True, agent=agent)
        raise
    last = chain[-1]
    if 200 <= last.status < 300:
        text = fetcher.decode_content(last)[:_LARGEST_ROBOTS].decode("utf-8", "replace")
        return Robots(import_protego().Protego.parse(text), everything=True, agent=agent)
    return Robots(None, everything=last.status < 500 and last.status != 429, agent=agent)


def import_protego() -> Any:
    return import_library("protego", task="checking links", extra="links")


class Host:
    """One server, and how to treat it."""

    def __init__(self, origin: str, *, connections: int, now: Callable[[], float] = time.time):
        self._origin = origin
        self._connections = asyncio.Semaphore(connections)
        self._reading = asyncio.Lock()
        self._now = now
        self._not_before = 0.0
        self._pause = _FIRST_PAUSE
        self._put_off = 0.0
        self._robots: Robots | None = None
        self._problem: PerdureError | None = None

    async def load_robots(self, fetcher: Fetcher) -> Robots:
        """Return its robots.txt, read once. Raises each time what `read_robots` raised."""
        if self._robots is None:
            async with self._reading:
                if self._problem is not None:
                    raise self._problem
                if self._robots is None:
                    try:
                        self._robots = await read_robots(fetcher, self._origin)
                    except PerdureError as error:
                        self._problem = error
                        raise
        return self._robots

    @asynccontextmanager
    async def take_turn(self) -> AsyncIterator[None]:
        """Wait until the server may be asked. Raises Unreachable if that is not within this run,
        also if another of its answers says so meanwhile."""
        async with self._connections:
            # Other answers can move the moment while we wait; nothing signals that it has come.
            while not self._is_given_up and (wait := self.remaining_wait) > 0:  # noqa: ASYNC110
                await asyncio.sleep(wait)
            if self._is_given_up:
                reason = "its server wants to be asked later, or does not answer"
                raise Unreachable(url=self._origin, fault=reason, cause=Cause.TIME.value)
            delay = self._robots.request_delay if self._robots is not None else 0.0
            begun = self._now()
            if delay:
                self._not_before = begun + delay
            try:
                yield
            except Unreachable:
                self._put_off += self._now() - begun
                raise

    def note_answer(self, exchange: Exchange) -> bool:
        """Take note of an answer. Return False if it says to come again later."""
        if exchange.status not in BUSY:
            self._pause, self._put_off = _FIRST_PAUSE, 0.0
            return True
        wait = read_retry_after(exchange.find_header("Retry-After"), self._now())
        if wait is None:
            wait, self._pause = self._pause, self._pause * 2
        self._put_off += wait
        self._not_before = max(self._not_before, self._now() + wait)
        return False

    @property
    def remaining_wait(self) -> float:
        """Seconds for which it must still be left alone."""
        return max(0.0, self._not_before - self._now())

    @property
    def _is_given_up(self) -> bool:
        """True if the host made the run wait in vain, or would make it wait, for longer than a run
        waits for one host, without a proper answer in between."""
        return max(self.remaining_wait, self._put_off) > _LONGEST_PAUSE


def read_retry_after(field: str | None, now: float) -> float | None:
    """Return the seconds of a `Retry-After` (RFC 9110 section 10.2.3), or None if it has none.

    >>> read_retry_after("120", 0), read_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 0)
    (120.0, 60.0)
    """
    text = (field or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None
