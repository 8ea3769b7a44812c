"""The highest version, and the versions around one (RFC 5829). Pure.

How it works: among the versions around one, a version counts if its bytes are held and it was not
withdrawn. It is named in the format of the given one if it has that, else in its first format. A
scheme that cannot name versions has none.

Specification: draft-mallery-urn-pdi-00 section 3.6.1 ("makes it possible to check for a higher
version"); RFC 5829 sections 3.2, 3.4 and 3.5.
"""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.model.queries import NO_NEIGHBOURS, VersionNeighbours
from perdure.model.records import Record, Version
from perdure.policy.naming import (
    has_format,
    qualify_identifier,
    read_qualifiers,
    same_format,
    select_format,
)


def list_versions(record: Record) -> tuple[int, ...]:
    """The known versions, here or elsewhere, in order."""
    held = {version.number for version in record.versions}
    elsewhere = {location.version for location in record.locations if location.version}
    return tuple(sorted(held | elsewhere))


def find_highest(record: Record, format: str | None = None) -> int | None:
    """The "highest version available", here or elsewhere (section 3.6.3).

    With a format, the highest version that has it, if any has. If no version is available, the last
    one that was, so that its tombstone answers; None if no version is known.
    """
    gone = {one.number for one in record.versions if one.tombstone}
    having = list_having(record, None) - gone
    if format not in (None, "*"):
        having = list_having(record, format) - gone or having
    return max(having or list_versions(record), default=None)


def list_having(record: Record, format: str | None) -> set[int]:
    """The numbers of the versions that have a format, or any format if it is None."""
    held = {
        one.number
        for one in record.versions
        if any(format is None or has_format(held, format) for held in one.representations)
    }
    return held | {
        one.version
        for one in record.locations
        if one.version and (format is None or not one.format or same_format(one.format, format))
    }


def find_held_version(identifier: Identifier, record: Record) -> Version | None:
    """Return the version whose bytes a name means, or None if no bytes are held.

    It is the version that is named, withdrawn or not; else the highest that has the named format,
    else the highest.  # ruling: pdi-format-without-version
    """
    number, format = read_qualifiers(identifier)
    if number is not None:
        return record.version(number)
    having = (
        one
        for one in reversed(record.versions)
        if one.tombstone is None
        and format not in (None, "*")
        and any(has_format(held, str(format)) for held in one.representations)
    )
    return next(having, record.newest)


def find_neighbours(
    identifier: Identifier, record: Record, number: int, format: str
) -> VersionNeighbours:
    """Return the versions around a version, which has a number and a format."""
    if len(record.versions) < 2 or record.tombstone is not None:
        return NO_NEIGHBOURS
    before = after = latest = None
    for version in record.versions:
        if version.tombstone or not version.representations or version.number == number:
            continue
        if version.number < number:
            if before is None or version.number > before.number:
                before = version
            continue
        if after is None or version.number < after.number:
            after = version
        if latest is None or version.number > latest.number:
            latest = version
    return VersionNeighbours(
        predecessor=_name_version(identifier, before, format),
        successor=_name_version(identifier, after, format),
        latest=_name_version(identifier, latest, format),
    )


def list_relations(around: VersionNeighbours) -> tuple[tuple[str, Identifier], ...]:
    """List the versions around one, each after its relation in RFC 5829."""
    rows = (
        ("predecessor-version", around.predecessor),
        ("successor-version", around.successor),
        ("latest-version", around.latest),
    )
    return tuple((relation, one) for relation, one in rows if one is not None)


def _name_version(
    identifier: Identifier, version: Version | None, format: str
) -> Identifier | None:
    if version is None:
        return None
    held = next(iter(select_format(version.representations, format)), version.representations[0])
    named = qualify_identifier(identifier, version.number, held.format)
    return named if named.version == version.number else None
