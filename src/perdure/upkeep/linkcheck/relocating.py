"""Moving many locations at once: first a preview, then one change.

How it works: `preview_moves` reads all records in the scope and lists those that would change, with
the revision of each. `apply_plan` sends one `Relocate` to the write door, which carries it out in
one transaction: all of it, or nothing if a record has changed since the preview.

What must stay true: the change that is applied is the one that was previewed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.errors import Corrupt
from perdure.ids.name_set import NameSet
from perdure.model.commands import Outcome, Receipt, Relocate
from perdure.policy import binding, naming
from perdure.policy.moves import Move, check_moves, move_locations
from perdure.registry import Registry
from perdure.upkeep.linkcheck import collecting

_TELL_EVERY = 1000


class LocationChange(msgspec.Struct, frozen=True):
    """One location that moves."""

    identifier: str
    source: str
    target: str


class RelocationPlan(msgspec.Struct, frozen=True):
    """A planned change."""

    moves: tuple[Move, ...]
    keys: tuple[tuple[str, int], ...]
    """For each record that changes: its key, and the revision that was read."""
    locations: int
    shown: tuple[LocationChange, ...]


def preview_moves(
    registry: Registry,
    within: NameSet | None,
    moves: tuple[Move, ...],
    *,
    tell: Callable[[float], None],
    report: Callable[[Corrupt], None],
    most_shown: int,
) -> RelocationPlan:
    """Preview moves. Damaged records are passed to `report` and left out.

    Raises InvalidRequest for a rule or a new location that is not valid, NotFound if no known
    identifier belongs to the set.
    """
    check_moves(moves)
    if within is not None:
        within = registry.listings.require_known(within)
    keys: list[tuple[str, int]] = []
    shown: list[LocationChange] = []
    number = 0
    records = collecting.walk_records(registry.records, within, report=report)
    for looked, (key, record) in enumerate(records):
        if looked % _TELL_EVERY == 0:
            tell(looked)
        changed, outcome = move_locations(record, moves)
        if outcome is Outcome.UNCHANGED:
            continue
        binding.check_locations(changed.locations)
        keys.append((key, record.revision))
        name = str(naming.identify_record(key, record))
        for one in record.locations:
            new = next((to for move in moves if (to := move.apply_to(one.uri)) is not None), None)
            if new is not None and new != one.uri:
                number += 1
                if len(shown) < most_shown:
                    shown.append(LocationChange(name, one.uri, new))
    return RelocationPlan(moves=moves, keys=tuple(keys), locations=number, shown=tuple(shown))


def apply_plan(registry: Registry, plan: RelocationPlan, *, by: str) -> Receipt:
    """Carry out a plan. Raises PreconditionFailed, and moves nothing, if a record has changed."""
    rows = tuple((move.source, move.target) for move in plan.moves)
    return registry.door.execute_command(Relocate(by=by, moves=rows, keys=plan.keys))
