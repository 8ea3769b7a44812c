"""Errors of names that are minted, bound and withdrawn."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import IdentifierQuoted, quote

_WILDCARD = "ruling pdi-wildcard"
_SECTION = "section 2.6"


class UnusableName(IdentifierQuoted, InvalidRequest):
    """The operation cannot be applied to this identifier. Abstract: each reason has a class."""


class PatternNotAllowed(UnusableName):
    """The request gives a pattern where a single identifier is needed."""

    rule = _WILDCARD

    @property
    def reason(self) -> str:
        return (
            "a pattern names many resources; request the pattern itself to list them, "
            f"or use 'perdure list {self.identifier}'"
        )


class IntervalNeeded(UnusableName):
    """Intervals were requested of something that is not a series, year or month."""

    reason = "only a series, a year or a month is listed by the intervals in it"
    rule = "ruling pdi-interval"


class PartNotBindable(UnusableName):
    """The request gives a part of a document where the whole document is needed."""

    reason = "only a whole document can be changed; remove the part from the identifier"


class PartEmpty(UnusableName):
    """An empty part of a name was requested, or written to."""

    rule = "docs/reference/parts.md"

    @property
    def what(self) -> str:
        return f"an empty part of {quote(self.identifier)}"

    reason = "it is ambiguous; name a part, or leave it out to name the complete document"


class VersionNotSaid(UnusableName):
    """A part was requested of a document that has several different versions."""

    versions: tuple[str, ...]
    rule = "ruling part-version"

    @property
    def what(self) -> str:
        return f"a part of {quote(self.identifier)}"

    @property
    def reason(self) -> str:
        return f"its versions differ; choose one of {', '.join(self.versions)}"


class NothingToCorrect(UnusableName):
    """A correction names something of which no bytes are held."""

    reason = "no bytes of it are held here, so there is no type or charset to correct"


class RepresentationNotNamed(UnusableName):
    """A correction names a version that has several formats."""

    formats: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"its version has several formats; choose one of {', '.join(self.formats)}"


class NothingToCommit(UnusableName):
    """A commit has no bytes."""

    reason = "there are no bytes to commit"


class FormatTwice(UnusableName):
    """A commit gives the same format twice for one version."""

    reason = "a version can contain each format only once"
    rule = _SECTION


class VersionBelowOne(InvalidRequest):
    """A version number is less than 1."""

    version: int
    reason = "version numbers start at 1"
    rule = _SECTION

    @property
    def what(self) -> str:
        return f"version {self.version}"


class VersionContradicted(InvalidRequest):
    """The body and the identifier name different versions."""

    version: int
    named: int

    @property
    def what(self) -> str:
        return f"version {self.version}"

    @property
    def reason(self) -> str:
        return f"the identifier names version {self.named}; use the same version in both"


class ReasonMissing(UnusableName):
    """A withdrawal gives no reason."""

    reason = "a withdrawal needs a reason"


class BlankOutside(UnusableName):
    """Bytes to erase are not within the representation."""

    start: int
    end: int

    @property
    def reason(self) -> str:
        return f"it has no bytes {self.start} to {self.end}; describe shows its length"


class DocumentOpen(UnusableName):
    """The name of a part to erase leaves open to which document it belongs."""

    reason = "name the version and the format of the document, such as .html.1"


class PartNotStored(UnusableName):
    """The bytes of a part to erase are not stored as they are served."""

    reason = (
        "the bytes of this part are computed, not stored: name a part of the stored bytes, such as "
        "a stretch of characters, or erase the whole version"
    )


class DayNotCome(UnusableName):
    """The requested name has a date in the future."""

    reason = "its date is in the future; a name can be minted only on its own date"
    rule = "section 2.3"


class DayNotPast(UnusableName):
    """A name to mint under a past day does not name a past day."""

    reason = "it is not one past day; names of today are minted without a day"
    rule = "ruling pdi-retrospective"


class SerialNotCome(UnusableName):
    """The requested serial number is higher than the last one assigned today."""

    last: int
    rule = "section 2.4: mint the next number, or choose a unique-id that is not a number"

    @property
    def reason(self) -> str:
        return f"serial numbers are assigned in order, and today's last one is {self.last}"


class CountryUnknown(InvalidRequest):
    """A series does not end in a country code."""

    series: str
    country: str
    rule = "ruling pdi-series"

    @property
    def what(self) -> str:
        return f"series {quote(self.series)}"

    @property
    def reason(self) -> str:
        return f"{quote(self.country)} is not a current or former ISO 3166 country code"


class EmptyUniqueId(InvalidRequest):
    """The unique-id is empty."""

    what = "unique-id ''"
    reason = "it is empty; omit it to get the next serial number"


class NumericUniqueId(InvalidRequest):
    """The requested unique-id is a number that the daily counter will assign."""

    unique_id: str
    reason = "serial numbers are assigned in order, without gaps"
    rule = "section 2.4: omit the unique-id, or choose one that is not a number"

    @property
    def what(self) -> str:
        return f"unique-id {quote(self.unique_id)}"


class MalformedSchemeName(InvalidRequest):
    """The name of a naming scheme has characters that its grammar forbids."""

    name: str
    reason = "its name may contain only letters, digits and -_.@"
    rule = "draft-ietf-uri-resource-names-00 section 5"

    @property
    def what(self) -> str:
        return f"naming scheme {quote(self.name)}"


class UnspeakableValue(InvalidRequest):
    """A value cannot be encoded for storing or sending."""

    what = "this write"
    reason = "it contains characters that cannot be encoded, or a number of more than 64 bits"


class SpooledFileIsPath(InvalidRequest):
    """The name of a spooled file points outside its directory."""

    what = "a spooled file"
    reason = "its name is a path; only the name of a file in 'incoming' is allowed"
