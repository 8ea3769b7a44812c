"""Collections: documents that list resources, held elsewhere or here, by identifier. Pure.

A collection has a title, creators, a purpose, a date and members. Each member has an identifier of
any scheme (a PDI or a part of one, a PWID, a handle, a DOI, an ARK, a URN) and may have a name in
the collection, a title, a digest, a length, a media type and a note. A collection is a document,
held, versioned and cited like any other; its identifier with `#member=7` or `#member=NAME` names a
member (an incarnation in ISO 24619 section 3.1.8, required by section 5.6).

How it works: `write_collection` returns the canonical form: JSON in UTF-8 with the fields in order
and each member on its own line, so that versions differ line by line. `read_collection` accepts any
equivalent JSON and checks it; `load_collection` accepts it unchecked, for fast answers.

What must stay true: `read_collection(write_collection(c)) == c`; members are numbered from 1 in
their order in the document; no two have the same name or identifier, and no name is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from perdure import parts
from perdure.errors import PerdureError
from perdure.errors.records import (
    CollectionDateMalformed,
    CollectionTextTooLong,
    CollectionVersionUnknown,
    ControlCharacterFound,
    CreatorUntidy,
    EntriesNotMembers,
    MemberDigestMalformed,
    MemberLengthNegative,
    MemberNameIsNumber,
    MemberNameTwice,
    MemberNameUnusable,
    MemberNotIdentifier,
    MembersTooMany,
    MemberTwice,
    MemberTypeMalformed,
    quote_parser,
)
from perdure.ids import parse

MEDIA_TYPE = parts.COLLECTION
FORMAT = "json"
"""The format of a collection's PDI: JSON."""
MOST_MEMBERS = 1_000_000
LARGEST = 256 << 20
"""Bytes of the largest document in which members are looked up."""
LONGEST_TEXT = 10_000  # characters of a title, a purpose or a note
_LONGEST_NAME = 200
_VERSION = 1

_NAME = re.compile(r"[^\s#](?:[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*\S)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_DIGEST = re.compile(r"[a-z0-9-]{2,16}:[A-Za-z0-9+/=_-]{16,256}")
_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}(?:T[0-9:.]{5,15}Z)?)?)?")
_TYPE = re.compile(r"[0-9A-Za-z][!#$&^_.+0-9A-Za-z-]{0,126}/[0-9A-Za-z][!-~ ]{0,200}")


class CollectionMember(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One resource in a collection."""

    identifier: str
    """Canonical text."""
    name: str = ""
    """Name within the collection, as used in `#member=NAME`. Not a number."""
    title: str = ""
    digest: str = ""
    """Algorithm and value: `sha512:0c11…` (hexadecimal), `sha1:B2LTWW…` (as archives write it)."""
    length: int | None = None
    """Bytes."""
    media_type: str = ""
    note: str = ""


class Collection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A collection: its description and its members."""

    title: str = ""
    creators: tuple[str, ...] = ()
    purpose: str = ""
    date: str = ""
    members: tuple[CollectionMember, ...] = ()

    def find_number(self, identifier: str) -> int | None:
        """Return the number, from 1, of the member with this identifier, or None."""
        found = (at for at, one in enumerate(self.members, 1) if one.identifier == identifier)
        return next(found, None)


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    collection: int
    title: str = ""
    creators: tuple[str, ...] = ()
    purpose: str = ""
    date: str = ""
    members: tuple[CollectionMember, ...] = ()


class _Rows(msgspec.Struct):
    collection: int = 0
    title: str = ""
    creators: tuple[str, ...] = ()
    purpose: str = ""
    date: str = ""
    members: tuple[msgspec.Raw, ...] = ()


class _NamedMember(msgspec.Struct, gc=False):
    name: str = ""


class _Names(msgspec.Struct):
    members: tuple[_NamedMember, ...] = ()


_document = msgspec.json.Decoder(_Document)
_rows = msgspec.json.Decoder(_Rows)
_names = msgspec.json.Decoder(_Names)
_member = msgspec.json.Decoder(CollectionMember)
_encode = msgspec.json.Encoder().encode


# reading and writing
# -------------------


def write_collection(collection: Collection) -> bytes:
    """Return the canonical form of a collection."""
    head = [
        f'"{name}": '.encode() + _encode(value)
        for name, value in (
            ("collection", _VERSION),
            ("title", collection.title),
            ("creators", collection.creators),
            ("purpose", collection.purpose),
            ("date", collection.date),
        )
        if value
    ]
    rows = b",\n".join(map(_encode, collection.members))
    members = b'"members": [\n%b\n]' % rows if rows else b'"members": []'
    return b"{\n" + b",\n".join((*head, members)) + b"\n}\n"


def read_collection(data: bytes) -> Collection:
    """Parse and check a collection in JSON. Raises InvalidMetadata."""
    found = load_collection(data)
    check_collection(found)
    members = tuple(
        member
        if (name := str(parse(member.identifier))) == member.identifier
        else msgspec.structs.replace(member, identifier=name)
        for member in found.members
    )
    return msgspec.structs.replace(found, members=members)


def load_collection(data: bytes) -> Collection:
    """Parse a collection without checking its values. Raises InvalidMetadata."""
    try:
        found = _document.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise quote_parser("collection", "msgspec", error) from error
    if found.collection != _VERSION:
        raise CollectionVersionUnknown(version=found.collection, known=_VERSION)
    return Collection(
        title=found.title,
        creators=found.creators,
        purpose=found.purpose,
        date=found.date,
        members=found.members,
    )


def is_name(text: str) -> bool:
    """Return True if a member can have this name within its collection.

    >>> is_name("letters/1.txt"), is_name("7"), is_name("#1")
    (True, False, False)
    """
    return len(text) <= _LONGEST_NAME and bool(_NAME.fullmatch(text)) and not text.isdigit()


def check_collection(collection: Collection, lines: Iterable[int] = ()) -> None:
    """Raise InvalidMetadata if a collection is invalid.

    `lines`: the line number of each member in the source, for the message.
    """
    if len(collection.members) > MOST_MEMBERS:
        raise MembersTooMany(most=MOST_MEMBERS)
    for name, text in (
        ("title", collection.title),
        ("purpose", collection.purpose),
        *(("creator", one) for one in collection.creators),
    ):
        _check_text(name, text)
    if not all(one.strip() == one != "" and "\n" not in one for one in collection.creators):
        raise CreatorUntidy()
    if collection.date and not _DATE.fullmatch(collection.date):
        raise CollectionDateMalformed(date=collection.date)
    names: dict[str, int] = {}
    identifiers: dict[str, int] = {}
    numbers = iter(lines)
    for at, member in enumerate(collection.members, 1):
        line = next(numbers, None)
        canonical = _check_member(member, at, line)
        first = identifiers.setdefault(canonical, at)
        if first != at:
            raise MemberTwice(member=at, identifier=canonical, first=first, line=line)
        if member.name and names.setdefault(member.name, at) != at:
            raise MemberNameTwice(member=at, name=member.name, first=names[member.name], line=line)


def _check_member(member: CollectionMember, at: int, line: int | None) -> str:
    """Check a member, and return its identifier in canonical form."""
    try:
        canonical = str(parse(member.identifier))
    except PerdureError as error:
        raise MemberNotIdentifier(
            member=at, identifier=member.identifier, fault=error.problem(), line=line
        ) from error
    if member.name:
        if len(member.name) > _LONGEST_NAME or not _NAME.fullmatch(member.name):
            raise MemberNameUnusable(member=at, name=member.name, most=_LONGEST_NAME, line=line)
        if member.name.isdigit():
            raise MemberNameIsNumber(member=at, name=member.name, line=line)
    if member.digest and not _DIGEST.fullmatch(member.digest):
        raise MemberDigestMalformed(member=at, digest=member.digest, line=line)
    if member.length is not None and member.length < 0:
        raise MemberLengthNegative(member=at, line=line)
    if member.media_type and not _TYPE.fullmatch(member.media_type):
        raise MemberTypeMalformed(member=at, media_type=member.media_type, line=line)
    _check_text("title", member.title, at, line)
    _check_text("note", member.note, at, line)
    return canonical


def _check_text(name: str, text: str, member: int | None = None, line: int | None = None) -> None:
    if len(text) > LONGEST_TEXT:
        raise CollectionTextTooLong(name=name, member=member, most=LONGEST_TEXT, line=line)
    if found := _CONTROL.search(text):
        raise ControlCharacterFound(name=name, member=member, character=ord(found[0]), line=line)


# one member of a document
# ------------------------


def find_entry(data: bytes, wanted: int | str) -> tuple[int, int, bytes | None]:
    """Return the number of members, the number of the wanted one, and its entry.

    `wanted`: a number from 1, or a name. The entry is JSON as written in the document; None if
    there is no such member. Other members are skipped without parsing. Raises InvalidMetadata.
    """
    try:
        number = wanted if isinstance(wanted, int) else _find_number(data, wanted)
        rows = _rows.decode(data).members
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise quote_parser("collection", "msgspec", error) from error
    if not 0 < number <= len(rows):
        return len(rows), 0, None
    return len(rows), number, bytes(rows[number - 1])


def _find_number(data: bytes, name: str) -> int:
    named = enumerate(_names.decode(data).members, 1)
    return next((at for at, one in named if one.name == name), 0)


def split_entries(data: bytes) -> tuple[Collection, tuple[bytes, ...]]:
    """Return a collection without its members, and their entries as written in the document.

    Raises InvalidMetadata. Entries must be objects; their contents are not checked.
    """
    try:
        found = _rows.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise quote_parser("collection", "msgspec", error) from error
    rows = tuple(map(bytes, found.members))
    if found.collection != _VERSION:
        raise CollectionVersionUnknown(version=found.collection, known=_VERSION)
    if not all(row[:2] == b'{"' for row in rows):
        raise EntriesNotMembers()
    about = Collection(
        title=found.title, creators=found.creators, purpose=found.purpose, date=found.date
    )
    return about, rows


def read_entry(data: bytes) -> CollectionMember:
    """Parse an entry as a member. Raises InvalidMetadata."""
    try:
        return _member.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise quote_parser("collection", "msgspec", error) from error
