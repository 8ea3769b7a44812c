"""The sockets of the native Handle protocol: UDP, TCP, and HTTP over the same TCP port.

How it works: a datagram is one request. A connection has one request, or several if the client
asks to keep it open. If a connection begins with `POST `, the request is the body of an HTTP
request, and the answer that of its response.

What must stay true: the sender of a datagram can be forged, so what cannot be a request is not
answered, and answers of several datagrams, or signed ones, use up a budget of the network from
which they were asked (`UdpBudget`); a client that gets no answer asks again over TCP. A connection
that says nothing is closed; so are those beyond `MOST_CONNECTIONS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import cast

from perdure.server.native import wire
from perdure.server.native.answering import Answerer
from perdure.server.native.wire import ENVELOPE, EnvelopeFlag, MalformedMessage
from perdure.upkeep.searching.updating import hold_lock

MEDIA_TYPE = b"application/x-hdl-message"
MOST_CONNECTIONS = 512
LOCK = "handle-server.lock"
IDLE = 30.0  # seconds
BURST, PER_SECOND = 262_144, 65_536
"""Octets of answers over UDP of more than one datagram, or signed, to one network."""
_SIGNED_COST = 4096  # octets: a signature takes about a millisecond
_MOST_NETWORKS = 10_000
_LONGEST_HEAD = 8192
_LOOK_EVERY = 0.5  # seconds
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,6})[ \t]*\r\n", re.IGNORECASE)


class UdpBudget:
    """The octets that may still be sent over UDP: a bucket for each /24 (IPv4) or /56 (IPv6)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def take(self, address: str, octets: int) -> bool:
        """Return True if an answer of a length may be sent, and take it from the budget."""
        network = _find_network(address)
        now = self._clock()
        left, at = self._buckets.get(network, (float(BURST), now))
        left = min(float(BURST), left + (now - at) * PER_SECOND)
        if left < octets:
            self._buckets[network] = (left, now)
            return False
        if len(self._buckets) >= _MOST_NETWORKS:
            self._buckets.clear()
        self._buckets[network] = (left - octets, now)
        return True


def _find_network(address: str) -> bytes:
    parsed = ip_address(address.partition("%")[0])
    return parsed.packed[:3] if isinstance(parsed, IPv4Address) else parsed.packed[:7]


class DatagramServer(asyncio.DatagramProtocol):
    """Answers datagrams."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self._budget = UdpBudget()
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport to answer by."""
        self._transport = cast(asyncio.DatagramTransport, transport)  # not its class in Python 3.11

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a datagram, unless it is not a request."""
        with contextlib.suppress(MalformedMessage):
            envelope = wire.read_envelope(data)
            message = data[ENVELOPE:]
            if envelope.flags & EnvelopeFlag.TRUNCATED or envelope.length > len(message):
                return  # long requests come over TCP
            found = self._answerer.answer(envelope, message[: envelope.length], addr[0])
            if found is None or self._transport is None:
                return
            cost = len(found.message) if len(found.message) > wire.PIECE else 0
            cost += _SIGNED_COST if found.is_signed else 0
            if not cost or self._budget.take(addr[0], cost):
                for datagram in wire.split_message(envelope, found.message):
                    self._transport.sendto(datagram, addr)

    def error_received(self, exc: Exception) -> None:
        """Ignore that a client is gone."""


class StreamServer:
    """Answers requests over TCP and HTTP."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer
        self._count = 0

    async def serve_connection(
        self, incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one connection, and close it."""
        self._count += 1
        try:
            if self._count <= MOST_CONNECTIONS:
                await self._answer_requests(incoming, outgoing)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, MalformedMessage):
            pass
        finally:
            self._count -= 1
            outgoing.close()

    async def _answer_requests(
        self, incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter
    ) -> None:
        address = str(outgoing.get_extra_info("peername")[0])
        keeps_open = True
        while keeps_open:
            async with asyncio.timeout(IDLE):
                start = await incoming.readexactly(ENVELOPE)
                is_http = start.startswith(b"POST ")
                if is_http:
                    start, body = await _read_http(start, incoming)
                envelope = wire.read_envelope(start)
                if envelope.length > wire.LONGEST or envelope.flags & EnvelopeFlag.TRUNCATED:
                    raise MalformedMessage("the message is too long")
                message = (
                    body[: envelope.length]
                    if is_http
                    else (await incoming.readexactly(envelope.length))
                )
            found = self._answerer.answer(envelope, message, address)
            if found is None:
                return
            whole = wire.write_envelope(envelope, len(found.message)) + found.message
            outgoing.write(_write_http(whole) if is_http else whole)
            async with asyncio.timeout(IDLE):
                await outgoing.drain()
            keeps_open = found.keeps_open and not is_http


async def _read_http(start: bytes, incoming: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read an HTTP request, and return the envelope and the rest of its body.

    Raises MalformedMessage if its header is too long or has no Content-Length.
    """
    head = start
    while not head.endswith(b"\r\n\r\n"):
        if len(head) > _LONGEST_HEAD:
            raise MalformedMessage("the header is too long")
        head += await incoming.readuntil(b"\n")
    lengths = _LENGTH.findall(head[:-2])
    if len(lengths) != 1 or not ENVELOPE <= int(lengths[0]) <= wire.LONGEST + ENVELOPE:
        raise MalformedMessage("the request needs one Content-Length")
    body = await incoming.readexactly(int(lengths[0]))
    return body[:ENVELOPE], body[ENVELOPE:]


def _write_http(whole: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (MEDIA_TYPE, len(whole)) + whole


async def listen(answerer: Answerer, host: str, port: int, is_wanted: Callable[[], bool]) -> None:
    """Answer on a port, over UDP and TCP, as long as it is wanted. Raises OSError."""
    loop = asyncio.get_running_loop()
    streams = StreamServer(answerer)
    server = await asyncio.start_server(streams.serve_connection, host, port, limit=_LONGEST_HEAD)
    bound = server.sockets[0].getsockname()[1]
    transport, _ = await loop.create_datagram_endpoint(
        lambda: DatagramServer(answerer), local_addr=(host, bound)
    )
    try:
        while is_wanted():  # noqa: ASYNC110  (the process that started this one ends unheard)
            await asyncio.sleep(_LOOK_EVERY)
    finally:
        transport.close()
        server.close()


def may_listen(root: Path) -> bool:
    """Return True if no process answers for the registry in a directory."""
    with hold_lock(root / LOCK, 0) as is_free:
        return is_free
