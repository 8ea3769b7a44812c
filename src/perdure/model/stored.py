"""A record as it lies on disk: JSON or, for the commonest of records, one short line.

How it works: of a billion names nearly all are bound to one location, once, or hold one document,
and nothing more is known of them. Such a record is one line, with spaces between its fields and `-`
for what is not said, which is a third to a half shorter than its JSON:

- one location: time, the version and the format that it holds, its URI; where to redirect to is
  found in it in a tenth of the time;
- one document, in version 1: `=` and time, who, format, charset, language, length, SHA-512, where
  it lies (segment and offset), media type.

All others are JSON, without the fields that have their default.

>>> encode(Record(at="2026-11-21T05:13:46Z", locations=(Location(uri="https://a.example/1"),)))
b'2026-11-21T05:13:46Z - - https://a.example/1'

What must stay true: `decode(encode(record)) == record`; what was ever written can be read for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from perdure.model.records import Location, Record, Representation, Version

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode
NONE = "-"
"""Stands for what is not said."""
_UNSAYABLE = {"", NONE}  # what no charset or language can be in a line
_DOCUMENT = "="
_NO_LOCATION = "{" + _DOCUMENT  # what other forms begin with
_NO_TIME = re.compile(f"[ {_NO_LOCATION}]")
_LAST = 9  # field of a document: its media type, the one that may have spaces in it

Alike = Callable[[int, str, int, int], str]
"""From length, SHA-512 (in hexadecimal), segment and offset of a document to its stored form."""


def encode(record: Record) -> bytes:
    """The record as it is stored, in UTF-8."""
    line = _location(record) if record.locations else _document(record)
    return _encode(record) if line is None else line.encode()


def _location(record: Record) -> str | None:
    """The line of a record that says no more than that it is bound to one location."""
    if len(record.locations) > 1 or _NO_TIME.search(record.at):
        return None
    location = record.locations[0]
    version = NONE if location.version is None else location.version
    line = f"{record.at} {version} {location.format or NONE} {location.uri}"
    return line if decode(line) == record else None


def _document(record: Record) -> str | None:
    """The line of a record that says no more than that it holds one document."""
    if len(record.versions) != 1 or len(record.versions[0].representations) != 1:
        return None
    one = record.versions[0].representations[0]
    if record != _holding(record.at, record.by, one):
        return None
    if one.at or {one.charset, one.language} & _UNSAYABLE:
        return None
    line = (
        f"{_DOCUMENT}{record.at} {record.by} {one.format} {one.charset or NONE} "
        f"{one.language or NONE} {one.length} {one.sha512} {one.segment} {one.offset} "
        f"{one.media_type}"
    )
    return line if line.count(" ") == _LAST + one.media_type.count(" ") else None


def _holding(at: str, by: str, one: Representation) -> Record:
    return Record(at=at, by=by, versions=(Version(number=1, at=at, representations=(one,)),))


def decode(text: str) -> Record:
    """The record that `text` is. Raises msgspec.DecodeError, TypeError or ValueError."""
    if text[:1] == _DOCUMENT:
        return _held(text)
    found = only(text)
    if found is None:
        return _decode(text)
    at, location = found
    return Record(at=at, locations=(location,))


def only(text: str) -> tuple[str, Location] | None:
    """Time and location of a record that is the line of one location; None for all others."""
    fields = split(text)
    if fields is None:
        return None
    at, version, format, uri = fields
    number = None if version == NONE else int(version)
    return at, Location(uri=uri, version=number, format=None if format == NONE else format)


def split(text: str) -> tuple[str, str, str, str] | None:
    """Time, version, format and URI of such a line as they stand there."""
    if text[:1] in _NO_LOCATION:
        return None
    at, version, format, uri = text.split(" ", 3)
    return at, version, format, uri


def _held(text: str) -> Record:
    at, by, format, charset, language, length, sha512, segment, offset, last = _fields(text)
    one = Representation(
        format=format,
        media_type=last,
        charset=None if charset == NONE else charset,
        language=None if language == NONE else language,
        length=int(length),
        sha512=sha512,
        segment=int(segment),
        offset=int(offset),
    )
    return _holding(at, by, one)


def _fields(text: str) -> list[str]:
    return text[1:].split(" ", _LAST)


class Document(NamedTuple):
    """The line of a document, as it stands there."""

    at: str
    by: str
    format: str
    charset: str
    language: str
    length: str
    sha512: str
    segment: str
    offset: str
    media_type: str

    def placed(self, segment: int, offset: int) -> str:
        """The line of the same document when it lies there."""
        return f"{_DOCUMENT}{' '.join(self[:7])} {segment} {offset} {self.media_type}"


def document(text: str) -> Document | None:
    """The line of a document; None where it is none."""
    return Document(*_fields(text)) if text[:1] == _DOCUMENT else None


def _as_json(
    at: str, by: str, one: Representation, length: int, sha512: str, segment: int, offset: int
) -> str:
    same = replace(one, length=length, sha512=sha512, segment=segment, offset=offset)
    return _encode(_holding(at, by, same)).decode()


def alike(at: str, by: str, one: Representation) -> Alike:
    """How documents are stored of which the same is said as of this one."""
    found = document(encode(_holding(at, by, one)).decode())
    if found is None:
        return partial(_as_json, at, by, one)
    before, media_type = _DOCUMENT + " ".join(found[:5]), found.media_type
    return lambda length, sha512, segment, offset: (
        f"{before} {length} {sha512} {segment} {offset} {media_type}"
    )
