"""Collections: documents that list resources by their identifiers, held elsewhere or here. Pure.

A collection has a title, creators, a purpose, a date and members; each member has an identifier of
any scheme (a PDI or a part of one, a PWID, a handle, a DOI, an ARK, a URN) and may have a name
within the collection, a title, a digest, a length, a media type and a note. As a document it is
held, versioned and cited like any other; its identifier with `#member=7` or `#member=NAME` reaches
each member (ISO 24619 section 3.1.8 calls that an incarnation, section 5.6 asks for it).

How it works: `write` gives the canonical form: JSON in UTF-8 with the fields in their order and
every member on a line of its own, so that versions differ line by line. `read` takes any
JSON that says the same and judges it; `load` takes it as it is, for what is answered quickly.

What must stay true: `read(write(c)) == c`; members are numbered from 1 in the order in which they
stand; no two have one name or one identifier, and no name is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from perdure import parts
from perdure.errors import InvalidMetadata, PerdureError, quote
from perdure.ids import parse

MEDIA_TYPE = parts.COLLECTION
FORMAT = "json"
"""The format of its PDI: it is JSON, and says what is said in it."""
MOST_MEMBERS = 1_000_000
LARGEST = 256 << 20
"""Bytes of a document in which members are looked for."""
LONGEST_TEXT = 10_000  # characters of a title, a purpose or a note
_LONGEST_NAME = 200
_VERSION = 1

_NAME = re.compile(r"[^\s#](?:[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*\S)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_DIGEST = re.compile(r"[a-z0-9-]{2,16}:[A-Za-z0-9+/=_-]{16,256}")
_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}(?:T[0-9:.]{5,15}Z)?)?)?")
_TYPE = re.compile(r"[0-9A-Za-z][!#$&^_.+0-9A-Za-z-]{0,126}/[0-9A-Za-z][!-~ ]{0,200}")


class Member(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One thing that belongs to a collection."""

    identifier: str
    """Canonical text."""
    name: str = ""
    """Within the collection: what `#member=NAME` says. Not a number."""
    title: str = ""
    digest: str = ""
    """Algorithm and value: `sha512:0c11…` (hexadecimal), `sha1:B2LTWW…` (as archives write it)."""
    length: int | None = None
    """Bytes."""
    media_type: str = ""
    note: str = ""


class Collection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A collection."""

    title: str = ""
    creators: tuple[str, ...] = ()
    purpose: str = ""
    date: str = ""
    members: tuple[Member, ...] = ()

    def number(self, identifier: str) -> int | None:
        """Which member has this identifier, from 1."""
        found = (at for at, one in enumerate(self.members, 1) if one.identifier == identifier)
        return next(found, None)


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    collection: int
    title: str = ""
    creators: tuple[str, ...] = ()
    purpose: str = ""
    date: str = ""
    members: tuple[Member, ...] = ()


class _Rows(msgspec.Struct):
    collection: int = 0
    title: str = ""
    creators: tuple[str, ...] = ()
    purpose: str = ""
    date: str = ""
    members: tuple[msgspec.Raw, ...] = ()


class _Named(msgspec.Struct, gc=False):
    name: str = ""


class _Names(msgspec.Struct):
    members: tuple[_Named, ...] = ()


_document = msgspec.json.Decoder(_Document)
_rows = msgspec.json.Decoder(_Rows)
_names = msgspec.json.Decoder(_Names)
_member = msgspec.json.Decoder(Member)
_encode = msgspec.json.Encoder().encode


# reading and writing
# -------------------


def write(collection: Collection) -> bytes:
    """The canonical form."""
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


def read(data: bytes) -> Collection:
    """A collection in JSON, judged. Raises InvalidMetadata."""
    found = load(data)
    check(found)
    members = tuple(
        member
        if (name := str(parse(member.identifier))) == member.identifier
        else msgspec.structs.replace(member, identifier=name)
        for member in found.members
    )
    return msgspec.structs.replace(found, members=members)


def load(data: bytes) -> Collection:
    """A collection as it lies there, without looking at what it says. Raises InvalidMetadata."""
    try:
        found = _document.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(str(error)) from error
    if found.collection != _VERSION:
        raise _invalid(f"version {found.collection} of the form; known is {_VERSION}")
    return Collection(
        title=found.title,
        creators=found.creators,
        purpose=found.purpose,
        date=found.date,
        members=found.members,
    )


def check(collection: Collection, lines: Iterable[int] = ()) -> None:
    """Raises InvalidMetadata for what no collection can be.

    `lines`: where each member stands in what was read, for the message.
    """
    if len(collection.members) > MOST_MEMBERS:
        raise _invalid(f"more than {MOST_MEMBERS} members")
    for what, text in (
        ("title", collection.title),
        ("purpose", collection.purpose),
        *(("creator", one) for one in collection.creators),
    ):
        if fault := _text_fault(text):
            raise _invalid(f"{what} {fault}")
    if not all(one.strip() == one != "" and "\n" not in one for one in collection.creators):
        raise _invalid("a creator without a name, or with blanks around it or a line break in it")
    if collection.date and not _DATE.fullmatch(collection.date):
        raise _invalid(f"date {quote(collection.date)} is none of ISO 8601")
    names: dict[str, int] = {}
    identifiers: dict[str, int] = {}
    numbers = iter(lines)
    for at, member in enumerate(collection.members, 1):
        line = next(numbers, None)
        fault = _fault(member)
        if fault:
            raise _invalid(f"member {at}: {fault}", line)
        canonical = str(parse(member.identifier))
        first = identifiers.setdefault(canonical, at)
        if first != at:
            raise _invalid(f"member {at}: {quote(canonical)} is member {first} already", line)
        if member.name and names.setdefault(member.name, at) != at:
            other = names[member.name]
            raise _invalid(f"member {at}: member {other} is called {quote(member.name)}, too", line)


def _fault(member: Member) -> str:
    """What is wrong with a member; empty where nothing is."""
    try:
        parse(member.identifier)
    except PerdureError as error:
        return error.problem()
    if member.name:
        if len(member.name) > _LONGEST_NAME or not _NAME.fullmatch(member.name):
            return f"name {quote(member.name)} is longer than {_LONGEST_NAME} or not in print"
        if member.name.isdigit():
            return f"name {quote(member.name)} is a number, and would be taken for a place"
    if member.digest and not _DIGEST.fullmatch(member.digest):
        return f"digest {quote(member.digest)} is not of the form algorithm:value"
    if member.length is not None and member.length < 0:
        return "a length below 0"
    if member.media_type and not _TYPE.fullmatch(member.media_type):
        return f"media type {quote(member.media_type)} is none"
    return _text_fault(member.title) or _text_fault(member.note)


def _text_fault(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        return f"is longer than {LONGEST_TEXT} characters"
    found = _CONTROL.search(text)
    return f"has the character {ord(found[0]):#x} in it" if found else ""


def _invalid(reason: str, line: int | None = None) -> InvalidMetadata:
    return InvalidMetadata(format="collection", line=line, reason=reason)


# one member of a document
# ------------------------


def entry(data: bytes, wanted: int | str) -> tuple[int, int, bytes | None]:
    """How many members a document has, the number of the one that is wanted, and its entry.

    `wanted`: a number from 1, or a name. The entry is JSON as it stands in the document; None where
    there is no such member. The others are passed over unread. Raises InvalidMetadata.
    """
    try:
        number = wanted if isinstance(wanted, int) else _numbered(data, wanted)
        rows = _rows.decode(data).members
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(str(error)) from error
    if not 0 < number <= len(rows):
        return len(rows), 0, None
    return len(rows), number, bytes(rows[number - 1])


def _numbered(data: bytes, name: str) -> int:
    named = enumerate(_names.decode(data).members, 1)
    return next((at for at, one in named if one.name == name), 0)


def entries(data: bytes) -> tuple[Collection, tuple[bytes, ...]]:
    """A collection without its members, and their entries as they stand in the document.

    Raises InvalidMetadata; what is in an entry is not looked at, but that it is an object.
    """
    try:
        found = _rows.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(str(error)) from error
    rows = tuple(map(bytes, found.members))
    if found.collection != _VERSION or not all(row[:2] == b'{"' for row in rows):
        raise _invalid("it has entries that are no members, or is of another version")
    about = Collection(
        title=found.title, creators=found.creators, purpose=found.purpose, date=found.date
    )
    return about, rows


def read_entry(data: bytes) -> Member:
    """The member that an entry is. Raises InvalidMetadata."""
    try:
        return _member.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(str(error)) from error
