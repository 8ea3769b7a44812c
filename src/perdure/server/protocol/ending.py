"""How a connection ends, whoever ends it.

How it works: a client may close its sending side and read on (RFC 9112 section 9.6). What it asked
for before is answered, and then the connection is closed (`Ending`). Of a body that breaks off the
application is told as if the client had left, and yet it can say what is wrong. The server closes
its own direction first, so that its last words are read (`close_gently`).
"""

from __future__ import annotations

import abc
import asyncio
from typing import Any

from uvicorn.config import Config

LINGER = 2.0  # seconds that a refused client has to read the reason before the connection is cut


def close_gently(
    loop: asyncio.AbstractEventLoop, transport: asyncio.Transport
) -> asyncio.TimerHandle | None:
    """Close, without cutting off the last bytes that were written.

    Closing while the client still sends makes the kernel reset the connection, and the client may
    lose the answer unread. So only our direction is closed at first, and what comes is dropped.
    """
    if not transport.can_write_eof():  # TLS
        transport.close()
        return None
    transport.write_eof()
    return loop.call_later(LINGER, transport.close)


class Ending(abc.ABC):
    """What a protocol does when its client closes the sending side: it may still read.

    Whoever leaves altogether looks the same until something is written; then the transport finds
    out, and the connection is lost.
    """

    transport: asyncio.Transport
    cycle: Any
    config: Config
    _ended = False  # the client sends no more
    _broken_off = False  # and its last message has no end

    def eof_received(self) -> bool:
        """Called by the transport, perhaps more than once; whether that is to stay open."""
        if not self._ended:
            self._ended = True
            self._close_when_done()
        return self.transport.can_write_eof()  # TLS closes both sides

    @abc.abstractmethod
    def _close_when_done(self) -> None:
        """Close behind the client's end, once nothing is owed any more."""

    def _break_off(self) -> None:
        """Tell the application that what it has is all that comes of a body."""
        self._broken_off = True
        self.cycle.message_event.set()

    async def _run(self, scope: Any, receive: Any, send: Any) -> None:
        """The application, with a `receive` that ends where the body breaks off."""
        cycle = self.cycle

        async def receive_until_then() -> Any:
            if self._broken_off and not cycle.body:
                return {"type": "http.disconnect"}
            return await receive()

        await self.config.loaded_app(scope, receive_until_then, send)
