"""Large bodies from file to socket without a copy: an ASGI extension of the perdure protocol.

How it works: a protocol class made by `offer_sender` puts a `FileSender` into the scope of each
request. The application starts its response as usual, passes an open file and a span to the sender,
and ends the response. The kernel moves the bytes (`sendfile`), each time as many as the socket
takes; the event loop notifies the sender when the socket takes more. Bytes that are not in the page
cache are first read by a thread, so that no other request waits for the disk.

What must stay true: the event loop serves others after each `_TURN` bytes, also if the client reads
as fast as the kernel sends; nothing else is written to the connection meanwhile (one message at a
time, see `perdure.server.protocol.http`); uvicorn's count of the length of the body stays right.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from perdure.server.protocol.http import RawTargetProtocol

EXTENSION = "perdure.sendfile"
_PIECE = 8 << 20  # bytes that are checked for in the page cache at a time
_TURN = 1 << 18  # bytes after which other connections have their turn: about 0.05 milliseconds
_READ = 1 << 20  # bytes that a thread reads at a time
_LOOK_EVERY = 1 << 20  # bytes between two pages that are checked


class FileSender:
    """Sends spans of files as (parts of) the body of one response."""

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        self._transport = transport
        self._cycle = cycle

    async def __call__(self, file: int, offset: int, count: int) -> int:
        """Send `count` bytes of an open file. Return the number of bytes sent.

        It is less than `count` if the client left or the file ended early.
        """
        while self._transport.get_write_buffer_size():  # the head of the response
            if self._transport.is_closing():
                return 0
            await asyncio.sleep(0)
        if self._transport.is_closing():
            return 0
        # A separate descriptor: the event loop reserves the transport's own for itself.
        socket = os.dup(self._transport.get_extra_info("socket").fileno())
        try:
            return await self._send_span(socket, file, offset, count)
        finally:
            os.close(socket)

    async def _send_span(self, socket: int, file: int, offset: int, count: int) -> int:
        sent = 0
        while sent < count:
            piece = min(_PIECE, count - sent)
            await _warm_cache(file, offset + sent, piece)
            pump = _Pump(socket, file, offset + sent, piece)
            moved = await pump.send_piece()
            sent += moved
            self._cycle.expected_content_length -= moved
            if pump.left_alone:
                # The transport would notice when it reads or writes. But it does not write now, and
                # does not read if the client has closed its sending side.
                self._transport.abort()
            if moved < piece:
                break
        return sent


class _Pump:
    """Sends one piece, each time as many bytes as the socket takes, at most `_TURN`."""

    def __init__(self, socket: int, file: int, offset: int, count: int) -> None:
        self._socket = socket
        self._file = file
        self._offset = offset
        self._left = count
        self._count = count
        self.left_alone = False
        """True if the client left."""
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[int] = self._loop.create_future()

    async def send_piece(self) -> int:
        """Send, and return the number of bytes: all, unless the client left or the file ended."""
        if self._move_bytes():
            await asyncio.sleep(0)
            return self._count - self._left
        self._loop.add_writer(self._socket, self._continue_sending)
        try:
            return await self._done
        finally:
            self._loop.remove_writer(self._socket)

    def _continue_sending(self) -> None:
        if self._done.done():
            return
        try:
            if self._move_bytes():
                self._done.set_result(self._count - self._left)
        except OSError as error:
            self._done.set_exception(error)

    def _move_bytes(self) -> bool:
        """Send bytes. Return True if this was all, False if more are to be sent later."""
        turn = _TURN
        try:
            while self._left:
                moved = os.sendfile(self._socket, self._file, self._offset, min(self._left, turn))
                if not moved:
                    break
                self._offset += moved
                self._left -= moved
                turn -= moved
                if not turn:
                    return not self._left
        except BlockingIOError:
            return False
        except (ConnectionError, TimeoutError):
            self.left_alone = True
        return True


async def _warm_cache(file: int, offset: int, count: int) -> None:
    """Get a span into the page cache, without waiting for the disk in the event loop."""
    last = offset + count - 1
    for place in (*range(offset, last, _LOOK_EVERY), last):
        try:
            os.preadv(file, (bytearray(1),), place, os.RWF_NOWAIT)
        except OSError:  # not cached, or the file system does not support the flag
            await asyncio.get_running_loop().run_in_executor(None, _read_span, file, offset, count)
            return


def _read_span(file: int, offset: int, count: int) -> None:
    room = bytearray(_READ)
    for place in range(offset, offset + count, _READ):
        os.preadv(file, (room,), place)


def find_sender(scope: Mapping[str, Any]) -> FileSender | None:
    """Return the sender of a request, or None if the server offers none."""
    found: FileSender | None = scope.get("extensions", {}).get(EXTENSION)
    return found


def offer_sender(protocol: type[RawTargetProtocol]) -> type[RawTargetProtocol]:
    """Make a protocol class that offers a sender with each request."""

    class OfferingProtocol(protocol):  # type: ignore[misc, valid-type]  # a class made at run time
        def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
            extensions: dict[Any, Any] = cycle.scope["extensions"]
            extensions[EXTENSION] = FileSender(self.transport, cycle)
            super()._start_asgi_task(cycle, app)

    return OfferingProtocol
