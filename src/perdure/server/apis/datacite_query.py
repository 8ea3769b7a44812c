"""The `query` of DataCite's REST API: its search syntax, as far as this registry's search has it.

How it works: DataCite reads `query` as Elasticsearch does. Words, phrases, `prefix*`, `AND` and
`NOT` mean the same here. A field limits the search: words of `titles.title`, names of
`creators.name`, and years of `publicationYear` (`2016`, `[2010 TO 2015]`). What the search cannot
do (`OR`, other fields, words both in titles and anywhere) is refused.

>>> read_doi_query('titles.title:(names AND numbers) publicationYear:[1990 TO *]')
DoiQuery(words='names numbers', people='', places=('title',), first='1990', last='')
>>> read_doi_query("creators.name:Mallery")
DoiQuery(words='Mallery', people='Mallery', places=('metadata',), first='', last='')

What must stay true: nothing in a query is passed over.

Specification: DataCite Support, "API Queries and Filtering"; Elasticsearch, "Query string query".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from perdure.errors.searching import ForeignQueryUnsupported
from perdure.upkeep.searching.asking import make_selection
from perdure.upkeep.searching.text_index import Selection

_PIECE = re.compile(
    r"""\s*(?:
    (?P<not>NOT\s+|-|!)?\+?
    (?:(?P<field>[A-Za-z][A-Za-z._]*):\s*)?
    (?:\((?P<group>[^()":]*)\)|(?P<range>\[[^\]]*\])|(?P<phrase>"[^"]*"\*?)|(?P<word>[^\s()\[\]"{}:^~]+))
    )""",
    re.VERBOSE,
)
_RANGE = re.compile(r"\[\s*([0-9]{4}|\*)\s+TO\s+([0-9]{4}|\*)\s*\]")
_YEAR = re.compile("[0-9]{4}", re.ASCII)
_WILD = re.compile(r"[?\\]|\*(?!\Z)|\A/")
"""Wildcards inside of words, escapes and regular expressions."""
_TITLES = frozenset(("titles", "titles.title"))
_PEOPLE = frozenset(
    f"{kind}{part}"
    for kind in ("creators", "contributors")
    for part in ("", ".name", ".familyName", ".givenName")
)
_YEARS = "publicationYear"
FIELDS = ("titles.title", "creators.name", "contributors.name", _YEARS)
"""The fields that a query can limit, as errors name them."""


class DoiQuery(NamedTuple):
    """A query as the search has it."""

    words: str
    people: str = ""
    places: tuple[str, ...] = ()
    first: str = ""
    last: str = ""

    def select(self, prefix: str) -> Selection:
        """Return what to look for, among the DOIs of a prefix if there is one.

        Raises InvalidRequest.
        """
        return make_selection(
            self.words,
            places=self.places,
            by=self.people,
            within=f"doi:{prefix}/*" if prefix else "",
            first=self.first,
            last=self.last,
        )


def read_doi_query(text: str) -> DoiQuery:
    """Read a query. Raises ForeignQueryUnsupported."""
    anywhere: list[str] = []
    titles: list[str] = []
    people: list[str] = []
    first = last = ""
    at = 0
    while at < len(text.rstrip()):
        piece = _PIECE.match(text, at)
        if piece is None:
            raise ForeignQueryUnsupported(text=text[at:].strip(), known=FIELDS)
        at = piece.end()
        field = piece["field"] or ""
        if piece["range"] or field == _YEARS:
            first, last = _read_years(piece, known=bool(first or last))
            continue
        target = (
            anywhere
            if not field
            else titles
            if field in _TITLES
            else people
            if field in _PEOPLE
            else None
        )
        if target is None:
            raise ForeignQueryUnsupported(text=f"{field}:", known=FIELDS)
        target += _list_words(piece)
    if anywhere and titles:
        raise ForeignQueryUnsupported(text=text, known=FIELDS)
    words = titles or anywhere or people
    places = ("title",) if titles else () if anywhere else ("metadata",)
    return DoiQuery(" ".join(words), " ".join(people), places if words else (), first, last)


def _list_words(piece: re.Match[str]) -> list[str]:
    """List the words of a piece. Raises ForeignQueryUnsupported for `OR`."""
    if piece["phrase"]:
        words = [piece["phrase"]]
    else:
        words = (piece["group"] if piece["group"] is not None else piece["word"]).split()
    if "OR" in words or "||" in words or "NOT" in words:
        raise ForeignQueryUnsupported(text=piece[0].strip(), known=FIELDS)
    words = [one for one in words if one not in ("AND", "&&")]
    if any(_WILD.search(one) for one in words):
        raise ForeignQueryUnsupported(text=piece[0].strip(), known=FIELDS)
    if piece["not"] and (len(words) != 1 or piece["field"]):
        raise ForeignQueryUnsupported(text=piece[0].strip(), known=FIELDS)
    return [f"-{one}" for one in words] if piece["not"] else words


def _read_years(piece: re.Match[str], *, known: bool) -> tuple[str, str]:
    """Return the first and the last year. Raises ForeignQueryUnsupported."""
    found = _RANGE.fullmatch(piece["range"]) if piece["range"] else None
    if found is not None and piece["field"] == _YEARS and not (piece["not"] or known):
        return found[1].strip("*"), found[2].strip("*")
    year = piece["word"] or ""
    if found is None and _YEAR.fullmatch(year) and not (piece["not"] or known):
        return year, year
    raise ForeignQueryUnsupported(text=piece[0].strip(), known=FIELDS)
