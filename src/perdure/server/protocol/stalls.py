"""Clients that stop reading an answer, or sending a body: their connections are ended.

How it works: every few seconds, `StallWatch` looks at the connections that are busy. The kernel
says how many bytes the client has acknowledged and sent (`tcp_info`), and if any are waiting to be
sent (`SIOCOUTQ`); so nothing is counted while requests are answered, and `sendfile` is covered,
too. A client that takes too little of what is waiting for it, or sends too little of its body, for
a time as long as the setting `client_seconds`, is cut off. Both have a least rate, because reading
or sending a few bytes in a while would be enough to keep a connection otherwise.

What must stay true: an answer that is still being computed, and a connection that waits for the
next request, is not a stall. The cost for a request is nothing.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Iterable
from fcntl import ioctl
from termios import TIOCOUTQ
from typing import Protocol

import msgspec

_LOOKS = 6  # in the time that a client has
_LEAST = 4096  # bytes in that time, of a body, or of an answer of which as much is waiting
_TCP_INFO = 192  # bytes of Linux's struct tcp_info that are read
_COUNTS = struct.Struct("=QQ")  # tcpi_bytes_acked, tcpi_bytes_received
_COUNTS_AT = 120
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: the kernel keeps nothing for the client


class Watched(Protocol):
    """A connection, as the watch sees it."""

    transport: asyncio.Transport

    @property
    def is_busy(self) -> bool:
        """True while an answer is owed or on its way."""

    @property
    def awaits_body(self) -> bool:
        """True while the client should send more of a body."""

    def end_stalled_body(self) -> None:
        """Refuse the rest of the body."""


class _Progress(msgspec.Struct):
    """The last progress of a connection: a time, and the counts of bytes at that time."""

    at: float
    acknowledged: int
    received: int
    waiting: int


class StallWatch:
    """Watches the connections of one process."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[Watched, _Progress] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: Iterable[Watched] = ()

    def begin(self, loop: asyncio.AbstractEventLoop, connections: Iterable[Watched]) -> None:
        """Watch these connections from now on, as long as the loop runs."""
        if self._loop is not loop:
            self._loop, self._connections, self._seen = loop, connections, {}
            loop.call_later(self._seconds / _LOOKS, self._look)

    def _look(self) -> None:
        """Compare the progress of each busy connection with the last time."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        loop.call_later(self._seconds / _LOOKS, self._look)
        now, seen = loop.time(), {}
        for one in list(self._connections):
            if one.is_busy or one.transport.get_write_buffer_size():
                progress = self._judge(one, now)
                if progress is not None:
                    seen[one] = progress
        self._seen = seen

    def _judge(self, one: Watched, now: float) -> _Progress | None:
        """Return the progress of a connection to remember, or None if it was ended."""
        try:
            acknowledged, received, waiting = _read_counts(one.transport)
        except OSError:  # it is being closed, or is not a TCP socket
            return None
        last = self._seen.get(one)
        current = _Progress(now, acknowledged, received, waiting)
        if last is None:
            return current
        if one.awaits_body:
            moves = received - last.received >= _LEAST
        else:
            taken = acknowledged - last.acknowledged
            moves = taken >= min(_LEAST, last.waiting) or not waiting
        if moves:
            return current
        if now - last.at < self._seconds:
            return last
        if one.awaits_body:
            one.end_stalled_body()
        else:
            _cut_off(one.transport)
        return None


def _read_counts(transport: asyncio.Transport) -> tuple[int, int, int]:
    """Return the bytes that the client acknowledged, those it sent, and those that wait for it."""
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as wire:
        counts = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO)
        queue = struct.unpack("=i", ioctl(wire.fileno(), TIOCOUTQ, bytes(4)))[0]
    acknowledged, received = _COUNTS.unpack_from(counts, _COUNTS_AT)
    return acknowledged, received, queue + transport.get_write_buffer_size()


def _cut_off(transport: asyncio.Transport) -> None:
    """End a connection whose client reads too little. What waits to be sent is dropped.

    A sender of files has its own descriptor; so the socket is shut down, not only closed.
    """
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        wire.shutdown(socket.SHUT_RDWR)
    transport.abort()
