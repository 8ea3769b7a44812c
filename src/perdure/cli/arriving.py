"""Answers of other resolvers that a command reads while they arrive.

How it works: `ArrivingAnswer` sends a request and waits for the head of the answer, in an event
loop of its own. `yield_pieces` runs that loop until the next piece is there, so that only a few
pieces are in memory, however large the document is.

What must stay true: an answer that breaks off raises an error, so half a document is never taken
for a whole one; the connection is closed when the pieces are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from perdure.cli.discovering import make_streamer
from perdure.errors.servers import TransferBroken
from perdure.fetching.exchange import Cause, Unreachable
from perdure.fetching.fetcher import Fields, find_redirect
from perdure.fetching.inflating import decode_body, list_codings
from perdure.fetching.streaming import StreamedResponse
from perdure.fetching.targets import parse_target
from perdure.settings import Settings

_WAITING = 2  # pieces of at most 64 KiB
_LARGEST = 64 << 20  # bytes of a body with a content coding, which is held in memory


class ArrivingAnswer:
    """An answer whose head is there. Read its body once, or call `close`."""

    def __init__(self, settings: Settings, url: str, fields: Fields, *, follow: bool) -> None:
        """Send a GET request. `follow` its redirects.

        Raises Unreachable or InvalidRequest.
        """
        self._runner = asyncio.Runner()
        self._fetcher = make_streamer(settings)
        try:
            self.response = self._runner.run(self._open(url, fields, follow=follow))
        except BaseException:
            self._runner.close()
            raise

    async def _open(self, url: str, fields: Fields, *, follow: bool) -> StreamedResponse:
        asked: set[str] = set()
        while True:
            response = await self._fetcher.open_response(url, headers=fields)
            asked.add(response.url)
            onwards = find_redirect(response) if follow else None
            if onwards is None:
                return response
            response.close()
            where = parse_target(onwards).url
            if len(asked) > self._fetcher.limits.redirects or where in asked:
                cause = Cause.REDIRECTS.value
                raise Unreachable(url=where, fault="too many redirects", cause=cause)
            url = onwards

    @property
    def length(self) -> int | None:
        """The promised length of the body, without content coding; None if it is unknown."""
        length = self.response.find_header("Content-Length") or ""
        return int(length) if length.isdigit() and not self._codings else None

    def yield_pieces(self) -> Iterator[bytes]:
        """Yield the body, without its content coding. Raises TransferBroken if it breaks off."""
        codings = self._codings
        if codings:  # although none was asked for
            yield decode_body(self.read_body(_LARGEST), codings, _LARGEST)
            return
        received = 0
        waiting: asyncio.Queue[bytes | Unreachable | None] = asyncio.Queue(_WAITING)
        try:
            reading = self._runner.get_loop().create_task(self._read_pieces(waiting))
            while isinstance(piece := self._runner.run(waiting.get()), bytes):
                received += len(piece)
                yield piece
            reading.cancel()
        finally:
            self.close()
        if piece is not None:
            raise TransferBroken(
                identifier=self.response.url, received=received, expected=self.length
            ) from piece

    def read_body(self, limit: int) -> bytes:
        """Return the body with its content coding. Raises Unreachable if it is longer, or breaks
        off."""
        try:
            return self._runner.run(self.response.read_all(limit))
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        self.response.close()
        self._fetcher.close()
        self._runner.close()

    @property
    def _codings(self) -> list[str]:
        return list_codings(self.response.headers)

    async def _read_pieces(self, waiting: asyncio.Queue[bytes | Unreachable | None]) -> None:
        try:
            async for piece in self.response.read_pieces():
                if piece:
                    await waiting.put(piece)
        except Unreachable as failure:
            await waiting.put(failure)
        else:
            await waiting.put(None)
