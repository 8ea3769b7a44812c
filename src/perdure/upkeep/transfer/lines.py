"""The JSON Lines format for moving identifiers: a line holds one identifier and all its data.

How it works: each object in a line is a struct here. Its types say what is allowed, so that reading
is checking. docs/reference/jsonl.md describes the format for people.

What must stay true: an unknown field is an error, never ignored; `read_line` reads the output of
`write_line` as an equal value; a value that can go into a header contains no control character.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from perdure.errors.importing import (
    LineLocationMalformed,
    LineMalformed,
    LineMemberUnknown,
    LineNotUtf8,
)
from perdure.ids import grammar
from perdure.model.about import About, Attachment
from perdure.model.description_checks import LANGUAGE
from perdure.model.plain_words import spell_degrees
from perdure.model.records import Location, Value
from perdure.model.unknown_members import list_unknown
from perdure.policy.naming import canonical_format

_DIGEST = r"\A[0-9a-f]{128}\Z"
_LANGUAGE = rf"\A{LANGUAGE.pattern}\Z"
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


class LinePlace(_Strict, frozen=True, kw_only=True):
    """A location with further fields besides its URI."""

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

    def as_location(self) -> Location:
        """Convert to a location. Raises MalformedIdentifier if the format is not valid."""
        fields = msgspec.structs.asdict(self)
        if self.format is not None:
            fields["format"] = canonical_format(self.format)
        return Location(**fields)


class LineReading(_Strict, frozen=True, kw_only=True):
    """The facts that decide how bytes are read."""

    media_type: str
    charset: str | None = None
    language: Language | None = None


class LineCorrection(_Strict, frozen=True, kw_only=True):
    """A correction of how bytes are read."""

    before: LineReading
    after: LineReading
    at: Moment
    by: str
    reason: str = ""


class LineContent(_Strict, frozen=True, kw_only=True):
    """The bytes of one version in one format, given as `path`, `text` or `base64`."""

    version: Number | None = None
    format: str | None = None
    type: str | None = None
    charset: str | UnsetType | None = UNSET
    """None: it is unknown and must not be guessed."""
    language: Language | None = None
    at: Moment | None = None
    corrections: tuple[LineCorrection, ...] = ()
    """Earlier corrections of its type, charset or language. The last one is in those fields."""
    sha512: Digest | None = None
    path: str | None = None
    text: str | None = None
    base64: bytes | None = None


class LineDescription(_Strict, frozen=True, kw_only=True):
    """The description of one version, format or part."""

    version: Number | None = None
    format: str | None = None
    part: str = ""
    about: About | None = None
    attached: tuple[Attachment, ...] = ()


class LineDrift(_Strict, frozen=True, kw_only=True):
    """Evidence that the content of a location, which was broken for it, had changed."""

    uri: str
    version: Number | None = None
    format: str | None = None
    sha512: Digest | None = None
    size: Annotated[int, Meta(ge=0)] | None = None
    found_sha512: Digest | None = None
    found_size: Annotated[int, Meta(ge=0)] | None = None
    status: int | None = None
    at: Moment | None = None


class LineEnding(_Strict, frozen=True, kw_only=True):
    """Why a version, or the complete resource, is no longer served."""

    version: Number | None = None
    reason: Annotated[str, Meta(min_length=1)]
    at: Moment | None = None
    by: str = ""
    silent: bool = False
    erased: Moment | None = None
    since: Moment | None = None
    """When the version was committed, if the line has no content of it."""


class Line(_Strict, frozen=True, kw_only=True):
    """One identifier."""

    id: str
    locations: tuple[str | LinePlace, ...] = ()
    content: LineContent | None = None
    contents: tuple[LineContent, ...] = ()
    metadata: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    minted: str = ""
    about: About | None = None
    attached: tuple[Attachment, ...] = ()
    narrower: tuple[LineDescription, ...] = ()
    drifted: tuple[LineDrift, ...] = ()
    values: tuple[Value, ...] = ()
    """Values of a handle. Those of type `URL` are locations too, listed there or not."""
    withdrawn: tuple[LineEnding, ...] = ()
    broken: tuple[LineEnding, ...] = ()
    """Versions or resources that were bound only to a location that was broken."""
    delegates: bool = False
    """Its document is a delegation that the registry follows."""

    @property
    def names_file(self) -> bool:
        """True if some of its bytes are in a file."""
        return any(
            one.path is not None for one in (self.content, *self.contents) if one is not None
        )


class PlainLine(_Strict, frozen=True, kw_only=True, gc=False):
    """The usual line of a large import: an identifier and one URL."""

    id: str
    locations: tuple[str]


_ABSENT = msgspec.Raw()


class _ValueMembers(_Strict, frozen=True, kw_only=True, gc=False):
    """The members of a value, to find unknown ones quickly. A union with `Raw` takes no text."""

    index: msgspec.Raw
    type: msgspec.Raw
    format: msgspec.Raw = _ABSENT
    data: msgspec.Raw
    ttl: msgspec.Raw = _ABSENT
    at: msgspec.Raw = _ABSENT
    permissions: msgspec.Raw = _ABSENT
    granted_by: msgspec.Raw = _ABSENT


class _HandleMembers(_Strict, frozen=True, kw_only=True, gc=False):
    """The members of the usual line of a handle."""

    id: msgspec.Raw
    values: tuple[_ValueMembers, ...]


_LONGEST_PLAIN = 1000
"""Bytes. Longer lines usually contain documents, so they are not tried as plain lines first."""
_LENIENT = (b'"about"', b'"attached"', b'"values"')
"""Fields whose types are also those of stored records, which ignore unknown members."""
_decode = msgspec.json.Decoder(Line).decode
_decode_plain = msgspec.json.Decoder(PlainLine).decode
_decode_handle = msgspec.json.Decoder(_HandleMembers).decode


def read_line(text: bytes) -> Line | PlainLine:
    """Read a line. Raises InvalidRequest with the byte or the field of the fault as its reason."""
    if len(text) > _LONGEST_PLAIN:
        return _read_full(text)
    try:
        return _decode_plain(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_full(text)


def read_plain_lines(text: bytes) -> list[PlainLine] | None:
    """Read lines that are all plain, or return None if one has another form."""
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    try:
        return list(map(_decode_plain, lines))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _read_full(text: bytes) -> Line:
    line = _decode_full(text)
    if line.values and _has_only_values(text):
        return line
    if any(name in text for name in _LENIENT):
        unknown = list_unknown(msgspec.json.decode(text), Line)
        if unknown:
            raise LineMemberUnknown(member=unknown[0])
    return line


def _has_only_values(text: bytes) -> bool:
    """Return True if a line has a name and values, and no member that is not known."""
    try:
        _decode_handle(text)
    except msgspec.DecodeError:
        return False
    return True


def _decode_full(text: bytes) -> Line:
    try:
        return _decode(text)
    except msgspec.ValidationError as error:
        line = _read_with_numbers(text) if b'"places"' in text else None
        if line is None:
            raise LineMalformed(fault=explain_fault(error)) from None
        return line
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        is_wide = b"\0" in text  # never in JSON in UTF-8
        raise (LineNotUtf8() if is_wide else LineMalformed(fault=explain_fault(error))) from None


def _read_with_numbers(text: bytes) -> Line | None:
    """Read a line in which places have numbers; None if it is malformed in another way."""
    members = msgspec.json.decode(text, type=dict[str, Any])
    for described in (members, *_list_objects(members.get("narrower"))):
        if "about" in described:
            described["about"] = spell_degrees(described["about"])
    try:
        return msgspec.convert(members, Line)
    except msgspec.ValidationError:
        return None


def _list_objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def explain_fault(error: Exception) -> str:
    """Return why a text cannot be read, with words in place of regular expressions."""
    told = str(error)
    for pattern, words in _IN_WORDS.items():
        told = told.replace(f"`str` matching regex {pattern!r}", words)
    return told


_encode = msgspec.json.Encoder().encode


def write_line(line: Line) -> bytes:
    """Return one line, with its line end."""
    return _encode(line) + b"\n"


def make_location(fields: dict[str, Any]) -> Location:
    """Make a location from its fields. Raises InvalidRequest or MalformedIdentifier."""
    try:
        return msgspec.convert(fields, LinePlace).as_location()
    except msgspec.ValidationError as error:
        raise LineLocationMalformed(fault=explain_fault(error)) from None
