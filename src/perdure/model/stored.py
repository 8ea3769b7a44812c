"""The stored form of a record: JSON or, for the most common records, one short line.

How it works: of a billion names nearly all are bound to one location, once, or hold one document,
and nothing else is known about them. Such a record is one line, with spaces between its fields and
`-` for missing values, which is a third to a half shorter than its JSON:

- one location: time, version and format of the location, its URI; finding the target of a redirect
  takes a tenth of the time;
- one document, in version 1: `=` and time, author, format, charset, language, length, SHA-512,
  place (segment and offset), media type.

All other records are JSON, without the fields that have their default.

>>> encode_stored(Record(at="2026-11-21T05:13:46Z", locations=(Location(uri="https://a.example/1"),)))
b'2026-11-21T05:13:46Z - - https://a.example/1'

What must stay true: `decode_stored(encode_stored(record)) == record`; every form ever written stays
readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from perdure.model.records import Location, Record, Representation, Version

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode
NONE = "-"
"""Represents a missing value."""
_UNSAYABLE = {"", NONE}  # values that a charset or language in a line cannot have
DOCUMENT = "="
"""The first character of the line of a record that has one document."""
JSON = "{"
"""The first character of every other record that has no line of its own."""
NO_LOCATION = JSON + DOCUMENT
"""The first characters of all forms but the line of a location."""
LEAST_WITH_BYTES = min(NO_LOCATION)
"""Every stored form of a record that has bytes is at least this text; one location is less."""
_NO_TIME = re.compile(f"[ {NO_LOCATION}]")
URI = 3
"""The field of a location line with the URI, the last one."""
_LAST = 9  # field of a document: its media type, the only one that may contain spaces

Alike = Callable[[int, str, int, int], str]
"""From length, SHA-512 (hexadecimal), segment and offset of a document to its stored form."""
AlikeTwice = Callable[[int, str, int, int], tuple[str, str]]
"""From the same to its stored form, and to this form without the place of its bytes."""


def encode_stored(record: Record) -> bytes:
    """Return the stored form of a record, in UTF-8."""
    line = _write_location_line(record) if record.locations else _write_document_line(record)
    return _encode(record) if line is None else line.encode()


def _write_location_line(record: Record) -> str | None:
    """Return the line of a record that has one location and no other facts, or None."""
    if len(record.locations) > 1 or record.values or _NO_TIME.search(record.at):
        return None
    location = record.locations[0]
    version = NONE if location.version is None else location.version
    line = f"{record.at} {version} {location.format or NONE} {location.uri}"
    return line if decode_stored(line) == record else None


def _write_document_line(record: Record) -> str | None:
    """Return the line of a record that has one document and no other facts, or None."""
    if len(record.versions) != 1 or len(record.versions[0].representations) != 1:
        return None
    one = record.versions[0].representations[0]
    if record != _make_holding_record(record.at, record.by, one):
        return None
    if one.at or one.corrections or {one.charset, one.language} & _UNSAYABLE:
        return None
    line = (
        f"{DOCUMENT}{record.at} {record.by} {one.format} {one.charset or NONE} "
        f"{one.language or NONE} {one.length} {one.sha512} {one.segment} {one.offset} "
        f"{one.media_type}"
    )
    return line if line.count(" ") == _LAST + one.media_type.count(" ") else None


def _make_holding_record(at: str, by: str, one: Representation) -> Record:
    return Record(at=at, by=by, versions=(Version(number=1, at=at, representations=(one,)),))


def decode_stored(text: str) -> Record:
    """Parse a stored record. Raises msgspec.DecodeError, TypeError or ValueError."""
    if text[:1] == DOCUMENT:
        return _read_document_line(text)
    found = read_only_location(text)
    if found is None:
        return _decode(text)
    at, location = found
    return Record(at=at, locations=(location,))


def read_only_location(text: str) -> tuple[str, Location] | None:
    """Return time and location of a record stored as one location; None for all others."""
    fields = split_location_line(text)
    if fields is None:
        return None
    at, version, format, uri = fields
    number = None if version == NONE else int(version)
    return at, Location(uri=uri, version=number, format=None if format == NONE else format)


def split_location_line(text: str) -> list[str] | None:
    """Return time, version, format and URI of a location line as written, or None."""
    return None if text[:1] in NO_LOCATION else text.split(" ", URI)


def split_only_locations(texts: Sequence[str]) -> list[str] | None:
    """Return the URIs of records that have one location each.

    None if a text may be another record. They are split with one call if all were stored at the
    same time, for the same version and format, as by an import.
    """
    fields = texts[0].split(" ", URI) if texts else []
    if _are_of_location(fields):
        head = texts[0][: -len(fields[URI])] if fields[URI] else texts[0]
        lines = "\n".join(texts)
        if lines.count("\n") == len(texts) - 1:  # no text has one
            _, *uris = f"\n{lines}".split(f"\n{head}")
            if len(uris) == len(texts):
                return uris
    rows = [text.split(" ", URI) for text in texts]
    return [row[URI] for row in rows] if all(map(_are_of_location, rows)) else None


def _are_of_location(fields: list[str]) -> bool:
    """Return True if these are the fields of a location line."""
    if len(fields) <= URI:
        return False
    at, version = fields[:2]
    is_number = version.isascii() and version.isdigit()
    return at[:1] not in NO_LOCATION and (version == NONE or is_number)


def _read_document_line(text: str) -> Record:
    at, by, format, charset, language, length, sha512, segment, offset, last = _split_document_line(
        text
    )
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
    return _make_holding_record(at, by, one)


def _split_document_line(text: str) -> list[str]:
    return text[1:].split(" ", _LAST)


class DocumentLine(NamedTuple):
    """The fields of a document's line, as written."""

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

    def place_at(self, segment: int, offset: int) -> str:
        """Return the line of the same document at another place."""
        return f"{DOCUMENT}{' '.join(self[:7])} {segment} {offset} {self.media_type}"


_make_document_line: Callable[[list[str]], DocumentLine] = partial(tuple.__new__, DocumentLine)
"""`DocumentLine(*fields)` in half the time."""


class ShortLine(NamedTuple):
    """A record in one of the short forms, not decoded."""

    at: str
    reference: str
    """The reference to its location or its digest, if its key spells its name. A document may have
    others (`perdure.model.references.list_document_references`)."""
    document: DocumentLine | None
    """None for a location."""


def parse_short_line(text: str) -> ShortLine | None:
    """Split a line; None if it is JSON. Raises ValueError if it cannot be decoded."""
    document = parse_document_line(text)
    if document is not None:
        for number in (document.length, document.segment, document.offset):
            int(number)
        return ShortLine(document.at, f"sha512:{document.sha512}", document)
    fields = split_location_line(text)
    if fields is None:
        return None
    at, version, _, uri = fields
    if version != NONE:
        int(version)
    return ShortLine(at, f"location:{uri}", None)


def parse_document_line(text: str) -> DocumentLine | None:
    """Split the line of a document; None if the text is not one. Raises ValueError."""
    if text[:1] != DOCUMENT:
        return None
    fields = _split_document_line(text)
    if len(fields) <= _LAST:
        raise ValueError(f"{len(fields)} fields instead of {_LAST + 1}")
    return _make_document_line(fields)


def _as_json(
    at: str, by: str, one: Representation, length: int, sha512: str, segment: int, offset: int
) -> str:
    same = replace(one, length=length, sha512=sha512, segment=segment, offset=offset)
    return _encode(_make_holding_record(at, by, same)).decode()


def encode_alike(at: str, by: str, one: Representation) -> Alike:
    """Return a function that encodes documents with the same facts as this one."""
    facts = _spell_facts(at, by, one)
    if facts is None:
        return partial(_as_json, at, by, one)
    before, media_type = facts
    return lambda length, sha512, segment, offset: (
        f"{before} {length} {sha512} {segment} {offset} {media_type}"
    )


def encode_alike_twice(at: str, by: str, one: Representation) -> AlikeTwice:
    """Do the same, and also return each line as `perdure.model.changes.attest_line` does."""
    facts = _spell_facts(at, by, one)
    if facts is None:
        as_json = partial(_as_json, at, by, one)
        return lambda length, sha512, segment, offset: (
            as_json(length, sha512, segment, offset),
            as_json(length, sha512, 0, 0),
        )
    before, media_type = facts
    placeless = f" 0 0 {media_type}"

    def encode_twice(length: int, sha512: str, segment: int, offset: int) -> tuple[str, str]:
        known = f"{before} {length} {sha512}"
        return f"{known} {segment} {offset} {media_type}", known + placeless

    return encode_twice


def _spell_facts(at: str, by: str, one: Representation) -> tuple[str, str] | None:
    """The line of a document up to its length, and its media type; None if it has no line."""
    found = parse_document_line(encode_stored(_make_holding_record(at, by, one)).decode())
    return None if found is None else (DOCUMENT + " ".join(found[:5]), found.media_type)
