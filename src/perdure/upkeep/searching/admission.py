"""Admission of the entries that an index found: each is resolved through the read door.

How it works: the record of an entry is read, and its name resolved for the reader. The words to
compare come from the record as the reader sees it, and from bytes that the reader may have. A
document about others (a signature, an assertion) is admitted only if the reader may read all of
those, since it may repeat their words. A capture is looked up in the archive that the reader may
read.

What must stay true: of an entry that is not admitted, nothing is used.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, parse
from perdure.ids.keys import spell_key
from perdure.model.queries import Fetch, Query, Reader
from perdure.model.records import LOCAL, Level, Record, Representation
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.policy.searching.described import describe_words
from perdure.policy.searching.matching import SearchedText
from perdure.reading.resolved import Resolved
from perdure.reading.targeting import is_open
from perdure.registry import Registry
from perdure.upkeep.own_captures import OwnCaptures, name_capture
from perdure.upkeep.searching.capture_table import read_key
from perdure.upkeep.searching.capture_texts import read_capture_words
from perdure.upkeep.searching.describing import describe_held
from perdure.upkeep.searching.index_reader import IndexReader
from perdure.upkeep.searching.text_index import Entry


class AdmittedEntry(NamedTuple):
    """An entry whose words the reader may see, and what they are read from."""

    entry: Entry
    name: Identifier
    at: str
    """When the document was deposited, the record last changed, or the capture made."""
    media_type: str
    """Empty if it is a record without documents."""
    described: dict[str, SearchedText]
    """The texts of its description, by their fields."""
    held: Representation | None = None
    text: SearchedText | None = None
    """The text of a capture, which has no parts."""


class Admission:
    """Admits entries for one reader."""

    def __init__(self, registry: Registry, index: IndexReader, reader: Reader) -> None:
        self._registry = registry
        self._index = index
        self._reader = reader
        self.has_rules = reader.name != LOCAL and registry.reading.rules.refresh()
        """True if there are reading rules that may apply to the reader."""

    def admit(self, entry: Entry | None) -> AdmittedEntry | None:
        """Return an entry as the reader may see it now, or None."""
        if entry is None:
            return None
        try:
            captured = read_key(entry)
            if captured is not None:
                return self._find_captured(entry, *captured)
            return self._resolve_entry(entry)
        except PerdureError:  # withdrawn, erased, closed or damaged since, or not there any more
            return None

    @cached_property
    def hides_captures(self) -> bool:
        """True if captures that are indexed may be closed to the reader, or taken down since."""
        if not self._index.captures.has_captures():
            return False
        lines = self._registry.archive.withheld.list_lines()
        return not self._own.is_open or len(lines) != self._index.captures.count_takedowns()

    @cached_property
    def _own(self) -> OwnCaptures:
        return OwnCaptures(self._registry, self._reader)

    def _find_captured(self, entry: Entry, uri: str, time: str) -> AdmittedEntry | None:
        capture = self._own.find_capture(uri, time)
        if capture is None:
            return None
        read = read_capture_words(self._registry.parts, self._own.archive, capture)
        return AdmittedEntry(
            entry,
            name_capture(self._registry, capture),
            capture.date,
            capture.media_type,
            {"title": read.title, "people": SearchedText(""), "metadata": SearchedText("")},
            text=read.text,
        )

    def _resolve_entry(self, entry: Entry) -> AdmittedEntry | None:
        stored = self._registry.records.find_record(entry.key)
        if stored is None or not self._may_read_targets(stored):
            return None
        name = identify_record(entry.key, stored)
        if entry.format:
            name = qualify_identifier(name, entry.version, entry.format)
        resolved = self._registry.reading.resolve(Query(identifier=name, reader=self._reader))
        record = resolved.require_known()
        held = None
        if entry.format:
            held = _find_held(resolved, entry)
            if held is None:
                return None
        elif record.tombstone is not None:
            return None
        if held is not None:
            said = describe_held(self._registry, name, record, entry.version, held)
        else:
            said = describe_words(record, Level())
        return AdmittedEntry(
            entry,
            name,
            _find_time(record, entry.version, held),
            strip_parameters(held.media_type) if held is not None else "",
            {field: SearchedText(text) for field, text in said.by_field()},
            held,
        )

    def _may_read_targets(self, record: Record) -> bool:
        """Return True if the reader may read what a document is about: it may repeat its words."""
        door = self._registry.reading
        return all(is_open(door, parse(one), self._reader) for one in record.targets)

    def is_open(self, key: str) -> bool:
        """Return True if no reading rule has to do with a record."""
        name = _spell_key(key)
        if name is None or self._registry.reading.governs_name(name):
            return False
        stored = self._registry.records.find_record(key)
        return stored is not None and not stored.targets


def _find_time(record: Record, number: int, held: Representation | None) -> str:
    """Return when a document was deposited, or its record last changed."""
    version = record.version(number)
    deposited = held.at if held is not None else ""
    return deposited or (version.at if version is not None else "") or record.at


def _find_held(resolved: Resolved, entry: Entry) -> Representation | None:
    """Return the document of an entry, if the reader may have its bytes."""
    step = resolved.require_step()
    version = resolved.require_known().version(entry.version)
    held = version.find_representation(entry.format) if version else None
    if held is None or version is None or version.tombstone is not None or not held.is_shown:
        return None
    if not isinstance(step, Fetch) or step.representation.sha512 != held.sha512:
        return None
    return held


def _spell_key(key: str) -> Identifier | None:
    """Return the name that a key spells, or None if only its record knows it."""
    with suppress(PerdureError):
        return parse(spell_key(key))
    return None
