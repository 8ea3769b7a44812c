"""Rules that move locations to another beginning or another host. Pure.

How it works: a `Move` replaces the beginning of a location by another one. `//host` (perhaps with a
port) means this host with any scheme, and only the host of the address; any other text is a
beginning, compared character by character. The first rule that fits is applied, once.

What must stay true: a rule changes only what it names; in particular a promised digest stays
with the location. A rule whose beginning ends in the middle of a host name is refused, since
`https://old.example` would also move `https://old.example.org/`.
"""

from __future__ import annotations

import re

import msgspec

from perdure.errors.locations import MalformedMove
from perdure.model.commands import Outcome
from perdure.model.records import Location, Record, Value
from perdure.policy.handles import loc
from perdure.policy.handles.addresses import read_address
from perdure.policy.handles.values import is_url

_BEGINNING = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[!-.0-~]+/[!-~]*", re.ASCII)
_HOST = re.compile(r"//[0-9A-Za-z._:\[\]-]+", re.ASCII)
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)(//[^/?#]*)(.*)", re.ASCII | re.DOTALL)
_LONGEST = 2048


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A rule to move locations. Both sides are hosts, or both are beginnings."""

    source: str
    target: str

    def apply_to(self, uri: str) -> str | None:
        """The new address, or None if the rule does not fit.

        >>> Move(source="//a.example", target="//b.example").apply_to("http://A.example/x?y")
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


def check_moves(moves: tuple[Move, ...]) -> None:
    """Raise InvalidRequest if the effect of a rule could differ from its appearance."""
    for move in moves:
        forms = [_find_form(one) for one in (move.source, move.target)]
        if None in forms or forms[0] != forms[1]:
            raise MalformedMove(source=move.source, target=move.target)


def _find_form(text: str) -> str | None:
    if len(text) <= _LONGEST and _BEGINNING.fullmatch(text):
        return "beginning"
    return "host" if len(text) <= _LONGEST and _HOST.fullmatch(text) else None


def move_locations(record: Record, moves: tuple[Move, ...]) -> tuple[Record, Outcome]:
    """Move the locations of a record.

    Two locations that become equal are one, with the promise that either has made.
    """
    found: dict[tuple[str, int | None, str | None], Location] = {}
    for location in record.locations:
        new = _find_target(location.uri, moves)
        if new is not None:
            location = msgspec.structs.replace(location, uri=new)
        place = location.place
        kept = found.setdefault(place, location)
        if kept.sha512 is None:
            found[place] = msgspec.structs.replace(kept, sha512=location.sha512)
    locations = tuple(found.values())
    if locations == record.locations:
        return record, Outcome.UNCHANGED
    values = tuple(_move_value(one, moves) for one in record.values)
    return msgspec.structs.replace(record, locations=locations, values=values), Outcome.CHANGED


def _move_value(value: Value, moves: tuple[Move, ...]) -> Value:
    """Move the locations in a value of a handle, which keeps its index."""
    new = None
    if value.type == loc.TYPE:
        new = loc.move_locations(value.data, lambda uri: _find_target(uri, moves))
    elif is_url(value):
        new = _find_target(read_address(value.data) or value.data, moves)
    return value if new is None else msgspec.structs.replace(value, data=new)


def _find_target(uri: str, moves: tuple[Move, ...]) -> str | None:
    return next((to for one in moves if (to := one.apply_to(uri)) is not None), None)
