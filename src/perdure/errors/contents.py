"""Errors about the description of bytes: media types, formats, languages and charsets."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote


class MalformedMediaType(InvalidRequest):
    """The text is not a media type."""

    text: str
    at: int | None = None
    """The index of the malformed parameter; None if there is no type/subtype."""
    rule = "RFC 9110 section 8.3.1"

    @property
    def what(self) -> str:
        return f"media type {quote(self.text)}"

    @property
    def reason(self) -> str:
        if self.at is None:
            return "it must have the form type/subtype"
        return f"at {self.at}, a parameter must have the form '; name=value'"


class MalformedLanguage(InvalidRequest):
    """The text is not a language tag."""

    tag: str
    reason = "it is not a language tag such as en or pt-BR"
    rule = "RFC 5646"

    @property
    def what(self) -> str:
        return f"language {quote(self.tag)}"


class OneLanguageNeeded(InvalidRequest):
    """Content-Language is not a single language tag."""

    tag: str
    reason = "it must be a single language tag"

    @property
    def what(self) -> str:
        return f"content-language {quote(self.tag)}"


class MalformedCharset(InvalidRequest):
    """The text is not the name of a charset."""

    charset: str
    reason = "it is not the name of a charset, such as utf-8"
    rule = "RFC 2978 section 2.3"

    @property
    def what(self) -> str:
        return f"charset {quote(self.charset)}"


class UnknownCharset(InvalidRequest):
    """No charset has this name, so no character of the text could ever be found."""

    charset: str
    reason = "no charset has this name; name one of IANA's charsets, such as windows-1252"
    rule = "https://www.iana.org/assignments/character-sets"

    @property
    def what(self) -> str:
        return f"charset {quote(self.charset)}"


class CharsetOfNoText(InvalidRequest):
    """A charset is given for bytes that are not text."""

    charset: str
    media_type: str

    @property
    def what(self) -> str:
        return f"charset {quote(self.charset)}"

    @property
    def reason(self) -> str:
        return f"{self.media_type} is not a type of text; name the right type, too"


class FormatHasHash(InvalidRequest):
    """The format of a new name contains an escaped `#`."""

    format: str
    reason = (
        "links write %23 for the # before a part, so links to this name would break; "
        "use a format of letters, digits and hyphens"
    )
    rule = "rulings pdi-format, fragment-transport"

    @property
    def what(self) -> str:
        return f"format {quote(self.format)}"


class LineEndsNotConvertible(InvalidRequest):
    """The bytes LF in this document are not line ends, so converting them would damage it."""

    media_type: str
    charset: str | None
    what = "conversion of line ends"
    rule = "ruling bytes-verbatim"

    @property
    def reason(self) -> str:
        return f"{self.media_type} in {self.charset or 'no charset'} has no line ends of one byte"


class FormatContradicted(InvalidRequest):
    """The identifier names a different format from the one the bytes have."""

    format: str
    found: tuple[str, ...]
    rule = "rulings pdi-token, pdi-charset"

    @property
    def what(self) -> str:
        return f"format {quote(self.format)}"

    @property
    def reason(self) -> str:
        found = ", ".join(self.found)
        return f"the bytes are declared or detected as {found}; omit or correct the format"


class MalformedToken(InvalidRequest):
    """A value is not safe in a header field."""

    name: str
    text: str
    reason = "it may contain at most 100 letters, digits and -._:+/"

    @property
    def what(self) -> str:
        return f"{self.name} {quote(self.text)}"
