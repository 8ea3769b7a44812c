"""Moving many locations at once: seen first, then done as one change.

How it works: `preview` reads all records in question and tells which would change, with the
revision that each has. `apply` sends one `Relocate` to the write door, which carries it out in one
transaction: all of it, or none where a record was changed since the preview.

What must stay true: what is applied is what was previewed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.model.commands import Outcome, Receipt, Relocate
from perdure.policy import binding, naming
from perdure.policy.moves import Move, check, moved
from perdure.registry import Registry
from perdure.upkeep.linkcheck import collecting
from perdure.upkeep.linkcheck.collecting import Within

_TELL_EVERY = 1000


class Change(msgspec.Struct, frozen=True):
    """One location that moves."""

    identifier: str
    source: str
    target: str


class Plan(msgspec.Struct, frozen=True):
    """What would change."""

    moves: tuple[Move, ...]
    keys: tuple[tuple[str, int], ...]
    """Of each record that changes: its key, and the revision that was seen."""
    locations: int
    shown: tuple[Change, ...]


def preview(
    registry: Registry,
    within: Within | None,
    moves: tuple[Move, ...],
    *,
    tell: Callable[[float], None],
    most_shown: int,
) -> Plan:
    """What rules would change. Raises InvalidRequest for a rule or a location that cannot be."""
    check(moves)
    keys: list[tuple[str, int]] = []
    shown: list[Change] = []
    number = 0
    for looked, (key, record) in enumerate(collecting.records(registry.records, within)):
        if looked % _TELL_EVERY == 0:
            tell(looked)
        changed, outcome = moved(record, moves)
        if outcome is Outcome.UNCHANGED:
            continue
        binding.checked(changed.locations)
        keys.append((key, record.revision))
        name = str(naming.identify(key, record))
        for one in record.locations:
            new = next((to for move in moves if (to := move.applied(one.uri)) is not None), None)
            if new is not None and new != one.uri:
                number += 1
                if len(shown) < most_shown:
                    shown.append(Change(name, one.uri, new))
    return Plan(moves=moves, keys=tuple(keys), locations=number, shown=tuple(shown))


def apply(registry: Registry, plan: Plan, *, by: str) -> Receipt:
    """Does it. Raises PreconditionFailed where a record is another one by now; nothing moved."""
    rows = tuple((move.source, move.target) for move in plan.moves)
    return registry.door.execute(Relocate(by=by, moves=rows, keys=plan.keys))
