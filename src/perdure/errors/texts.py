"""Errors about text that must be corrected: identifiers, parts, metadata, settings."""

from __future__ import annotations

from perdure.errors.root import PerdureError, ReasonedError, quote


class MalformedIdentifier(PerdureError, ValueError):
    """The text is not a valid identifier of its scheme.

    `at` is the index in `text` where parsing stopped, `expected` is what is allowed there, and
    `rule` is the section of the specification, or the ruling, that requires it.
    """

    code = "malformed-identifier"
    text: str
    at: int
    expected: str
    rule: str

    def problem(self) -> str:
        found = quote(self.text[self.at : self.at + 20]) if self.at < len(self.text) else "the end"
        return f"malformed identifier {quote(self.text)}: at {self.at} found {found}"

    def repair(self) -> str:
        return f"expected {self.expected} ({self.rule})"


class UnknownScheme(PerdureError, ValueError):
    """The text does not begin with the prefix of a known scheme."""

    code = "unknown-scheme"
    text: str
    known: tuple[str, ...]
    meant: str = ""
    """The identifier that the text seems to mean, or an empty text."""

    def problem(self) -> str:
        return f"unknown scheme in {quote(self.text)}"

    def repair(self) -> str:
        if self.meant:
            return f"did you mean {quote(self.meant)}?"
        known = sorted(self.known, key=lambda one: (len(one), one))  # the usual ones are short
        return f"an identifier begins with one of {', '.join(known)}"


class MalformedPart(PerdureError, ValueError):
    """The text is not a valid part in any syntax that the identifier allows."""

    code = "malformed-part"
    text: str
    at: int
    expected: str
    rule: str

    def problem(self) -> str:
        return f"malformed part {quote(self.text)} at {self.at}"

    def repair(self) -> str:
        return f"expected {self.expected} ({self.rule})"


class InvalidMetadata(ReasonedError, ValueError):
    """The bytes are not a valid record of the declared metadata format.

    Abstract: each reason has a class in `records`.
    """

    code = "invalid-metadata"
    format: str
    line: int | None
    """The line number, counted from 1; None if the format has no lines."""

    def problem(self) -> str:
        where = f" at line {self.line}" if self.line else ""
        return f"invalid {self.format} record{where}: {self.reason}"

    def repair(self) -> str:
        return "correct the record and send it again; nothing was changed"


class InvalidMetadataThere(InvalidMetadata):
    """Another process reports an invalid record, in its own words."""

    reason: str


class BadSettings(ReasonedError, ValueError):
    """A setting has an invalid value."""

    code = "bad-settings"
    setting: str
    value: object

    def problem(self) -> str:
        value = list(self.value) if isinstance(self.value, tuple) else self.value  # as in TOML
        return f"setting {self.setting} = {quote(value)}: {self.reason}"


class BadSettingsThere(BadSettings):
    """Another process reports an invalid setting, in its own words."""

    reason: str
