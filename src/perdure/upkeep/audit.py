"""Audit: compare promises with the bytes on the disk.

How it works: `verify_digests` hashes representations again, a page of records at a time and in the
order of their bytes in the segments. `rebuild_index` reads the segments from the first to the last
and recreates the identifier-to-bytes part of the registry, without reading the old one.

What must stay true: nothing here changes a segment; a finding names the identifier and the place.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier, parse
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record, Representation, Tombstone, Version
from perdure.policy.naming import list_references, qualify_identifier, spell_name
from perdure.policy.rules import bury_version, with_representations
from perdure.storage.ports import Records, Renewal
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.storage.segments import directory as segment
from perdure.storage.segments import warc
from perdure.storage.segments.directory import Segments

_PAGE = 1000
_LAST = "\U0010ffff"


class KeptRepresentation(NamedTuple):
    """A representation, with its fully qualified name."""

    identifier: Identifier
    version: Version
    representation: Representation


def verify_digests(
    records: Records, held: Segments, *, within: Identifier | None = None
) -> Iterator[IntegrityFinding]:
    """Hash every representation again, or those of one interval or pattern; one finding for each.

    Withdrawn bytes are checked too: they are kept, though they are not served.
    """
    for one in walk_representations(records, within=within):
        yield (
            one
            if isinstance(one, IntegrityFinding)
            else _check_digest(held, one.identifier, one.representation)
        )


def walk_representations(
    records: Records, *, within: Identifier | None = None
) -> Iterator[KeptRepresentation | IntegrityFinding]:
    """Yield every representation, or those of one interval or pattern, and a finding for each
    record that cannot be read. Each page of records comes in the order of its bytes on the disk.
    """
    low, high = within.key_range() if within else ("", _LAST)
    following: str | None = low
    while following is not None:
        batch, following = scan_readable(records, following, high, limit=_PAGE)
        found: list[KeptRepresentation] = []
        for row in batch:
            if isinstance(row, DamagedRecord):
                yield _make_finding(row.error.identifier, str(row.error))
                continue
            try:
                if within is None or _is_within(within, row.name):
                    found += _list_kept(row)
            except PerdureError as error:  # a damaged format, say
                yield _make_finding(str(row.name), str(error))
        yield from sorted(found, key=_place_of)


def _list_kept(row: ScannedRecord) -> list[KeptRepresentation]:
    return [
        KeptRepresentation(qualify_identifier(row.name, version.number, one.format), version, one)
        for version in row.record.versions
        for one in version.representations
    ]


def _make_finding(name: str, problem: str) -> IntegrityFinding:
    return IntegrityFinding(identifier=name, segment=0, offset=0, length=0, problem=problem)


def _place_of(one: KeptRepresentation) -> tuple[int, int]:
    return one.representation.segment, one.representation.offset


def _is_within(pattern: Identifier, name: Identifier) -> bool:
    return pattern.is_interval or pattern.resource.matches(name) or pattern.resource == name


def _check_digest(held: Segments, identifier: Identifier, one: Representation) -> IntegrityFinding:
    problem = None
    try:
        digest = hashlib.sha512()
        for piece in held.read_chunks(one.segment, one.offset, one.length):
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


def rebuild_index(root: Path, journal: Renewal, *, now: str) -> Iterator[RebuiltSegment]:
    """Fill an empty registry from the segments of `root`.

    Identifiers without bytes, locations, aliases, metadata and tokens are in no segment; they come
    from a backup. Serial numbers continue after those found. If a segment is damaged, reading goes
    on at the next complete record.
    """
    for number in segment.list_segments(root):
        yield _rebuild_segment(root, journal, number, now)


def _rebuild_segment(root: Path, journal: Renewal, number: int, now: str) -> RebuiltSegment:
    path = Segments(root).find_path(number)
    count, end = 0, 0
    problems: list[str] = []
    journal.begin_batch()
    with path.open("rb") as file:
        for found in warc.read_around_damage(file, where=path.name):
            if isinstance(found, Corrupt):
                problems.append(str(found))
                continue
            end = found.end
            try:
                _replay_record(journal, number, found, file.fileno())
                count += 1
            except (PerdureError, msgspec.MsgspecError, ValueError) as error:  # a damaged name, say
                problems.append(f"{path.name} at offset {found.offset}: {error}")
    journal.save_segment(number, end, now, grows=False)
    journal.commit_batch()
    journal.tidy_up()
    return RebuiltSegment(number, count, "; ".join(problems) or None)


def _replay_record(journal: Renewal, number: int, found: warc.SegmentRecord, fd: int) -> None:
    block = found.block
    identifier = parse(block.uri)
    known = journal.find_record(identifier.key)
    record = known or Record(name=spell_name(identifier), at=block.at, by="rebuild")
    if found.type == "metadata":
        text = os.pread(fd, block.length, found.offset)
        changed = _bury_version(record, msgspec.json.decode(text, type=Tombstone), block.version)
    else:
        media_type, _, charset = block.media_type.partition(";charset=")
        one = Representation(
            format=block.format,
            media_type=media_type,
            charset=charset or None,
            language=block.language,
            length=block.length,
            sha512=block.sha512,
            segment=number,
            offset=found.offset,
        )
        held = record.version(block.version)
        if held is not None and held.find_representation(block.format):
            return
        changed = with_representations(record, block.version, (one,), block.at)
    journal.put_record(identifier.key, changed)
    journal.add_references(
        (reference_hash(one), identifier.key) for one in list_references(changed)
    )


def _bury_version(record: Record, tombstone: Tombstone, version: int) -> Record:
    """Add a tombstone. Its bytes may come later, because they can be in another segment."""
    if not version:
        return msgspec.structs.replace(record, tombstone=tombstone)
    return bury_version(record, version, tombstone)
