"""The parts that a correction affects: they are counted in the characters of a text.

How it works: `list_recorded_parts` reads the records of the registry and its collections, and lists
those that name a part of the corrected resource: in a relation, a location, a value of a handle, a
description of the part, or as a member. Citations elsewhere are not known here.
`perdure.reading.comparing` compares the characters themselves.

What must stay true: nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier
from perdure.ids.named_parts import split_part
from perdure.model import collection
from perdure.model.records import Record
from perdure.policy.levels import spell_level
from perdure.policy.naming import read_qualifiers, same_format
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.registry import Registry

_PAGE = 500
_MARK = re.compile(r"#|\?part=|&part=")
_END = re.compile(r"[\s\"'<>]")


class RecordedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a resource that something in this registry names."""

    identifier: str
    """The name of the record, or of the collection."""
    place: str
    """`relation`, `description`, `location`, `value` or `member 7`."""
    part: str
    """The part, as it is written there."""


def list_recorded_parts(
    registry: Registry, full: Identifier, *, report: Callable[[Corrupt], None]
) -> Iterator[RecordedPart]:
    """List the parts of a version and format that this registry itself names.

    `full` names them. It reads every record. Damaged records are passed to `report` and left out.
    """
    bare = str(full.resource).partition(":")[2]
    following: str | None = ""
    while following is not None:
        rows, following = scan_readable(registry.records, following, None, limit=_PAGE)
        for row in rows:
            if isinstance(row, DamagedRecord):
                report(row.error)
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
