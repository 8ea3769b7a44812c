"""Moving locations by rule: another beginning, or another host. Pure.

How it works: a `Move` says what a location begins with and what takes its place. `//host` (with a
port, perhaps) means that host with whatever scheme, and nothing else of the address; anything else
is a beginning, taken letter by letter. The first rule that fits is applied, once.

What must stay true: nothing but what a rule says changes; in particular a promised digest stays
with the location. A rule whose beginning ends in the middle of a host's name is refused, since
`https://old.example` would take `https://old.example.org/` along.
"""

from __future__ import annotations

import re

import msgspec

from perdure.errors.locations import MalformedMove
from perdure.model.commands import Outcome
from perdure.model.records import Location, Record, Value
from perdure.policy.handles import loc
from perdure.policy.handles.values import is_url

_BEGINNING = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[!-.0-~]+/[!-~]*", re.ASCII)
_HOST = re.compile(r"//[0-9A-Za-z._:\[\]-]+", re.ASCII)
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)(//[^/?#]*)(.*)", re.ASCII | re.DOTALL)
_LONGEST = 2048


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A rule. Both sides are hosts, or both are beginnings."""

    source: str
    target: str

    def applied(self, uri: str) -> str | None:
        """The new address; None where the rule does not fit.

        >>> Move(source="//a.example", target="//b.example").applied("http://A.example/x?y")
        'http://b.example/x?y'
        """
        if self.source.startswith("//"):
            parts = _URI.fullmatch(uri)
            if parts is None or parts[2].lower() != self.source.lower():
                return None
            return parts[1] + self.target + parts[3]
        if not uri.startswith(self.source):
            return None
        return self.target + uri[len(self.source) :]


def check(moves: tuple[Move, ...]) -> None:
    """Raises InvalidRequest for a rule that could do another thing than it seems to."""
    for move in moves:
        forms = [_form(one) for one in (move.source, move.target)]
        if None in forms or forms[0] != forms[1]:
            raise MalformedMove(source=move.source, target=move.target)


def _form(text: str) -> str | None:
    if len(text) <= _LONGEST and _BEGINNING.fullmatch(text):
        return "beginning"
    return "host" if len(text) <= _LONGEST and _HOST.fullmatch(text) else None


def moved(record: Record, moves: tuple[Move, ...]) -> tuple[Record, Outcome]:
    """The record with its locations moved; two that become the same are one, with the promise that
    either has made."""
    found: dict[tuple[str, int | None, str | None], Location] = {}
    for location in record.locations:
        new = _target(location.uri, moves)
        if new is not None:
            location = msgspec.structs.replace(location, uri=new)
        place = location.uri, location.version, location.format
        kept = found.setdefault(place, location)
        if kept.sha512 is None:
            found[place] = msgspec.structs.replace(kept, sha512=location.sha512)
    locations = tuple(found.values())
    if locations == record.locations:
        return record, Outcome.UNCHANGED
    values = tuple(_value(one, moves) for one in record.values)
    return msgspec.structs.replace(record, locations=locations, values=values), Outcome.CHANGED


def _value(value: Value, moves: tuple[Move, ...]) -> Value:
    """A handle's value that is a location, or a list of them, keeps its index when they move."""
    new = None
    if value.type == loc.TYPE:
        new = loc.moved(value.data, lambda uri: _target(uri, moves))
    elif is_url(value):
        new = _target(value.data, moves)
    return value if new is None else msgspec.structs.replace(value, data=new)


def _target(uri: str, moves: tuple[Move, ...]) -> str | None:
    return next((to for one in moves if (to := one.applied(uri)) is not None), None)
