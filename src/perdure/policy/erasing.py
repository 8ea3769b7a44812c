"""Erasures: which bytes one is about, and what the record keeps of them. Pure.

How it works: an erasure follows a withdrawal. `list_erasable` says which representations it
overwrites, and `redact_record` removes from every revision of the record what could confirm a guess
at the bytes: their digests, also those that a location promised and, in a silent withdrawal, the
descriptions. The digest of a representation becomes that of the remaining bytes, so that
`verify` goes on checking them.  # ruling: tombstone-silence

What must stay true: no representation leaves its record, and none gets another length or place;
nothing that was erased before gets a digest back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from perdure.errors.naming import BlankOutside
from perdure.ids import Identifier
from perdure.model import stored
from perdure.model.records import (
    Blank,
    Location,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy.naming import qualify_identifier
from perdure.policy.showing import drop_descriptions, drop_version_descriptions


class Erasable(NamedTuple):
    """A representation, and the stretches of it that will be erased."""

    version: int
    held: Representation
    spans: tuple[tuple[int, int], ...]


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """The traces that an erasure leaves in the revisions of a record."""

    at: str
    digests: Mapping[tuple[int, str], str]
    """The SHA-512 of the remaining bytes, by version and format."""
    blanks: tuple[Blank, ...] = ()
    """The erased stretches. If it is empty, all bytes were erased."""
    keep_digest: bool = False
    silent: bool = False
    """Descriptions of the erased versions go, too."""
    is_whole: bool = False
    """The resource is withdrawn, so its own descriptions go with them."""


def list_erasable(
    identifier: Identifier, record: Record, version: int | None, blanks: tuple[Blank, ...]
) -> tuple[Erasable, ...]:
    """The representations of a version, or of all versions, that are not erased yet.

    Raises InvalidRequest if a stretch of `blanks` is not in the version.
    """
    found = tuple(
        Erasable(one.number, held, _list_spans(one.number, held, blanks))
        for one in record.versions
        for held in one.representations
        if version in (None, one.number)
    )
    for blank in blanks:
        if not any(_contains(one, blank) for one in found):
            name = qualify_identifier(identifier, blank.version, blank.format)
            raise BlankOutside(identifier=str(name), start=blank.start, end=blank.end)
    return tuple(one for one in found if one.spans and not one.held.is_erased)


def _list_spans(
    version: int, held: Representation, blanks: tuple[Blank, ...]
) -> tuple[tuple[int, int], ...]:
    if not blanks:
        return ((0, held.length),)
    return tuple(
        (one.start, one.end)
        for one in blanks
        if (one.version, one.format) == (version, held.format)
    )


def _contains(erasable: Erasable, blank: Blank) -> bool:
    named = (erasable.version, erasable.held.format) == (blank.version, blank.format)
    return named and 0 <= blank.start < blank.end <= erasable.held.length


def redact_record(record: Record, erasure: Erasure) -> Record:
    """A revision of a record without what could confirm a guess at the erased bytes."""
    gone = {
        held.sha512
        for one in record.versions
        for held in one.representations
        if (one.number, held.format) in erasure.digests and not held.is_erased
    }
    versions = tuple(_redact_version(one, erasure) for one in record.versions)
    changed = replace(record, versions=versions)
    if not erasure.keep_digest:
        drifted = tuple(
            replace(one, sha512=None, size=None) if one.sha512 in gone else one
            for one in record.drifted
        )
        places = _redact_locations(record.locations, gone)
        changed = replace(changed, locations=places, drifted=drifted)
    if erasure.silent:
        changed = _redact_descriptions(changed, erasure)
    return changed


def _redact_descriptions(record: Record, erasure: Erasure) -> Record:
    if erasure.is_whole:
        return drop_descriptions(record)
    return drop_version_descriptions(record, {number for number, _ in erasure.digests})


def redact_stored(text: str, erasure: Erasure) -> str:
    """`redact_record` for a stored revision."""
    record = stored.decode_stored(text)
    changed = redact_record(record, erasure)
    return text if changed == record else stored.encode_stored(changed).decode()


def _redact_version(version: Version, erasure: Erasure) -> Version:
    kept = tuple(
        _redact_representation(version.number, one, erasure) for one in version.representations
    )
    return replace(version, representations=kept)


def _redact_representation(version: int, held: Representation, erasure: Erasure) -> Representation:
    digest = erasure.digests.get((version, held.format))
    if digest is None or held.is_erased:
        return held
    blanks = tuple(
        one for one in erasure.blanks if (one.version, one.format) == (version, held.format)
    )
    return replace(
        held,
        sha512=digest,
        erased=erasure.at,
        blanks=(*held.blanks, *blanks) if blanks else (),
        original=(held.original or held.sha512) if erasure.keep_digest else "",
    )


def _redact_locations(locations: tuple[Location, ...], gone: set[str]) -> tuple[Location, ...]:
    return tuple(
        replace(one, sha512=None, size=None) if one.sha512 in gone else one for one in locations
    )


def note_erased(record: Record, version: int | None, at: str, by: str) -> Record:
    """Note in the tombstone of a version, or of the resource, that all bytes were erased."""

    def note(tombstone: Tombstone | None) -> Tombstone | None:
        return tombstone and replace(tombstone, erased=at, erased_by=by)

    versions = tuple(
        replace(one, tombstone=note(one.tombstone)) if version in (None, one.number) else one
        for one in record.versions
    )
    whole = record.tombstone if version is not None else note(record.tombstone)
    return replace(record, versions=versions, tombstone=whole)


def drop_false_erasures(record: Record) -> Record:
    """A record whose tombstones say that bytes were erased only if they are not held here.

    An export of another registry can say that it erased bytes that this one still has.
    """

    def state(tombstone: Tombstone | None, versions: tuple[Version, ...]) -> Tombstone | None:
        if tombstone is None or not tombstone.erased:
            return tombstone
        is_held = any(not held.is_erased for one in versions for held in one.representations)
        return replace(tombstone, erased="", erased_by="") if is_held else tombstone

    versions = tuple(
        replace(one, tombstone=state(one.tombstone, (one,))) for one in record.versions
    )
    whole = state(record.tombstone, record.versions)
    return replace(record, versions=versions, tombstone=whole)


def mark_erased(record: Record) -> Record:
    """Mark the representations whose tombstone says that they were erased, for a rebuild."""
    whole = record.tombstone.erased if record.tombstone else ""
    versions = tuple(_mark_version(one, whole) for one in record.versions)
    return replace(record, versions=versions)


def _mark_version(version: Version, whole: str) -> Version:
    at = whole or (version.tombstone.erased if version.tombstone else "")
    if not at:
        return version
    kept: Iterable[Representation] = (
        one if one.erased else replace(one, erased=at) for one in version.representations
    )
    return replace(version, representations=tuple(kept))
