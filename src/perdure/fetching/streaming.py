"""Requests whose bodies are streamed both ways, over connections that are kept for the next one.

How it works: the head of a request is sent, then its body, piece by piece, while the response is
read: a server may answer before it has the whole body. `open_response` returns when the head of the
response is there; `StreamedResponse.read_pieces` yields its body as it arrives, without its
transfer coding. When the response has ended, its connection is kept for a while, for the next
request to the same host. It leads to the address that was checked when it was opened.

What must stay true: a connection is used again only after a response that ended exactly where its
head says, with nothing behind it; so no response is ever taken for that of another request. A kept
connection that was closed meanwhile costs one repetition, and only of a request without a body.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from perdure.errors.captures import HeaderUnsendable
from perdure.errors.root import count_things
from perdure.fetching.exchange import Cause, Unreachable
from perdure.fetching.fetcher import Fetcher, Fields
from perdure.fetching.targets import FetchTarget, parse_target

_PIECE = 64 << 10
_KEPT_SECONDS = 15.0
_MOST_KEPT = 16  # connections to one host
_INTERIM = range(100, 200)
_SWITCHING = 101
REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods that change nothing, so that a request can be sent again (RFC 9110 section 9.2.1)."""

_Place = tuple[str, str, int]


class StreamLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a streamed exchange, in seconds."""

    head_seconds: float = 30.0
    """From the end of the request to the head of the response."""
    piece_seconds: float = 30.0
    """Between two pieces of a body."""
    body_seconds: float = 3600.0
    """For the complete body of a response."""


class _Connection(msgspec.Struct, frozen=True):
    """An open connection to the checked address of a host."""

    place: _Place
    address: str
    incoming: asyncio.StreamReader
    outgoing: asyncio.StreamWriter

    def abort(self) -> None:
        self.outgoing.transport.abort()

    @property
    def is_open(self) -> bool:
        """False if the server has closed it, or has sent something that was not asked for."""
        buffered = getattr(self.incoming, "_buffer", b"")
        return not (self.incoming.at_eof() or buffered or self.outgoing.is_closing())


class _Kept(msgspec.Struct, frozen=True):
    connection: _Connection
    until: float


class _ResponseParser:
    """Parses one response: its head, then its body as pieces. Interim responses are dropped."""

    def __init__(self, *, is_bodiless: bool, longest_head: int) -> None:
        from httptools import HttpResponseParser

        self._parser: Any = HttpResponseParser(self)
        self._is_bodiless = is_bodiless
        self._longest_head = longest_head
        self._read = 0
        self.status = 0
        self.reason = ""
        self.headers: list[tuple[str, str]] = []
        self.has_head = False
        self.is_done = False
        self.is_reusable = False
        self.pieces: list[bytes] = []
        self._has_more = False

    def feed(self, piece: bytes) -> None:
        """Parse a piece. Raises ValueError if it is not HTTP/1."""
        from httptools import HttpParserError, HttpParserUpgrade

        if not self.has_head:
            self._read += len(piece)
            if self._read > self._longest_head + len(piece):
                raise ValueError("the head of its answer is too long")
        try:
            self._parser.feed_data(piece)
        except (HttpParserError, HttpParserUpgrade) as error:
            if self.is_done:
                self._has_more = True
            else:
                raise ValueError(f"its answer is not HTTP/1.1: {error}") from error
        if self.status == _SWITCHING:
            raise ValueError("it switches to another protocol")
        if self._has_more:
            self.is_reusable = False

    @property
    def ends_with_connection(self) -> bool:
        """True if the body ends when the server closes the connection."""
        names = {name.lower() for name, _ in self.headers}
        return not names & {"content-length", "transfer-encoding"}

    # called by llhttp

    def on_message_begin(self) -> None:
        if self.is_done:
            self._has_more = True

    def on_status(self, text: bytes) -> None:
        if not self.has_head:
            self.reason += text.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.has_head:
            self.headers.append((name.decode("latin-1"), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.is_done or (status in _INTERIM and status != _SWITCHING):
            return
        self.status, self.has_head = status, True
        self.is_done = self._is_bodiless
        self.is_reusable = self._is_bodiless and self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        if self.is_done:
            self._has_more = True
        else:
            self.pieces.append(piece)

    def on_message_complete(self) -> None:
        if self.is_done:
            return
        if self.has_head:
            self.is_done = True
            self.is_reusable = bool(self._parser.should_keep_alive())
        else:  # an interim response
            self.reason, self.headers = "", []


class StreamedResponse:
    """The head of a response, and its body while it arrives. Read the body, or call `close`."""

    def __init__(
        self,
        fetcher: StreamingFetcher,
        url: str,
        connection: _Connection,
        parser: _ResponseParser,
        sending: asyncio.Task[None],
    ) -> None:
        self.url = url
        self.address = connection.address
        self.status = parser.status
        self.reason = parser.reason
        self.headers = tuple(parser.headers)
        self._fetcher = fetcher
        self._connection = connection
        self._parser = parser
        self._sending = sending

    def find_header(self, name: str) -> str | None:
        """Return the values of a header field, joined, or None without one."""
        found = [value for field, value in self.headers if field.lower() == name.lower()]
        return ", ".join(found) if found else None

    async def read_pieces(self) -> AsyncIterator[bytes]:
        """Yield the body. Raises Unreachable if it is incomplete."""
        parser, limits = self._parser, self._fetcher.stream_limits
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    pieces, parser.pieces = parser.pieces, []
                    for piece in pieces:
                        yield piece
                    if parser.is_done:
                        break
                    async with asyncio.timeout(limits.piece_seconds):
                        piece = await self._connection.incoming.read(_PIECE)
                    if piece:
                        parser.feed(piece)
                    elif parser.ends_with_connection:
                        break
                    else:
                        raise ConnectionResetError("it closed the connection inside its answer")
            self._release()
        except TimeoutError:
            raise self._make_error(Cause.TIME, "its answer stopped") from None
        except ValueError as error:
            raise self._make_error(Cause.PROTOCOL, str(error)) from error
        except OSError as error:
            raise self._make_error(Cause.CONNECTION, str(error)) from error
        finally:
            self.close()

    async def read_all(self, limit: int) -> bytes:
        """Return the body. Raises Unreachable if it is incomplete, or longer than `limit`."""
        found = bytearray()
        async for piece in self.read_pieces():
            found += piece
            if len(found) > limit:
                raise self._make_error(
                    Cause.PROTOCOL, f"its answer has more than {count_things(limit, 'byte')}"
                )
        return bytes(found)

    def _make_error(self, cause: Cause, reason: str) -> Unreachable:
        return Unreachable(url=self.url, fault=reason, cause=cause.value)

    def _release(self) -> None:
        """Keep the connection for the next request, if both sides have ended as they should."""
        if self._parser.is_reusable and self._sending.done() and not self._sending.exception():
            self._fetcher.keep_connection(self._connection)
            self._parser.is_reusable = False
            self._is_released = True

    _is_released = False

    def close(self) -> None:
        """Give the response up. Does nothing if it was read to its end."""
        if not self._is_released:
            self._is_released = True
            self._sending.cancel()
            self._connection.abort()


class StreamingFetcher(Fetcher):
    """Sends requests to checked addresses, and streams their bodies. One event loop uses it."""

    stream_limits = StreamLimits()

    def limit_streams(self, limits: StreamLimits) -> None:
        """Use other limits of time."""
        self.stream_limits = limits

    _kept: defaultdict[_Place, list[_Kept]]

    async def open_response(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Fields = (),
        body: AsyncIterator[bytes] | None = None,
    ) -> StreamedResponse:
        """Send a request, and return its response when its head is there.

        A body is sent in chunks, unless `headers` have its Content-Length. Raises InvalidRequest if
        the URL is not allowed, Unreachable if the server does not answer with HTTP/1.
        """
        where = parse_target(url)
        head = self._write_head(where, method, headers, body is not None)
        is_chunked = body is not None and not _has_length(headers)
        kept = self._take_kept(where)
        if kept is not None:
            try:
                return await self._send(where, kept, method, head, body, is_chunked=is_chunked)
            except Unreachable:
                if body is not None or method not in REPEATABLE:
                    raise  # the server may have acted on it
        address, incoming, outgoing = await self._open_connection(where)
        made = _Connection((where.scheme, where.host, where.port), address, incoming, outgoing)
        return await self._send(where, made, method, head, body, is_chunked=is_chunked)

    async def _send(
        self,
        where: FetchTarget,
        connection: _Connection,
        method: str,
        head: bytes,
        body: AsyncIterator[bytes] | None,
        *,
        is_chunked: bool,
    ) -> StreamedResponse:
        sending = asyncio.create_task(_send_request(connection, head, body, is_chunked=is_chunked))
        parser = _ResponseParser(is_bodiless=method == "HEAD", longest_head=self.limits.head)
        try:
            await self._read_head(connection, parser, sending)
        except BaseException as error:
            sending.cancel()
            connection.abort()
            match error:
                case TimeoutError():
                    raise self._make_unreachable(
                        where, Cause.TIME, "it did not answer in time"
                    ) from None
                case ValueError():
                    raise self._make_unreachable(where, Cause.PROTOCOL, str(error)) from error
                case OSError():
                    reason = str(error) or "it closed the connection"
                    raise self._make_unreachable(where, Cause.CONNECTION, reason) from error
            raise
        return StreamedResponse(self, where.url, connection, parser, sending)

    async def _read_head(
        self, connection: _Connection, parser: _ResponseParser, sending: asyncio.Task[None]
    ) -> None:
        """Read until the head is complete. The time counts from the end of the request."""
        while not parser.has_head:
            reading = asyncio.ensure_future(connection.incoming.read(_PIECE))
            try:
                if not sending.done():
                    await asyncio.wait((reading, sending), return_when=asyncio.FIRST_COMPLETED)
                async with asyncio.timeout(self.stream_limits.head_seconds):
                    piece = await reading
            finally:
                reading.cancel()
            if not piece:
                if sending.done() and not sending.cancelled() and (fault := sending.exception()):
                    raise fault
                raise ConnectionResetError("it closed the connection without an answer")
            parser.feed(piece)

    def _write_head(
        self, where: FetchTarget, method: str, headers: Fields, has_body: bool
    ) -> bytes:
        fields = [("Host", where.authority)]
        names = {name.lower() for name, _ in headers}
        if "user-agent" not in names:
            fields.append(("User-Agent", self.user_agent))
        fields += [(name, value) for name, value in headers if name.lower() != "host"]
        if has_body and not _has_length(headers):
            fields.append(("Transfer-Encoding", "chunked"))
        lines = [f"{method} {where.path} HTTP/1.1", *(f"{name}: {text}" for name, text in fields)]
        if not all("\r" not in one and "\n" not in one and "\0" not in one for one in lines):
            raise HeaderUnsendable(url=where.url)
        try:
            return "\r\n".join((*lines, "", "")).encode("latin-1")
        except UnicodeEncodeError:
            raise HeaderUnsendable(url=where.url) from None

    # kept connections
    # ----------------

    def keep_connection(self, connection: _Connection) -> None:
        """Keep a connection whose last response has ended."""
        kept = self._list_kept()[connection.place]
        until = asyncio.get_running_loop().time() + _KEPT_SECONDS
        if len(kept) >= _MOST_KEPT:
            kept.pop(0).connection.abort()
        kept.append(_Kept(connection, until))

    def _take_kept(self, where: FetchTarget) -> _Connection | None:
        now = asyncio.get_running_loop().time()
        kept = self._list_kept()[where.scheme, where.host, where.port]
        while kept:
            one = kept.pop()
            if one.until > now and one.connection.is_open:
                return one.connection
            one.connection.abort()
        return None

    def _list_kept(self) -> defaultdict[_Place, list[_Kept]]:
        if "_kept" not in self.__dict__:
            self._kept = defaultdict(list)
        return self._kept

    def close(self) -> None:
        """Close all kept connections."""
        for kept in self._list_kept().values():
            while kept:
                kept.pop().connection.abort()


async def _send_request(
    connection: _Connection, head: bytes, body: AsyncIterator[bytes] | None, *, is_chunked: bool
) -> None:
    outgoing = connection.outgoing
    outgoing.write(head)
    await outgoing.drain()
    if body is None:
        return
    async for piece in body:
        if not piece:
            continue
        outgoing.write(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
        await outgoing.drain()
    if is_chunked:
        outgoing.write(b"0\r\n\r\n")
    await outgoing.drain()


def _has_length(headers: Fields) -> bool:
    return any(name.lower() == "content-length" for name, _ in headers)
