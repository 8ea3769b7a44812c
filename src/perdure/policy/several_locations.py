"""The locations among which a record lets each reader's wishes decide. Pure.

How it works: most records with several locations hold no bytes and distinguish no versions. Then
all locations that are valid today are candidates, and only their order depends on the reader
(`perdure.policy.ordering`). For those records, `find_candidates` gives the candidates in a fraction
of the time of `perdure.policy.decide.decide_step`. A record whose values hide a location, answer
content negotiation or lead to another handle is not one of them.

What must stay true: for every record, day and reader, the candidates in the reader's order are
those that `decide_step` decides for readers, or there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from perdure.model.queries import Redirect
from perdure.model.records import Location, Record, Value
from perdure.policy.handles.choosing import choose_entries, negotiates_elsewhere
from perdure.policy.handles.values import find_ttl, is_public, is_url, list_locations
from perdure.policy.sole_location import CHOOSING

_NO_TTLS: Mapping[str, int] = {}


class Candidates(NamedTuple):
    """Locations for a reader to be sent to, in the order of the record."""

    locations: tuple[Location, ...]
    ttls: Mapping[str, int]
    """By URI: the seconds for which a redirect to it may be cached, if a value says so."""


def find_candidates(record: Record, format: str | None, day: str) -> Candidates | None:
    """Return the locations to which a record with several locations leads on a day.

    The format is that of the name; a day is written `2026-11-21`, and empty if it does not matter.
    If the name has a version, too, the locations are the same: they hold any version. Return None
    if more than the order of all valid locations must be decided.
    """
    if record.tombstone is not None or record.versions or len(record.locations) < 2:
        return None
    ends = False
    for one in record.locations:
        if one.version is not None or (format is not None and one.format not in (None, format)):
            return None
        ends = ends or one.valid_from is not None or one.valid_until is not None
    locations, ttls = record.locations, _NO_TTLS
    if record.values:
        found = _read_ttls(record)
        if found is None or negotiates_elsewhere(record.values):
            return None
        locations, ttls = tuple(choose_entries(record.values, locations)), found
    if ends:
        locations = tuple(one for one in locations if one.is_valid(day))
    return Candidates(locations, ttls) if locations else None


def list_candidates(step: Redirect, values: tuple[Value, ...]) -> Candidates:
    """Return the locations of a redirect that was decided for a reader without wishes."""
    locations = (step.location, *step.others)
    ttls = {one.uri: find_ttl(values, one.uri) for one in locations} if values else {}
    return Candidates(locations, {uri: ttl for uri, ttl in ttls.items() if ttl is not None})


def _read_ttls(record: Record) -> dict[str, int] | None:
    """Return the times to live of locations; None if a value leads elsewhere or is not public."""
    places = {one.uri for one in record.locations}
    found: dict[str, int] = {}
    for one in record.values:
        if one.type.upper() not in CHOOSING:
            continue
        stated = _list_stated(one, places)
        if not stated or not is_public(one):
            return None
        for uri in stated:
            found[uri] = min(one.ttl, found.get(uri, one.ttl))
    return found


def _list_stated(value: Value, places: Set[str]) -> list[str]:
    """Return the URIs that a value states, where `places` are those of all locations."""
    if value.data in places and is_url(value):
        return [value.data]
    return [one.uri for one in list_locations(value)]
