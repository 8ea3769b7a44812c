"""Copies and documents that remain after a withdrawal: the same bytes under other names, and
documents about what is withdrawn, or that contain it. Pure.

How it works: both are found by the references of records (`perdure.model.references`). Every
interface that withdraws shows them. They stay as they are.  # ruling: tombstone-silence
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple, Protocol

from perdure.ids import Identifier, parse
from perdure.model.records import Record, Representation
from perdure.model.target_references import TargetUse
from perdure.policy import naming

MOST_LISTED = 1000
"""Names in each list: other commands wait while they are looked for."""
_MOST_SOUGHT = 2 * MOST_LISTED  # records with a reference, some of which were withdrawn


class ReferringRecords(Protocol):
    """The look-ups that this needs; every store of records has them."""

    def find_record(self, key: str) -> Record | None:
        """The current revision of a record."""

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        """Keys of at most so many records that may have this reference."""


class Remaining(NamedTuple):
    """The names that remain, at most `MOST_LISTED` of each kind."""

    copies: tuple[str, ...] = ()
    """Other names under which the same bytes are still held."""
    written_about: tuple[str, ...] = ()
    """Documents about it that are still served, such as signatures and composites."""
    is_cut: bool = False
    """True if there are more than these lists name."""


def list_remaining(
    records: ReferringRecords, identifier: Identifier, record: Record, version: int | None
) -> Remaining:
    """List what remains if a version of a record is withdrawn, or all if `version` is None."""
    copies = tuple(islice(_list_copies(records, identifier, record, version), MOST_LISTED + 1))
    about = tuple(islice(_list_written_about(records, identifier, version), MOST_LISTED + 1))
    is_cut = max(len(copies), len(about)) > MOST_LISTED
    return Remaining(copies[:MOST_LISTED], about[:MOST_LISTED], is_cut)


def list_representations(
    record: Record, version: int | None
) -> Iterator[tuple[int, Representation]]:
    """Yield the representations of a version, or of all versions, with its number."""
    for one in record.versions:
        if version in (None, one.number):
            yield from ((one.number, held) for held in one.representations)


def _list_copies(
    records: ReferringRecords, identifier: Identifier, record: Record, version: int | None
) -> Iterator[str]:
    withdrawn = {(number, held.format) for number, held in list_representations(record, version)}
    for digest in dict.fromkeys(one.sha512 for _, one in list_representations(record, version)):
        for key in records.find_referring(f"sha512:{digest}", limit=_MOST_SOUGHT):
            is_same = key == identifier.key
            other = record if is_same else records.find_record(key)
            if other is None or other.tombstone:
                continue
            name = naming.identify_record(key, other)
            for one in other.versions:
                for held in one.representations if one.tombstone is None else ():
                    is_withdrawn = is_same and (one.number, held.format) in withdrawn
                    if held.sha512 == digest and not is_withdrawn:
                        yield str(naming.qualify_identifier(name, one.number, held.format))


def _list_written_about(
    records: ReferringRecords, identifier: Identifier, version: int | None
) -> Iterator[str]:
    references = (f"{kind}:{identifier.key}" for kind in TargetUse)
    sought = (records.find_referring(one, limit=_MOST_SOUGHT) for one in references)
    for key in chain.from_iterable(sought):
        record = records.find_record(key)
        if record is None or record.tombstone or key == identifier.key:
            continue
        targets = (one for one in map(parse, record.targets) if one.key == identifier.key)
        if any(version is None or one.version in (None, version) for one in targets):
            yield str(naming.identify_record(key, record))
