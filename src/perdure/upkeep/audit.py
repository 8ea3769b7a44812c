"""Audit: compare promises with the bytes on the disk.

How it works: `verify_digests` hashes representations again, a page of records at a time and in the
order of their bytes in the segments. Of most records a location is all that is known. If another
check reads these too, they need not be read here (`bytes_only`): the store finds the others.

What must stay true: nothing here changes a segment; a finding names the identifier and the place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet, make_set
from perdure.model.commands import NOWHERE
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record, Representation, Version
from perdure.policy.naming import contains_representation, qualify_identifier
from perdure.reading.scanning import (
    DamagedRecord,
    ScannedRecord,
    scan_readable,
    split_numbered_locations,
)
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Records

_PAGE = 1000
_AGAIN = "the next write, or 'perdure erase' again, finishes an erasure"


class KeptRepresentation(NamedTuple):
    """A representation, with its fully qualified name."""

    identifier: Identifier
    version: Version
    representation: Representation


def verify_digests(
    records: Records,
    held: Bytes,
    *,
    within: Identifier | NameSet | None = None,
    bytes_only: bool = False,
) -> Iterator[IntegrityFinding]:
    """Hash every representation again, or those of a set of names; one finding for each.

    Withdrawn bytes are checked too: they are kept, though they are not served. Of erased documents,
    the remaining bytes are checked. With `bytes_only`, damage is not noticed in records that say
    that they have no bytes; `find_damaged` finds it.
    """
    for one in walk_representations(records, within=within, bytes_only=bytes_only):
        yield (
            one
            if isinstance(one, IntegrityFinding)
            else check_digest(held, one.identifier, one.representation)
        )


def walk_representations(
    records: Records, *, within: Identifier | NameSet | None = None, bytes_only: bool = False
) -> Iterator[KeptRepresentation | IntegrityFinding]:
    """Yield every representation, or those of a set of names, and a finding for each record that
    cannot be read. Each page of records comes in the order of its bytes on the disk.

    With `bytes_only`, records that say that they have no bytes are not read.
    """
    names = None if within is None else make_set(within)
    walk = _walk_bytes if bytes_only else _walk_pages
    for page in walk(records, names):
        found: list[KeptRepresentation] = []
        for row in page:
            if isinstance(row, IntegrityFinding):
                yield row
                continue
            try:
                found += list_kept(row, names)
            except PerdureError as error:  # a damaged format, say
                yield make_finding(str(row.name), str(error))
        yield from sorted(found, key=_place_of)


def walk_records(
    records: Records, *, within: Identifier | NameSet | None = None
) -> Iterator[ScannedRecord | IntegrityFinding]:
    """Yield every record, or those of a set of names, and a finding for each that cannot be
    read."""
    names = None if within is None else make_set(within)
    for page in _walk_pages(records, names, skips_locations=False):
        yield from page


def find_damaged(records: Records) -> Iterator[IntegrityFinding]:
    """Yield a finding for each record that cannot be read."""
    for page in _walk_pages(records, None):
        yield from (row for row in page if isinstance(row, IntegrityFinding))


def _walk_bytes(
    records: Records, names: NameSet | None
) -> Iterator[list[ScannedRecord | IntegrityFinding]]:
    """Yield the pages of records that may have bytes."""
    low, high = (names.low, names.end) if names else ("", None)
    following: str | None = low
    while following is not None:
        rows, following = read_page(records, following, high, limit=_PAGE, with_bytes=True)
        yield _select_rows(rows, names)


def _walk_pages(
    records: Records, names: NameSet | None, *, skips_locations: bool = True
) -> Iterator[list[ScannedRecord | IntegrityFinding]]:
    """Yield all pages; with `skips_locations`, only those that may have bytes or damage."""
    low, high = (names.low, names.end) if names else ("", None)
    following: str | None = low
    may_skip = skips_locations
    while following is not None:
        before = following
        if may_skip:
            following = _skip_locations(records, before, high)
            if following != before:
                continue
        rows, following = read_page(records, before, high, limit=_PAGE)
        may_skip = skips_locations and not any(
            isinstance(row, IntegrityFinding) or row.record.versions for row in rows
        )
        yield _select_rows(rows, names)


def _select_rows(
    rows: list[ScannedRecord | IntegrityFinding], names: NameSet | None
) -> list[ScannedRecord | IntegrityFinding]:
    """The records that belong to a set of names, and all that are damaged."""
    return [
        row
        for row in rows
        if isinstance(row, IntegrityFinding) or names is None or names.covers_resource(row.name)
    ]


def _skip_locations(records: Records, low: str, high: str | None) -> str | None:
    """Skip a page of records that are sound and have locations only.

    Return the key from which to read on, which is `low` if there are others, or None at the end.
    """
    lines = records.scan_lines(low, high, limit=_PAGE)
    if not lines or lines[-1][0] < low:
        return low
    keys, texts = zip(*lines, strict=True)
    if split_numbered_locations(keys, texts) is None:
        return low
    return keys[-1] + "\0" if len(lines) == _PAGE else None


def read_page(
    records: Records, low: str, high: str | None, *, limit: int, with_bytes: bool = False
) -> tuple[list[ScannedRecord | IntegrityFinding], str | None]:
    """Read at most `limit` records, with a finding for each that cannot be read.

    The second value is the key from which to read on, or None at the end. With `with_bytes`,
    records that have no bytes may be left out unchecked.
    """
    rows, following = scan_readable(records, low, high, limit=limit, with_bytes=with_bytes)
    found = [
        make_finding(row.error.identifier, str(row.error))
        if isinstance(row, DamagedRecord)
        else row
        for row in rows
    ]
    return found, following


def list_kept(row: ScannedRecord, names: NameSet | None = None) -> list[KeptRepresentation]:
    """The representations of a record that belong to a set, by default all.

    Raises PerdureError if one cannot be named.
    """
    found = [
        KeptRepresentation(qualify_identifier(row.name, version.number, one.format), version, one)
        for version in row.record.versions
        for one in version.representations
        if one.segment != NOWHERE or not _is_withdrawn(row.record, version)
    ]
    if names is None or not names.has_representations:
        return found
    return [one for one in found if contains_representation(names, one.identifier)]


def _is_withdrawn(record: Record, version: Version) -> bool:
    """Return True if a mirror may never have had the bytes of a version."""
    return bool(record.tombstone or version.tombstone)


def make_finding(name: str, problem: str) -> IntegrityFinding:
    """A problem that is at no place in the segments."""
    return IntegrityFinding(identifier=name, segment=0, offset=0, length=0, problem=problem)


def _place_of(one: KeptRepresentation) -> tuple[int, int]:
    return one.representation.segment, one.representation.offset


def check_digest(held: Bytes, identifier: Identifier, one: Representation) -> IntegrityFinding:
    """Hash the bytes of a representation again."""
    problem = None
    try:
        digest = hashlib.sha512()
        for piece in held.read_chunks(one):
            digest.update(piece)
        if digest.hexdigest() != one.sha512:
            problem = f"digest {digest.hexdigest()}, promised {one.sha512}"
            if one.erased:
                problem += (
                    f"; its erasure at {one.erased} was interrupted, or it is damaged: {_AGAIN}"
                )
    except (OSError, Corrupt) as error:
        problem = str(error)
    return IntegrityFinding(
        identifier=str(identifier),
        segment=one.segment,
        offset=one.offset,
        length=one.length,
        problem=problem,
        erased=one.erased,
    )
