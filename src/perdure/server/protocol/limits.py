"""Limits for each client: requests and bytes for each address.

How it works: a connection asks `find_client` whose request it has received, and `judge_client`
whether that client is within its rates. An address is one client (of IPv6, its /64 network, which
is the least that a customer gets). A proxy in `trusted_proxies` names the client in
X-Forwarded-For. Without that field its requests are its own, and a proxy has no limits; nor has
this machine itself (loopback). Bytes are charged after an answer, so no answer is cut off. The
writer counts the names of each token (`perdure.writing.shares`); what it has refused is remembered
here, so that a token without a share sends no more bodies.

What must stay true: a request that is refused reads nothing and writes nothing; each worker
process counts requests and bytes for itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from math import ceil

from uvicorn.middleware.proxy_headers import _TrustedHosts

from perdure.errors.root import count_things
from perdure.policy.rates import Rate, RateMeter
from perdure.server.protocol.head import Headers, Refusal

MINUTE = 60  # seconds
_FORWARDED = re.compile(rb"\r\nx-forwarded-for:[ \t]*([^\r]*)", re.IGNORECASE)
_MOST_ADDRESSES = 4096
_NETWORK = 64  # bits of an IPv6 address


class ClientLimits:
    """The limits of one worker process, and the use of each client. An amount of 0 means no
    limit."""

    def __init__(
        self,
        *,
        requests_per_minute: int = 0,
        bytes_per_minute: int = 0,
        trusted_proxies: Iterable[str] = (),
    ) -> None:
        self.requests = RateMeter(Rate(requests_per_minute, MINUTE))
        self.bytes = RateMeter(Rate(bytes_per_minute, MINUTE))
        self.mints_refused = 0
        """Names that the writer refused to a token since this was set to 0."""
        self._exhausted: dict[str, float] = {}  # when they may go on, of tokens without a share
        self._proxies = _TrustedHosts(list(trusted_proxies))
        self._name_client = lru_cache(_MOST_ADDRESSES)(self._name_client_of)

    def find_client(self, peer: str, fields: bytes = b"") -> str | None:
        """Return the client of a request from a peer, or None if it has no limits.

        `fields`: the header, from the CRLF of the request line.
        """
        if peer in self._proxies:
            named = b", ".join(_FORWARDED.findall(fields)).decode("latin-1")
            peer = self.find_address(peer, named)
        return self._name_client(peer)

    def find_address(self, peer: str, forwarded: str) -> str:
        """Return the address of a client, which a trusted proxy names in `X-Forwarded-For`.

        It is empty if a trusted proxy names none.
        """
        if peer not in self._proxies:
            return peer
        return self._proxies.get_trusted_client_address(forwarded)[0] if forwarded else ""

    def _name_client_of(self, address: str) -> str | None:
        parsed = _parse_address(address)
        if parsed is None or parsed.is_loopback:
            return None
        if isinstance(parsed, IPv4Address) and address in self._proxies:
            return None
        return name_network(address)

    def judge_client(self, client: str) -> Refusal | None:
        """Count a request of a client. Return the refusal if it has used up its share."""
        now = time.monotonic()
        wait = self.bytes.find_wait(client, now)
        if wait:
            return _make_refusal("bytes", self.bytes.rate, wait)
        wait = self.requests.take_share(client, now)
        return _make_refusal("requests", self.requests.rate, wait) if wait else None

    def charge_bytes(self, client: str, sent: int) -> None:
        """Charge a client for bytes that it was sent."""
        self.bytes.charge_client(client, time.monotonic(), sent)

    def note_refusal(self, token: str, wait: int) -> None:
        """Note that the writer gives a token no more names for some seconds."""
        self.mints_refused += 1
        if len(self._exhausted) >= _MOST_ADDRESSES:
            self._exhausted.clear()
        self._exhausted[token] = time.monotonic() + wait

    def find_mint_wait(self, token: str) -> int:
        """Return the seconds for which the writer would refuse a token, as far as is known here."""
        until = self._exhausted.get(token, 0.0)
        return max(ceil(until - time.monotonic()), 0)


@lru_cache(_MOST_ADDRESSES)
def name_network(address: str) -> str:
    """Return the address of a client, or of IPv6 its network. Another text stays as it is.

    >>> name_network("2001:db8::1")
    '2001:db8::/64'
    """
    parsed = _parse_address(address)
    if parsed is None:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, _NETWORK), strict=False))
    return str(parsed)


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address; an IPv4 address that is written as IPv6 is one of IPv4."""
    try:
        parsed = ip_address(text)
    except ValueError:  # a proxy that hides it, or a local socket
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def write_rate_fields(name: str, rate: Rate, wait: int) -> Headers:
    """Write the header fields of a refusal (draft-ietf-httpapi-ratelimit-headers-10).

    A rate without a period limits the requests at one moment.

    >>> write_rate_fields("requests", Rate(600, 60), 2)[1]
    (b'ratelimit', b'"requests";r=0;t=2')
    """
    period = f"w={rate.seconds}" if rate.seconds else 'qu="concurrent-requests"'
    return [
        (b"retry-after", b"%d" % wait),
        (b"ratelimit", f'"{name}";r=0;t={wait}'.encode("ascii")),
        (b"ratelimit-policy", f'"{name}";q={rate.amount};{period}'.encode("ascii")),
    ]


def _make_refusal(name: str, rate: Rate, wait: int) -> Refusal:
    detail = (
        f"this address has used its {rate.amount} {name} "
        f"per {count_things(rate.seconds, 'second')}; "
        f"try again in {count_things(wait, 'second')}"
    )
    fields = tuple(write_rate_fields(name, rate, wait))
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, detail, fields)
