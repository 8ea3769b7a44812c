"""The choice among delegations: which of them answers for a name on a day. Pure.

How it works: the delegations of PDIs are found by their series, and by each series above it; those
of other names by the lengths of their beginnings. Of those that hold on the day and cover the name,
the most specific is first, then the newest (`Delegation.breadth`). Readers are sent to the first
one that is not a mirror, writers to the first one that assigns names.

What must stay true: a delegation that covers a name is found; so the index only narrows, and
`Delegation.covers` decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from perdure.ids import Identifier, scheme_of
from perdure.ids.name_set import NameSet
from perdure.model.delegations import Delegation, HeldDelegation


class DelegationIndex:
    """The delegations of a registry, to be searched by names. It never changes."""

    def __init__(self, held: Iterable[HeldDelegation] = ()) -> None:
        self.held = tuple(sorted(held, key=lambda one: one.order))
        """All of them, the oldest first; also those that hold no more or not yet."""
        self.has_hand_overs = any(one.delegation.is_hand_over for one in self.held)
        """True if one may precede the records that are here."""
        self.has_writers = any(one.delegation.writes for one in self.held)
        """True if names may be assigned elsewhere."""
        self._by_series: dict[str, list[HeldDelegation]] = defaultdict(list)
        self.divides_days = False
        """True if some PDIs of one day may be delegated, and others not."""
        self._by_beginning: dict[int, dict[str, list[HeldDelegation]]] = {}
        for one in self.held:
            names = one.delegation.names
            if scheme_of(names.example).has_patterns:
                self._by_series[names.example.assigned_under].append(one)
                self.divides_days |= not names.is_interval
            else:
                some = self._by_beginning.setdefault(len(names.low), {})
                some.setdefault(names.low, []).append(one)

    def list_covering(self, name: Identifier, day: str) -> list[HeldDelegation]:
        """Return the delegations that hold on a day and cover a name, the most specific first."""
        found = [
            one
            for one in self._list_candidates(name)
            if one.is_in_force(day) and one.delegation.covers(name)
        ]
        return sorted(found, key=_rank)

    def list_touching(self, names: NameSet, day: str) -> list[HeldDelegation]:
        """Return the delegations in force that may cover some names of a set, in any order."""
        return [
            one for one in self.held if one.is_in_force(day) and may_overlap(one.delegation, names)
        ]

    def _list_candidates(self, name: Identifier) -> Iterator[HeldDelegation]:
        series = name.assigned_under if self._by_series else ""
        while series:
            yield from self._by_series.get(series, ())
            _, _, series = series.partition(".")
        for length, some in self._by_beginning.items():
            yield from some.get(name.key[:length], ())


def _rank(one: HeldDelegation) -> tuple[tuple[int, int, int], int]:
    return one.delegation.breadth, -one.order


def choose_for_reading(found: Sequence[HeldDelegation]) -> HeldDelegation | None:
    """Return the delegation by which readers of a name are answered, out of those that cover it.

    A mirror answers readers only if there is no other resolver.
    """
    resolving = (one for one in found if one.delegation.role != "mirror")
    return next(resolving, None) or next(iter(found), None)


def choose_for_writing(found: Sequence[HeldDelegation]) -> HeldDelegation | None:
    """Return the delegation by which writers of a name are answered."""
    return next((one for one in found if one.delegation.writes), None)


def choose_hand_over(found: Sequence[HeldDelegation]) -> HeldDelegation | None:
    """Return the delegation that precedes the record that is here, if one does."""
    first = choose_for_reading(found)
    return first if first is not None and first.delegation.is_hand_over else None


def may_overlap(said: Delegation, names: NameSet) -> bool:
    """Return True unless no name of a set is delegated."""
    own, asked = said.names.example, names.example
    if not scheme_of(own).has_patterns or not scheme_of(asked).has_patterns:
        delegated = said.names
        return delegated.low < names.end and names.low < delegated.end
    series, wanted = own.assigned_under, asked.assigned_under
    below = said.has_subseries and wanted.endswith(f".{series}")
    if own.kind != asked.kind or (series != wanted and not below):
        return False
    spans = [one.assigned_between or _ALWAYS for one in (own, asked)]
    first = max(spans[0][0], spans[1][0], said.first_day)
    last = min(spans[0][1], spans[1][1], said.last_day or _ALWAYS[1])
    return first[:4] <= last[:4] if "*" in str(asked) else first <= last


_ALWAYS = ("0000-00-00", "9999-99-99")


def list_replaced(held: Sequence[HeldDelegation], day: str) -> dict[Identifier, Identifier]:
    """Map each delegation in force to the newer one in force for the same names and role."""
    newest: dict[tuple[object, ...], HeldDelegation] = {}
    replaced: dict[Identifier, Identifier] = {}
    for one in sorted(held, key=lambda each: -each.order):
        said = one.delegation
        same = (str(said.names), said.has_subseries, said.first_day, said.last_day, said.role)
        if not one.is_in_force(day):
            continue
        if same in newest:
            replaced[one.identifier] = newest[same].identifier
        else:
            newest[same] = one
    return replaced
