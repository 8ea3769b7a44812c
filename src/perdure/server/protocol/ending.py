"""The end of a connection, by the client or by the server.

How it works: a client may close its sending side and still read (RFC 9112 section 9.6). Its earlier
requests are answered, and then the connection is closed (`Ending`). If a body breaks off, the
application is notified as if the client had left, but it can still answer with an error. The server
closes only its own direction first, so that the client reads its last bytes (`close_gently`).

A client that closed its socket completely looks the same until something is written to it; then
its system resets the connection. So if an answer takes longer, an interim response is written,
which every client of HTTP/1.1 passes over (RFC 9110 section 15.2). If the connection is reset, the
application is notified, and the request is dropped wherever it waits.
"""

from __future__ import annotations

import abc
import asyncio
import os
import socket
from typing import Any

from uvicorn.config import Config

LINGER = 2.0  # seconds that a refused client has to read the reason before the connection is closed
UNASKED = 1.0  # seconds that an answer may take before its client is asked whether it is there
AGAIN = 10.0  # seconds until it is asked again
_REPLY = 0.2  # seconds after which a reset has arrived
_ARE_YOU_THERE = b"HTTP/1.1 102 Processing\r\n\r\n"


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


def _is_reset(connection: socket.socket) -> bool:
    """Ask the system. The transport reads no more, and so does not know."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as same:
            same.getpeername()
    except OSError:
        return True
    return False


class Ending(abc.ABC):
    """A protocol whose client may close the sending side and still read.

    A client that leaves completely looks the same until something is written to it.
    """

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    cycle: Any
    config: Config
    _ended = False  # the client sends no more
    _broken_off = False  # and its last message is incomplete

    def eof_received(self) -> bool:
        """Called by the transport, perhaps more than once. Return True to keep it open."""
        if not self._ended:
            self._ended = True
            self._close_when_done()
            self.loop.call_later(UNASKED, self._ask_client)
        return self.transport.can_write_eof()  # TLS closes both sides

    def has_ended(self) -> bool:
        """Return True if the client has closed its sending side."""
        return self._ended

    def _ask_client(self) -> None:
        """Write an interim response, if an answer of HTTP/1.1 is owed and not begun."""
        if self.transport.is_closing() or not self._may_ask():
            return
        self.transport.write(_ARE_YOU_THERE)
        self.loop.call_later(_REPLY, self._drop_client)
        self.loop.call_later(AGAIN, self._ask_client)

    def _drop_client(self) -> None:
        """Drop a connection that was reset, which the transport would only see at a write."""
        if self.transport.is_closing():
            return
        if _is_reset(self.transport.get_extra_info("socket")):
            self.transport.abort()

    @abc.abstractmethod
    def _may_ask(self) -> bool:
        """Return True if an interim response may be written now."""

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
