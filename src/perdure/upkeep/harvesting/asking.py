"""Requests to a repository: one at a time, repeated when it is busy, never into our own network.

How it works: each request goes through `perdure.fetching`, and so do its redirects. A repository
that answers 429 or 503 is asked again after `Retry-After`, or after a pause that doubles; so is one
that cannot be reached or sends half an answer, a few times. Between two requests is a pause.

What must stay true: nothing is asked while the repository wants to be left alone; an answer that is
incomplete is never read. A long answer goes into a file, so memory is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import IO, TypeVar

from perdure.errors import StorageFailed, Unavailable
from perdure.errors.harvesting import RepositoryBusy
from perdure.errors.root import count_seconds
from perdure.errors.servers import AnswerCut, ServerRefused
from perdure.fetching import Exchange, Limits, Unreachable
from perdure.fetching.exchange import Cause
from perdure.fetching.fetcher import REDIRECTS
from perdure.fetching.streaming import StreamedResponse, StreamingFetcher
from perdure.fetching.targets import join_url
from perdure.upkeep.linkcheck.politeness import BUSY, read_retry_after

LIMITS = Limits(body=64 << 20, inflated=64 << 20, seconds=300.0)
_ATTEMPTS = 4
_FIRST_PAUSE = 1.0  # seconds
_GOOD = range(200, 300)
_SERVER_FAULTS = range(500, 600)

Given = TypeVar("Given")
Sleep = Callable[[float], Awaitable[None]]
Note = Callable[[str], None]


class RepositoryClient:
    """Asks one repository. It waits for at most `patience` seconds in total."""

    def __init__(
        self,
        fetcher: StreamingFetcher,
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
        self._retry_after: float | None = None
        """The pause in seconds that the last refusal asked for."""

    async def fetch(self, url: str) -> bytes:
        """Return the complete answer.

        Raises Unavailable, RepositoryBusy, or InvalidRequest if the address may not be fetched.
        """

        async def ask() -> bytes:
            answer = (await self._fetcher.follow_redirects(url, headers=_FIELDS))[-1]
            return self._read_body(url, answer)

        return await self._repeat(url, ask)

    async def download(self, url: str, file: IO[bytes], *, most: int) -> None:
        """Write the complete answer into a file, which may have up to `most` bytes.

        Raises the errors of `fetch`, and StorageFailed.
        """

        async def ask() -> None:
            answer = await self._open_answer(url)
            try:
                await _write_body(url, answer, file, most)
            finally:
                answer.close()

        await self._repeat(url, ask)

    async def _repeat(self, url: str, ask: Callable[[], Awaitable[Given]]) -> Given:
        """Ask until there is an answer, as long as that is polite."""
        pause, waited, failures = _FIRST_PAUSE, 0.0, 0
        while True:
            await self._keep_pause()
            asked: float | None = None
            fault: Unavailable
            try:
                return await ask()
            except ServerRefused as error:
                if error.answered not in BUSY and error.answered not in _SERVER_FAULTS:
                    raise
                fault = error
                asked = self._retry_after
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

    async def _open_answer(self, url: str) -> StreamedResponse:
        """Ask for a long answer, and follow redirects."""
        address = url
        for _ in range(LIMITS.redirects + 1):
            answer = await self._fetcher.open_response(address)
            onwards = answer.find_header("Location")
            if answer.status not in REDIRECTS or not onwards:
                self._check_status(url, answer)
                return answer
            answer.close()
            address = join_url(address, onwards)
        raise Unreachable(url=url, fault="too many redirects", cause=Cause.REDIRECTS.value)

    def _check_status(self, url: str, answer: Exchange | StreamedResponse) -> None:
        """Raise ServerRefused unless an answer is good; remember when to ask again."""
        if answer.status not in _GOOD:
            self._retry_after = read_retry_after(answer.find_header("Retry-After"), time.time())
            raise ServerRefused(url=url, answered=answer.status, phrase=answer.reason)

    def _read_body(self, url: str, answer: Exchange) -> bytes:
        """Return the complete body of an answer. Raises ServerRefused, AnswerCut."""
        self._check_status(url, answer)
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


async def _write_body(url: str, answer: StreamedResponse, file: IO[bytes], most: int) -> None:
    """Write a body into a file from its beginning. Raises AnswerCut, Unreachable, StorageFailed."""
    coding = answer.find_header("Content-Encoding") or "identity"
    length = answer.find_header("Content-Length") or ""
    if coding.lower() != "identity":
        raise AnswerCut(url=url, limit="coding")
    if length.isdecimal() and int(length) > most:
        raise AnswerCut(url=url, limit="length")
    try:
        file.seek(0)
        file.truncate()
        async for piece in answer.read_pieces():
            file.write(piece)
            if file.tell() > most:
                raise AnswerCut(url=url, limit="length")
        file.flush()
    except Unreachable:
        raise
    except OSError as error:
        raise StorageFailed(what="a package", reason=error.strerror or str(error)) from error
