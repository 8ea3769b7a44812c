"""Joining two records of one identifier, as imports do: pure functions over records.

How it works: a `Joining` says how a record takes the data of another one. `ADD` accepts data that
is new or equal, and refuses every contradiction. `MERGE` lets the new data win member by member
(RFC 7396). `REPLACE` lets it win field by field: a field that was given becomes exactly what was
given, also if that is empty. `UPDATE` replaces locations and merges all other data.

What must stay true: data is never dropped silently: it is in the result, or Conflict is raised; in
every way of joining, bytes, promised digests, withdrawals and aliases stay (PDI section 2.1).
"""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure.errors.conflicts import (
    AttachmentContradicted,
    BytesBound,
    DescriptionContradicted,
    LanguageContradicted,
    LocationBoundOtherwise,
    LocationContradicted,
    NameWithdrawn,
    PairContradicted,
    WithdrawalContradicted,
)
from perdure.ids import Identifier
from perdure.model.about import About, Attachment
from perdure.model.commands import Joining
from perdure.model.merging import merge_descriptions
from perdure.model.records import (
    WHOLE_RESOURCE,
    Level,
    Location,
    NarrowDescription,
    Record,
    Representation,
    Tombstone,
    Value,
    Version,
)
from perdure.policy import binding, correcting, levels, naming, rules
from perdure.policy.erasing import drop_false_erasures
from perdure.policy.handles import changes, values

REPLACEABLE = ("locations", "metadata", "about", "attached", "narrower", "values")
"""Fields of a line whose earlier content `MERGE` and `REPLACE` can change."""


def join_records(
    identifier: Identifier,
    held: Record,
    more: Record,
    how: Joining = Joining.ADD,
    given: frozenset[str] = frozenset(),
    located: tuple[Level, ...] = (),
) -> Record:
    """Join two records of one identifier. The result equals `held` if `more` has nothing new.

    `given` names the fields that `REPLACE` replaces, `located` the levels whose locations it
    replaces. Raises Conflict if the records contradict each other, or if `more` adds to a withdrawn
    resource; InvalidRequest or TooLarge if it contains data that no record can have.
    """
    record = _join_places(identifier, held, more, how, given)
    if how in (Joining.REPLACE, Joining.UPDATE):
        levels = (WHOLE_RESOURCE,) if "locations" in given else located
        record = _replace_locations(identifier, record, more, levels)
    for version in more.versions:
        record = _join_version(identifier, record, version)
    joined = replace(
        record,
        minted=held.minted or _join_reserved(held, more),
        metadata=_join_pairs(identifier, held, more, how, given),
        about=_join_description(identifier, held.about, more.about, how, given),
        attached=_join_attached(identifier, held.attached, more.attached, how, given),
        narrower=_join_narrower(identifier, held, more, how, given),
        drifted=tuple(dict.fromkeys((*held.drifted, *more.drifted))),
        aliases=tuple(dict.fromkeys((*held.aliases, *more.aliases))),
        targets=tuple(dict.fromkeys((*held.targets, *more.targets))),
        tombstone=_join_endings(identifier, held.tombstone, more.tombstone),
        broken=_join_broken(held, more, how),
        delegates=held.delegates or more.delegates,
    )
    return drop_false_erasures(joined)


def _join_broken(held: Record, more: Record, how: Joining) -> Tombstone | None:
    """The reason why nothing is bound any more. A later one replaces an earlier one, unless data is
    only added."""
    return held.broken or more.broken if how is Joining.ADD else more.broken or held.broken


def _join_reserved(held: Record, more: Record) -> str:
    """The format that `more` reserves. Data without bytes reserve none for bytes that are held:
    the name would then mean another format (ruling pdi-reserved-name)."""
    return "" if held.versions and not more.versions else more.minted


# Locations and values
# --------------------


def _join_places(
    identifier: Identifier, held: Record, more: Record, how: Joining, given: frozenset[str]
) -> Record:
    if how is Joining.REPLACE and "values" in given:
        new = changes.put_values(values.list_values(held), more.values, whole=True)
        record, _ = changes.assign_values(identifier, held, new, more.at, more.by)
    elif how in (Joining.MERGE, Joining.UPDATE) and more.values:
        new = changes.put_values(_list_values(held, more), more.values, whole=False)
        record, _ = changes.assign_values(identifier, held, new, more.at, more.by)
    elif more.values and more.values != held.values:
        record = changes.join_values(identifier, held, more.values)
    else:
        record = held
    known = {one.place: one for one in record.locations}
    joined = (_join_location(identifier, known.get(one.place), one, how) for one in more.locations)
    bound = tuple(one for one in joined if one != known.get(one.place))
    if bound:
        record, _ = binding.bind_locations(identifier, record, bound)
    return record


def _replace_locations(
    identifier: Identifier, record: Record, more: Record, replaced: tuple[Level, ...]
) -> Record:
    """Break the locations of these levels that `more` does not have, and order the others as it."""
    kept = {one.place for one in more.locations}
    for location in record.locations:
        if location.place not in kept and any(_is_within(location, level) for level in replaced):
            binding.plan_break(identifier, record, location, None)  # refuses to lose bytes
            record = binding.break_location(record, location, more.by, more.at)
    if WHOLE_RESOURCE not in replaced:
        return record
    order = {one.place: at for at, one in enumerate(more.locations)}
    placed = sorted(record.locations, key=lambda one: order[one.place])
    return replace(record, locations=tuple(placed))


def _is_within(location: Location, level: Level) -> bool:
    version = level.version in (None, location.version)
    if level.format is None or location.format is None:
        return version and level.format is None
    return version and naming.same_format(location.format, level.format)


def _list_values(held: Record, more: Record) -> tuple[Value, ...]:
    """List the values of a record. Locations that are not stored as values make way for the new
    ones."""
    taken = {one.index for one in (*held.values, *more.values)}
    free = (index for index in count(1) if index not in taken)
    known = {one.index for one in held.values}
    return tuple(
        one if one.index in known else replace(one, index=next(free))
        for one in values.list_values(held)
    )


def _join_location(
    identifier: Identifier, held: Location | None, more: Location, how: Joining
) -> Location:
    """Join a location with the one of the same place; with `ADD`, they must agree."""
    if held is None or held == more or how is Joining.REPLACE:
        return more
    facts: dict[str, Any] = msgspec.structs.asdict(held)
    usual = msgspec.structs.asdict(Location(uri=more.uri))
    for name, value in msgspec.structs.asdict(more).items():
        if value in (usual[name], facts[name]):
            continue
        if how is Joining.ADD and facts[name] != usual[name] and name != "sha512":
            raise LocationContradicted(
                identifier=str(identifier), uri=more.uri, fact=name, current=str(facts[name])
            )
        facts[name] = value
    return Location(**facts)


# Descriptions
# ------------


def _join_pairs(
    identifier: Identifier, held: Record, more: Record, how: Joining, given: frozenset[str]
) -> dict[str, str]:
    if how is Joining.REPLACE:
        return more.metadata if "metadata" in given else held.metadata
    for name, value in more.metadata.items():
        if how is Joining.ADD and held.metadata.get(name, value) != value:
            raise PairContradicted(
                identifier=str(identifier), pair=name, current=held.metadata[name]
            )
    return held.metadata | more.metadata


def _join_description(
    identifier: Identifier,
    held: About | None,
    more: About | None,
    how: Joining,
    given: frozenset[str],
) -> About | None:
    if how is Joining.REPLACE:
        return (None if more == About() else more) if "about" in given else held
    if held is None or more is None or held == more:
        return held or more
    if how in (Joining.MERGE, Joining.UPDATE):
        return merge_descriptions(held, more)
    raise DescriptionContradicted(identifier=str(identifier), current=held.title or None)


def _join_attached(
    identifier: Identifier,
    held: tuple[Attachment, ...],
    more: tuple[Attachment, ...],
    how: Joining,
    given: frozenset[str],
) -> tuple[Attachment, ...]:
    if how is Joining.REPLACE:
        return more if "attached" in given else held
    kept = {one.format: one for one in held}
    for one in more:
        before = kept.setdefault(one.format, one)
        if before == one:
            continue
        if how is Joining.ADD:
            raise AttachmentContradicted(
                identifier=str(identifier), format=one.format, current=None
            )
        kept[one.format] = one
    return tuple(kept.values())


def _join_narrower(
    identifier: Identifier, held: Record, more: Record, how: Joining, given: frozenset[str]
) -> tuple[NarrowDescription, ...]:
    """Join the descriptions of versions, formats and parts, level by level."""
    joined = held
    if how is Joining.REPLACE and "narrower" in given:
        joined = replace(held, narrower=())
    fields = frozenset(("about", "attached"))  # a level is replaced as a whole
    for one in more.narrower:
        own, name = levels.find_own(joined, one.level), identifier.resource
        about = _join_description(name, own.about, one.about, how, fields)
        attached = _join_attached(name, own.attached, one.attached, how, fields)
        joined = levels.put_description(joined, replace(own, about=about, attached=attached))
    return joined.narrower


# Versions
# --------


def _join_endings(
    identifier: Identifier, held: Tombstone | None, more: Tombstone | None
) -> Tombstone | None:
    """Keep an earlier withdrawal. Raises Conflict if the other one gives another reason."""
    if held is not None and more is not None and held.reason != more.reason:
        raise WithdrawalContradicted(identifier=str(identifier), current=held.reason)
    return held or more


def _join_version(identifier: Identifier, record: Record, more: Version) -> Record:
    held = record.version(more.number) or Version(number=more.number, at=more.at)
    ones = list(held.representations)
    for one in more.representations:
        mine = held.find_representation(one.format)
        name = str(naming.qualify_identifier(identifier, more.number, one.format))
        if mine is None:
            if record.tombstone or held.tombstone:
                raise NameWithdrawn(identifier=name)
            _check_promises(name, record, more.number, one)
            ones.append(one)
        elif mine.sha512 != one.sha512:
            raise BytesBound(identifier=name, sha512=mine.sha512)
        elif one.corrections or mine.corrections:
            ones[ones.index(mine)] = correcting.join_readings(name, mine, one)
        elif one.language is not None and mine.language != one.language:
            raise LanguageContradicted(identifier=name, current=mine.language)
    grown = replace(
        held,
        representations=tuple(ones),
        tombstone=_join_endings(identifier, held.tombstone, more.tombstone),
        broken=held.broken or more.broken,
    )
    return rules.with_version(record, grown)


def _check_promises(name: str, record: Record, number: int, one: Representation) -> None:
    """Raise Conflict if a location has promised other bytes."""
    for location in rules.list_promises(record):
        if (
            location.sha512 is not None
            and location.sha512 != one.sha512
            and location.version == number
            and location.format == one.format
        ):
            raise LocationBoundOtherwise(identifier=name, uri=location.uri, sha512=location.sha512)
