"""`10320/loc`: several locations in one handle value, with weights and countries. Pure.

How it works: the value is a small XML document,

    <locations chooseby="locatt,country,weighted">
      <location id="0" href="http://uk.example/" country="gb" weight="0" />
    </locations>

whose `location` elements become `perdure.model.records.Location`s: `country` is the region,
`weight` the weight (1 by default; if there are fractions, all weights of the value are scaled up).
A `location` whose `href` readers cannot open (`perdure.policy.handles.addresses`) is left out.
Other attributes stay in the value, which is stored unchanged; `perdure.policy.handles.choosing`
chooses by them.

What must stay true: nothing of the XML is trusted. A document type declaration is refused before
the parser sees it, and without one there is no entity to expand or to fetch.

Specification: "10320/loc handle type", Handle.Net technical manual version 9, section 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple
from xml.etree import ElementTree

from perdure.errors.locations import (
    LocationsTooMany,
    MalformedValueXml,
    RootNotLocations,
    ValueXmlDeclares,
    ValueXmlTooLong,
    WeightOutOfRange,
)
from perdure.model.records import Location
from perdure.policy.handles.addresses import read_address

TYPE = "10320/loc"
_METHODS = "locatt,country,weighted"
LONGEST = 100_000
"""The most characters of a value in XML."""
_DECLARATION = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_MOST = 1000  # locations in one value
_LONGEST_REMEMBERED = 2048  # characters of a value
_MOST_REMEMBERED = 256
_SCALE = 1000  # for weights with fractions
_HEAVIEST = Decimal(1_000_000)


def parse_xml(text: str, kind: str) -> ElementTree.Element:
    """The root of a small XML document without declarations. Raises InvalidRequest.

    `kind` is its type, for the message.
    """
    if len(text) > LONGEST:
        raise ValueXmlTooLong(value_type=kind, most=LONGEST)
    if _DECLARATION.search(text):
        raise ValueXmlDeclares(value_type=kind)
    try:
        return ElementTree.fromstring(text)  # noqa: S314  (no declaration: no entity, no file)
    except ElementTree.ParseError as error:
        raise MalformedValueXml(value_type=kind, fault=str(error)) from error


class LocEntry(NamedTuple):
    """One `location` element: the location, and all attributes of the element."""

    location: Location
    attributes: dict[str, str]


class LocValue(NamedTuple):
    """A value: its methods to choose a location, and its locations, in order."""

    methods: tuple[str, ...]
    entries: tuple[LocEntry, ...]


def read_locations(text: str) -> tuple[Location, ...]:
    """The locations of a value, in order. Raises InvalidRequest."""
    return tuple(entry.location for entry in read_value(text).entries)


def read_value(text: str) -> LocValue:
    """The methods and locations of a value. Raises InvalidRequest.

    To resolve one name, the same value is read several times, so short ones are remembered.
    """
    return _remember_value(text) if len(text) <= _LONGEST_REMEMBERED else _parse_value(text)


@lru_cache(_MOST_REMEMBERED)
def _remember_value(text: str) -> LocValue:
    return _parse_value(text)


def _parse_value(text: str) -> LocValue:
    root = parse_xml(text, TYPE)
    if root.tag != "locations":
        raise RootNotLocations(value_type=TYPE)
    listed = [one for one in root if one.tag == "location"]
    if len(listed) > _MOST:
        raise LocationsTooMany(value_type=TYPE, most=_MOST)
    found = [
        (address, one)
        for one in listed
        if (address := read_address(one.get("href", ""))) is not None
    ]
    weights = [_read_weight(one.get("weight", "1")) for _, one in found]
    scale = 1 if all(weight == int(weight) for weight in weights) else _SCALE
    methods = root.get("chooseby", _METHODS).split(",")
    return LocValue(
        tuple(one.strip().lower() for one in methods),
        tuple(
            LocEntry(
                Location(
                    uri=address,
                    region=one.get("country") or None,
                    weight=int(weight * scale),
                ),
                dict(one.attrib),
            )
            for (address, one), weight in zip(found, weights, strict=True)
        ),
    )


def remove_locations(text: str, gone: set[str]) -> str:
    """Remove the locations at these URIs from a value."""
    root = parse_xml(text, TYPE)
    for one in list(root):
        if one.tag == "location" and read_address(one.get("href", "")) in gone:
            root.remove(one)
    return ElementTree.tostring(root, encoding="unicode")


def move_locations(text: str, target: Callable[[str], str | None]) -> str | None:
    """Move the locations of a value to the addresses from `target`; None if none of them moves."""
    root = parse_xml(text, TYPE)
    places = [one for one in root if one.tag == "location"]
    new = [target(read_address(one.get("href", "")) or "") for one in places]
    if not any(new):
        return None
    for one, uri in zip(places, new, strict=True):
        if uri is not None:
            one.set("href", uri)
    return ElementTree.tostring(root, encoding="unicode")


def _read_weight(text: str) -> Decimal:
    try:
        weight = Decimal(text.strip())
    except InvalidOperation:
        weight = Decimal(-1)
    if not (weight.is_finite() and 0 <= weight <= _HEAVIEST):
        raise WeightOutOfRange(value_type=TYPE, weight=text, most=int(_HEAVIEST))
    return weight
