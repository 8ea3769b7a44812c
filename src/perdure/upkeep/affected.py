"""The parts that a correction affects: they are counted in the characters of a text.

How it works: `compare_texts` decodes the same bytes in both ways, side by side, and tells how many
characters each has and where the first difference is. `list_recorded_parts` reads the records of
the registry and its collections, and lists those that name a part of the corrected resource: in a
relation, a location, a value of a handle, a description of the part, or as a member. Citations
elsewhere are not known here.

What must stay true: nothing is written. Memory is bounded, whatever the length of the text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from perdure import formats
from perdure.errors import PartNotSupported, PerdureError
from perdure.extractors.port import Source
from perdure.extractors.text.coding import Coding, find_coding
from perdure.ids import Identifier
from perdure.model import collection
from perdure.model.records import Reading, Record
from perdure.policy.levels import spell_level
from perdure.policy.named_parts import split_part
from perdure.policy.naming import read_qualifiers, same_format
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.registry import Registry

_PIECE = 1 << 20  # bytes
_PAGE = 500
_LAST = "\U0010ffff"
_BREAK = re.compile(r"\r\n|\r|\n")
_MARK = re.compile(r"#|\?part=|&part=")
_END = re.compile(r"[\s\"'<>]")
_LONGEST_COUNTED = 1 << 30  # bytes


class TextDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two readings of the same bytes, compared. Characters are those of `char=` in a PDI."""

    before: int | None
    """Number of characters, or None if the bytes cannot be read in this way."""
    after: int | None
    first: int | None
    """Position of the first character that differs; None if none does, or if it is unknown."""


class RecordedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a resource that something in this registry names."""

    identifier: str
    """The name of the record, or of the collection."""
    place: str
    """`relation`, `description`, `location`, `value` or `member 7`."""
    part: str
    """The part, as it is written there."""


def compare_texts(source: Source, before: Reading, after: Reading) -> TextDifference | None:
    """Compare two readings of the same bytes. None if neither is text, or they are too long."""
    ways = [
        msgspec.structs.replace(source, media_type=one.media_type, charset=one.charset)
        for one in (before, after)
        if formats.is_text(one.media_type)
    ]
    if len(ways) < 2 or source.length > _LONGEST_COUNTED:
        return None
    texts = [_TextCount(one) for one in ways]
    for piece in _read_pieces(source):
        for text in texts:
            text.feed(piece)
        _compare_rest(*texts)
    for text in texts:
        text.feed(b"", final=True)
    _compare_rest(*texts)
    old, new = texts
    first = old.same if old.rest != new.rest and None not in (old.count, new.count) else None
    return TextDifference(before=old.count, after=new.count, first=first)


class _TextCount:
    """The characters of a text, counted while it is decoded."""

    def __init__(self, source: Source) -> None:
        self._coding = _find_coding(source)
        codec = self._coding.codec if self._coding else "ascii"
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._start = self._coding.start if self._coding else 0
        self._after_cr = False
        self.count: int | None = 0 if self._coding else None
        self.rest = ""
        """Characters that were not compared yet, or differ."""
        self.same = 0
        """Characters that are equal in both texts."""

    def feed(self, data: bytes, *, final: bool = False) -> None:
        data, self._start = data[self._start :], max(self._start - len(data), 0)
        if self.count is None:
            return
        try:
            text = self._decoder.decode(data, final)
        except UnicodeError:
            self.count = None
            return
        self.count += _count_canonical(text) - (self._after_cr and text[:1] == "\n") * 2
        self._after_cr = text.endswith("\r") or (self._after_cr and not text)
        if len(self.rest) < _PIECE * 4:
            self.rest += text


def _compare_rest(old: _TextCount, new: _TextCount) -> None:
    """Drop what is equal at the beginning of both rests, and count it."""
    length = min(len(old.rest), len(new.rest))
    same = length
    if old.rest[:length] != new.rest[:length]:
        same = next(at for at in range(length) if old.rest[at] != new.rest[at])
    counted = _count_canonical(old.rest[:same])
    for one in (old, new):
        one.same += counted
        one.rest = one.rest[same:]


def _count_canonical(text: str) -> int:
    """Count characters of canonical text: a line break is two (ruling: text-positions)."""
    return len(_BREAK.sub("\r\n", text))


def _find_coding(source: Source) -> Coding | None:
    try:
        return find_coding(source)
    except PartNotSupported:
        return None


def _read_pieces(source: Source) -> Iterator[bytes]:
    for start in range(0, source.length, _PIECE):
        yield source.read_bytes(start, min(start + _PIECE, source.length))


# Parts that are recorded here
# ----------------------------


def list_recorded_parts(registry: Registry, full: Identifier) -> Iterator[RecordedPart]:
    """List the parts of a version and format that this registry itself names.

    `full` names them. It reads every record. Damaged records are left out.
    """
    bare = str(full.resource).partition(":")[2]
    following: str | None = ""
    while following is not None:
        rows, following = scan_readable(registry.records, following, _LAST, limit=_PAGE)
        for row in rows:
            if isinstance(row, DamagedRecord):
                continue
            for place, text in _list_texts(registry, row):
                part = _find_part(text, bare, full)
                if part is not None:
                    yield RecordedPart(identifier=str(row.name), place=place, part=part)


def _list_texts(registry: Registry, row: ScannedRecord) -> Iterator[tuple[str, str]]:
    """Yield the texts of a record that may name a part, each with its place."""
    record = row.record
    for about in (record.about, *(one.about for one in record.narrower)):
        if about is not None:
            yield from (("relation", one.value) for one in about.relations)
    for narrow in record.narrower:
        if narrow.part:
            yield "description", spell_level(row.name, narrow.level)
    yield from (("location", one.uri) for one in record.locations)
    yield from (("value", one.data) for one in record.values)
    yield from _list_members(registry, record)


def _list_members(registry: Registry, record: Record) -> Iterator[tuple[str, str]]:
    """Yield the members of the newest version of a collection."""
    newest = record.newest
    for held in newest.representations if newest and not record.tombstone else ():
        if held.media_type != collection.MEDIA_TYPE or held.length > collection.LARGEST:
            continue
        try:
            found = collection.load_collection(registry.bytes.read_bytes(held))
        except PerdureError:
            continue
        for number, member in enumerate(found.members, 1):
            yield f"member {number}", member.identifier


def _find_part(text: str, bare: str, full: Identifier) -> str | None:
    """Return the part of `full` that a text names, or None."""
    at = text.find(bare)
    if at < 0:
        text = unquote(text)
        at = text.find(bare)
    if at < 0:
        return None
    scheme = str(full.resource)[: -len(bare)]
    rest = text[at + len(bare) :]
    end = _END.search(rest)
    rest = unquote(rest[: end.start()] if end else rest)
    mark = _MARK.search(rest)
    if mark is None:
        return None
    name = f"{scheme}{bare}{rest[: mark.start()]}"
    try:
        whole = split_part(name).identifier
    except PerdureError:
        return None
    if whole.resource != full.resource:
        return None
    number, format = read_qualifiers(whole)
    version, own = read_qualifiers(full)
    if number not in (None, version) or (format and own and not same_format(format, own)):
        return None
    return rest[mark.end() :] or None
