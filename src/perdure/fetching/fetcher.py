"""Send requests to servers, over connections whose address is checked first.

How it works: the name is resolved once, and every address of it must be allowed
(`perdure.policy.network_addresses`). The connection is made to that address, not to the name, so
that a second answer of a name server has no effect. Each exchange has a connection of its own. A
redirect is a new URL, which goes through all of this again.

What must stay true: nothing is sent before the address is checked; proxies from the environment are
not used, because they would resolve the name again; whatever a server does, an exchange ends within
its limits.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

from perdure.errors import quote
from perdure.errors.captures import HeaderUnsendable, HostNotPublic
from perdure.fetching.exchange import Cause, Exchange, Limits, Unreachable
from perdure.fetching.inflating import ACCEPTED, decode_content
from perdure.fetching.reading import NotHttp, ResponseReader
from perdure.fetching.targets import FetchTarget, join_url, parse_target
from perdure.policy import network_addresses

Resolve = Callable[[str, int], Awaitable[list[str]]]
Ask = Callable[[str], Awaitable[Exchange]]
Fields = tuple[tuple[str, str], ...]
REDIRECTS = frozenset((301, 302, 303, 307, 308))
_PIECE = 64 << 10


async def resolve_system_name(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order in which the system would try them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class Fetcher:
    """Fetches URLs from untrusted sources.

    `networks` are networks other than the public Internet that are allowed (settings:
    `private_networks`). `resolve` and `tls` are arguments so that a test can replace them.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        networks: tuple[str, ...] = (),
        limits: Limits | None = None,
        resolve: Resolve = resolve_system_name,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.user_agent = user_agent
        self._networks = network_addresses.parse_networks(networks)
        self._resolve = resolve
        self._tls = tls

    async def exchange_once(
        self, url: str, *, method: str = "GET", headers: Fields = ()
    ) -> Exchange:
        """Send one request, with GET or HEAD, without following redirects.

        `headers` are sent in addition to Host, User-Agent, Accept-Encoding and Connection, or
        replace them. Raises InvalidRequest if the URL is not allowed, Unreachable if the server
        does not answer. `truncated` of the result says whether the body is incomplete.
        """
        where = parse_target(url)
        request = self._make_request(where, method, headers)
        began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        reading = ResponseReader(self.limits, method=method)
        address = ""
        try:
            async with asyncio.timeout(self.limits.seconds):
                address, incoming, outgoing = await self._open_connection(where)
                try:
                    outgoing.write(request)
                    await _read_response(incoming, reading)
                finally:
                    outgoing.transport.abort()  # do not wait for a close_notify
        except TimeoutError:
            if not reading.head_length:
                raise self._make_unreachable(where, Cause.TIME, "it took too long") from None
            reading.stop_reading("time")
        except NotHttp as error:
            raise self._make_unreachable(where, Cause.PROTOCOL, str(error)) from error
        except OSError as error:
            if not reading.head_length:
                raise self._make_unreachable(
                    where, Cause.CONNECTION, _describe_error(error)
                ) from error
            reading.stop_reading("disconnect")
        return Exchange(
            url=where.url,
            address=address,
            began=began,
            sent=request,
            received=reading.received_bytes,
            head_length=reading.head_length,
            status=reading.status,
            reason=reading.reason,
            headers=tuple(reading.headers),
            body=reading.body,
            truncated=reading.truncated,
        )

    async def follow_redirects(
        self, url: str, *, method: str = "GET", headers: Fields = (), ask: Ask | None = None
    ) -> tuple[Exchange, ...]:
        """Send a request and follow redirects. Return all exchanges in order.

        Each request is sent by `ask` if it is given, for callers that must do something before,
        otherwise by `exchange` with this method and these fields. Raises the errors of that
        function, and Unreachable if there are too many redirects.
        """
        chain: list[Exchange] = []
        while True:
            if ask is None:
                chain.append(await self.exchange_once(url, method=method, headers=headers))
            else:
                chain.append(await ask(url))
            onwards = find_redirect(chain[-1])
            if onwards is None:
                return tuple(chain)
            where = parse_target(onwards)
            if len(chain) > self.limits.redirects or where.url in {one.url for one in chain}:
                raise self._make_unreachable(where, Cause.REDIRECTS, "too many redirects")
            url = onwards

    def decode_content(self, exchange: Exchange) -> bytes:
        """Return the entity of a response without content coding, cut off at the limit."""
        return decode_content(exchange, self.limits.inflated)

    def _make_request(self, where: FetchTarget, method: str, headers: Fields) -> bytes:
        fields = {
            "host": ("Host", where.authority),
            "user-agent": ("User-Agent", self.user_agent),
            "accept": ("Accept", "*/*"),
            "accept-encoding": ("Accept-Encoding", ACCEPTED),
            "connection": ("Connection", "close"),
        } | {name.lower(): (name, value) for name, value in headers}
        lines = [f"{method} {where.path} HTTP/1.1", *(f"{n}: {v}" for n, v in fields.values())]
        if not all(line.isascii() and line.isprintable() for line in lines):
            raise HeaderUnsendable(url=where.url)
        return "\r\n".join((*lines, "", "")).encode("ascii")

    async def _open_connection(
        self, where: FetchTarget
    ) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first address of the name that answers.

        Each address gets a share of the time, so that IPv4 is tried if IPv6 does not work.
        """
        problem: OSError | None = None
        loop = asyncio.get_running_loop()
        until = loop.time() + self.limits.connect_seconds
        try:
            async with asyncio.timeout_at(until):
                found = await self._resolve_addresses(where)
        except TimeoutError:
            reason = "the name was not resolved in time"
            raise self._make_unreachable(where, Cause.TIME, reason) from None
        for turn, address in enumerate(found):
            share = (until - loop.time()) / (len(found) - turn)
            try:
                async with asyncio.timeout(share):
                    reader, writer = await asyncio.open_connection(
                        address,
                        where.port,
                        ssl=self._make_context(where),
                        server_hostname=where.host if where.scheme == "https" else None,
                    )
            except ssl.SSLError as error:
                raise self._make_unreachable(where, Cause.TLS, _describe_error(error)) from error
            except OSError as error:  # TimeoutError is one
                problem = error
            else:
                return address, reader, writer
        if isinstance(problem, TimeoutError):
            raise self._make_unreachable(where, Cause.TIME, "the server did not answer in time")
        raise self._make_unreachable(where, Cause.CONNECTION, _describe_error(problem or OSError()))

    async def _resolve_addresses(self, where: FetchTarget) -> list[str]:
        try:
            found = await self._resolve(where.host, where.port)
        except (OSError, UnicodeError) as error:
            raise self._make_unreachable(where, Cause.NAME, _describe_error(error)) from error
        for address in found:
            if not network_addresses.is_allowed(address, self._networks):
                raise HostNotPublic(url=where.url, address=address)
        return found

    def _make_context(self, where: FetchTarget) -> ssl.SSLContext | None:
        if where.scheme == "http":
            return None
        if self._tls is None:
            self._tls = ssl.create_default_context()  # reads a large file, so only when needed
        return self._tls

    def _make_unreachable(self, where: FetchTarget, cause: Cause, reason: str) -> Unreachable:
        return Unreachable(url=where.url, fault=reason, cause=cause.value)


class AnsweredRequest(Protocol):
    """The head of an answer."""

    @property
    def url(self) -> str: ...
    @property
    def status(self) -> int: ...
    def find_header(self, name: str) -> str | None:
        """Return the value of a header field, or None without one."""


def find_redirect(answer: AnsweredRequest) -> str | None:
    """Return the URL to which a response redirects; None if it does not redirect."""
    location = answer.find_header("Location")
    if answer.status not in REDIRECTS or not location:
        return None
    # browsers accept UTF-8 although RFC 9110 allows only ASCII
    text = location.encode("latin-1").decode("utf-8", "replace")
    return join_url(answer.url, text)


async def _read_response(incoming: asyncio.StreamReader, reading: ResponseReader) -> None:
    while not reading.done:
        piece = await incoming.read(_PIECE)
        if piece:
            reading.feed_piece(piece)
        else:
            reading.end_response()


def _describe_error(error: Exception) -> str:
    """Return the system's message for an error, in printable characters."""
    words = error.strerror if isinstance(error, OSError) else None
    return quote(words or str(error) or type(error).__name__)[1:-1]
