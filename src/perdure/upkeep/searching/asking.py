"""From the words and limits of a search to the entries to look for: the same for every face.

What must stay true: a limit that cannot be read is an error that says how to write it.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.errors.naming import PatternNotAllowed
from perdure.errors.searching import MalformedSearchDay, UnknownSearchField, UnknownSearchOrder
from perdure.formats import list_tokens
from perdure.ids.name_set import NameSet, read_set
from perdure.policy.searching.described import read_day
from perdure.policy.searching.query import parse_query
from perdure.upkeep.searching.text_index import FIELDS, Selection

ORDERS = ("new", "old", "relevance")
"""The orders of what is found: the newest first, the oldest, or what fits the words best."""
PLACES = {"text": ("text",), "title": ("title",), "metadata": ("people", "metadata")}
"""The places to look in, each with its fields."""


def make_selection(
    words: str,
    *,
    places: Sequence[str] = (),
    by: str = "",
    within: str = "",
    first: str = "",
    last: str = "",
    formats: Sequence[str] = (),
    sort: str = "",
) -> Selection:
    """Return the entries to look for.

    Raises QueryWithoutWords or QueryTooLong for the words, UnknownSearchField for an unknown place,
    MalformedSearchDay, MalformedIdentifier or PatternNotAllowed for a set of names that is not one
    range, UnknownSearchOrder, and InvalidRequest for a media type.
    """
    if sort and sort not in ORDERS:
        raise UnknownSearchOrder(text=sort, known=ORDERS)
    names = _read_range(within) if within else None
    return Selection(
        parse_query(words),
        fields=_read_places(places),
        by=parse_query(by) if by.strip() else None,
        low=names.low if names else "",
        high=names.end if names else "",
        first=_read_limit("from", first),
        last=_read_limit("to", last, end=True),
        formats=tuple(
            token
            for text in formats
            for one in text.replace(",", " ").split()
            for token in list_tokens(one)
        ),
        is_oldest_first=sort == "old",
        is_ranked=sort == "relevance",
    )


def _read_places(places: Sequence[str]) -> tuple[str, ...]:
    wanted = [one for text in places for one in text.split(",") if one]
    for one in wanted:
        if one not in PLACES:
            raise UnknownSearchField(text=one, known=tuple(PLACES))
    fields = {field for one in wanted for field in PLACES[one]}
    return tuple(one for one in FIELDS if one in fields) or FIELDS


def _read_range(text: str) -> NameSet:
    """Read a series, an interval of days, or the beginning of names."""
    names = read_set(text if ":" in text else f"pdi://{text}/")
    if names.pattern is not None and ("*" in str(names) or names.has_representations):
        raise PatternNotAllowed(identifier=str(names))
    return names


def _read_limit(name: str, text: str, *, end: bool = False) -> int:
    day = read_day(text, end=end) if text else 0
    if text and (not day or not text.replace("-", "").isdigit()):
        raise MalformedSearchDay(parameter=name, text=text)
    return day
