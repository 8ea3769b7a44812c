"""Errors of what is said of bytes: media types, formats, languages and charsets."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote


class MalformedMediaType(InvalidRequest):
    """The text is not a media type."""

    text: str
    at: int | None = None
    """The index of the parameter that cannot be read; None if there is no type/subtype."""
    rule = "RFC 9110 section 8.3.1"

    @property
    def what(self) -> str:
        return f"media type {quote(self.text)}"

    @property
    def reason(self) -> str:
        if self.at is None:
            return "it is not of the form type/subtype"
        return f"at {self.at} it has something that is not '; name=value'"


class MalformedLanguage(InvalidRequest):
    """The text is not a language tag."""

    tag: str
    reason = "it is not a language tag"
    rule = "RFC 5646"

    @property
    def what(self) -> str:
        return f"language {quote(self.tag)}"


class OneLanguageNeeded(InvalidRequest):
    """Content-Language is not a single language tag."""

    tag: str
    reason = "one language tag is needed"

    @property
    def what(self) -> str:
        return f"content-language {quote(self.tag)}"


class MalformedCharset(InvalidRequest):
    """The text is not the name of a charset."""

    charset: str
    reason = "it is not the name of a charset"
    rule = "RFC 2978 section 2.3"

    @property
    def what(self) -> str:
        return f"charset {quote(self.charset)}"


class LineEndsNotConvertible(InvalidRequest):
    """A byte LF is not a line end in this document: converting would destroy it."""

    media_type: str
    charset: str | None
    what = "conversion of line ends"
    rule = "ruling bytes-verbatim"

    @property
    def reason(self) -> str:
        return f"{self.media_type} in {self.charset or 'no charset'} is not a text in bytes"


class FormatContradicted(InvalidRequest):
    """The name says another format than the bytes have."""

    format: str
    found: tuple[str, ...]
    rule = "rulings pdi-token, pdi-charset"

    @property
    def what(self) -> str:
        return f"format {quote(self.format)}"

    @property
    def reason(self) -> str:
        found = ", ".join(self.found)
        return f"the bytes are declared or found to be {found}: leave the format out or mend it"


class MalformedToken(InvalidRequest):
    """A value could not stand in a header as it is."""

    name: str
    text: str
    reason = "letters, digits and -._:+/ are allowed, 100 at most"

    @property
    def what(self) -> str:
        return f"{self.name} {quote(self.text)}"
