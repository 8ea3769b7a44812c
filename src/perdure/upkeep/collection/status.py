"""The state of each member of a collection, and reports on all. Pure values.

How it works: a check gives every member a `CheckedMember`, with the digest of the bytes that it
read. The states say only what is certain. `Report` is the kept result, so that a later check can be
compared with it (`perdure.upkeep.collection.drift`).

What must stay true: `State.HELD` and `State.EXACT` stand for bytes that were read, never for
promises; a member that was not read is `unverified`, `foreign` or `located`, which is not a
failure.
"""

from __future__ import annotations

import enum

import msgspec


class State(enum.StrEnum):
    """States of a member; a closed list."""

    HELD = "held"
    """Here, read, and as promised."""
    EXACT = "exact"
    """Captured at that time under that address, and read: here, or in the archive that it names."""
    CONFIRMED = "confirmed"
    """Exact according to its archive, which offers no form in which it could be read."""
    OTHER_URI = "same second, other URI"
    NEAREST = "nearest"
    """There are only captures of other times."""
    LOCATED = "located"
    """Known here, but held elsewhere."""
    KNOWN = "known"
    """Registered here, without bytes or locations."""
    FOREIGN = "foreign"
    """Its scheme is resolved elsewhere; this registry knows nothing about it."""
    UNVERIFIED = "unverified"
    """In another archive that was not asked, or that cannot be asked."""
    CLOSED = "closed but known"
    MOVED = "moved"
    ABSENT = "absent"
    """Expected here, but missing: never registered, not captured, no such part."""
    GONE = "gone"
    """Withdrawn."""
    CHANGED = "digest changed"
    """Available, but not what the collection says it is."""
    DAMAGED = "damaged"
    """Available, but not what the registry or the archive file promised."""
    UNREADABLE = "unreadable"
    """It could not be read now."""


FAILED = frozenset((State.ABSENT, State.GONE, State.CHANGED, State.DAMAGED, State.UNREADABLE,
                    State.OTHER_URI, State.NEAREST))  # fmt: skip
"""States in which a member is not what the collection names."""


MOST_NAMED = 100


class CheckedMember(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of checking one member."""

    number: int
    identifier: str
    state: State
    name: str = ""
    promised: str = ""
    """The digest that the collection gives."""
    digest: str = ""
    """`sha512:` and the digest of the bytes that were read; empty if none were."""
    length: int | None = None
    """Length of the bytes that were read."""
    media_type: str = ""
    delta: int | None = None
    """Seconds from the requested time to the nearest capture; negative if that is earlier."""
    where: str = ""
    """The archive that keeps it, its location, or the public resolver."""
    detail: str = ""
    """An explanation for people."""
    pieces: int | None = None
    """For a page: how many of its resources are kept here …"""
    missing: tuple[str, ...] = ()
    """… and which are not, at most the first `MOST_NAMED`."""


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A check of a collection."""

    collection: str
    """Its identifier, fully qualified."""
    sha512: str
    """Digest of the document that was checked."""
    title: str = ""
    begun: str = ""
    ended: str = ""
    """Empty if the check was stopped before its end."""
    size: int = 0
    checked: tuple[CheckedMember, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return the number of members in each state that occurs, in the order of `State`."""
        found = dict.fromkeys(State, 0)
        for one in self.checked:
            found[one.state] += 1
        return {state.value: count for state, count in found.items() if count}

    @property
    def failed_count(self) -> int:
        """Number of members that are not what the collection names."""
        return sum(one.state in FAILED for one in self.checked)
