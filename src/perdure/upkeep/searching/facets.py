"""Facets: the series, years and formats that a search can be limited to further.

How it works: the index counts the entries that were found by key, format and year, and nothing else
is read. So a facet counts exactly the documents that the reader may find.

What must stay true: a value, given back to the search as a limit, leaves the documents that it
counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.ids.keys import spell_key
from perdure.ids.name_set import find_authority
from perdure.upkeep.changes.counts import authority_of
from perdure.upkeep.searching.capture_table import CAPTURE
from perdure.upkeep.searching.found import FacetValue, SearchFacets
from perdure.upkeep.searching.text_index import LimitCount

MOST = 12
"""Values of a facet."""


def count_facets(counted: Iterable[LimitCount]) -> SearchFacets:
    """Sum the series, years and formats of entries."""
    authorities: Counter[str] = Counter()
    examples: dict[str, str] = {}
    years: Counter[str] = Counter()
    formats: Counter[str] = Counter()
    for key, format, year, count in counted:
        if not key.startswith(CAPTURE):
            authority = authority_of(key)
            authorities[authority] += count
            examples.setdefault(authority, key)
        if year is not None:
            years[f"{year:04}"] += count
        if format:
            formats[format] += count
    series = [
        FacetValue(value=value, count=count)
        for authority, count in authorities.most_common(MOST)
        if (value := _spell_authority(authority, examples[authority]))
    ]
    return SearchFacets(
        series=tuple(series), year=_list_values(years), format=_list_values(formats)
    )


def _list_values(counted: Counter[str]) -> tuple[FacetValue, ...]:
    return tuple(FacetValue(value=one, count=count) for one, count in counted.most_common(MOST))


def _spell_authority(authority: str, key: str) -> str:
    """Return an authority as the limit `series` takes it; empty if its names cannot be spelled."""
    if ":" not in authority:
        return authority
    try:
        return str(find_authority(parse(spell_key(key))))
    except PerdureError:
        return ""
