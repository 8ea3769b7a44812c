"""Audit: compare promises with the bytes on the disk.

How it works: `verify_digests` hashes representations again, a page of records at a time and in the
order of their bytes in the segments. `rebuild_index` reads the segments from the first to the last
and recreates the identifier-to-bytes part of the registry, without reading the old one.

What must stay true: nothing here changes a segment; a finding names the identifier and the place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, make_set
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record, Representation, Tombstone, Version
from perdure.policy.naming import (
    contains_representation,
    list_references,
    qualify_identifier,
    spell_name,
)
from perdure.policy.rules import bury_version, with_representations
from perdure.storage.ports import Bytes, KeptRecord, Records, Renewal
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.scanning import DamagedRecord, ScannedRecord, scan_readable

_PAGE = 1000
_LAST = "\U0010ffff"


class KeptRepresentation(NamedTuple):
    """A representation, with its fully qualified name."""

    identifier: Identifier
    version: Version
    representation: Representation


def verify_digests(
    records: Records, held: Bytes, *, within: Identifier | NameSet | None = None
) -> Iterator[IntegrityFinding]:
    """Hash every representation again, or those of a set of names; one finding for each.

    Withdrawn bytes are checked too: they are kept, though they are not served.
    """
    for one in walk_representations(records, within=within):
        yield (
            one
            if isinstance(one, IntegrityFinding)
            else _check_digest(held, one.identifier, one.representation)
        )


def walk_representations(
    records: Records, *, within: Identifier | NameSet | None = None
) -> Iterator[KeptRepresentation | IntegrityFinding]:
    """Yield every representation, or those of a set of names, and a finding for each record that
    cannot be read. Each page of records comes in the order of its bytes on the disk.
    """
    names = None if within is None else make_set(within)
    low, high = (names.low, names.end) if names else ("", _LAST)
    following: str | None = low
    while following is not None:
        batch, following = scan_readable(records, following, high, limit=_PAGE)
        found: list[KeptRepresentation] = []
        for row in batch:
            if isinstance(row, DamagedRecord):
                yield _make_finding(row.error.identifier, str(row.error))
                continue
            try:
                found += _list_kept(names, row)
            except PerdureError as error:  # a damaged format, say
                yield _make_finding(str(row.name), str(error))
        yield from sorted(found, key=_place_of)


def _list_kept(names: NameSet | None, row: ScannedRecord) -> list[KeptRepresentation]:
    if names is not None and not names.covers_resource(row.name):
        return []
    found = [
        KeptRepresentation(qualify_identifier(row.name, version.number, one.format), version, one)
        for version in row.record.versions
        for one in version.representations
    ]
    if names is None or not names.has_representations:
        return found
    return [one for one in found if contains_representation(names, one.identifier)]


def _make_finding(name: str, problem: str) -> IntegrityFinding:
    return IntegrityFinding(identifier=name, segment=0, offset=0, length=0, problem=problem)


def _place_of(one: KeptRepresentation) -> tuple[int, int]:
    return one.representation.segment, one.representation.offset


def _check_digest(held: Bytes, identifier: Identifier, one: Representation) -> IntegrityFinding:
    problem = None
    try:
        digest = hashlib.sha512()
        for piece in held.read_chunks(one):
            digest.update(piece)
        if digest.hexdigest() != one.sha512:
            problem = f"digest {digest.hexdigest()}, promised {one.sha512}"
    except (OSError, Corrupt) as error:
        problem = str(error)
    return IntegrityFinding(
        identifier=str(identifier),
        segment=one.segment,
        offset=one.offset,
        length=one.length,
        problem=problem,
    )


class RebuiltSegment(msgspec.Struct, frozen=True):
    """Progress of a rebuild, reported for each segment."""

    segment: int
    records: int
    problem: str | None = None
    """The places that could not be read, and the reasons."""


def rebuild_index(held: Bytes, journal: Renewal, *, now: str) -> Iterator[RebuiltSegment]:
    """Fill an empty registry from the segments.

    Identifiers without bytes, locations, aliases, metadata and tokens are in no segment; they come
    from a backup. Serial numbers continue after those found. If a segment is damaged, reading goes
    on at the next complete record.
    """
    for number in held.list_numbers():
        yield _rebuild_segment(held, journal, number, now)


def _rebuild_segment(held: Bytes, journal: Renewal, number: int, now: str) -> RebuiltSegment:
    count, end = 0, 0
    problems: list[str] = []
    journal.begin_batch()
    try:
        for kept in held.read_records(number):
            if isinstance(kept, Corrupt):
                problems.append(str(kept))
                continue
            end = kept.end
            try:
                _replay_record(journal, kept)
                count += 1
            except (PerdureError, ValueError) as error:  # a damaged name, for example
                problems.append(f"segment {number}, the record that ends at {kept.end}: {error}")
    except Corrupt as error:  # the segment is missing
        problems.append(str(error))
    journal.save_segment(number, end, now, grows=False)
    journal.commit_batch()
    journal.tidy_up()
    return RebuiltSegment(number, count, "; ".join(problems) or None)


def _replay_record(journal: Renewal, kept: KeptRecord) -> None:
    identifier = parse(kept.name)
    known = journal.find_record(identifier.key)
    record = known or Record(name=spell_name(identifier), at=kept.at, by="rebuild")
    if kept.tombstone is not None:
        changed = _bury_version(record, kept.tombstone, kept.version)
    elif kept.representation is not None:
        version = record.version(kept.version)
        if version is not None and version.find_representation(kept.representation.format):
            return
        changed = with_representations(record, kept.version, (kept.representation,), kept.at)
    else:
        return
    journal.put_record(identifier.key, changed)
    journal.add_references(
        (reference_hash(one), identifier.key) for one in list_references(changed)
    )


def _bury_version(record: Record, tombstone: Tombstone, version: int) -> Record:
    """Add a tombstone. Its bytes may come later, because they can be in another segment."""
    if not version:
        return msgspec.structs.replace(record, tombstone=tombstone)
    return bury_version(record, version, tombstone)
