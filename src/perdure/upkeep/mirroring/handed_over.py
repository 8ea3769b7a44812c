"""The names that an origin handed over, and must not give out any more.

How it works: a delegation with the role `authority` or `successor` says who assigns the names. It
binds the registry that recorded it, in the epoch in which it did. A registry that takes over begins
a new epoch, and gives the names out there. So a new name is refused if a delegation of the same
epoch covers it and held on the day of the change.

What must stay true: rows of the predecessor after a hand-over are refused by every mirror, those of
the successor by none.
"""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.model.changes import Change
from perdure.policy.delegating import DelegationIndex
from perdure.registry import Registry
from perdure.writing.replaying import IsClosed


class HandOvers:
    """The hand-overs of one registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._epochs: dict[str, int] = {}

    def find_closed(self) -> IsClosed | None:
        """Return a test of new names, or None if no names are assigned elsewhere."""
        index = self._registry.delegations.load_index()
        if not index.has_writers:
            return None
        return lambda name, change: self._is_closed(index, name, change)

    def _is_closed(self, index: DelegationIndex, name: Identifier, change: Change) -> bool:
        return any(
            one.delegation.writes and self._find_epoch(one.identifier.key) == change.epoch
            for one in index.list_covering(name, change.at[:10])
        )

    def _find_epoch(self, key: str) -> int:
        """The epoch in which a delegation was recorded; -1 if it is unknown."""
        epoch = self._epochs.get(key)
        if epoch is None:
            change = self._registry.records.find_change(key, 1)
            epoch = self._epochs[key] = change.epoch if change is not None else -1
        return epoch
