"""Differences between two versions of a collection, or between two checks of one. Pure.

How it works: members are matched by their identifiers. Comparing two versions shows which members
were added, removed, moved to another place or described differently. Comparing two checks shows
which members are in another state or have other bytes than before. `Drift` holds either.

What must stay true: the same identifier with the same state and digest is no change; a member that
could not be read the second time is reported as unreadable, not as changed.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.model.collection import Collection, Member
from perdure.upkeep.collection.status import FAILED, Checked, Report, State


class Kind(enum.StrEnum):
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


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change to one member."""

    kind: Kind
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
    changes: tuple[Change, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the number of changes of each kind that occurs."""
        found = dict.fromkeys(Kind, 0)
        for one in self.changes:
            found[one.kind] += 1
        return {kind.value: count for kind, count in found.items() if count}


# versions
# --------


def of_versions(old: Collection, new: Collection, *, before: str, after: str) -> Drift:
    """Compare two versions."""
    places = {one.identifier: (at, one) for at, one in enumerate(old.members, 1)}
    changes: list[Change] = []
    for number, member in enumerate(new.members, 1):
        place, was = places.pop(member.identifier, (0, None))
        if was is None:
            changes.append(_change(Kind.ADDED, number, member))
            continue
        if was != member:
            kind = Kind.CHANGED if was.digest != member.digest and was.digest else Kind.DESCRIBED
            changes.append(
                _change(
                    kind, number, member, *(_said(a, b) for a, b in ((was, member), (member, was)))
                )
            )
        if place != number:
            changes.append(_change(Kind.PLACED, number, member, str(place), str(number)))
    changes += [_change(Kind.REMOVED, at, member) for at, member in places.values()]
    return Drift(before=before, after=after, members=len(new.members), changes=tuple(changes))


def _said(one: Member, other: Member) -> str:
    """Describe the fields of a member that differ from those of another."""
    return "; ".join(
        f"{name}={value}"
        for name, value in msgspec.structs.asdict(one).items()
        if value != getattr(other, name)
    )


def _change(kind: Kind, number: int, member: Member, before: str = "", after: str = "") -> Change:
    return Change(
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
    State.CHANGED: Kind.CHANGED,
    State.GONE: Kind.GONE,
    State.CLOSED: Kind.CLOSED,
    State.MOVED: Kind.MOVED,
    State.ABSENT: Kind.ABSENT,
    State.DAMAGED: Kind.DAMAGED,
    State.UNREADABLE: Kind.UNREADABLE,
}
_THERE = frozenset((State.HELD, State.EXACT, State.CONFIRMED, State.CHANGED, State.DAMAGED))
_NOT_THERE = frozenset((State.ABSENT, State.NEAREST, State.OTHER_URI))


def of_checks(old: Report, new: Report) -> Drift:
    """Compare two checks."""
    past = {one.identifier: one for one in old.checked}
    changes: list[Change] = []
    for one in new.checked:
        was = past.pop(one.identifier, None)
        if was is None:
            changes.append(_checked(Kind.ADDED, one, "", _shown(one)))
            continue
        kind = _kind(was, one)
        if kind is not None:
            changes.append(_checked(kind, one, _shown(was), _shown(one)))
    # A member that an unfinished check did not reach is not removed.
    if new.ended:
        changes += [_checked(Kind.REMOVED, one, _shown(one), "") for one in past.values()]
    return Drift(
        before=f"{old.collection} checked {old.begun}",
        after=f"{new.collection} checked {new.begun}",
        members=len(new.checked),
        changes=tuple(changes),
    )


def _kind(was: Checked, now: Checked) -> Kind | None:
    if was.state is now.state:
        other_bytes = was.digest and now.digest and was.digest != now.digest
        elsewhere = was.where != now.where and now.state in (State.LOCATED, State.MOVED)
        other_pieces = was.pieces is not None and now.pieces is not None and _pieces(was, now)
        if other_bytes:
            return Kind.CHANGED
        return Kind.MOVED if elsewhere else Kind.PIECES if other_pieces else None
    if was.state in _THERE and now.state in _NOT_THERE:
        return Kind.GONE
    if now.state in _KINDS:
        return _KINDS[now.state]
    if was.digest and now.digest and was.digest != now.digest:
        return Kind.CHANGED
    if was.state in FAILED and now.state not in FAILED:
        return Kind.BACK
    return Kind.STATE


def _pieces(was: Checked, now: Checked) -> bool:
    return (was.pieces, was.missing) != (now.pieces, now.missing)


def _checked(kind: Kind, one: Checked, before: str, after: str) -> Change:
    return Change(
        kind=kind,
        identifier=one.identifier,
        number=one.number,
        name=one.name,
        before=before,
        after=after,
    )


def _shown(one: Checked) -> str:
    """Describe a state with its digest, place and number of pieces."""
    pieces = f"{one.pieces} pieces" if one.pieces is not None else ""
    return ", ".join(filter(None, (one.state.value, one.digest, one.where, pieces)))
