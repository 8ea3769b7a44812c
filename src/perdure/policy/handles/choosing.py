"""Choosing among the locations of `10320/loc` values, as the proxies of the Handle System do. Pure.

How it works: the attribute `chooseby` of a value lists methods, by default
`locatt,country,weighted`. They are applied in order, until one location is left:

- `locatt` keeps the locations with the attribute that the reader names (`?locatt=id:1`), if any has
  it;
- `country` keeps those of the reader's country, if it is known and any has it;
- `weighted` takes the greatest weight. The proxies draw lots instead; here all readers, and all
  caches between them, get the same location.

`country` and `weighted` are the ordinary choice by region and weight (`perdure.policy.decide`). A
method that is not listed gets nothing to choose from: without `country`, all locations have the
same region, and without `weighted` the same weight.

A location with `http_role="conneg"` answers content negotiation: it is chosen if the reader
prefers another type than HTML, and only then. So perdure does not negotiate itself.

What must stay true: lists of locations are never filtered; a choice never leaves nothing.

Specification: "10320/loc handle type", Handle.Net technical manual version 9, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from perdure.model.queries import LocationAttribute
from perdure.model.records import Location, Value
from perdure.policy.handles import loc
from perdure.policy.handles.loc import LocEntry
from perdure.policy.handles.values import is_public

_CONNEG = "conneg"


def choose_entries(
    values: Iterable[Value],
    locations: Iterable[Location],
    *,
    attributes: tuple[LocationAttribute, ...] = (),
    is_negotiated: bool = False,
) -> list[Location]:
    """The locations among which the reader's region and the weights decide.

    `is_negotiated` is True if the reader prefers another type than HTML.
    """
    places = list(locations)
    read = [loc.read_value(one.data) for one in values if one.type == loc.TYPE and is_public(one)]
    if not read:
        return places
    entries = {entry.location.uri: entry for one in read for entry in one.entries}
    named = [
        entry
        for one in read
        if "locatt" in one.methods
        for entry in one.entries
        if any(entry.attributes.get(asked.name) == asked.text for asked in attributes)
    ]
    negotiating = [entry for entry in entries.values() if is_role(entry)]
    if named:
        kept = {entry.location.uri for entry in named}
    elif negotiating and is_negotiated:
        kept = {entry.location.uri for entry in negotiating}
    else:
        kept = {one.uri for one in places} - {entry.location.uri for entry in negotiating}
    methods = {entry.location.uri: one.methods for one in read for entry in one.entries}
    chosen = [_limit_methods(one, methods.get(one.uri)) for one in places if one.uri in kept]
    return chosen or places


def is_role(entry: LocEntry) -> bool:
    """Return True if a location answers content negotiation."""
    return entry.attributes.get("http_role") == _CONNEG


def negotiates_elsewhere(values: Iterable[Value]) -> bool:
    """Return True if one of the locations of a handle answers content negotiation."""
    return any(
        is_role(entry)
        for one in values
        if one.type == loc.TYPE and is_public(one)
        for entry in loc.read_value(one.data).entries
    )


def _limit_methods(location: Location, methods: tuple[str, ...] | None) -> Location:
    """Leave a location only what the methods of its value choose by."""
    if methods is None:
        return location
    before = methods[: methods.index("weighted")] if "weighted" in methods else methods
    return msgspec.structs.replace(
        location,
        region=location.region if "country" in before else None,
        weight=location.weight if "weighted" in methods else 1,
    )
