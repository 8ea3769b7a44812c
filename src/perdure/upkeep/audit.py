"""Audit: compare promises with the bytes on the disk.

How it works: `verify_digests` hashes representations again, a page of records at a time and in the
order of their bytes in the segments. `rebuild_index` reads the segments from the first to the last
and recreates the identifier-to-bytes part of the registry, without reading the old one.

What must stay true: nothing here changes a segment; a finding names the identifier and the place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.errors.segment_corruption import HeadContradictory
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet, make_set
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Record, Representation, Tombstone, Version
from perdure.model.references import list_references
from perdure.policy.correcting import apply_correction, replace_representation
from perdure.policy.erasing import mark_erased
from perdure.policy.naming import contains_representation, qualify_identifier, spell_name
from perdure.policy.rules import bury_version, with_representations
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.storage.ports import Bytes, KeptCorrection, KeptRecord, Records, Renewal
from perdure.storage.reference_hashes import reference_hash

_PAGE = 1000
_Waiting = dict[tuple[str, int, str], list[KeptCorrection]]
"""Corrections that were read before their bytes, by key, version and format."""
LAST_KEY = "\U0010ffff"
"""Behind all keys."""
_AGAIN = "the next write, or 'perdure erase' again, finishes an erasure"


class KeptRepresentation(NamedTuple):
    """A representation, with its fully qualified name."""

    identifier: Identifier
    version: Version
    representation: Representation


def verify_digests(
    records: Records, held: Bytes, *, within: Identifier | NameSet | None = None
) -> Iterator[IntegrityFinding]:
    """Hash every representation again, or those of a set of names; one finding for each.

    Withdrawn bytes are checked too: they are kept, though they are not served. Of what was erased,
    the bytes that are left are checked.
    """
    for one in walk_representations(records, within=within):
        yield (
            one
            if isinstance(one, IntegrityFinding)
            else check_digest(held, one.identifier, one.representation)
        )


def walk_representations(
    records: Records, *, within: Identifier | NameSet | None = None
) -> Iterator[KeptRepresentation | IntegrityFinding]:
    """Yield every representation, or those of a set of names, and a finding for each record that
    cannot be read. Each page of records comes in the order of its bytes on the disk.
    """
    names = None if within is None else make_set(within)
    for page in _walk_pages(records, names):
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
    for page in _walk_pages(records, None if within is None else make_set(within)):
        yield from page


def _walk_pages(
    records: Records, names: NameSet | None
) -> Iterator[list[ScannedRecord | IntegrityFinding]]:
    low, high = (names.low, names.end) if names else ("", LAST_KEY)
    following: str | None = low
    while following is not None:
        rows, following = read_page(records, following, high, limit=_PAGE)
        yield [
            row
            for row in rows
            if isinstance(row, IntegrityFinding) or names is None or names.covers_resource(row.name)
        ]


def read_page(
    records: Records, low: str, high: str, *, limit: int
) -> tuple[list[ScannedRecord | IntegrityFinding], str | None]:
    """Read at most `limit` records, with a finding for each that cannot be read.

    The second value is the key from which to read on, or None at the end.
    """
    rows, following = scan_readable(records, low, high, limit=limit)
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
    ]
    if names is None or not names.has_representations:
        return found
    return [one for one in found if contains_representation(names, one.identifier)]


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


class RebuiltSegment(msgspec.Struct, frozen=True):
    """Progress of a rebuild, reported for each segment."""

    segment: int
    records: int
    problem: str | None = None
    """The places that could not be read, and the reasons."""
    last_day: str = ""
    """The last day of its records, such as `2026/11/22`."""


class Claims(Protocol):
    """The places in the segments, as an older registry knows them."""

    def contradict(self, held: Representation, key: str, version: int) -> bool:
        """Return True if it has something else than this key, version and format at the place."""

    def confirm(self, held: Representation, key: str, version: int) -> bool:
        """Return True if it has exactly this there, and so gives it to the new registry."""


class NoClaims:
    """The claims if no older registry is known."""

    def contradict(self, _held: Representation, _key: str, _version: int) -> bool:
        return False

    def confirm(self, _held: Representation, _key: str, _version: int) -> bool:
        return False


_NO_CLAIMS = NoClaims()


def rebuild_index(
    held: Bytes, journal: Renewal, *, now: str, claims: Claims = _NO_CLAIMS
) -> Iterator[RebuiltSegment]:
    """Fill an empty registry from the segments.

    Identifiers without bytes, locations, aliases, metadata and tokens are in no segment; they come
    from a backup. Serial numbers continue after those found. If a segment is damaged, reading goes
    on at the next complete record. Bytes that `claims` confirms are left to the caller, unless they
    were corrected.
    """
    waiting: _Waiting = {}
    for number in held.list_numbers():
        yield _rebuild_segment(held, journal, number, now, (claims, waiting))
    if waiting:  # for bytes that were left to the caller, perhaps
        replay_some(held, journal, claims=claims, waiting=waiting)


def replay_some(
    held: Bytes,
    journal: Renewal,
    *,
    claims: Claims,
    waiting: _Waiting | None = None,
    is_wanted: Callable[[Representation], bool] = lambda _: False,
) -> None:
    """Read the segments once more, and repeat the bytes that are wanted or have corrections."""
    awaited: _Waiting = {} if waiting is None else waiting
    for number in held.list_numbers():
        journal.begin_batch()
        references: list[tuple[int, str]] = []
        with suppress(Corrupt):  # a missing segment was reported the first time, as is all below
            for kept in held.read_records(number):
                if isinstance(kept, Corrupt) or kept.representation is None:
                    continue
                with suppress(PerdureError, ValueError):
                    identifier = parse(kept.name)
                    key = identifier.key
                    place = (key, kept.version, kept.representation.format)
                    if place in awaited or is_wanted(kept.representation):
                        _check_head(kept, identifier, key, claims)
                        references += _replay_record(journal, kept, identifier, key, awaited)
        if references:
            journal.add_references(references)
        journal.commit_batch()


def _rebuild_segment(
    held: Bytes, journal: Renewal, number: int, now: str, known: tuple[Claims, _Waiting]
) -> RebuiltSegment:
    claims, waiting = known
    count, end, last_day = 0, 0, ""
    problems: list[str] = []
    references: list[tuple[int, str]] = []
    journal.begin_batch()
    try:
        for kept in held.read_records(number):
            if isinstance(kept, Corrupt):
                problems.append(str(kept))
                continue
            end = kept.end
            try:
                identifier = parse(kept.name)
                key = identifier.key
                _check_head(kept, identifier, key, claims)
                one = kept.representation
                if one is None or not claims.confirm(one, key, kept.version):
                    references += _replay_record(journal, kept, identifier, key, waiting)
                count += 1
                last_day = max(last_day, kept.at[:10].replace("-", "/"))
            except (PerdureError, ValueError) as error:  # a damaged name, for example
                problems.append(f"segment {number}, the record that ends at {kept.end}: {error}")
            if len(references) >= _PAGE:  # one by one, each would be a row of its own
                journal.add_references(references)
                references.clear()
    except Corrupt as error:  # the segment is missing
        problems.append(str(error))
    journal.add_references(references)
    journal.save_segment(number, end, now, grows=False)
    journal.commit_batch()
    journal.tidy_up()
    return RebuiltSegment(number, count, "; ".join(problems) or None, last_day)


def _check_head(kept: KeptRecord, identifier: Identifier, key: str, claims: Claims) -> None:
    """Raise Corrupt if the values in the head of a record contradict each other, or the registry
    that is rebuilt."""
    held = kept.representation
    if held is None:
        is_sound = kept.name == str(identifier.resource)
    else:
        full = qualify_identifier(identifier.resource, kept.version, held.format)
        is_sound = kept.version > 0 and kept.name == str(full)
        is_sound &= not claims.contradict(held, key, kept.version)
    if not is_sound:
        raise HeadContradictory(
            identifier=kept.name, version=kept.version, format=held.format if held else None
        )


def _replay_record(
    journal: Renewal, kept: KeptRecord, identifier: Identifier, key: str, waiting: _Waiting
) -> Iterator[tuple[int, str]]:
    """Repeat what a record of a segment says, and return the references of the changed record."""
    known = journal.find_record(key)
    record = known or Record(name=spell_name(identifier), at=kept.at, by="rebuild")
    if kept.tombstone is not None:
        changed = _bury_version(record, kept.tombstone, kept.version)
    elif kept.representation is not None:
        version = record.version(kept.version)
        if version is not None and version.find_representation(kept.representation.format):
            return iter(())
        changed = with_representations(record, kept.version, (kept.representation,), kept.at)
        for correction in waiting.pop((key, kept.version, kept.representation.format), ()):
            changed = _correct_version(changed, kept.version, correction) or changed
    elif kept.correction is not None:
        corrected = _correct_version(record, kept.version, kept.correction)
        if corrected is None:  # its bytes are in a later segment
            place = (key, kept.version, kept.correction.format)
            waiting.setdefault(place, []).append(kept.correction)
            return iter(())
        changed = corrected
    else:
        return iter(())
    changed = mark_erased(changed)
    journal.put_record(key, changed)
    return ((reference_hash(one), key) for one in list_references(changed))


def _correct_version(record: Record, number: int, kept: KeptCorrection) -> Record | None:
    """Apply a correction to the bytes of a version, or return None if they are not there."""
    version = record.version(number)
    held = version.find_representation(kept.format) if version else None
    if version is None or held is None:
        return None
    corrected = apply_correction(held, kept.correction)
    return replace_representation(record, version, held, corrected)


def _bury_version(record: Record, tombstone: Tombstone, version: int) -> Record:
    """Add a tombstone. Its bytes may come later, because they can be in another segment."""
    if not version:
        return msgspec.structs.replace(record, tombstone=tombstone)
    return bury_version(record, version, tombstone)
