"""Sets of records for harvesters: schemes, authorities, and the years of a series.

How it works: the set of an identifier is spelled from the beginning that all names of its
authority share: `pdi://oma.eop.gov.us/` is `pdi:oma.eop.gov.us`, `hdl:1839/` is `hdl:1839`. A
series of PDIs is divided into years. A set contains the sets whose names it begins (section 2.6).

>>> name_set("pdi://oma.eop.gov.us/1997/"), name_set("urn:isbn:"), name_set("ark:12345/")
('pdi:oma.eop.gov.us:1997', 'urn:isbn', 'ark:12345')
>>> list_ancestors("pdi:oma.eop.gov.us:1997")
('pdi', 'pdi:oma.eop.gov.us', 'pdi:oma.eop.gov.us:1997')

What must stay true: the name of a set has only characters of section 2.6; every record names the
smallest set that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet, read_set
from perdure.reading.harvest import KeyRange, make_ranges
from perdure.reading.listing import Listings

_BETWEEN = re.compile(r"[^A-Za-z0-9\-_.!~*'()]+")
_AT_ONCE = 1000  # authorities


def name_set(beginning: str) -> str:
    """Return the name of the set of all names with a beginning."""
    return _BETWEEN.sub(":", beginning).strip(":")


def list_ancestors(name: str) -> tuple[str, ...]:
    """List the sets that contain a set, the largest first, and the set itself."""
    steps = name.split(":")
    return tuple(":".join(steps[:count]) for count in range(1, len(steps) + 1))


def find_set_of(identifier: Identifier) -> str:
    """Return the name of the smallest set with an identifier."""
    day = identifier.assigned_on
    year = f"{day[:4]}/" if day else ""
    return name_set(identifier.authority_beginning + year)


def contains(name: str, identifier: Identifier) -> bool:
    """Return True if a set has an identifier."""
    return f"{find_set_of(identifier)}:".startswith(f"{name}:")


def find_ranges(listings: Listings, name: str) -> tuple[KeyRange, ...]:
    """Return the ranges of keys in which the names of a set are; none if it does not exist."""
    found: list[NameSet] = []
    for authority in walk_authorities(listings):
        own = name_set(str(authority))
        if f"{own}:".startswith(f"{name}:"):
            found.append(authority)
        elif name.startswith(f"{own}:"):
            found += (one for one in list_years(listings, authority) if name_set(str(one)) == name)
    return make_ranges(found)


def walk_sets(listings: Listings) -> Iterator[tuple[str, str]]:
    """Yield the name and the title of each set, those that contain others first."""
    seen: set[str] = set()
    for authority in walk_authorities(listings):
        for part in (authority, *list_years(listings, authority)):
            for name in list_ancestors(name_set(str(part))):
                if name not in seen:
                    seen.add(name)
                    yield name, str(part) if name == name_set(str(part)) else name


def walk_authorities(listings: Listings, cursor: str | None = None) -> Iterator[NameSet]:
    """Yield the authorities with names here, in the order of their keys."""
    while True:
        page, cursor = listings.list_authorities(cursor=cursor, limit=_AT_ONCE)
        yield from page
        if cursor is None:
            return


def list_years(listings: Listings, authority: NameSet) -> list[NameSet]:
    """List the years in which an authority assigned names; none if its names have no dates."""
    pattern = authority.pattern
    if pattern is None or not pattern.is_divided:
        return []
    interval = listings.list_interval(authority)
    years = []
    for one in interval.members:
        try:
            years.append(read_set(str(one)))
        except MalformedIdentifier:
            continue
    return years
