"""The checks of a description: its limits, the texts and links that it may contain.

How it works: `check_description` visits every text of an `About` once and checks it by the name of
its field, such as `titles.kind`. What must stay true: no text contains a character that XML does
not allow, no URI has a scheme that browsers execute, and a word of a controlled list is in the
list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.errors.contents import MalformedMediaType
from perdure.errors.describing import (
    AttachedFormatInvalid,
    AttachedTooLong,
    AttachedTwice,
    DegreesInvalid,
    EmptyText,
    LinkActive,
    MalformedYear,
    PolygonNotClosed,
    TextNotLanguage,
    TextNotUri,
    TextNotXml,
    TextTooLong,
    TooManyValues,
    WordUnknown,
)
from perdure.formats.xml_characters import NOT_IN_XML
from perdure.model.about import About, Attachment
from perdure.model.kernel_words import (
    DATES,
    DESCRIPTIONS,
    NUMBERS,
    RELATIONS,
    RESOURCE_TYPES,
    ROLES,
    SCHEMES,
    TITLES,
)
from perdure.model.placeholders import PLACEHOLDERS, drop_placeholders

LONGEST_TEXT = 100_000
"""Characters of one value."""
MOST_VALUES = 20_000
"""Number of values in all lists of a description together."""
LARGEST_ATTACHED = 1 << 20
"""Bytes of all attached records together."""

_SCHEME = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):")
_ACTIVE = frozenset({"javascript", "data", "vbscript", "blob", "file"})
_URI = re.compile(r'[^\x00-\x20<>"{}|\\^`\x7f]*')
_DEGREES = re.compile(r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})", re.ASCII)
_LINKS = ("uri", "code.value", "codes.value", "relations.value", "attachment.schema")
_DEGREE_FIELDS = ("longitude", "latitude", "box.west", "box.east", "box.south", "box.north")
_YEAR = re.compile("[0-9]{4}", re.ASCII)
LANGUAGE = re.compile("[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*", re.ASCII)
"""The shape of a language tag (RFC 5646 section 2.1; RFC 4647 section 2.1)."""
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,80}/[A-Za-z0-9!#$&^_.+-]{1,80}", re.ASCII)


_NEEDED = frozenset(
    f"{name}.{field}"
    for name, fields in {
        "titles": ("value",),
        "descriptions": ("value",),
        "publisher": ("name",),
        "affiliations": ("name",),
        "dates": ("value", "kind"),
        "subjects": ("value",),
        "code": ("value",),
        "codes": ("value",),
        "relations": ("value", "scheme", "relation"),
        "related": ("relation", "resource_type"),
        "fundings": ("funder",),
        "measured": ("name",),
        "variables": ("name", "value"),
    }.items()
    for field in fields
)
"""Required fields of each value."""
_WORDS = {
    "titles.kind": TITLES,
    "descriptions.kind": DESCRIPTIONS,
    "creators.kind": frozenset(("Personal", "Organizational")),
    "contributors.kind": frozenset(("Personal", "Organizational")),
    "contributors.role": ROLES,
    "dates.kind": DATES,
    "about.resource_type": RESOURCE_TYPES,
    "relations.resource_type": RESOURCE_TYPES,
    "relations.scheme": SCHEMES | {"PDI"},
    "relations.relation": RELATIONS,
    "related.resource_type": RESOURCE_TYPES,
    "related.relation": RELATIONS,
    "related.number_kind": NUMBERS,
}


def check_description(about: About) -> About:
    """Check and return a description, without placeholders such as `(:unkn)` for a creator.

    Raises InvalidRequest if it is unsafe or too large.
    """
    count, has_placeholders = 0, False
    for name, value in _walk_texts(about, "about"):
        count += 1
        _check_text(name, value)
        has_placeholders |= value in PLACEHOLDERS
    if count > MOST_VALUES:
        raise TooManyValues(most=MOST_VALUES)
    if any(len(one.points) < 4 for place in about.places for one in place.polygons):
        raise PolygonNotClosed()
    if about.year and not _YEAR.fullmatch(about.year):
        raise MalformedYear(year=about.year)
    return drop_placeholders(about) if has_placeholders else about


def check_attached(attached: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """Check and return attached records. Raises InvalidRequest."""
    if not attached:
        return attached
    if sum(len(one.content) for one in attached) > LARGEST_ATTACHED:
        raise AttachedTooLong(most=LARGEST_ATTACHED)
    if len({one.format for one in attached}) < len(attached):
        raise AttachedTwice()
    for one in attached:
        if not re.fullmatch("[a-z][a-z0-9-]{0,39}", one.format):
            raise AttachedFormatInvalid(format=one.format)
        if not _MEDIA_TYPE.fullmatch(one.media_type):
            raise MalformedMediaType(text=one.media_type)
        _check_text("attachment.schema", one.schema)
    return attached


def _walk_texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text in a description, with the last two names of its path: `titles.kind`."""
    if isinstance(value, str):
        if value or name in _NEEDED or name.endswith(_DEGREE_FIELDS):
            yield name, value
    elif isinstance(value, tuple):
        for one in value:
            yield from _walk_texts(one, name)
    elif isinstance(value, msgspec.Struct):
        last = name.rpartition(".")[2]
        for field in value.__struct_fields__:
            yield from _walk_texts(getattr(value, field), f"{last}.{field}")


def _check_text(name: str, value: str) -> None:
    if name in _NEEDED and not value.strip():
        raise EmptyText(name=name)
    if len(value) > LONGEST_TEXT:
        raise TextTooLong(name=name, longest=LONGEST_TEXT)
    if NOT_IN_XML.search(value):
        raise TextNotXml(name=name, text=value)
    words = _WORDS.get(name)
    if words is not None and value not in words:
        raise WordUnknown(name=name, text=value, known=tuple(sorted(words)))
    if _is_link(name, value) and not is_safe_link(value):
        raise LinkActive(name=name, text=value)
    if name.endswith("uri") and not _URI.fullmatch(value):
        raise TextNotUri(name=name, text=value)
    if name.endswith(".language") and not LANGUAGE.fullmatch(value):
        raise TextNotLanguage(name="language", text=value)
    if name.endswith(_DEGREE_FIELDS):
        most = 90 if name.endswith(("latitude", "north", "south")) else 180
        if not _DEGREES.fullmatch(value) or abs(float(value)) > most:
            raise DegreesInvalid(name=name, text=value, most=most)


def _is_link(name: str, value: str) -> bool:
    """Return True if a value is a link, or a text that may be one and looks like it."""
    return name.endswith(_LINKS) or (
        name.endswith("rights.value") and _URI.fullmatch(value) is not None
    )


def is_safe_link(uri: str) -> bool:
    """Return True if no browser executes a text as a link.

    Browsers ignore spaces before a scheme and line breaks within it.

    >>> (is_safe_link("https://a.example/"), is_safe_link(" java\\nscript:alert(1)"),
    ...  is_safe_link("Data and us"))
    (True, False, True)
    """
    found = _SCHEME.match(uri)
    return found is None or re.sub(r"[\t\r\n]", "", found[1]).lower() not in _ACTIVE


def clean_text(text: str) -> str:
    """Return foreign text as one line that XML allows, truncated if it is too long."""
    return NOT_IN_XML.sub("", " ".join(text.split()))[:LONGEST_TEXT]
