"""The results of a search, as values that every face prints."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perdure.ids import Identifier
from perdure.policy.searching.matching import HitWindow, SearchedText
from perdure.reading.targets import spell_part_uri


class FoundPart(msgspec.Struct, frozen=True, kw_only=True):
    """A word, or several in a row, and the part that contains it."""

    start: int
    """Code points from the beginning of the passage."""
    stop: int
    identifier: str | None
    """The name of the smallest part that contains it; None if its format has no such parts."""
    part: str | None = None
    """The text of the part."""


class MatchedPassage(msgspec.Struct, frozen=True, kw_only=True):
    """A passage of a text, a title or a description."""

    field: str
    """`text`, `title` or `metadata`."""
    text: str
    hits: tuple[FoundPart, ...]


class FoundDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document that contains the words."""

    identifier: str
    """The name of exactly this document, or of the resource if it has no documents here."""
    title: str
    media_type: str
    """Empty if the resource has no documents here."""
    at: str
    """The time when the document was deposited, or when the record was last changed."""
    day: str
    """`1997-09-01`, `1997-09` or `1997`; empty if it is not known."""
    passages: tuple[MatchedPassage, ...]
    also: tuple[str, ...] = ()
    """Other documents of the same thing that contain the words."""


class FacetValue(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that would leave some of the documents."""

    value: str
    """As the search takes it: `oma.eop.gov.us`, `1997`, `pdf`."""
    count: int


class SearchFacets(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that divide the counted documents, those that leave most of them first."""

    series: tuple[FacetValue, ...] = ()
    """Series, and the beginnings of other names."""
    year: tuple[FacetValue, ...] = ()
    format: tuple[FacetValue, ...] = ()


class FoundPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of documents."""

    documents: tuple[FoundDocument, ...]
    count: int
    """Documents that are found, on all pages; the other names of a thing count, too."""
    is_more: bool
    """True if there are more than `count`."""
    cursor: int | None
    """Continues after the page; None at the end."""
    facets: SearchFacets = SearchFacets()


def show_passage(
    field: str,
    text: SearchedText,
    passage: HitWindow,
    name: Identifier,
    parts: Sequence[str | None],
) -> MatchedPassage:
    """Return a passage with its hits, each in the part of a document that contains it."""
    hits = tuple(
        FoundPart(
            start=hit.start - passage.start,
            stop=hit.stop - passage.start,
            identifier=None if part is None else spell_part_uri(name, part),
            part=part,
        )
        for hit, part in zip(passage.hits, parts, strict=True)
    )
    return MatchedPassage(field=field, text=text.text[passage.start : passage.stop], hits=hits)


def spell_day(day: int) -> str:
    """Write a day of an entry: `1997-09-01`, `1997-09` or `1997`; empty if it is 0."""
    if not day:
        return ""
    text = f"{day:08}"
    parts = [text[:4], text[4:6], text[6:]]
    return "-".join(one for at, one in enumerate(parts) if not at or one != "00")
