"""Errors of descriptions: formats of metadata, citations, and what a description may hold."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest, UnknownChoice
from perdure.errors.root import quote

_MANUAL = "docs/reference/metadata.md"


class UnknownMetadataFormat(UnknownChoice):
    """No format of metadata has this name."""

    kind = "metadata format"
    rule = _MANUAL


class UnknownMetadataType(UnknownChoice):
    """No format of metadata has this media type."""

    kind = "content-type"
    rule = _MANUAL


class FormatNotRead(InvalidRequest):
    """The format of metadata is only written here."""

    format: str
    read: tuple[str, ...]
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"metadata format {quote(self.format)}"

    @property
    def reason(self) -> str:
        return f"it is written only; read are {', '.join(self.read)}"


class UnknownCitationStyle(UnknownChoice):
    """No style of citation has this name."""

    kind = "citation style"
    rule = _MANUAL


class MalformedLocale(InvalidRequest):
    """The locale of a citation is not a language tag."""

    locale: str
    reason = "a language tag is needed, such as fr"

    @property
    def what(self) -> str:
        return f"locale {quote(self.locale)}"


class UnknownLocale(InvalidRequest):
    """No citations are written in this language."""

    locale: str
    reason = "no citations are written in it"

    @property
    def what(self) -> str:
        return f"locale {quote(self.locale)}"


# the description as a whole
# --------------------------


class TooManyValues(InvalidRequest):
    """A description has too many values."""

    most: int
    what = "the description"
    rule = _MANUAL

    @property
    def reason(self) -> str:
        return f"it has more than {self.most} values"


class PolygonNotClosed(InvalidRequest):
    """A polygon has fewer points than a triangle needs."""

    what = "a polygon"
    reason = "four points are needed, the last being the first"
    rule = _MANUAL


class MalformedYear(InvalidRequest):
    """A year does not have four digits."""

    year: str
    reason = "four digits are needed"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"year {quote(self.year)}"


class AttachedTooLong(InvalidRequest):
    """The records attached to an identifier are too long."""

    most: int
    what = "attached records"
    rule = _MANUAL

    @property
    def reason(self) -> str:
        return f"they have more than {self.most} bytes"


class AttachedTwice(InvalidRequest):
    """Two attached records have one format."""

    what = "attached records"
    reason = "two are of the same format"
    rule = _MANUAL


class AttachedFormatInvalid(InvalidRequest):
    """The format of an attached record has characters that are not allowed."""

    format: str
    reason = "it is not the name of a format"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"attached format {quote(self.format)}"


# one value of it
# ---------------


class UnusableText(InvalidRequest):
    """A value of a description cannot be kept. Abstract: each reason has a class."""

    name: str
    """The last two names that lead to the value: `titles.kind`."""
    text: str
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.name} {quote(self.text)}"


class EmptyText(InvalidRequest):
    """A value that is needed is empty."""

    name: str
    reason = "it is empty"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return self.name


class TextTooLong(InvalidRequest):
    """A value has too many characters."""

    name: str
    longest: int
    rule = _MANUAL

    @property
    def what(self) -> str:
        return self.name

    @property
    def reason(self) -> str:
        return f"it is longer than {self.longest} characters"


class TextNotXml(UnusableText):
    """A value has a character that XML cannot carry."""

    reason = "it has a character that XML cannot carry"


class WordUnknown(UnusableText):
    """A value is not one of the words that its field may have."""

    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"it is not one of {', '.join(self.known)}"


class LinkActive(UnusableText):
    """A link has a scheme that browsers run."""

    reason = "it is of a scheme that browsers run"


class TextNotUri(UnusableText):
    """A value is not a URI."""

    reason = "it is not a URI: escape the characters that a URI cannot have"


class TextNotLanguage(UnusableText):
    """A value is not a language tag."""

    reason = "it is not a tag of BCP 47"


class DegreesInvalid(UnusableText):
    """A value is not in degrees, or beyond the globe."""

    most: int

    @property
    def reason(self) -> str:
        return f"degrees from -{self.most} to {self.most} are needed"
