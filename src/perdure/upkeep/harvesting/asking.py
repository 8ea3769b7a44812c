"""Requests to a repository: one at a time, repeated when it is busy, never into our own network.

How it works: each request goes through `perdure.fetching`, and so do its redirects. A repository
that answers 429 or 503 is asked again after `Retry-After`, or after a pause that doubles; so is one
that cannot be reached or sends half an answer, a few times. Between two requests is a pause.

What must stay true: nothing is asked while the repository wants to be left alone; an answer that is
incomplete is never read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from perdure.errors import Unavailable
from perdure.errors.harvesting import RepositoryBusy
from perdure.errors.root import count_seconds
from perdure.errors.servers import AnswerCut, ServerRefused
from perdure.fetching import Exchange, Fetcher, Limits, Unreachable
from perdure.upkeep.linkcheck.politeness import BUSY, read_retry_after

LIMITS = Limits(body=64 << 20, inflated=64 << 20, seconds=300.0)
_ATTEMPTS = 4
_FIRST_PAUSE = 1.0  # seconds
_GOOD = range(200, 300)
_SERVER_FAULTS = range(500, 600)

Sleep = Callable[[float], Awaitable[None]]
Note = Callable[[str], None]


class RepositoryClient:
    """Asks one repository. It waits for at most `patience` seconds in total."""

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        patience: float,
        pause: float = 0.0,
        sleep: Sleep = asyncio.sleep,
        note: Note = lambda _: None,
    ) -> None:
        self._fetcher = fetcher
        self._patience = patience
        self._pause = pause
        self._sleep = sleep
        self._note = note
        self._last = 0.0

    async def fetch(self, url: str) -> bytes:
        """Return the complete answer.

        Raises Unavailable, RepositoryBusy, or InvalidRequest if the address may not be fetched.
        """
        pause, waited, failures = _FIRST_PAUSE, 0.0, 0
        while True:
            await self._keep_pause()
            asked: float | None = None
            fault: Unavailable
            try:
                answer = (await self._fetcher.follow_redirects(url, headers=_FIELDS))[-1]
                return self._read_body(url, answer)
            except ServerRefused as error:
                if error.answered not in BUSY and error.answered not in _SERVER_FAULTS:
                    raise
                fault = error
                asked = read_retry_after(answer.find_header("Retry-After"), time.time())
            except (Unreachable, AnswerCut) as error:
                fault = error
            if asked is None:
                failures += 1
                asked, pause = pause, pause * 2
            if failures >= _ATTEMPTS:
                raise fault
            if waited + asked > self._patience:
                raise RepositoryBusy(url=url, seconds=int(asked))
            self._note(f"{fault.reason}; asking again in {count_seconds(round(asked))}")
            waited += asked
            await self._sleep(asked)

    def _read_body(self, url: str, answer: Exchange) -> bytes:
        """Return the complete body of an answer. Raises ServerRefused, AnswerCut."""
        if answer.status not in _GOOD:
            raise ServerRefused(url=url, answered=answer.status, phrase=answer.reason)
        body = self._fetcher.decode_content(answer)
        if answer.truncated or len(body) >= LIMITS.inflated or not body:
            raise AnswerCut(url=url, limit=answer.truncated or ("length" if body else "coding"))
        return body

    async def _keep_pause(self) -> None:
        left = self._last + self._pause - time.monotonic()
        if self._pause and left > 0:
            await self._sleep(left)
        self._last = time.monotonic()


_FIELDS = (("Accept", "text/xml, application/xml;q=0.9, */*;q=0.1"),)
