"""Admission of the entries that an index found: each is resolved through the read door.

How it works: the record of an entry is read, and its name resolved for the reader. The words to
compare come from the record as the reader sees it, and from bytes that the reader may have. A
document about others (a signature, an assertion) is admitted only if the reader may read all of
those, since it may repeat their words.

What must stay true: of an entry that is not admitted, nothing is used.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.keys import spell_key
from perdure.model.queries import Fetch, Query, Reader
from perdure.model.records import LOCAL, Level, Record, Representation
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.policy.searching.described import describe_words
from perdure.policy.searching.matching import SearchedText
from perdure.reading.resolved import (
    Resolved,
)
from perdure.reading.targeting import is_open
from perdure.registry import Registry
from perdure.upkeep.searching.text_index import Entry


class AdmittedEntry(NamedTuple):
    """An entry whose words the reader may see, and what they are read from."""

    entry: Entry
    name: Identifier
    record: Record
    held: Representation | None
    described: dict[str, SearchedText]
    """The texts of its description, by their fields."""

    def find_time(self) -> str:
        """Return when the document was deposited, or the record last changed."""
        version = self.record.version(self.entry.version)
        deposited = self.held.at if self.held is not None else ""
        return deposited or (version.at if version is not None else "") or self.record.at


class Admission:
    """Admits entries for one reader."""

    def __init__(self, registry: Registry, reader: Reader) -> None:
        self._registry = registry
        self._reader = reader
        self.has_rules = reader.name != LOCAL and registry.reading.rules.refresh()
        """True if there are reading rules that may apply to the reader."""

    def admit(self, entry: Entry | None) -> AdmittedEntry | None:
        """Return an entry as the reader may see it now, or None."""
        if entry is None:
            return None
        try:
            return self._resolve_entry(entry)
        except PerdureError:  # withdrawn, erased, closed or damaged since, or not there any more
            return None

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
        level = Level(version=entry.version or None, format=entry.format or None)
        said = describe_words(record, level)
        return AdmittedEntry(
            entry, name, record, held, {one: SearchedText(text) for one, text in said.by_field()}
        )

    def _may_read_targets(self, record: Record) -> bool:
        """Return True if the reader may read what a document is about: it may repeat its words."""
        door = self._registry.reading
        return all(is_open(door, parse(one), self._reader) for one in record.targets)

    def is_open(self, key: str) -> bool:
        """Return True if no reading rule has to do with a record."""
        name = _spell_key(key)
        if name is None or self._registry.reading.rules.has_rules(name):
            return False
        stored = self._registry.records.find_record(key)
        return stored is not None and not stored.targets


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
