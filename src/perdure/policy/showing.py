"""Records as readers may see them: nothing private, and of what was withdrawn only its tombstone.

How it works: `show_to_readers` hides locations that only private values state, also in revisions
from the time when they were public. Of withdrawn bytes
it hides digests and lengths, which could confirm a guess, unless they were kept on purpose; an
empty digest says so. After a silent withdrawal, it hides what people had said of the resource, too.
The read door and the history show no record that did not pass through it.
# ruling: tombstone-silence

What must stay true: hiding is for readers only; rules for writing see the stored record.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from msgspec.structs import replace

from perdure.ids import Identifier
from perdure.model.records import (
    WHOLE_RESOURCE,
    Level,
    Location,
    LocationDrift,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy.handles.values import hide_private_locations
from perdure.policy.naming import read_qualifiers
from perdure.policy.versions import list_versions


def show_to_readers(record: Record, current: Record | None = None) -> Record:
    """The record as readers may see it. For a past revision, `current` is the present one."""
    now = current or record
    shown = hide_private_locations(record, now)
    if now.tombstone is None and not any(one.tombstone for one in now.versions):
        return shown
    shown = silence_descriptions(shown, now)
    versions = tuple(_show_version(one, _find_ending(now, one.number)) for one in shown.versions)
    drifted = tuple(
        one for one in shown.drifted if _shows_digests(_find_ending(now, one.version or 0))
    )
    return replace(shown, versions=versions, drifted=drifted)


def silence_descriptions(record: Record, current: Record | None = None) -> Record:
    """The record without what people had said of what was withdrawn silently.

    For a past revision, `current` is the present one.
    """
    now = current or record
    ending = find_withdrawal(None, now)
    if ending is not None and ending.silent:
        return drop_descriptions(record)
    silent = {one.number for one in now.versions if one.tombstone and one.tombstone.silent}
    return drop_version_descriptions(record, silent) if silent else record


def hide_levels(
    record: Record, may_read: Callable[[Level], bool], has_open_bytes: Callable[[Level], bool]
) -> Record:
    """The record without the levels that a reader may not read.

    Digests and lengths are hidden of bytes that are not open, because a part of them is closed.
    """
    shown = record if may_read(WHOLE_RESOURCE) else _drop_whole(record)
    versions = (_hide_formats(one, may_read, has_open_bytes) for one in shown.versions)
    return replace(
        shown,
        versions=tuple(one for one in versions if one is not None),
        locations=tuple(one for one in shown.locations if may_read(_find_level_of(one))),
        drifted=tuple(one for one in shown.drifted if may_read(_find_level_of(one))),
        narrower=tuple(one for one in record.narrower if may_read(one.level)),
    )


def _drop_whole(record: Record) -> Record:
    """A record without what it says of the resource as a whole."""
    return replace(
        record,
        metadata={},
        about=None,
        attached=(),
        aliases=(),
        values=(),
        broken=None,
        proposal=None,
    )


def _hide_formats(
    version: Version, may_read: Callable[[Level], bool], has_open_bytes: Callable[[Level], bool]
) -> Version | None:
    """A version with its readable formats, or None if nothing of it may be read."""
    shown = []
    for held in version.representations:
        level = Level(version=version.number, format=held.format)
        if has_open_bytes(level):
            shown.append(held)
        elif may_read(level):
            shown.append(replace(held, sha512="", length=0, original="", blanks=()))
    if not shown and not may_read(Level(version=version.number)):
        return None
    return replace(version, representations=tuple(shown))


def _find_level_of(there: Location | LocationDrift) -> Level:
    return Level(version=there.version, format=there.format)


def drop_descriptions(record: Record) -> Record:
    """A record without anything that people had said of the resource, at any level.

    The reason why a location was broken tells its address.
    """
    return replace(
        record,
        metadata={},
        targets=(),
        about=None,
        attached=(),
        narrower=(),
        values=(),
        locations=(),
        drifted=(),
        broken=None,
        versions=tuple(replace(one, broken=None) for one in record.versions),
    )


def drop_version_descriptions(record: Record, numbers: Set[int]) -> Record:
    """A record without anything that people had said of these versions alone."""
    return replace(
        record,
        narrower=tuple(one for one in record.narrower if one.version not in numbers),
        locations=tuple(one for one in record.locations if one.version not in numbers),
        drifted=tuple(one for one in record.drifted if one.version not in numbers),
        versions=tuple(
            replace(one, broken=None) if one.number in numbers else one for one in record.versions
        ),
    )


def find_withdrawal(identifier: Identifier | None, record: Record) -> Tombstone | None:
    """Why the resource, or the version that a name names, is withdrawn; None if it is not."""
    if record.tombstone is not None:
        return record.tombstone
    number = read_qualifiers(identifier)[0] if identifier is not None else None
    if number is not None:
        return _find_ending(record, number)
    if record.locations or record.newest is not None:
        return None
    return _find_ending(record, max(list_versions(record), default=0))


def _find_ending(record: Record, number: int) -> Tombstone | None:
    version = record.version(number)
    return record.tombstone or (version.tombstone if version else None)


def _shows_digests(ending: Tombstone | None) -> bool:
    return ending is None or ending.keeps_digest


def _show_version(version: Version, ending: Tombstone | None) -> Version:
    if ending is None:
        return version
    shown = tuple(_show_representation(one, ending) for one in version.representations)
    return replace(version, representations=shown)


def _show_representation(held: Representation, ending: Tombstone) -> Representation:
    if not ending.keeps_digest:
        return replace(held, sha512="", length=0, original="", blanks=())
    return replace(held, sha512=held.original or held.sha512, original="")
