"""Descriptions from plain words: names and values, persons, years, and numbers of degrees.

How it works: `read_pairs` makes an `About` from plain names and values, as Dublin Core and ERC have
them. `parse_person`, `find_year` and `spell_degrees` read one value as people and other programs
write it.

What must stay true: everything is pure, and nothing is guessed: a name without a comma is not
split, and a text without a year has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from perdure.model.about import (
    About,
    Agent,
    DescriptionDate,
    DescriptionText,
    Publisher,
    Rights,
    Subject,
)
from perdure.model.description_checks import LANGUAGE, clean_text

_YEAR_WITHIN = re.compile("(?<![0-9])[0-9]{4}(?![0-9])", re.ASCII)
_PROFILES = frozenset(("dc", "erc", "datacite"))
"""Profiles of EZID, whose elements are called `erc.who`."""
_PAIRS = {
    "title": "titles", "what": "titles",
    "creator": "creators", "who": "creators", "author": "creators",
    "contributor": "contributors",
    "publisher": "publisher",
    "date": "date", "when": "date", "year": "date", "publicationyear": "date",
    "language": "language",
    "subject": "subjects", "keywords": "subjects",
    "description": "descriptions", "abstract": "descriptions",
    "type": "resource_kind", "resourcetype": "resource_kind",
    "rights": "rights",
    "version": "version",
}  # fmt: skip


def read_pairs(pairs: Mapping[str, str]) -> About:
    """Make a description from plain names and values, as in Dublin Core and ERC.

    >>> about = read_pairs({"who": "Lederberg, Joshua", "what": "Studies of Human Families"})
    >>> about.title, about.creators[0].family
    ('Studies of Human Families', 'Lederberg')
    """
    found: dict[str, Any] = {}
    for name, raw in pairs.items():
        field, value = _find_field(name), clean_text(raw)
        if not value or not field:
            continue
        match field:
            case "titles":
                found.setdefault(field, (DescriptionText(value=value),))
            case "descriptions":
                found.setdefault(field, (DescriptionText(value=value, kind="Abstract"),))
            case "creators":
                found.setdefault(field, tuple(map(parse_person, value.split(";"))))
            case "contributors":
                one = msgspec.structs.replace(parse_person(value), role="Other")
                found.setdefault(field, (one,))
            case "publisher":
                found.setdefault(field, Publisher(name=value))
            case "subjects":
                words = filter(None, (one.strip() for one in value.split(";")))
                found.setdefault(field, tuple(Subject(value=one) for one in words))
            case "rights":
                found.setdefault(field, (Rights(value=value),))
            case "date":
                found.setdefault("dates", (DescriptionDate(value=value, kind="Issued"),))
                found.setdefault("year", find_year(value))
            case "language":
                if LANGUAGE.fullmatch(value):
                    found.setdefault(field, value)
            case _:
                found.setdefault(field, value)
    return About(**found)


def write_pairs(about: About) -> dict[str, str]:
    """Write a description as plain names and values, as far as `read_pairs` reads them again.

    >>> write_pairs(read_pairs({"who": "Lederberg, Joshua", "when": "1948"}))
    {'creator': 'Lederberg, Joshua', 'date': '1948'}
    """
    abstract = [one.value for one in about.descriptions if one.kind == "Abstract"]
    rights = [one.value or one.uri or one.code for one in about.rights]
    pairs = {
        "title": about.title,
        "creator": "; ".join(one.display_name for one in about.creators),
        "contributor": next((one.display_name for one in about.contributors), ""),
        "publisher": about.publisher.name if about.publisher else "",
        "date": about.first_date("Issued") or about.year,
        "language": about.language,
        "subject": "; ".join(one.value for one in about.subjects),
        "description": next(iter(abstract), ""),
        "type": about.resource_kind,
        "rights": next(iter(rights), ""),
        "version": about.version,
    }
    return {name: value for name, value in pairs.items() if value}


def is_plain_word(name: str) -> bool:
    """Return True if `read_pairs` knows the name.

    >>> is_plain_word("Title"), is_plain_word("shelf")
    (True, False)
    """
    return bool(_find_field(name))


def _find_field(name: str) -> str:
    """Return the field that a name means; empty if it has none.

    >>> _find_field("erc.who"), _find_field("datacite.publicationyear"), _find_field("my.title")
    ('creators', 'date', '')
    """
    lower = name.lower()
    profile, dot, rest = lower.partition(".")
    return _PAIRS.get(rest if dot and profile in _PROFILES else lower, "")


def parse_person(name: str) -> Agent:
    """Parse a person's name; a comma separates the family name from the given name."""
    name = clean_text(name)
    family, comma, given = name.partition(",")
    if not comma or not given.strip():
        return Agent(name=name)
    family, given = family.strip(), given.strip()
    return Agent(name=name, family=family, given=given, kind="Personal")


def split_names(about: About) -> About:
    """Return a description with the names of persons split: `Family, Given` is in two parts.

    >>> society = Agent(name="Books, Inc.", kind="Organizational")
    >>> about = About(creators=(Agent(name="Müller, Anna"), society))
    >>> [one.family for one in split_names(about).creators]
    ['Müller', '']
    """
    creators = tuple(map(_split_name, about.creators))
    contributors = tuple(map(_split_name, about.contributors))
    if creators == about.creators and contributors == about.contributors:
        return about
    return msgspec.structs.replace(about, creators=creators, contributors=contributors)


def _split_name(agent: Agent) -> Agent:
    if agent.family or agent.given or agent.kind == "Organizational" or agent.name.count(",") != 1:
        return agent
    person = parse_person(agent.name)
    return msgspec.structs.replace(agent, family=person.family, given=person.given)


def spell_degrees(members: Any) -> Any:
    """Return the JSON members of a description with the numbers of its places spelled as text.

    >>> spell_degrees({"places": [{"point": {"longitude": 7.1, "latitude": -50}}]})
    {'places': [{'point': {'longitude': '7.1', 'latitude': '-50'}}]}
    """
    if not isinstance(members, dict) or "places" not in members:
        return members
    return {**members, "places": _spell_numbers(members["places"])}


def _spell_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _spell_numbers(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_spell_numbers(one) for one in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return format(Decimal(repr(value)), "f") if is_number else value


def find_year(date: str) -> str:
    """Return the first year of our era in a date; empty if there is none.

    >>> find_year("2001-09-01"), find_year("circa 1900"), find_year("[2001]"), find_year("-0044")
    ('2001', '1900', '2001', '')
    """
    found = None if date.lstrip().startswith("-") else _YEAR_WITHIN.search(date)
    return found[0] if found else ""
