"""Errors of web archives: queries for captures, PWIDs, and URLs that are fetched."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.root import quote

_MANUAL = "docs/reference/web-archives.md"


# queries of captures
# -------------------


class UnknownMatchType(UnknownChoice):
    """The match type of a query is unknown."""

    kind = "matchType"
    rule = _MANUAL


class UnknownOutput(UnknownChoice):
    """The output of a query is unknown."""

    kind = "output"
    rule = _MANUAL


class UnknownField(UnknownChoice):
    """A query names a field that captures do not have."""

    kind = "field"
    rule = _MANUAL


class TooManyParameters(InvalidRequest):
    """A query has too many parameters, or too many of one name."""

    what: str
    most: int
    rule = _MANUAL

    @property
    def reason(self) -> str:
        return f"at most {self.most} are read"


class ClosestNotExact(InvalidRequest):
    """The closest capture is asked of many URLs."""

    what = "closest"
    reason = "it asks for one URL, so matchType=exact is needed"
    rule = _MANUAL


class MalformedTime(InvalidRequest):
    """A parameter is not a time of 4 to 14 digits."""

    parameter: str
    text: str
    reason = "a time of 4 to 14 digits is needed"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"


class NoSuchTime(InvalidRequest):
    """The digits are those of no time of the calendar."""

    parameter: str
    text: str
    reason = "the calendar has no such time"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"


class MalformedCollapse(InvalidRequest):
    """The parameter `collapse` cannot be read."""

    text: str
    reason = "field or field:length is needed"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"collapse {quote(self.text)}"


class ForeignResumeKey(InvalidRequest):
    """The parameter `resumeKey` was not given by an earlier answer."""

    text: str
    reason = "one that an answer has given is needed"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"resumeKey {quote(self.text)}"


class UnusableFilter(InvalidRequest):
    """A filter cannot be used. Abstract: each reason has a class."""

    filter: str
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"filter {quote(self.filter)}"


class MalformedFilter(UnusableFilter):
    """The text is not a filter."""

    longest: int

    @property
    def reason(self) -> str:
        return f"[!][=|~]field:text of at most {self.longest} characters is needed"


class FilterSyntaxUnknown(UnusableFilter):
    """The expression of a filter has syntax that is not followed here."""

    found: str

    @property
    def reason(self) -> str:
        return f"no regular expression known here at {quote(self.found)}"


class FilterRepeatsGroup(UnusableFilter):
    """The expression of a filter repeats more than a character."""

    reason = "only a single character or class may be repeated"


class FilterTooComplex(UnusableFilter):
    """The expression of a filter has too many ways to match."""

    choices: int
    repetitions: int

    @property
    def reason(self) -> str:
        return f"more than {self.choices} choices or {self.repetitions} repetitions"


class FilterNotExpression(UnusableFilter):
    """The expression of a filter does not compile."""

    fault: str

    @property
    def reason(self) -> str:
        return self.fault


class RangeNotListable(InvalidRequest):
    """A remote index cannot list this range."""

    what = "a listing of a remote index"
    reason = "a CDX server lists the captures of a URL, a host or a domain"


# PWIDs
# -----


class UnknownDialect(UnknownChoice):
    """No draft of PWID has this name."""

    kind = "dialect"
    rule = "ruling pwid-dialect"


class NotExpressible(InvalidRequest):
    """The grammar of a draft cannot write this PWID."""

    dialect: str
    able: tuple[str, ...]
    rule = "ruling pwid-dialect"

    @property
    def what(self) -> str:
        return f"writing a PWID as {self.dialect}"

    @property
    def reason(self) -> str:
        return f"its grammar has no way to say this; those that have: {', '.join(self.able)}"


class NotPwid(InvalidRequest):
    """An identifier of another scheme stands in for a PWID."""

    identifier: str
    reason = "it is not a PWID"

    @property
    def what(self) -> str:
        return quote(self.identifier)


class AmbiguousTime(InvalidRequest):
    """Several captures fit a PWID."""

    identifier: str
    fits: int
    rule = "ruling pwid-time"

    @property
    def what(self) -> str:
        return quote(self.identifier)

    @property
    def reason(self) -> str:
        return (
            f"it fits {self.fits} captures, which 'perdure resolve' lists; "
            "--nearest takes the first of them"
        )


class ManyResources(InvalidRequest):
    """The bytes of a page or a site are asked for, which is more than one capture."""

    coverage: str
    reason = "it is a list of captures, which 'perdure resolve' tells"

    @property
    def what(self) -> str:
        return f"get of a {self.coverage}"


class UnknownPlayback(InvalidRequest):
    """The URL is not one at which a known archive plays a capture back."""

    url: str
    reason = (
        "no archive that is known plays anything back there (with 14 digits of time);"
        " say what was archived, --archive and --at"
    )
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"a PWID of {quote(self.url)}"


class NotPlayable(InvalidRequest):
    """A PWID has no address of playback. Abstract: each reason has a class."""

    identifier: str
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"playing back {quote(self.identifier)}"


class ItemNotUri(NotPlayable):
    """The item of a PWID is not a URI."""

    reason = "its item is the archive's own name for something, not a URI"


class TimeTooCoarse(NotPlayable):
    """The time of a PWID names no second."""

    reason = "its time names no second; its TimeGate or TimeMap tells what there is (--json)"


class CollectionNeeded(NotPlayable):
    """The archive has collections, and none is named."""

    reason = "the archive is divided: --collection is needed"


class PlaybackUnknown(NotPlayable):
    """The archive has no addresses of this kind."""

    reason = "the archive is not known to have such addresses"


class NoArchivesFile(InvalidRequest):
    """Archives are imported, and no file is set up to keep them in."""

    source: str
    reason = "there is no file to keep archives in"
    rule = "setting archives_file"

    @property
    def what(self) -> str:
        return f"importing {self.source}"


# URLs that are fetched
# ---------------------


class NotFetchable(InvalidRequest):
    """A URL is not fetched. Abstract: each reason has a class. The URL has no password in it."""

    url: str
    rule = "docs/decisions/safe-fetching.md"

    @property
    def what(self) -> str:
        return f"fetching {quote(self.url)}"


class UrlTooLong(NotFetchable):
    """A URL has too many characters."""

    longest: int

    @property
    def reason(self) -> str:
        return f"it has more than {self.longest} characters"


class UrlMalformed(NotFetchable):
    """A URL cannot be read."""

    fault: str

    @property
    def reason(self) -> str:
        return self.fault


class UrlNotOfWeb(NotFetchable):
    """A URL is of another scheme than http and https."""

    reason = "only http and https URLs are fetched"


class UrlHasPassword(NotFetchable):
    """A URL names a user."""

    reason = "user names and passwords are not sent"


class PortForbidden(NotFetchable):
    """A URL has the port of another protocol."""

    port: int

    @property
    def reason(self) -> str:
        return f"port {self.port} belongs to another protocol"


class UrlWithoutHost(NotFetchable):
    """A URL has no host."""

    reason = "it names no host"


class HostImpossible(NotFetchable):
    """The name of the host breaks the rules of names."""

    fault: str

    @property
    def reason(self) -> str:
        return f"no host can have this name: {self.fault}"


class HeaderUnsendable(NotFetchable):
    """A header field of the request has characters that cannot be sent."""

    reason = "a header field of the request has characters that cannot be sent"
    rule = "RFC 9110 section 5.5"


class HostNotPublic(NotFetchable):
    """The host lies on a private network."""

    address: str
    rule = "setting private_networks"

    @property
    def reason(self) -> str:
        return f"{self.address} is not on the public internet"


class RobotsForbid(NotFetchable):
    """The robots.txt of the server forbids it."""

    reason = "its robots.txt forbids it, or cannot be read"
    rule = "RFC 9309"

    @property
    def what(self) -> str:
        return quote(self.url)
