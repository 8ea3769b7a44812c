"""Errors about searches: name words, or fewer of them; let the index be made first."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.root import count_units, quote
from perdure.errors.unavailable import Unavailable

_MANUAL = "docs/reference/searching.md"


class QueryWithoutWords(InvalidRequest):
    """A search names no word to be found."""

    query: str
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"search for {quote(self.query)}"

    @property
    def reason(self) -> str:
        if "-" in self.query:
            return "words with a minus sign are left out; also name a word that is to be found"
        return "it has no letter and no digit; name a word"


class QueryTooLong(InvalidRequest):
    """A search has more characters or words than can be searched at once."""

    most: int
    unit: str
    """`characters` or `words`."""
    what = "search"
    rule = _MANUAL

    @property
    def reason(self) -> str:
        return f"it has more than {count_units(self.most, self.unit)}"


class MalformedSearchDay(InvalidRequest):
    """A limit of a search is not a day, a month or a year."""

    parameter: str
    text: str
    reason = "it must be a day, a month or a year, such as 1997-09-01, 1997-09 or 1997"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"


class UnknownSearchField(UnknownChoice):
    """A search names an unknown place to look in."""

    kind = "field"
    rule = _MANUAL


class UnknownSearchOrder(UnknownChoice):
    """A search asks for an unknown order of its results."""

    kind = "order"
    rule = _MANUAL


class ForeignQueryUnsupported(InvalidRequest):
    """A client of DataCite searches for what this registry's search cannot find."""

    text: str
    known: tuple[str, ...]
    rule = "docs/reference/foreign-apis.md"

    @property
    def what(self) -> str:
        return f"query {quote(self.text)}"

    @property
    def reason(self) -> str:
        fields = ", ".join(self.known)
        return (
            f"name words, phrases, AND, NOT and the fields {fields}; not OR, and words either in "
            "titles or anywhere"
        )


class SearchOff(Unavailable):
    """The operator of this registry has switched searching off."""

    what = "searching"
    reason = "the setting search is off"
    mend = 'set search = "on" in perdure.toml'


class IndexNotWritable(Unavailable):
    """There is no index of words, and this process may not make one."""

    what = "searching"
    reason = "there is no index yet, and this user may not write to the registry"
    mend = "run 'perdure search --update' as its owner"


class IndexNotMade(Unavailable):
    """The index of words has not been made yet."""

    what = "searching"
    reason = "the index of words is not made yet"
    mend = "wait until the server has made it, or run 'perdure search --update'"
