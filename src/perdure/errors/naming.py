"""Errors of names that are minted, bound and withdrawn."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote

_WILDCARD = "ruling pdi-wildcard"
_SECTION = "section 2.6"


class UnusableName(InvalidRequest):
    """What is asked cannot be done with this identifier. Abstract: each reason has a class."""

    identifier: str

    @property
    def what(self) -> str:
        return quote(self.identifier)


class PatternNotAllowed(UnusableName):
    """A pattern stands in for a single identifier."""

    rule = _WILDCARD

    @property
    def reason(self) -> str:
        return (
            "a pattern names many resources; ask for it by itself to list them, "
            f"or use 'perdure list {self.identifier}'"
        )


class ListingNotSupported(UnusableName):
    """A listing is asked of something that is not a PDI."""

    reason = "only PDIs are listed"
    rule = _WILDCARD


class PartNotBindable(UnusableName):
    """A part of a document stands in for the whole."""

    reason = "bytes are bound to a whole document, not to a part of it"


class VersionNotSaid(UnusableName):
    """A part is asked of a document with several versions, and they differ."""

    versions: tuple[str, ...]
    rule = "ruling part-version"

    @property
    def what(self) -> str:
        return f"a part of {quote(self.identifier)}"

    @property
    def reason(self) -> str:
        return f"which of its versions is meant? {', '.join(self.versions)}"


class NothingToCommit(UnusableName):
    """A version is to be made of no bytes."""

    reason = "there are no bytes to commit"


class FormatTwice(UnusableName):
    """One version is to have a format twice."""

    reason = "a format stands twice in one version"
    rule = _SECTION


class VersionBelowOne(InvalidRequest):
    """Versions count from 1."""

    version: int
    reason = "versions are counted from 1"
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
        return f"the name says version {self.named}"


class ReasonMissing(UnusableName):
    """A withdrawal gives no reason."""

    reason = "a reason must be given"


class DayNotCome(UnusableName):
    """A name of a day to come is asked for."""

    reason = "its day has not come yet, and names are minted on their day"
    rule = "section 2.3"


class SerialNotCome(UnusableName):
    """A serial number beyond the last one of today is asked for."""

    last: int
    rule = "section 2.4: mint the next number, or choose a unique-id that is not a number"

    @property
    def reason(self) -> str:
        return f"the numbers of today go up to {self.last}: they are handed out in order"


class CountryUnknown(InvalidRequest):
    """A series ends in no country."""

    series: str
    country: str
    rule = "ruling pdi-series"

    @property
    def what(self) -> str:
        return f"series {quote(self.series)}"

    @property
    def reason(self) -> str:
        return f"{quote(self.country)} is not an ISO 3166 code of a country, present or former"


class EmptyUniqueId(InvalidRequest):
    """The unique-id has no characters."""

    what = "unique-id ''"
    reason = "it is empty: leave it out"


class NumericUniqueId(InvalidRequest):
    """A unique-id is asked for that the daily counter will hand out."""

    unique_id: str
    reason = "numbers are handed out in order, without gaps"
    rule = "section 2.4: leave the unique-id out, or choose one that is not a number"

    @property
    def what(self) -> str:
        return f"unique-id {quote(self.unique_id)}"


class MalformedSchemeName(InvalidRequest):
    """The name of a naming scheme has characters that its grammar forbids."""

    name: str
    reason = "its name must consist of letters, digits and -_.@"
    rule = "draft-ietf-uri-resource-names-00 section 5"

    @property
    def what(self) -> str:
        return f"naming scheme {quote(self.name)}"


class UnspeakableValue(InvalidRequest):
    """A value can be neither kept nor sent."""

    what = "this write"
    reason = "it has characters that no encoding can carry, or a number beyond 64 bits"


class SpooledFileIsPath(InvalidRequest):
    """The name of a spooled file leads out of its directory."""

    what = "a spooled file"
    reason = "its name is a path"
