"""The forms of collections: JSON (the canonical one), text, CSV and Turtle.

    text      # title: A corpus                      CSV    #title,A corpus
              # creator: Ada                                #creator,Ada
              pdi://…/1.text.1                              identifier,name,title,digest,…
              pwid:…⇥name=front⇥title=Front page            pdi://…/1.text.1,,,,

How it works: text has an identifier on each line, and after it further fields as a tab and
`field=value`. A backslash before n, t, r or a backslash stands for a line break, a tab, a carriage
return, a backslash. CSV (RFC 4180, or with semicolons or tabs as spreadsheets write it) has a
column for each field, in any order; unknown columns are refused. A list of bare identifiers is a
collection in both forms; in JSON, an array of them is one. The first characters show the form.

What must stay true: reading a collection that was written in any form gives the same collection; an
error names the line that cannot be read.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator

import msgspec

from perdure.errors.records import (
    CellsTooMany,
    ColumnsUnknown,
    CommentUnknown,
    FieldUnknown,
    LengthNotNumber,
    RecordNotUtf8,
    quote_parser,
)
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember
from perdure.upkeep.collection import turtle

FORMS = ("json", "text", "csv", "turtle")
_FIELDS = ("name", "title", "digest", "length", "media_type", "note")
_COLUMNS = ("identifier", *_FIELDS)
_DELIMITERS = ",;\t"
_ABOUT = ("title", "creator", "purpose", "date")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}
_COMMENT = re.compile(r"#[ \t]*(title|creator|purpose|date):[ \t]?(.*)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\n|\r")
_LIKE_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_array = msgspec.json.Decoder(list[str | CollectionMember])
_TURTLE = re.compile(r"\s*(?:@prefix|@base|prefix\s|base\s|<)", re.IGNORECASE)

Spell = Callable[[str], str]
"""A change to an identifier before it is read: an address that stands for one becomes it."""


def _keep_spelling(text: str) -> str:
    return text


def read_collection(
    data: bytes, form: str | None = None, *, spell: Spell = _keep_spelling
) -> Collection:
    """Read a collection in one of `FORMS`. Without `form`, the bytes themselves show it.

    Raises InvalidMetadata, and Unavailable for Turtle if rdflib is not installed.
    """
    if form == "json" or (form is None and _LIKE_JSON.match(data)):
        return _canonicalise_members(_read_json(data.removeprefix(codecs.BOM_UTF8)), spell)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordNotUtf8(format="collection", line=line) from error
    match form or _detect_form(text):
        case "turtle":
            return _canonicalise_members(turtle.read_turtle(text), spell)
        case "csv":
            return _build_collection(*_read_csv(text), spell)
    return _build_collection(*_read_text(text), spell)


def write_collection(
    collection: Collection, form: str, *, identifier: str = "", first: int = 1
) -> bytes:
    """Write a collection in one of `FORMS`. Raises Unavailable if rdflib is not installed.

    `first` is the number of its first member, if the collection is a page of a longer one.
    """
    match form:
        case "json":
            return members.write_collection(collection)
        case "csv":
            return _write_csv(collection).encode()
        case "turtle":
            return turtle.write_turtle(collection, identifier, first=first)
    return _write_text(collection).encode()


def _detect_form(text: str) -> str:
    if _TURTLE.match(text):
        return "turtle"
    return "csv" if _detect_delimiter(text) else "text"


def _detect_delimiter(text: str) -> str:
    """Return the delimiter of CSV from RFC 4180 or a spreadsheet; empty if the text is not CSV."""
    about = re.match("#(?:title|creator|purpose|date)([,;\t])", text)
    first = next((line for line in text.splitlines() if line and line[0] != "#"), "")[:4096]
    for mark in _DELIMITERS:
        if "identifier" in next(csv.reader([first], delimiter=mark), []):
            return mark
    return about[1] if about else ""


def _build_collection(
    about: list[tuple[str, str]], found: list[tuple[int, CollectionMember]], spell: Spell
) -> Collection:
    said = {name: value for name, value in about if name != "creator"}
    collection = Collection(
        title=said.get("title", ""),
        creators=tuple(value for name, value in about if name == "creator"),
        purpose=said.get("purpose", ""),
        date=said.get("date", ""),
        members=tuple(member for _, member in found),
    )
    return _canonicalise_members(collection, spell, [line for line, _ in found])


def _canonicalise_members(
    collection: Collection, spell: Spell, lines: list[int] | None = None
) -> Collection:
    """Bring every identifier into its canonical form. `lines`: the line of each member."""
    listed = tuple(
        msgspec.structs.replace(one, identifier=spell(one.identifier)) for one in collection.members
    )
    found = msgspec.structs.replace(collection, members=listed)
    members.check_collection(found, lines or ())
    return members.read_collection(members.write_collection(found))


# JSON
# ----


def _read_json(data: bytes) -> Collection:
    """Read a document, or a bare array of identifiers and members."""
    if data.lstrip()[:1] != b"[":
        return members.load_collection(data)
    try:
        found = _array.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise quote_parser("collection", "msgspec", error) from error
    listed = (CollectionMember(identifier=one) if isinstance(one, str) else one for one in found)
    return Collection(members=tuple(listed))


# text
# ----


def _read_text(text: str) -> tuple[list[tuple[str, str]], list[tuple[int, CollectionMember]]]:
    about: list[tuple[str, str]] = []
    found: list[tuple[int, CollectionMember]] = []
    for number, line in enumerate(_LINE_END.split(text), 1):
        if not line.strip():
            continue
        if line[0] == "#":
            said = _COMMENT.fullmatch(line)
            if said:
                about.append((said[1], _unescape_text(said[2])))
            continue
        identifier, *fields = line.split("\t")
        pairs = [field.partition("=") for field in fields if field]
        row = {name: _unescape_text(value) for name, _, value in pairs}
        found.append((number, _build_member(identifier.strip(), row, number)))
    return about, found


def _write_text(collection: Collection) -> str:
    lines = [f"# {name}: {_escape_text(value)}\n" for name, value in _collection_fields(collection)]
    for member in collection.members:
        fields = "".join(
            f"\t{name}={_escape_text(value)}" for name, value in _member_fields(member)
        )
        lines.append(f"{member.identifier}{fields}\n")
    return "".join(lines)


def _escape_text(text: str) -> str:
    return re.sub(r"[\\\n\t\r]", lambda one: _ESCAPES[one[0]], text)


def _unescape_text(text: str) -> str:
    return re.sub(r"\\[\\ntr]", lambda one: _UNESCAPES[one[0]], text)


# CSV
# ---


def _read_csv(text: str) -> tuple[list[tuple[str, str]], list[tuple[int, CollectionMember]]]:
    about: list[tuple[str, str]] = []
    found: list[tuple[int, CollectionMember]] = []
    columns: list[str] | None = None
    delimiter = _detect_delimiter(text) or ","
    rows = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    number = 0
    try:
        for row in rows:
            number, before = rows.line_num, number
            if not row:
                continue
            if columns is None and row[0].startswith("#"):
                name = row[0][1:]
                if name not in _ABOUT:
                    known = tuple(f"#{one}" for one in _ABOUT)
                    raise CommentUnknown(cell=row[0], known=known, line=number)
                about.append((name, row[1] if len(row) > 1 else ""))
                continue
            if columns is None and "identifier" in row:
                columns = _check_columns(row, number)
                continue
            cells = dict(zip(columns or _COLUMNS, row, strict=False))
            if len(row) > len(columns or _COLUMNS):
                raise CellsTooMany(line=before + 1)
            found.append(
                (before + 1, _build_member(cells.pop("identifier", ""), cells, before + 1))
            )
    except csv.Error as error:
        raise quote_parser("collection", "csv", error, rows.line_num) from error
    return about, found


def _check_columns(row: list[str], number: int) -> list[str]:
    unknown = set(row) - set(_COLUMNS)
    if unknown or len(set(row)) < len(row):
        raise ColumnsUnknown(known=_COLUMNS, line=number)
    return row


def _write_csv(collection: Collection) -> str:
    into = io.StringIO(newline="")
    writer = csv.writer(into)
    for name, value in _collection_fields(collection):
        writer.writerow((f"#{name}", value))
    writer.writerow(_COLUMNS)
    for member in collection.members:
        said = dict(_member_fields(member))
        writer.writerow((member.identifier, *(said.get(name, "") for name in _FIELDS)))
    return into.getvalue()


# fields
# ------


def _collection_fields(collection: Collection) -> Iterator[tuple[str, str]]:
    if collection.title:
        yield "title", collection.title
    for creator in collection.creators:
        yield "creator", creator
    if collection.purpose:
        yield "purpose", collection.purpose
    if collection.date:
        yield "date", collection.date


def _member_fields(member: CollectionMember) -> Iterator[tuple[str, str]]:
    for name in _FIELDS:
        value = getattr(member, name)
        if value not in ("", None):
            yield name, str(value)


def _build_member(identifier: str, row: dict[str, str], line: int) -> CollectionMember:
    unknown = set(row) - set(_FIELDS)
    if unknown:
        raise FieldUnknown(name=min(unknown), known=_FIELDS, line=line)
    length = row.pop("length", "")
    if length and not (length.isascii() and length.isdigit() and len(length) < 20):
        raise LengthNotNumber(length=length, line=line)
    return CollectionMember(identifier=identifier, length=int(length) if length else None, **row)
