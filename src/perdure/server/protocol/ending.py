"""The end of a connection, by the client or by the server.

How it works: a client may close its sending side and still read (RFC 9112 section 9.6). Its earlier
requests are answered, and then the connection is closed (`Ending`). If a body breaks off, the
application is notified as if the client had left, but it can still answer with an error. The server
closes only its own direction first, so that the client reads its last bytes (`close_gently`).
"""

from __future__ import annotations

import abc
import asyncio
from typing import Any

from uvicorn.config import Config

LINGER = 2.0  # seconds that a refused client has to read the reason before the connection is closed


def close_gently(
    loop: asyncio.AbstractEventLoop, transport: asyncio.Transport
) -> asyncio.TimerHandle | None:
    """Close without losing the last bytes that were written.

    Closing while the client still sends makes the kernel reset the connection, and the client may
    lose the answer unread. So only the server's direction is closed at first, and received bytes
    are dropped.
    """
    if not transport.can_write_eof():  # TLS
        transport.close()
        return None
    transport.write_eof()
    return loop.call_later(LINGER, transport.close)


class Ending(abc.ABC):
    """A protocol whose client may close the sending side and still read.

    A client that leaves completely looks the same until something is written; then the transport
    notices, and the connection is lost.
    """

    transport: asyncio.Transport
    cycle: Any
    config: Config
    _ended = False  # the client sends no more
    _broken_off = False  # and its last message is incomplete

    def eof_received(self) -> bool:
        """Called by the transport, perhaps more than once. Return True to keep it open."""
        if not self._ended:
            self._ended = True
            self._close_when_done()
        return self.transport.can_write_eof()  # TLS closes both sides

    def has_ended(self) -> bool:
        """Return True if the client has closed its sending side."""
        return self._ended

    @abc.abstractmethod
    def _close_when_done(self) -> None:
        """Close after the client's end, once all answers are sent."""

    def _break_off(self) -> None:
        """Notify the application that the rest of the body will not arrive."""
        self._broken_off = True
        self.cycle.message_event.set()

    async def _run_application(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the application with a `receive` that ends where the body breaks off."""
        cycle = self.cycle

        async def receive_until_then() -> Any:
            if self._broken_off and not cycle.body:
                return {"type": "http.disconnect"}
            return await receive()

        await self.config.loaded_app(scope, receive_until_then, send)
