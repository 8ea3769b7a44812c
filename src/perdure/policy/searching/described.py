"""The title and the description of a document as texts to search in. Pure.

How it works: the description is the one that a reader of the document sees (`describe_level`), or
the one inside the document, if there is no other. Its
title is one text, the names of its people and organisations are another. The third is everything
else that people wrote: subjects, abstracts, dates, identifiers, plain names and values, and the
public values of a handle that are texts. Words of controlled lists (`IsPartOf`, `Dataset`),
languages and the addresses of schemes are left out.

What must stay true: nothing is in these texts but what the record says, so a record without its
hidden levels has none of their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from perdure.model.about import About
from perdure.model.records import Level, Record
from perdure.policy.handles.values import is_public, list_locations
from perdure.policy.levels import describe_level

_LEFT_OUT = frozenset(
    {"kind", "scheme", "scheme_uri", "scheme_type", "uri", "language", "role", "relation",
     "resource_type", "metadata_scheme", "number_kind", "award_uri", "sizes", "formats", "derived",
     "longitude", "latitude", "west", "east", "south", "north", "unit", "titles", "creators",
     "contributors"}
)  # fmt: skip
"""Fields with words of lists, addresses and numbers; titles and people are texts of their own."""
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?!\d)")
_DATES = ("Issued", "Available", "Created", "Collected", "Valid", "Copyrighted")


class DescribedWords(NamedTuple):
    """The texts of a description, and its date."""

    title: str = ""
    people: str = ""
    """Names of persons and organisations."""
    metadata: str = ""
    date: str = ""
    """The date of the document as its description says; empty if it does not."""

    @property
    def is_said(self) -> bool:
        """True if there is a word in it."""
        return bool(self.title or self.people or self.metadata)

    def by_field(self) -> tuple[tuple[str, str], ...]:
        """Return the texts, each with the name of its field."""
        return (("title", self.title), ("people", self.people), ("metadata", self.metadata))


def describe_words(record: Record, level: Level, inside: About | None = None) -> DescribedWords:
    """Return the texts of the description that a reader of a level sees.

    `inside` is what the document says of itself; it counts if the resource has no description.
    """
    pairs = list(record.metadata.values())
    if not (record.about or record.narrower or pairs or record.values or inside):
        return DescribedWords()
    about = describe_level(record, level, inside)
    agents = [*about.creators, *about.contributors]
    publisher = about.publisher.name if about.publisher else ""
    people = [text for one in agents for text in _walk_texts(one)]
    said = [*_walk_texts(about), *pairs, *_list_values(record)]
    return DescribedWords(
        title="\n".join(one.value for one in about.titles),
        people="\n".join(dict.fromkeys(filter(None, (*people, publisher)))),
        metadata="\n".join(dict.fromkeys(said)),
        date=about.first_date(*_DATES) or about.year,
    )


def _walk_texts(value: Any) -> Iterator[str]:
    """Yield every text in a description that a person wrote."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _walk_texts(one)
    elif isinstance(value, msgspec.Struct):
        own = frozenset(("titles", "creators", "contributors"))
        left_out = _LEFT_OUT if isinstance(value, About) else _LEFT_OUT - own
        for field in value.__struct_fields__:
            if field not in left_out:
                yield from _walk_texts(getattr(value, field))


def _list_values(record: Record) -> Iterator[str]:
    for one in record.values:
        is_text = one.format == "string" and not one.type.upper().startswith("HS_")
        if is_text and is_public(one) and not list_locations(one):
            yield one.data


@lru_cache(maxsize=1024)
def read_day(text: str, *, end: bool = False) -> int:
    """Return the day at the beginning of a text as a number, or 0 if there is none.

    >>> read_day("1997-09-01"), read_day("1997-09"), read_day("1997/1999"), read_day("n.d.")
    (19970901, 19970900, 19970000, 0)

    At the `end`, a month or a year is its last day or later:

    >>> read_day("1997-09", end=True), read_day("1997", end=True)
    (19970999, 19979999)
    """
    found = _DAY.match(text)
    if found is None:
        return 0
    missing = "99" if end else "00"
    return int(f"{found[1]}{found[2] or missing}{found[3] or missing}")
