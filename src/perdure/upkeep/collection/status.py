"""What became of the members of a collection: one state for each, and reports of all. Pure values.

How it works: a check gives every member a `Checked`, with the digest of what was found; the states
say what can be said with certainty. `Report` is what is kept, so that a later check can be compared
with it (`perdure.upkeep.collection.drift`).

What must stay true: `State.HELD` and `State.EXACT` are said of bytes that were read, never of
promises; what nobody looked at is `unverified`, `foreign` or `located`, which is no failure.
"""

from __future__ import annotations

import enum

import msgspec


class State(enum.StrEnum):
    """What can be said of a member; a closed list."""

    HELD = "held"
    """Here, read, and as promised."""
    EXACT = "exact"
    """Captured at that time under that address, and read: here, or in the archive that it names."""
    CONFIRMED = "confirmed"
    """Exact, as its archive says, which has no form in which it could be read."""
    OTHER_URI = "same second, other URI"
    NEAREST = "nearest"
    """There is a capture of another time only."""
    LOCATED = "located"
    """Known here, and lies elsewhere."""
    KNOWN = "known"
    """Registered here, without bytes or locations."""
    FOREIGN = "foreign"
    """Its scheme is resolved by others; nothing is known of it here."""
    UNVERIFIED = "unverified"
    """In another archive, which nobody has asked, or which cannot be asked."""
    CLOSED = "closed but known"
    MOVED = "moved"
    ABSENT = "absent"
    """Should be here and is not: never registered, not captured, no such part."""
    GONE = "gone"
    """Withdrawn."""
    CHANGED = "digest changed"
    """There, but not what the collection says it is."""
    DAMAGED = "damaged"
    """There, but not what the registry or the archive file promised."""
    UNREADABLE = "unreadable"
    """It could not be looked at now."""


FAILED = frozenset((State.ABSENT, State.GONE, State.CHANGED, State.DAMAGED, State.UNREADABLE,
                    State.OTHER_URI, State.NEAREST))  # fmt: skip
"""States in which a member is not what the collection names."""


MOST_NAMED = 100


class Checked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One member, looked at."""

    number: int
    identifier: str
    state: State
    name: str = ""
    promised: str = ""
    """The digest that the collection gives."""
    digest: str = ""
    """`sha512:` and the digest of what was found; empty where nothing was read."""
    length: int | None = None
    """Bytes of what was found."""
    media_type: str = ""
    delta: int | None = None
    """Seconds from what was asked for to the nearest capture; negative where that is earlier."""
    where: str = ""
    """The archive that keeps it, the location, the public resolver."""
    detail: str = ""
    """For people."""
    pieces: int | None = None
    """Of a page: how many of the resources that it names are kept here …"""
    missing: tuple[str, ...] = ()
    """… and which are not, the first `MOST_NAMED` of them."""


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A check of a collection."""

    collection: str
    """Its identifier, fully qualified."""
    sha512: str
    """Of the document that was checked."""
    title: str = ""
    begun: str = ""
    ended: str = ""
    """Empty where the check was stopped before its end."""
    size: int = 0
    checked: tuple[Checked, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many members are in which state, in the order of `State`; without those that have
        none."""
        found = dict.fromkeys(State, 0)
        for one in self.checked:
            found[one.state] += 1
        return {state.value: count for state, count in found.items() if count}

    @property
    def failed(self) -> int:
        """How many members are not what the collection names."""
        return sum(one.state in FAILED for one in self.checked)
