"""Sets of records for harvesters: schemes, authorities, the years of a series, and collections.

How it works: the set of an identifier is spelled from the beginning that all names of its
authority share: `pdi://oma.eop.gov.us/` is `pdi:oma.eop.gov.us`, `hdl:1839/` is `hdl:1839`. A
series of PDIs is divided into years. A set contains the sets whose names it begins (section 2.6).

>>> name_set("pdi://oma.eop.gov.us/1997/"), name_set("urn:isbn:"), name_set("ark:12345/")
('pdi:oma.eop.gov.us:1997', 'urn:isbn', 'ark:12345')
>>> list_ancestors("pdi:oma.eop.gov.us:1997")
('pdi', 'pdi:oma.eop.gov.us', 'pdi:oma.eop.gov.us:1997')

A collection is a set in `collection`, with its identifier as the name. Characters that the name of
a set cannot have are written with `!` and the hexadecimal number of each byte.

>>> name_collection(parse("pdi://oma.eop.gov.us/2026/11/28/4"))
'collection:pdi!3A!2F!2Foma.eop.gov.us!2F2026!2F11!2F28!2F4'
>>> str(read_collection_name(name_collection(parse("hdl:4263537/it's!"))))
"hdl:4263537/it's!"

What must stay true: the name of a set has only characters of section 2.6, and no two sets have the
same; every record names the smallest of the nested sets that it belongs to, and all collections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

from perdure.errors import MalformedIdentifier, PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, read_set
from perdure.reading.harvest import KeyRange, make_ranges
from perdure.reading.listing import Listings

_BETWEEN = re.compile(r"[^A-Za-z0-9\-_.!~*'()]+")
_AT_ONCE = 1000  # authorities
COLLECTIONS = "collection"
"""The set of all members of collections."""
_UNQUOTED = "-_.~*'()"  # the marks of section 2.6, without the one that quotes


def name_set(beginning: str) -> str:
    """Return the name of the set of all names with a beginning."""
    return _BETWEEN.sub(":", beginning).strip(":")


def name_collection(identifier: Identifier) -> str:
    """Return the name of the set of the members of a collection."""
    return f"{COLLECTIONS}:{quote(str(identifier), safe=_UNQUOTED).replace('%', '!')}"


def is_of_collections(name: str) -> bool:
    """Return True if a set is that of a collection, or of all."""
    return name.partition(":")[0] == COLLECTIONS


def read_collection_name(name: str) -> Identifier | None:
    """Return the identifier of a collection from the name of its set, or None."""
    text = name.removeprefix(f"{COLLECTIONS}:")
    try:
        identifier = parse(unquote(text.replace("!", "%"), errors="strict"))
    except (PerdureError, UnicodeDecodeError):
        return None
    return identifier if name_collection(identifier) == name else None


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
