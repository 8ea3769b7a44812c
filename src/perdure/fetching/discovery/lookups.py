"""Questions to name servers: NAPTR and SRV records, with their lifetimes and DNSSEC status.

How it works: dnspython asks the name servers of the system, or those that the caller names. The
question asks for DNSSEC (`DO`), and a validating name server says by the flag `AD` that it checked
the signatures. That flag is believed only if the name server is on this machine, because nothing
protects it on the way (RFC 6840 section 5.7). A name server that finds forged records answers with
a failure; the same question with `CD` then tells whether that was the reason.

What must stay true: a look-up ends within its time, whatever the name servers do; records that a
validating name server rejects are never used.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from perdure.errors.root import count_seconds
from perdure.errors.unavailable import import_library
from perdure.policy.discovery.pointers import MOST_RECORDS, Pointer
from perdure.policy.discovery.services import MOST_SERVERS, Server

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

SECONDS = 5.0
"""The time for one look-up, with all name servers."""
_EDNS_PAYLOAD = 1232
_DEFAULT_PORT = 53
_ADDRESS = re.compile(r"\[?([0-9A-Fa-f:.]+?)\]?(?::([0-9]{1,5}))?", re.ASCII)

Security = Literal["validated", "not validated", "bogus"]
"""Whether a name server on this machine checked the signatures of the records (DNSSEC)."""


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one question. Without records, `fault` says why, or is empty."""

    owner: str
    kind: Literal["NAPTR", "SRV"]
    pointers: tuple[Pointer, ...] = ()
    servers: tuple[Server, ...] = ()
    lifetime: int = 0
    """Seconds for which the answer may be kept."""
    security: Security = "not validated"
    fault: str = ""
    """Why there is no answer. Empty if there is one, also if it says that there are no records."""


class NameServers:
    """The name servers that are asked."""

    def __init__(self, addresses: tuple[str, ...] = (), *, seconds: float = SECONDS) -> None:
        """`addresses` are those of name servers, `127.0.0.1:5353`; none: those of the system.

        Raises MissingLibrary without the extra `discovery`, ValueError for another text.
        """
        dns: Any = import_library(
            "dns.asyncresolver", task="discovery by name servers", extra="discovery"
        )
        self._flags: Any = import_library("dns.flags", task="", extra="discovery")
        self._errors: Any = import_library("dns.exception", task="", extra="discovery")
        self._answers: Any = import_library("dns.resolver", task="", extra="discovery")
        self._seconds = seconds
        self._resolver = self._make_resolver(dns, addresses, self._flags.RD | self._flags.AD)
        self._unchecked = self._make_resolver(dns, addresses, self._flags.RD | self._flags.CD)
        servers = tuple(map(str, self._resolver.nameservers))
        self._is_trusted = bool(servers) and all(map(_is_local, servers))

    def _make_resolver(self, dns: Any, addresses: tuple[str, ...], flags: int) -> Resolver:
        """Make a client that asks with these flags."""
        places = tuple(map(read_server, addresses))
        try:
            resolver: Resolver = dns.Resolver(configure=not places)
        except self._answers.NoResolverConfiguration:
            resolver = dns.Resolver(configure=False)
        if places:
            resolver.nameservers = [host for host, _ in places]
            resolver.nameserver_ports = dict(places)
        resolver.lifetime = self._seconds
        resolver.timeout = min(2.0, self._seconds)
        resolver.use_edns(0, self._flags.DO, _EDNS_PAYLOAD)
        resolver.flags = flags
        return resolver

    async def find_pointers(self, owner: str) -> Lookup:
        """Look up the NAPTR records of an owner."""
        return await self._look_up(owner, "NAPTR")

    async def find_servers(self, owner: str) -> Lookup:
        """Look up the SRV records of an owner."""
        return await self._look_up(owner, "SRV")

    async def _look_up(self, owner: str, kind: Literal["NAPTR", "SRV"]) -> Lookup:
        try:
            answer = await self._resolver.resolve(
                f"{owner}.", kind, raise_on_no_answer=False, search=False
            )
        except self._answers.NXDOMAIN as error:
            return Lookup(owner=owner, kind=kind, lifetime=_find_lifetime(error))
        except self._answers.NoNameservers:
            if await self._is_bogus(owner, kind):
                fault = "its records are forged, says the name server (DNSSEC)"
                return Lookup(owner=owner, kind=kind, security="bogus", fault=fault)
            return Lookup(owner=owner, kind=kind, fault="the name servers failed to answer")
        except self._errors.Timeout:
            fault = f"the name servers did not answer within {count_seconds(self._seconds)}"
            return Lookup(owner=owner, kind=kind, fault=fault)
        except (self._errors.DNSException, OSError, ValueError) as error:
            return Lookup(owner=owner, kind=kind, fault=str(error) or type(error).__name__)
        rows = list(answer.rrset or ())
        secure = self._is_trusted and bool(answer.response.flags & self._flags.AD)
        return Lookup(
            owner=owner,
            kind=kind,
            pointers=tuple(map(_read_pointer, rows[:MOST_RECORDS])) if kind == "NAPTR" else (),
            servers=tuple(map(_read_server, rows[:MOST_SERVERS])) if kind == "SRV" else (),
            lifetime=int(answer.rrset.ttl) if answer.rrset else 60,
            security="validated" if secure else "not validated",
        )

    async def _is_bogus(self, owner: str, kind: str) -> bool:
        """Ask again without validation: if there is an answer now, validation had failed."""
        try:
            await self._unchecked.resolve(f"{owner}.", kind, raise_on_no_answer=False, search=False)
        except (self._errors.DNSException, OSError):
            return False
        return True


def read_server(text: str) -> tuple[str, int]:
    """Read the address of a name server, with or without a port. Raises ValueError.

    >>> read_server("127.0.0.1:5353"), read_server("[::1]:53"), read_server("::1")
    (('127.0.0.1', 5353), ('::1', 53), ('::1', 53))
    """
    try:
        return str(ipaddress.ip_address(text)), _DEFAULT_PORT
    except ValueError:
        found = _ADDRESS.fullmatch(text)
    if found is None or not found[2]:
        raise ValueError(f"'{text}' is not the address of a name server, such as 127.0.0.1:5353")
    return str(ipaddress.ip_address(found[1])), int(found[2])


def _is_local(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # DNS over HTTPS, which a program may configure
        return False


def _find_lifetime(error: Any) -> int:
    """Return the seconds for which the absence of a name may be kept (RFC 2308 section 5)."""
    response = next(iter(error.responses().values()), None)
    for rrset in response.authority if response is not None else ():
        for row in rrset:
            if hasattr(row, "minimum"):
                return int(min(rrset.ttl, row.minimum))
    return 60


def _read_pointer(row: Any) -> Pointer:
    return Pointer(
        order=row.order,
        preference=row.preference,
        flags=row.flags.decode("latin-1"),
        service=row.service.decode("latin-1"),
        regexp=row.regexp.decode("latin-1"),
        replacement=row.replacement.to_text(omit_final_dot=True)
        if len(row.replacement) > 1
        else "",
    )


def _read_server(row: Any) -> Server:
    host = row.target.to_text(omit_final_dot=True) if len(row.target) > 1 else ""
    return Server(priority=row.priority, weight=row.weight, port=row.port, host=host.lower())
