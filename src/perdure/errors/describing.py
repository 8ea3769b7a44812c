"""Errors about descriptions: metadata formats, citations, and the values of a description."""

from __future__ import annotations

from perdure.errors.invalid import ContentNotSupported, InvalidRequest, UnknownChoice
from perdure.errors.root import count_things, quote

_MANUAL = "docs/reference/metadata.md"


class UnknownMetadataFormat(UnknownChoice):
    """No metadata format has this name."""

    kind = "metadata format"
    rule = _MANUAL


class UnknownMetadataType(UnknownChoice, ContentNotSupported):
    """perdure reads no metadata format with this media type."""

    kind = "content-type"
    rule = _MANUAL


class FormatNotRead(InvalidRequest):
    """perdure can write this metadata format, but cannot read it."""

    format: str
    read: tuple[str, ...]
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"metadata format {quote(self.format)}"

    @property
    def reason(self) -> str:
        return f"perdure writes this format but cannot read it; use one of {', '.join(self.read)}"


class UnknownCitationStyle(UnknownChoice):
    """No citation style has this name."""

    kind = "citation style"
    rule = _MANUAL


class MalformedLocale(InvalidRequest):
    """The locale of a citation is not a language tag."""

    locale: str
    reason = "it must be a language tag such as fr"

    @property
    def what(self) -> str:
        return f"locale {quote(self.locale)}"


class UnknownLocale(InvalidRequest):
    """perdure cannot write citations in this language."""

    locale: str
    reason = "citations are not available in this language"

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
        return f"it may have at most {count_things(self.most, 'value')}"


class PolygonNotClosed(InvalidRequest):
    """A polygon has fewer than four points."""

    what = "a polygon"
    reason = "it needs at least four points, and the last must equal the first"
    rule = _MANUAL


class MalformedYear(InvalidRequest):
    """A year does not have four digits."""

    year: str
    reason = "it must have four digits"
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
        return f"together they may have at most {count_things(self.most, 'byte')}"


class AttachedTwice(InvalidRequest):
    """Two attached records have the same format."""

    what = "attached records"
    reason = "two of them have the same format; attach one record for each format"
    rule = _MANUAL


class AttachedFormatInvalid(InvalidRequest):
    """The format of an attached record has characters that are not allowed."""

    format: str
    reason = "it must be 1 to 40 lower-case letters, digits and hyphens, and begin with a letter"
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"attached format {quote(self.format)}"


# one value of it
# ---------------


class UnusableText(InvalidRequest):
    """A value of a description cannot be stored. Abstract: each reason has a class."""

    name: str
    """The last two names that lead to the value: `titles.kind`."""
    text: str
    rule = _MANUAL

    @property
    def what(self) -> str:
        return f"{self.name} {quote(self.text)}"


class EmptyText(InvalidRequest):
    """A required value is empty."""

    name: str
    reason = "it is required, but empty"
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
        return f"it may have at most {count_things(self.longest, 'character')}"


class TextNotXml(UnusableText):
    """A value contains a character that XML does not allow."""

    reason = "it contains a character that XML does not allow; remove control characters"


class WordUnknown(UnusableText):
    """A value is not one of the words that its field allows."""

    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"it must be one of {', '.join(self.known)}"


class LinkActive(UnusableText):
    """A link has a scheme that browsers execute."""

    reason = "browsers execute links with this scheme; use https or another scheme"


class TextNotUri(UnusableText):
    """A value is not a URI."""

    reason = "it is not a URI; percent-escape the characters that a URI does not allow"


class TextNotLanguage(UnusableText):
    """A value is not a language tag."""

    reason = "it is not a BCP 47 language tag such as en or pt-BR"


class DegreesInvalid(UnusableText):
    """A value is not a number of degrees, or is out of range."""

    most: int

    @property
    def reason(self) -> str:
        return f"it must be a number of degrees from -{self.most} to {self.most}"
