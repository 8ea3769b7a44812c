"""Followers: programs that compute something from the changes of a registry.

How it works: a follower remembers its position as the head that it saw last, and receives the later
changes, a page at a time. Before each run, its head must still be on the chain. If the registry was
restored or rewritten, the follower may have seen changes that no longer exist, so it starts again
from nothing. It runs beside the commit, never in it.

What must stay true: you may delete what a follower keeps; `catch_up` computes the same again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from perdure.errors import Conflict
from perdure.model.changes import ChainHead, Change, ChangeMark
from perdure.storage.ports import Records

_PAGE = 1000


class Follower(Protocol):
    """A program that computes something from changes and keeps the result in its own place."""

    def last_head(self) -> ChainHead | None:
        """Return the last change that it took, or None if it has taken none yet."""

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        """Take the next changes. Save the last one together with the result."""

    def reset(self) -> None:
        """Forget everything."""


class FollowerProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Position of a follower."""

    at: ChangeMark
    taken: int
    """Number of changes since it began to catch up."""
    behind: int | None
    """Number of changes that it has not seen. None if they are in a later epoch."""


def catch_up(records: Records, follower: Follower) -> Iterator[FollowerProgress]:
    """Pass all unseen changes to a follower. Iterate to the end."""
    if not is_on_chain(records, follower.last_head()):
        follower.reset()
    taken = 0
    while True:
        state = follower.last_head()
        page = records.list_changes(state.mark if state else None, limit=_PAGE)
        if not page:
            return
        follower.take_changes(page, records)
        taken += len(page)
        last = page[-1].mark
        yield FollowerProgress(at=last, taken=taken, behind=count_behind(records, last))


def count_behind(records: Records, at: ChangeMark) -> int | None:
    """Return the number of changes after a mark, or None if they are in a later epoch."""
    head = records.find_head()
    if head is None or head.epoch != at.epoch:
        return None
    return head.number - at.number


def is_on_chain(records: Records, saved: ChainHead | None) -> bool:
    """Return whether a saved head is one that the registry had."""
    if saved is None:
        return True
    before = ChangeMark(saved.epoch, saved.number - 1)
    try:
        found = records.list_changes(before, limit=1)
    except Conflict:
        return False
    return bool(found) and found[0].head == saved
