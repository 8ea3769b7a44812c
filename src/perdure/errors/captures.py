"""Errors about web archives: queries for captures, PWIDs, and URLs to fetch."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.root import FaultQuoted, IdentifierQuoted, count_things, quote

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


class ClosestNotExact(InvalidRequest):
    """The closest capture was requested for more than one URL."""

    what = "closest"
    reason = "it applies to a single URL; use matchType=exact"
    rule = _MANUAL


class MalformedTime(InvalidRequest):
    """A parameter is not a time of 4 to 14 digits."""

    parameter: str
    text: str
    reason = "it must be a time of 4 to 14 digits, such as 20160122112029"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"


class MalformedDigest(InvalidRequest):
    """The digest in an address of `/replay/` cannot be read."""

    text: str
    reason = (
        "it must be an algorithm, a colon and 16 to 128 letters, digits or '+', '=', '_', '-', "
        "such as sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A"
    )
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"digest {quote(self.text)}"


class UnknownModifier(InvalidRequest):
    """The text after the time in an address of `/replay/` is not one that perdure knows."""

    text: str
    reason = "after the time, 'id_' asks for the bytes, and 'id_~<digest>' for those with a digest"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"modifier {quote(self.text)}"


class NoSuchTime(InvalidRequest):
    """The digits are not a date and time of the calendar."""

    parameter: str
    text: str
    reason = "the calendar has no such date and time"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.parameter} {quote(self.text)}"


class MalformedCollapse(InvalidRequest):
    """The parameter `collapse` is malformed."""

    text: str
    reason = "it must be a field or field:length"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"collapse {quote(self.text)}"


class ForeignResumeKey(InvalidRequest):
    """The parameter `resumeKey` does not come from an earlier answer."""

    text: str
    reason = "use the resume key of the previous answer"
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
        return (
            "it must have the form [!][=|~]field:text and at most "
            f"{count_things(self.longest, 'character')}"
        )


class FilterSyntaxUnknown(UnusableFilter):
    """The regular expression of a filter uses unsupported syntax."""

    found: str

    @property
    def reason(self) -> str:
        return f"unsupported regular expression syntax at {quote(self.found)}"


class FilterRepeatsGroup(UnusableFilter):
    """The regular expression of a filter repeats more than one character or class."""

    reason = "only a single character or character class may be repeated"


class FilterTooComplex(UnusableFilter):
    """The regular expression of a filter has too many alternatives or repetitions."""

    choices: int
    repetitions: int

    @property
    def reason(self) -> str:
        return (
            f"it may have at most {count_things(self.choices, 'alternative')} and "
            f"{count_things(self.repetitions, 'repetition')}"
        )


class FilterNotExpression(FaultQuoted, UnusableFilter):
    """The regular expression of a filter is invalid."""


class RangeNotListable(InvalidRequest):
    """A remote index cannot list this range."""

    what = "a listing of a remote index"
    reason = "a CDX server can list only the captures of a URL, a host or a domain"


# PWIDs
# -----


class UnknownDialect(UnknownChoice):
    """No PWID draft has this name."""

    kind = "dialect"
    rule = "ruling pwid-dialect"


class NotExpressible(InvalidRequest):
    """This PWID cannot be written in the grammar of a draft."""

    dialect: str
    able: tuple[str, ...]
    rule = "ruling pwid-dialect"

    @property
    def what(self) -> str:
        return f"writing a PWID as {self.dialect}"

    @property
    def reason(self) -> str:
        return f"the grammar cannot express it; use one of {', '.join(self.able)}"


class NotPwid(IdentifierQuoted, InvalidRequest):
    """The request gives an identifier of another scheme where a PWID is needed."""

    reason = "it is not a PWID"


class AmbiguousTime(IdentifierQuoted, InvalidRequest):
    """Several captures match a PWID."""

    fits: int
    rule = "ruling pwid-time"

    @property
    def reason(self) -> str:
        return (
            f"it matches {count_things(self.fits, 'capture')}; list them with 'perdure resolve', "
            "or take the first with --nearest"
        )


class ManyResources(InvalidRequest):
    """The request asks for the bytes of a page or a site, which is more than one capture."""

    coverage: str
    reason = "it consists of several captures; list them with 'perdure resolve'"

    @property
    def what(self) -> str:
        return f"getting a {self.coverage}"


class UnknownPlayback(InvalidRequest):
    """The URL is not a playback address of a known archive."""

    url: str
    reason = (
        "it is not a playback address of a known archive (with a time of 14 digits);"
        " give the original URL with --archive and --at"
    )
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"a PWID of {quote(self.url)}"


class NotPlayable(InvalidRequest):
    """A PWID has no playback address. Abstract: each reason has a class."""

    identifier: str
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"playing back {quote(self.identifier)}"


class ItemNotUri(NotPlayable):
    """The item of a PWID is not a URI."""

    reason = "its item is the archive's own name for a resource, not a URI"


class TimeTooCoarse(NotPlayable):
    """The time of a PWID is less precise than a second."""

    reason = "its time must include seconds; find the captures in its TimeGate or TimeMap (--json)"


class CollectionNeeded(NotPlayable):
    """The archive has several collections, and the request names none."""

    reason = "the archive has several collections; name one with --collection"


class PlaybackUnknown(NotPlayable):
    """The archive has no playback addresses of this kind."""

    reason = "no playback address of this kind is known for the archive"


class NoArchivesFile(InvalidRequest):
    """No file is configured to store imported archives."""

    source: str
    reason = "no file is configured to store archives"
    rule = "setting archives_file"

    @property
    def what(self) -> str:
        return f"importing {self.source}"


# URLs that are fetched
# ---------------------


class NotFetchable(InvalidRequest):
    """A URL cannot be fetched. Abstract: each reason has a class. The URL has no password in it."""

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
        return f"it may have at most {count_things(self.longest, 'character')}"


class UrlMalformed(FaultQuoted, NotFetchable):
    """A URL is malformed."""


class UrlNotOfWeb(NotFetchable):
    """A URL has a scheme other than http and https."""

    reason = "perdure fetches only http and https URLs"


class UrlHasPassword(NotFetchable):
    """A URL contains a user name or password."""

    reason = "perdure does not send user names and passwords; remove them from the URL"


class PortForbidden(NotFetchable):
    """The port of a URL belongs to another protocol."""

    port: int

    @property
    def reason(self) -> str:
        return f"port {self.port} belongs to another protocol"


class UrlWithoutHost(NotFetchable):
    """A URL has no host."""

    reason = "it has no host"


class HostImpossible(NotFetchable):
    """The host name is invalid."""

    fault: str

    @property
    def reason(self) -> str:
        return f"its host name is invalid: {self.fault}"


class HeaderUnsendable(NotFetchable):
    """A header field of the request contains characters that are not allowed."""

    reason = "a header field of the request contains characters that are not allowed"
    rule = "RFC 9110 section 5.5"


class HostNotPublic(NotFetchable):
    """The host is on a private network."""

    address: str
    rule = "setting private_networks"

    @property
    def reason(self) -> str:
        return f"{self.address} is not on the public internet"


class RobotsForbid(NotFetchable):
    """The robots.txt of the server forbids it."""

    reason = "the robots.txt of its server forbids it, or cannot be read"
    rule = "RFC 9309"

    @property
    def what(self) -> str:
        return quote(self.url)


# archive files
# -------------


class IndexNotTaken(InvalidRequest):
    """A file that should be added to the archive is an index of captures."""

    file: str
    rule = f"{_MANUAL}#archive-files"

    @property
    def what(self) -> str:
        return self.file

    @property
    def reason(self) -> str:
        return (
            "it is an index (CDX or CDXJ); add the WARC, ARC or WACZ files that it names, or take "
            "the index over with `perdure archive add-index`"
        )


# indexes of other programs
# -------------------------


class UnusableIndexLine(InvalidRequest):
    """A line of an index cannot be taken over. Abstract: each reason has a class."""

    what = "the line"
    rule = f"{_MANUAL}#indexes-of-other-programs"


class IndexLineUnreadable(FaultQuoted, UnusableIndexLine):
    """A line is neither CDX nor CDXJ; `fault` quotes the parser."""


class ArchiveMissing(UnusableIndexLine):
    """The archive file that a line names is not in the directory of archives."""

    file: str
    directory: str

    @property
    def reason(self) -> str:
        return f"the archive file {quote(self.file)} is not in {quote(self.directory)}"


class ArchiveAmbiguous(UnusableIndexLine):
    """Several archive files have the name that a line gives."""

    file: str

    @property
    def reason(self) -> str:
        return f"several archive files are called {quote(self.file)}"


class OffsetBeyondArchive(UnusableIndexLine):
    """A line has an offset that is beyond the end of its archive file."""

    file: str
    offset: int

    @property
    def reason(self) -> str:
        return f"offset {self.offset} is beyond the end of {quote(self.file)}"
