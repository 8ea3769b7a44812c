"""Asks servers over connections whose address was judged first.

How it works: the name is resolved once; every address it has must be allowed
(`perdure.fetching.addresses`), and the connection is made to that address, not to the name, so
that a second answer of a name server can change nothing. Each exchange has a connection of its own.
A redirect is a new URL, which goes through all of this again.

What must stay true: nothing is sent before the address is judged; proxies named in the environment
are not used, since they would resolve the name anew; whatever a server does, an exchange ends
within its limits.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from perdure.errors import quote
from perdure.errors.captures import HeaderUnsendable, HostNotPublic
from perdure.fetching import addresses
from perdure.fetching.exchange import Cause, Exchange, Limits, Unreachable
from perdure.fetching.inflating import ACCEPTED, content
from perdure.fetching.reading import NotHttp, Reading
from perdure.fetching.targets import Target, joined, target

Resolve = Callable[[str, int], Awaitable[list[str]]]
Ask = Callable[[str], Awaitable[Exchange]]
Fields = tuple[tuple[str, str], ...]
REDIRECTS = frozenset((301, 302, 303, 307, 308))
_PIECE = 64 << 10


async def system_names(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which the system would try them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class Fetcher:
    """Asks servers that strangers name.

    `networks` are those besides the public internet that may be asked (settings:
    `private_networks`); `resolve` and `tls` are arguments so that a test can have its own.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        networks: tuple[str, ...] = (),
        limits: Limits | None = None,
        resolve: Resolve = system_names,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.user_agent = user_agent
        self._networks = addresses.networks(networks)
        self._resolve = resolve
        self._tls = tls

    async def exchange(self, url: str, *, method: str = "GET", headers: Fields = ()) -> Exchange:
        """Asks once, with GET or HEAD, and follows nothing.

        `headers` come in addition to Host, User-Agent, Accept-Encoding and Connection, or replace
        them. Raises InvalidRequest where the URL may not be asked for, Unreachable where there is
        no answer. A body that did not arrive in whole is told by `truncated`.
        """
        where = target(url)
        request = self._request(where, method, headers)
        began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        reading = Reading(self.limits, method=method)
        address = ""
        try:
            async with asyncio.timeout(self.limits.seconds):
                address, incoming, outgoing = await self._connect(where)
                try:
                    outgoing.write(request)
                    await _read(incoming, reading)
                finally:
                    outgoing.transport.abort()  # no close_notify is waited for
        except TimeoutError:
            if not reading.head_length:
                raise self._unreachable(where, Cause.TIME, "it took too long") from None
            reading.stop("time")
        except NotHttp as error:
            raise self._unreachable(where, Cause.PROTOCOL, str(error)) from error
        except OSError as error:
            if not reading.head_length:
                raise self._unreachable(where, Cause.CONNECTION, _words(error)) from error
            reading.stop("disconnect")
        return Exchange(
            url=where.url,
            address=address,
            began=began,
            sent=request,
            received=reading.received,
            head_length=reading.head_length,
            status=reading.status,
            reason=reading.reason,
            headers=tuple(reading.headers),
            body=reading.body,
            truncated=reading.truncated,
        )

    async def follow(
        self, url: str, *, method: str = "GET", headers: Fields = (), ask: Ask | None = None
    ) -> tuple[Exchange, ...]:
        """Asks, and goes where redirects lead: every exchange on the way, the last one last.

        `ask` does each of them, for whoever has something to see to before; else `exchange` with
        this method and these fields. Raises what that raises, and Unreachable where there are too
        many redirects.
        """
        chain: list[Exchange] = []
        while True:
            if ask is None:
                chain.append(await self.exchange(url, method=method, headers=headers))
            else:
                chain.append(await ask(url))
            onwards = redirect(chain[-1])
            if onwards is None:
                return tuple(chain)
            where = target(onwards)
            if len(chain) > self.limits.redirects or where.url in {one.url for one in chain}:
                raise self._unreachable(where, Cause.REDIRECTS, "redirects go on without end")
            url = onwards

    def content(self, exchange: Exchange) -> bytes:
        """The entity of a response without content coding, as far as the limit allows."""
        return content(exchange, self.limits.inflated)

    def _request(self, where: Target, method: str, headers: Fields) -> bytes:
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

    async def _connect(
        self, where: Target
    ) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the first address that answers, of those that the name has.

        Each gets its share of the time: where IPv6 leads nowhere, IPv4 has its turn.
        """
        problem: OSError | None = None
        loop = asyncio.get_running_loop()
        until = loop.time() + self.limits.connect_seconds
        try:
            async with asyncio.timeout_at(until):
                found = await self._addresses(where)
        except TimeoutError:
            reason = "the name is not resolved in time"
            raise self._unreachable(where, Cause.TIME, reason) from None
        for turn, address in enumerate(found):
            share = (until - loop.time()) / (len(found) - turn)
            try:
                async with asyncio.timeout(share):
                    reader, writer = await asyncio.open_connection(
                        address,
                        where.port,
                        ssl=self._context(where),
                        server_hostname=where.host if where.scheme == "https" else None,
                    )
            except ssl.SSLError as error:
                raise self._unreachable(where, Cause.TLS, _words(error)) from error
            except OSError as error:  # TimeoutError is one
                problem = error
            else:
                return address, reader, writer
        if isinstance(problem, TimeoutError):
            raise self._unreachable(where, Cause.TIME, "nobody answers in time")
        raise self._unreachable(where, Cause.CONNECTION, _words(problem or OSError()))

    async def _addresses(self, where: Target) -> list[str]:
        try:
            found = await self._resolve(where.host, where.port)
        except (OSError, UnicodeError) as error:
            raise self._unreachable(where, Cause.NAME, _words(error)) from error
        for address in found:
            if not addresses.is_allowed(address, self._networks):
                raise HostNotPublic(url=where.url, address=address)
        return found

    def _context(self, where: Target) -> ssl.SSLContext | None:
        if where.scheme == "http":
            return None
        if self._tls is None:
            self._tls = ssl.create_default_context()  # reads a large file: when first needed
        return self._tls

    def _unreachable(self, where: Target, cause: Cause, reason: str) -> Unreachable:
        return Unreachable(url=where.url, fault=reason, cause=cause.value)


def redirect(exchange: Exchange) -> str | None:
    """Where a response leads on to; None where it does not."""
    location = exchange.header("Location")
    if exchange.status not in REDIRECTS or not location:
        return None
    # browsers read UTF-8 where RFC 9110 has ASCII
    text = location.encode("latin-1").decode("utf-8", "replace")
    return joined(exchange.url, text)


async def _read(incoming: asyncio.StreamReader, reading: Reading) -> None:
    while not reading.done:
        piece = await incoming.read(_PIECE)
        if piece:
            reading.feed(piece)
        else:
            reading.end()


def _words(error: Exception) -> str:
    """What the system says, in printable characters."""
    words = error.strerror if isinstance(error, OSError) else None
    return quote(words or str(error) or type(error).__name__)[1:-1]
