"""Errors about citations: places in documents at which other documents are cited."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.lookup import NotFound
from perdure.errors.naming import UnusableName
from perdure.errors.rights import Forbidden
from perdure.errors.root import count_things, quote
from perdure.errors.stored import TooLarge
from perdure.errors.unavailable import Unavailable


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


class UnknownExportForm(UnknownChoice):
    """The form for exported citations is unknown."""

    kind = "form of citations"
    rule = "docs/reference/citations.md"


class UnknownReportForm(UnknownChoice):
    """Reports of citations are given in an unknown form."""

    kind = "form of reports"
    rule = "docs/reference/citations.md"


class ReportsTooLong(TooLarge):
    """A file of reports of citations is too long."""

    what = "the file of reports"
    unit = "bytes"


class ReportsNotSent(InvalidRequest):
    """The server of a file of reports of citations did not send it completely."""

    answered: int
    """The status of its answer."""
    what = "address of a file of reports"
    rule = "docs/reference/citations.md"

    @property
    def reason(self) -> str:
        return f"the server answered {self.answered}, or sent too little or too much"


class ReportsUnreadable(InvalidRequest):
    """A file of reports of citations is not in the form that it should have."""

    form: str
    fault: str
    rule = "docs/reference/citations.md"

    @property
    def what(self) -> str:
        return f"file of {self.form}"

    @property
    def reason(self) -> str:
        return self.fault


class WebmentionRefused(InvalidRequest):
    """A Webmention is not queued. Abstract: each reason has a class."""

    what = "webmention"
    rule = "docs/reference/citations.md"


class WebmentionsOff(Forbidden):
    """This registry takes no Webmentions."""

    who: str = "a stranger"
    needed = "the setting webmentions, which the operator can set to on"


class SourcePrivate(WebmentionRefused):
    """The source of a Webmention is on a private network."""

    reason = "its source is on a private network; give the address of a public page"


class MentionedElsewhere(WebmentionRefused):
    """The target of a Webmention is not a name that everyone may read here."""

    reason = "its target is not a name that is resolved here; give the address of a public document"


class SourceIsTarget(WebmentionRefused):
    """The source of a Webmention is its target."""

    reason = "its source is its target; give the address of the page that refers to it"


class ReportsTooMany(Unavailable):
    """Too many reports of citations wait for a decision, or too many of one host."""

    most: int
    what = "the queue of reports"
    mend = "try again later; the operator accepts or deletes them"

    @property
    def reason(self) -> str:
        return f"{count_things(self.most, 'report')} wait already"


class NoSuchReport(NotFound):
    """No report of a citation has this number."""

    def problem(self) -> str:
        return f"not found: there is no report {quote(self.identifier)} of a citation"

    def repair(self) -> str:
        return "'perdure citations received' lists the reports with their numbers"


class CitationDayMalformed(InvalidRequest):
    """The first or the last day of a list of citations is not a day."""

    day: str
    reason = "write a day as 2026-11-21"
    rule = "docs/reference/citations.md"

    @property
    def what(self) -> str:
        return f"day {quote(self.day)}"
