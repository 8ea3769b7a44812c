"""Equal names: two spellings of one encapsulated identifier name one resource.

How it works: most names are equal only if their keys are. A name that encapsulates an identifier of
another scheme is also found by its `equal_key`, in which that scheme has canonicalised the
identifier; each such record has a reference to it. Before this rule, two spellings could be minted
as two names. They stay two: each finds itself, and any other spelling finds the older one.

What must stay true (ruling: pdi-foreign-equal): a name that has a record finds that record.
"""

from __future__ import annotations

from typing import Protocol

from perdure.ids import Identifier
from perdure.model.records import IdentifiedRecord, Record
from perdure.model.references import EQUAL
from perdure.policy.naming import identify_record


class EqualNames(Protocol):
    """The look-ups that equality needs; every store of records has them."""

    def find_record(self, key: str) -> Record | None:
        """The current revision of a record."""

    def find_referring(self, reference: str) -> list[str]:
        """Keys of records that may have this reference."""

    def list_revisions(self, key: str) -> list[Record]:
        """All revisions of a record, the oldest first."""


def find_same_record(records: EqualNames, name: Identifier) -> IdentifiedRecord | None:
    """The record of a name or, if it has none, the oldest record of an equal name, or None."""
    record = records.find_record(name.key)
    return find_equal_record(records, name) if record is None else IdentifiedRecord(name, record)


def find_equal_record(records: EqualNames, name: Identifier) -> IdentifiedRecord | None:
    """The oldest record of a name that is equal to a name without a record, or None."""
    equal = name.equal_key
    return None if equal is None else _find_oldest(list_equal_records(records, equal), records)


def list_equal_records(records: EqualNames, equal: str) -> list[tuple[str, IdentifiedRecord]]:
    """The keys and records of all names with an `equal_key`."""
    found: list[tuple[str, IdentifiedRecord]] = []
    for key in records.find_referring(EQUAL + equal):
        record = records.find_record(key)  # may be another name with the same hash
        if record is not None and (name := identify_record(key, record)).equal_key == equal:
            found.append((key, IdentifiedRecord(name, record)))
    return found


def _find_oldest(
    found: list[tuple[str, IdentifiedRecord]], records: EqualNames
) -> IdentifiedRecord | None:
    if len(found) > 1:
        found.sort(key=lambda one: (records.list_revisions(one[0])[0].at, one[0]))
    return found[0][1] if found else None


def spell_alike(name: Identifier, found: Identifier) -> Identifier:
    """The found name, with the format and version of the name that was asked for."""
    if found.key == name.key:
        return name
    if name.format is None:
        return found.resource
    return found.resource.at(format=name.format, version=name.version)
