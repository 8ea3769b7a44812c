"""Levels of description: a resource, one version, one format or one part of it.

How it works: a name says what a description is about. In PDIs, `…/1` is the resource, `…/1.*.2` a
version in all its formats, `…/1.html` a format in all its versions, `…/1.html.2` one format of one
version, and `…/1.html.2#char=3,7` a part of that. A description stays at the level at which it was
given. A reader of a narrower level sees its own description, laid over those of the wider levels
that contain it, member by member (`lay_over`).  # ruling: version-metadata

What must stay true: a change at one level changes no other; a wider level never shows a narrower
description; descriptions that were set before there were levels are those of the resource.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from perdure.errors import NoSuchVersion, NotAcceptable
from perdure.errors.naming import PatternNotAllowed, VersionNotSaid
from perdure.ids import Identifier
from perdure.ids.named_parts import join_part, written_part
from perdure.model import description_checks
from perdure.model.about import About, Attachment
from perdure.model.commands import Outcome
from perdure.model.merging import lay_over
from perdure.model.plain_words import read_pairs
from perdure.model.records import (
    WHOLE_RESOURCE,
    Level,
    NarrowDescription,
    Record,
    Representation,
)
from perdure.policy.naming import (
    has_format,
    list_reading_aliases,
    qualify_identifier,
    read_qualifiers,
    same_format,
    select_format,
)
from perdure.policy.versions import list_versions


def find_level(identifier: Identifier, part: str | None = None) -> Level:
    """Return the level that a name names; `part` is a part that the name cannot include."""
    version, format = read_qualifiers(identifier)
    text = written_part(identifier) or part or ""
    return Level(version=version, format=None if format == "*" else format, part=text)


def read_described(identifier: Identifier, part: str | None = None) -> tuple[Identifier, Level]:
    """Return the resource that a name describes, and the level.

    Raises PatternNotAllowed if the name stands for several resources, MalformedIdentifier if it
    cannot have such a part.
    """
    identifier, beside = join_part(identifier, part)
    resource = identifier.resource
    if resource.is_pattern or resource.is_interval:
        raise PatternNotAllowed(identifier=str(identifier))
    level = find_level(identifier, beside)
    return (resource if identifier.is_pattern else identifier.whole), level


def settle_level(identifier: Identifier, record: Record, level: Level) -> Level:
    """Return the level to describe, with the version of a part.

    Raises NoSuchVersion or NotAcceptable if the record has no such version or format, and
    VersionNotSaid for a part of an open version. A format is accepted if a location may have it.
    """
    level = name_document(record, pin_part(identifier, record, level))
    _check_level(identifier, record, level)
    held = _list_held(record, level)
    if level.part and level.version is None and held and _can_name_versions(identifier):
        versions = tuple(str(qualify_identifier(identifier, *one)) for one in held)
        raise VersionNotSaid(identifier=str(identifier), versions=versions)
    return level


def require_level(identifier: Identifier, record: Record, level: Level) -> None:
    """Raise as `settle_level` if a line of an import describes a level that its record never had.

    A line does not list the formats of withdrawn versions and of locations that were broken, so
    their formats are accepted: every export can be imported again.
    """
    try:
        settle_level(identifier, record, level)
    except NotAcceptable:
        if not _may_have_had(record, level):
            raise


def _may_have_had(record: Record, level: Level) -> bool:
    """Return True if a level may have had a format that the record does not list."""
    if record.locations or record.drifted or record.broken is not None:
        return True
    within = (one for one in record.versions if level.version in (None, one.number))
    return any(not one.representations for one in within)


def pin_part(identifier: Identifier, record: Record, level: Level) -> Level:
    """Return the level of a part of an open version: in the only document, if there is only one.

    # ruling: part-version
    """
    if not level.part or level.version is not None or not _can_name_versions(identifier):
        return level
    held = _list_held(record, level)
    return replace(level, version=held[0][0], format=held[0][1]) if len(held) == 1 else level


def _can_name_versions(identifier: Identifier) -> bool:
    return identifier.resource.at(format="text", version=1).version is not None


def _list_held(record: Record, level: Level) -> list[tuple[int, str]]:
    """Return version and format of the held representations within a level."""
    return [
        (version.number, one.format)
        for version in record.versions
        if level.version in (None, version.number)
        for one in version.representations
        if level.format is None or has_format(one, level.format)
    ]


def name_document(record: Record, level: Level) -> Level:
    """Return the level with the format under which its document is held.

    A correction gives a document another format in names; it is the same document by both.
    """
    one = _find_document(record, level)
    return level if one is None else replace(level, format=one.format)


def _find_document(record: Record, level: Level) -> Representation | None:
    if level.format is None or level.version is None:
        return None
    version = record.version(level.version)
    held = select_format(version.representations, level.format) if version else ()
    return held[0] if held else None


def _check_level(identifier: Identifier, record: Record, level: Level) -> None:
    numbers = list_versions(record) or ((1,) if record.minted else ())
    if level.version is not None and level.version not in numbers:
        raise NoSuchVersion(identifier=str(identifier), version=level.version, versions=numbers)
    if level.format is None or _list_held(record, level):
        return
    elsewhere = [
        one.format or level.format
        for one in record.locations
        if level.version is None or one.version in (None, level.version)
    ]
    reserved = [record.minted] if record.minted and not record.versions else []
    if any(same_format(one, level.format) for one in (*elsewhere, *reserved)):
        return
    held = _list_held(record, Level(version=level.version))
    offered = sorted({one for _, one in held}.union(elsewhere, reserved))
    raise NotAcceptable(identifier=str(identifier), asked=level.format, offered=tuple(offered))


# Reading
# -------


def find_own(record: Record, level: Level) -> NarrowDescription:
    """Return the description of exactly this level; it may be empty."""
    if level == WHOLE_RESOURCE:
        return NarrowDescription(about=record.about, attached=record.attached)
    level = name_document(record, level)
    return next(
        (one for one in record.narrower if is_same_level(one, level)),
        NarrowDescription(version=level.version, format=level.format, part=level.part),
    )


def describe_own(record: Record, level: Level) -> About:
    """Return the description that was given at exactly this level, which a merge patch changes."""
    pairs = record.metadata if level == WHOLE_RESOURCE else {}
    return find_own(record, level).about or read_pairs(pairs)


def describe_level(record: Record, level: Level, derived: About | None = None) -> About:
    """Return the description that a reader of a level sees.

    If the resource has no description, `derived` takes the place of its description.
    """
    found = record.about or read_pairs(record.metadata)
    if derived is not None and found == About():
        found = derived
    for one in list_containing(record, level):
        found = lay_over(found, one.about or About())
    return found


def is_described(record: Record, level: Level) -> bool:
    """Return True if a reader of a level sees more than plain names and values."""
    containing = list_containing(record, level)
    return record.about is not None or any(one.about is not None for one in containing)


def is_resource_described(record: Record) -> bool:
    """Return True if the resource itself has a description."""
    return (record.about or read_pairs(record.metadata)) != About()


def list_attached(record: Record, level: Level) -> tuple[Attachment, ...]:
    """Return the attached records that a reader of a level sees: of each format the narrowest."""
    found = {one.format: one for one in record.attached}
    for narrow in list_containing(record, level):
        found |= {one.format: one for one in narrow.attached}
    return tuple(found.values())


def list_containing(record: Record, level: Level) -> list[NarrowDescription]:
    """Return the levels of a record that contain a level, itself included, the widest first."""
    one = _find_document(record, level)
    others = () if one is None else (one.format, *list_reading_aliases(one))
    levels = [replace(level, format=format) for format in dict.fromkeys((level.format, *others))]
    found = [one for one in record.narrower if any(_contains(one, name) for name in levels)]
    return sorted(found, key=_rank_level)


def _contains(wide: Level, level: Level) -> bool:
    return (
        wide.version in (None, level.version)
        and (
            wide.format is None
            or (level.format is not None and same_format(wide.format, level.format))
        )
        and wide.part in ("", level.part)
    )


def is_same_level(one: Level, other: Level) -> bool:
    """Return True if two levels are the same, in any token of the format."""
    return _contains(one, other) and _contains(other, one)


def _rank_level(one: Level) -> tuple[bool, bool, bool]:
    """The rank of a level: of two that contain a third one, the higher one is narrower."""
    return bool(one.part), one.version is not None, one.format is not None


# Changing
# --------


def describe_record(
    record: Record,
    level: Level,
    about: About | None,
    attached: tuple[Attachment, ...] | None,
) -> tuple[Record, Outcome]:
    """Change the description of a level, its attached records, or both.

    None changes nothing. Something withdrawn can still be described, since readers of its tombstone
    ask what it was. Raises InvalidRequest.
    """
    own = find_own(record, level)
    if about is not None:
        kept = None if about == About() else description_checks.check_description(about)
        own = replace(own, about=kept)
    if attached is not None:
        own = replace(own, attached=description_checks.check_attached(attached))
    changed = put_description(record, own)
    return changed, Outcome.UNCHANGED if changed == record else Outcome.CHANGED


def put_description(record: Record, said: NarrowDescription) -> Record:
    """Return a record with this description of a level in place of the earlier one."""
    if said.level == WHOLE_RESOURCE:
        return replace(record, about=said.about, attached=said.attached)
    kept = [one for one in record.narrower if not is_same_level(one, said)]
    return replace(record, narrower=sort_levels([*kept, said]))


def sort_levels(found: Iterable[NarrowDescription]) -> tuple[NarrowDescription, ...]:
    """Return descriptions in their stored order, without those that say nothing."""
    said = (one for one in found if not one.is_empty)
    return tuple(sorted(said, key=lambda one: (one.version or 0, one.format or "", one.part)))


def name_level(identifier: Identifier, level: Level) -> Identifier:
    """Return the name of a level of a resource, without a part that it cannot include."""
    name = identifier.resource
    if level.version is not None or level.format is not None:
        name = name.at(format=level.format or "*", version=level.version)
    return (name.with_part(level.part) if level.part else None) or name


def spell_level(identifier: Identifier, level: Level) -> str:
    """Write the name of a level of a resource; a part that it cannot include follows a `#`."""
    name = name_level(identifier, level)
    return f"{name}#{level.part}" if level.part and not written_part(name) else str(name)
