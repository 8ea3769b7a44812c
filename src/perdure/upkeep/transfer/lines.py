"""The JSON Lines that identifiers are moved in: one identifier with all that is known of it a line.

How it works: each object of a line is a struct here, whose types say what is allowed, so that
reading is checking. docs/reference/jsonl.md tells the same for people.

What must stay true: a field that is not known is an error, never ignored; what `write_line` writes,
`read_line` reads back equal; nothing that can go into a header has a control character in it.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from perdure.errors.importing import LineLocationMalformed, LineMalformed, LineNotUtf8
from perdure.ids import grammar
from perdure.model.about import About, Attachment
from perdure.model.records import Location, Value
from perdure.policy.naming import canonical_format

RULE = "docs/reference/jsonl.md"

_DIGEST = r"\A[0-9a-f]{128}\Z"
_LANGUAGE = r"\A[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*\Z"
_MOMENT = r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z\Z"
_WORD = r"\A[!-~]{1,64}\Z"
_DAY = r"\A[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\Z"
_IN_WORDS = {
    _DIGEST: "128 lower-case hexadecimal digits",
    _LANGUAGE: "a language tag such as en-GB",
    _MOMENT: "a time such as 1997-09-01T08:00:00Z",
    _WORD: "1 to 64 visible ASCII characters",
    _DAY: "a day such as 2026-11-21",
}

Number = Annotated[int, Meta(ge=1, lt=10**grammar.NUMERAL_DIGITS)]
Digest = Annotated[str, Meta(pattern=_DIGEST)]
Language = Annotated[str, Meta(pattern=_LANGUAGE)]
Moment = Annotated[str, Meta(pattern=_MOMENT)]
Word = Annotated[str, Meta(pattern=_WORD)]
Day = Annotated[str, Meta(pattern=_DAY)]


class _Strict(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A part of a line."""


class Place(_Strict, frozen=True, kw_only=True):
    """A location that has more to it than its URI."""

    uri: str
    version: Number | None = None
    format: str | None = None
    sha512: Digest | None = None
    language: Language | None = None
    region: Word | None = None
    role: Word | None = None
    weight: Annotated[int, Meta(ge=0)] = 1
    size: Annotated[int, Meta(ge=0)] | None = None
    valid_from: Day | None = None
    valid_until: Day | None = None

    def location(self) -> Location:
        """Raises MalformedIdentifier where the format cannot be one."""
        fields = msgspec.structs.asdict(self)
        if self.format is not None:
            fields["format"] = canonical_format(self.format)
        return Location(**fields)


class Held(_Strict, frozen=True, kw_only=True):
    """The bytes of one version in one format, given as `path`, `text` or `base64`."""

    version: Number | None = None
    format: str | None = None
    type: str | None = None
    charset: str | UnsetType | None = UNSET
    """None: it is not known, and not to be guessed."""
    language: Language | None = None
    at: Moment | None = None
    sha512: Digest | None = None
    path: str | None = None
    text: str | None = None
    base64: bytes | None = None


class Ended(_Strict, frozen=True, kw_only=True):
    """Why a version, or all of the resource, is served no more."""

    version: Number | None = None
    reason: Annotated[str, Meta(min_length=1)]
    at: Moment | None = None
    by: str = ""


class Line(_Strict, frozen=True, kw_only=True):
    """One identifier."""

    id: str
    locations: tuple[str | Place, ...] = ()
    content: Held | None = None
    contents: tuple[Held, ...] = ()
    metadata: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    minted: str = ""
    about: About | None = None
    attached: tuple[Attachment, ...] = ()
    values: tuple[Value, ...] = ()
    """As a handle. Those of type `URL` are locations too, named there or not."""
    withdrawn: tuple[Ended, ...] = ()
    broken: tuple[Ended, ...] = ()
    """What a location, which was broken, was bound to alone."""

    @property
    def names_file(self) -> bool:
        """Whether some of its bytes lie in a file."""
        return any(
            one.path is not None for one in (self.content, *self.contents) if one is not None
        )


class Plain(_Strict, frozen=True, kw_only=True):
    """What most lines of a large import are: an identifier and one URL."""

    id: str
    locations: tuple[str]


_LONGEST_PLAIN = 1000
"""Bytes. Longer lines hold documents, as a rule: to try them as plain ones would be in vain."""
_decode = msgspec.json.Decoder(Line).decode
_decode_plain = msgspec.json.Decoder(Plain).decode


def read_line(text: bytes) -> Line | Plain:
    """Raises InvalidRequest, whose reason says at which byte or in which field."""
    if len(text) > _LONGEST_PLAIN:
        return _read_full(text)
    try:
        return _decode_plain(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_full(text)


def _read_full(text: bytes) -> Line:
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        is_wide = b"\0" in text  # which no JSON in UTF-8 has
        raise (LineNotUtf8() if is_wide else LineMalformed(fault=in_words(error))) from None


def in_words(error: Exception) -> str:
    """What keeps a text from being read, with words in place of regular expressions."""
    told = str(error)
    for pattern, words in _IN_WORDS.items():
        told = told.replace(f"`str` matching regex {pattern!r}", words)
    return told


_encode = msgspec.json.Encoder().encode


def write_line(line: Line) -> bytes:
    """One line, with its end."""
    return _encode(line) + b"\n"


def place(fields: dict[str, Any]) -> Location:
    """A location from its fields. Raises InvalidRequest or MalformedIdentifier."""
    try:
        return msgspec.convert(fields, Place).location()
    except msgspec.ValidationError as error:
        raise LineLocationMalformed(fault=in_words(error)) from None
