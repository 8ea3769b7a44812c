"""Errors about citations: places in documents at which other documents are cited."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.naming import UnusableName
from perdure.errors.root import quote


class SideNotPinned(UnusableName):
    """The citing or the cited identifier of a citation has no format and version."""

    side: str
    rule = "ruling pdi-citation"

    @property
    def reason(self) -> str:
        return f"a citation needs the format and the version of {quote(self.side)}"


class NotACitation(UnusableName):
    """A verdict was requested on an identifier that is not a citation."""

    reason = "only a citation (citing@origin=cited) has a verdict"
    rule = "section 3.5.2"


class PositionMalformed(InvalidRequest):
    """The origin position of a citation is not a position of the citing document's media type."""

    origin: str
    media_type: str
    expected: str
    rule = "ruling citation-origin"

    @property
    def what(self) -> str:
        return f"origin position {quote(self.origin)}"

    @property
    def reason(self) -> str:
        return f"in {quote(self.media_type)} it must be {self.expected}"


class UnknownCitationKind(UnknownChoice):
    """A list of citations is asked for an unknown kind."""

    kind = "kind of citation"
    rule = "docs/reference/citations.md"


class CitationDayMalformed(InvalidRequest):
    """The first or the last day of a list of citations is not a day."""

    day: str
    reason = "write a day as 2026-11-21"
    rule = "docs/reference/citations.md"

    @property
    def what(self) -> str:
        return f"day {quote(self.day)}"
