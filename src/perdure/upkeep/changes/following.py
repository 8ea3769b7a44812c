"""Followers: programs that compute something from the changes of a registry.

How it works: a follower remembers how far it is, as the head that it saw last, and is handed the
changes behind that, a page at a time. Whether its head still lies on the chain is checked before it
is handed more: of a registry that was restored or rewritten, it knows things that never were, and
computes everything anew. It runs beside the commit and never in it.

What must stay true: what a follower keeps can be deleted; `catch_up` gives the same again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from perdure.errors import Conflict
from perdure.model.changes import Change, Head, Mark
from perdure.storage.ports import Records

_PAGE = 1000


class Follower(Protocol):
    """Computes something from changes, and keeps it in a place of its own."""

    def state(self) -> Head | None:
        """The last change that it took. None if it took none yet."""

    def take(self, changes: Sequence[Change], records: Records) -> None:
        """Takes the next changes, and remembers the last of them together with what it computed."""

    def reset(self) -> None:
        """Forgets everything."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a follower is."""

    at: Mark
    taken: int
    """Number of changes since it began to catch up."""
    behind: int | None
    """Number of changes that it has not seen. None if they are in a later epoch."""


def catch_up(records: Records, follower: Follower) -> Iterator[Progress]:
    """Hands a follower all that it has not seen; must be iterated to its end."""
    if not is_on_chain(records, follower.state()):
        follower.reset()
    taken = 0
    while True:
        state = follower.state()
        page = records.changes(state.mark if state else None, limit=_PAGE)
        if not page:
            return
        follower.take(page, records)
        taken += len(page)
        last = page[-1].mark
        yield Progress(at=last, taken=taken, behind=behind(records, last))


def behind(records: Records, at: Mark) -> int | None:
    """The number of changes behind a mark. None if they are in a later epoch."""
    head = records.head()
    if head is None or head.epoch != at.epoch:
        return None
    return head.number - at.number


def is_on_chain(records: Records, saved: Head | None) -> bool:
    """Whether a head that was saved is one that the registry had."""
    if saved is None:
        return True
    before = Mark(saved.epoch, saved.number - 1)
    try:
        found = records.changes(before, limit=1)
    except Conflict:
        return False
    return bool(found) and found[0].head == saved
