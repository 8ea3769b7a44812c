"""Differences between two versions of a collection, or between two checks of one. Pure.

How it works: members are matched by their identifiers. Comparing two versions shows which members
were added, removed, moved to another place or described differently. Comparing two checks shows
which members are in another state or have other bytes than before. `Drift` holds either.

What must stay true: the same identifier with the same state and digest is not a change; a member
that could not be read the second time is reported as unreadable, not as changed.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.errors.root import count_things
from perdure.model.collection import Collection, CollectionMember
from perdure.upkeep.collection.status import FAILED, CheckedMember, Report, State


class DriftKind(enum.StrEnum):
    """Kinds of change to a member; a closed list."""

    ADDED = "added"
    REMOVED = "removed"
    DESCRIBED = "described otherwise"
    PLACED = "another number"
    CHANGED = "digest changed"
    GONE = "gone"
    """Withdrawn; or it was available earlier, and is not any more."""
    CLOSED = "closed"
    MOVED = "moved"
    ABSENT = "absent"
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    BACK = "back"
    """It was not what the collection names, and is again."""
    PIECES = "pieces of the page"
    """The page is the same, but more or fewer of its resources are kept."""
    STATE = "another state"


class MemberChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change to one member."""

    kind: DriftKind
    identifier: str
    number: int
    """Number in the newer of the two; for a removed member, in the older."""
    name: str = ""
    before: str = ""
    after: str = ""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """All changes, in the order of numbers."""

    before: str
    """One side of the comparison: an identifier with version, and for a check its time."""
    after: str
    members: int
    """Number of members that were compared."""
    changes: tuple[MemberChange, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the number of changes of each kind that occurs."""
        found = dict.fromkeys(DriftKind, 0)
        for one in self.changes:
            found[one.kind] += 1
        return {kind.value: count for kind, count in found.items() if count}


# versions
# --------


def compare_versions(old: Collection, new: Collection, *, before: str, after: str) -> Drift:
    """Compare two versions."""
    places = {one.identifier: (at, one) for at, one in enumerate(old.members, 1)}
    changes: list[MemberChange] = []
    for number, member in enumerate(new.members, 1):
        place, was = places.pop(member.identifier, (0, None))
        if was is None:
            changes.append(_change_in_version(DriftKind.ADDED, number, member))
            continue
        if was != member:
            kind = (
                DriftKind.CHANGED
                if was.digest != member.digest and was.digest
                else DriftKind.DESCRIBED
            )
            changes.append(
                _change_in_version(
                    kind,
                    number,
                    member,
                    *(_list_differences(a, b) for a, b in ((was, member), (member, was))),
                )
            )
        if place != number:
            changes.append(
                _change_in_version(DriftKind.PLACED, number, member, str(place), str(number))
            )
    changes += [_change_in_version(DriftKind.REMOVED, at, member) for at, member in places.values()]
    return Drift(before=before, after=after, members=len(new.members), changes=tuple(changes))


def _list_differences(one: CollectionMember, other: CollectionMember) -> str:
    """Describe the fields of a member that differ from those of another."""
    return "; ".join(
        f"{name}={value}"
        for name, value in msgspec.structs.asdict(one).items()
        if value != getattr(other, name)
    )


def _change_in_version(
    kind: DriftKind, number: int, member: CollectionMember, before: str = "", after: str = ""
) -> MemberChange:
    return MemberChange(
        kind=kind,
        identifier=member.identifier,
        number=number,
        name=member.name,
        before=before,
        after=after,
    )


# checks
# ------

_KINDS = {
    State.CHANGED: DriftKind.CHANGED,
    State.GONE: DriftKind.GONE,
    State.CLOSED: DriftKind.CLOSED,
    State.MOVED: DriftKind.MOVED,
    State.ABSENT: DriftKind.ABSENT,
    State.DAMAGED: DriftKind.DAMAGED,
    State.UNREADABLE: DriftKind.UNREADABLE,
}
_THERE = frozenset((State.HELD, State.EXACT, State.CONFIRMED, State.CHANGED, State.DAMAGED))
_NOT_THERE = frozenset((State.ABSENT, State.NEAREST, State.OTHER_URI))


def compare_checks(old: Report, new: Report) -> Drift:
    """Compare two checks."""
    past = {one.identifier: one for one in old.checked}
    changes: list[MemberChange] = []
    for one in new.checked:
        was = past.pop(one.identifier, None)
        if was is None:
            changes.append(_change_in_check(DriftKind.ADDED, one, "", _describe_state(one)))
            continue
        kind = _classify_change(was, one)
        if kind is not None:
            changes.append(_change_in_check(kind, one, _describe_state(was), _describe_state(one)))
    # A member that an unfinished check did not reach is not removed.
    if new.ended:
        changes += [
            _change_in_check(DriftKind.REMOVED, one, _describe_state(one), "")
            for one in past.values()
        ]
    return Drift(
        before=f"{old.collection} checked {old.begun}",
        after=f"{new.collection} checked {new.begun}",
        members=len(new.checked),
        changes=tuple(changes),
    )


def _classify_change(was: CheckedMember, now: CheckedMember) -> DriftKind | None:
    if was.state is now.state:
        other_bytes = was.digest and now.digest and was.digest != now.digest
        elsewhere = was.where != now.where and now.state in (State.LOCATED, State.MOVED)
        other_pieces = (
            was.pieces is not None and now.pieces is not None and _has_other_pieces(was, now)
        )
        if other_bytes:
            return DriftKind.CHANGED
        return DriftKind.MOVED if elsewhere else DriftKind.PIECES if other_pieces else None
    if was.state in _THERE and now.state in _NOT_THERE:
        return DriftKind.GONE
    if now.state in _KINDS:
        return _KINDS[now.state]
    if was.digest and now.digest and was.digest != now.digest:
        return DriftKind.CHANGED
    if was.state in FAILED and now.state not in FAILED:
        return DriftKind.BACK
    return DriftKind.STATE


def _has_other_pieces(was: CheckedMember, now: CheckedMember) -> bool:
    return (was.pieces, was.missing) != (now.pieces, now.missing)


def _change_in_check(kind: DriftKind, one: CheckedMember, before: str, after: str) -> MemberChange:
    return MemberChange(
        kind=kind,
        identifier=one.identifier,
        number=one.number,
        name=one.name,
        before=before,
        after=after,
    )


def _describe_state(one: CheckedMember) -> str:
    """Describe a state with its digest, place and number of pieces."""
    pieces = count_things(one.pieces, "piece") if one.pieces is not None else ""
    return ", ".join(filter(None, (one.state.value, one.digest, one.where, pieces)))
