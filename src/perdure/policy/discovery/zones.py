"""The lines of a zone file that lead from a series to its resolvers. Pure.

How it works: a series that one resolver answers for gets a NAPTR record with the flag `s`, and an
SRV record with host and port. If the resolver has a path, or answers for some days only, the record
has the flag `u` and an expression that makes the address of a name there. An expression that is
longer than a character string can be (255 octets) is divided into several records.

    oma.eop.gov.us. 3600 IN NAPTR 100 10 "s" "https+N2L+N2R+N2C" "" _https._tcp.oma.eop.gov.us.
    _https._tcp.oma.eop.gov.us. 3600 IN SRV 10 1 443 pid.example.org.

Records for some days precede those for all days, because their order is lower.

What must stay true: the lines are those of a master file (RFC 1035 section 5), so that every name
server reads them; no value of a caller gets into a line unless it was checked; an expression never
contains `\\0`, which BIND refuses (RFC 3402 section 3.2 has \\1 to \\9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from perdure.errors.discovery import AddressNotEnclosed, AddressNotForZone, AddressTooLong
from perdure.ids import parse
from perdure.model.delegations import Delegation
from perdure.policy.discovery.intervals import list_shapes
from perdure.policy.discovery.pointers import MOST_RECORDS, Pointer
from perdure.policy.discovery.services import Server

NameServer = Literal["bind", "knot", "nsd"]
NAME_SERVERS: tuple[NameServer, ...] = ("bind", "knot", "nsd")
SERVICES = "N2L+N2R+N2C"
_LONGEST_STRING = 255  # octets of a character string (RFC 1035 section 3.3)
_TTL = 3600
_ORDER_OF_DAYS, _ORDER_OF_ALL = 50, 100
_NO_DAY, _FIRST_DAY, _LAST_DAY = "9999-99-99", "0001-01-01", "9999-12-31"
_MARKS = "!#%;~"
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_ADDRESS = re.compile(r"https?://[!-~]+", re.ASCII)
_SPECIAL = re.compile(r"[\\\"]")


class ZoneEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A resolver of a series, for all days or from one day to another."""

    base: str
    """Its address up to the identifier."""
    first: str = ""
    """The first and the last day, `1993/01/20`; empty if there is no limit."""
    last: str = ""
    priority: int = 10
    weight: int = 1
    kind: Literal["http", "thttp"] = "http"

    @property
    def is_whole(self) -> bool:
        """True if it answers for all days."""
        return not (self.first or self.last)


class ZoneRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a zone: its owner, type and data in the form of a master file."""

    owner: str
    kind: Literal["NAPTR", "SRV"]
    data: str

    def __str__(self) -> str:
        return f"{self.owner} {_TTL} IN {self.kind} {self.data}"


def list_records(
    series: str, entries: Iterable[ZoneEntry], *, subseries: bool = False
) -> list[ZoneRecord]:
    """Return the records of a series. With `subseries`, also those of all series to its left.

    Raises AddressNotForZone if the address of a resolver cannot be written into a zone.
    """
    owners = (f"{series}.", *((f"*.{series}.",) if subseries else ()))
    return [
        record
        for owner in owners
        for entry in sorted(entries, key=lambda one: (one.is_whole, one.priority, one.base))
        for record in _list_of_entry(owner, series, entry)
    ]


def _list_of_entry(owner: str, series: str, entry: ZoneEntry) -> Iterator[ZoneRecord]:
    if not _ADDRESS.fullmatch(entry.base):
        raise AddressNotForZone(base=entry.base)
    try:
        place = urlsplit(entry.base)
        host, port = (place.hostname or "").rstrip("."), place.port
    except ValueError as error:
        raise AddressNotForZone(base=entry.base) from error
    is_plain = not place.path.strip("/") and not place.query and _HOST.fullmatch(host)
    protocol = entry.kind if entry.kind == "thttp" else place.scheme
    if entry.is_whole and is_plain and ":" not in host and not host.replace(".", "").isdigit():
        service = f"_{protocol}._tcp.{series}."
        if not owner.startswith("*"):
            number = port or (443 if place.scheme == "https" else 80)
            server = Server(priority=entry.priority, weight=entry.weight, port=number, host=host)
            yield ZoneRecord(owner=service, kind="SRV", data=write_server(server))
        pointer = _make_pointer(_ORDER_OF_ALL, entry, "s", protocol, replacement=service[:-1])
        yield ZoneRecord(owner=owner, kind="NAPTR", data=write_pointer(pointer))
        return
    order = _ORDER_OF_ALL if entry.is_whole else _ORDER_OF_DAYS
    for expression in write_expressions(entry):
        pointer = _make_pointer(order, entry, "u", protocol, regexp=expression)
        yield ZoneRecord(owner=owner, kind="NAPTR", data=write_pointer(pointer))


def _make_pointer(
    order: int, entry: ZoneEntry, flags: str, protocol: str, regexp: str = "", replacement: str = ""
) -> Pointer:
    service = f"{protocol}+{SERVICES}"
    return Pointer(order, entry.priority, flags, service, regexp, replacement)


def write_pointer(one: Pointer) -> str:
    """Write the data of a NAPTR record as a zone file has it."""
    strings = " ".join(f'"{_SPECIAL.sub(_escape, text)}"' for text in (one.flags, one.service))
    expression = _SPECIAL.sub(_escape, one.regexp)
    return f'{one.order} {one.preference} {strings} "{expression}" {one.replacement}.'


def write_server(one: Server) -> str:
    """Write the data of an SRV record as a zone file has it."""
    return f"{one.priority} {one.weight} {one.port} {one.host}."


def _escape(found: re.Match[str]) -> str:
    return "\\" + found[0]


def list_delegated(series: str, said: Delegation) -> list[ZoneEntry]:
    """Return the resolvers to which the names of a series are delegated, with their days."""
    interval = parse(f"pdi://{series}/")
    if not (said.covers(interval) or said.names.example.assigned_under == series):
        return []
    first, last = said.names.example.assigned_between or ("", "")
    if said.names.example.assigned_under != series:
        first, last = "", ""
    first, last = max(first, said.first_day), min(last or _NO_DAY, said.last_day or _NO_DAY)
    return [
        ZoneEntry(
            base=one.base,
            first="" if first <= _FIRST_DAY else first.replace("-00", "-01").replace("-", "/"),
            last="" if last >= _LAST_DAY else _close_day(last),
            priority=one.priority,
            weight=one.weight,
            kind=one.kind,
        )
        for one in said.resolvers
    ]


def _close_day(day: str) -> str:
    """Write the last day of an interval. A missing month or day, 99, is the last one there is."""
    year, month, date = day.split("-")
    return f"{year}/{min(int(month), 12):02}/{min(int(date), 31):02}"


def write_expressions(entry: ZoneEntry) -> list[str]:
    r"""Return the expressions of a resolver, each short enough for a record.

    >>> entry = ZoneEntry(base="https://a.example", first="1993/01/20", last="1993/01/31")
    >>> write_expressions(entry)
    ['!^(urn:)?(pdi://[^/]+/(1993/01/(2[0-9]|3[0-1])/).*)$!https://a.example/\\2!i']
    """
    base = entry.base.rstrip("/")
    shapes = [""] if entry.is_whole else list_shapes(entry.first or "0001/01/01", entry.last)
    mark = next((one for one in _MARKS if one not in base), None)
    if mark is None or "\\" in base:
        raise AddressNotEnclosed(base=base)
    found, taken = [], list[str]()
    for shape in shapes:
        if taken and len(_write(mark, [*taken, shape], base)) > _LONGEST_STRING:
            found.append(_write(mark, taken, base))
            taken = []
        taken.append(shape)
    found.append(_write(mark, taken, base))
    if max(map(len, found)) > _LONGEST_STRING or len(found) > MOST_RECORDS:
        raise AddressTooLong(base=base)
    return found


def _write(mark: str, shapes: list[str], base: str) -> str:
    inner = f"({'|'.join(shapes)})" if shapes != [""] else ""
    return f"{mark}^(urn:)?(pdi://[^/]+/{inner}.*)${mark}{base}/\\2{mark}i"


_STANZAS: dict[NameServer, str] = {
    "bind": 'zone "{zone}" {{ type primary; file "{zone}.zone"; }};',
    "knot": "zone:\n  - domain: {zone}\n    file: {zone}.zone",
    "nsd": 'zone:\n  name: "{zone}"\n  zonefile: "{zone}.zone"',
}
_CHECKS: dict[NameServer, str] = {
    "bind": "named-checkzone {zone} {zone}.zone",
    "knot": "kzonecheck -o {zone} {zone}.zone",
    "nsd": "nsd-checkzone {zone} {zone}.zone",
}


def write_hint(server: NameServer, series: str) -> str:
    """Return comments on how a name server takes the lines in as a zone of their own."""
    stanza = "\n".join(f";   {line}" for line in _STANZAS[server].format(zone=series).splitlines())
    check = _CHECKS[server].format(zone=series)
    return (
        f"; Put the lines into the zone of {series}, or of a domain above it. As its own zone:\n"
        f"{stanza}\n; To check it: {check}"
    )
