"""The series that are resolved here: minted, held or delegated, and whether all of it is here.

How it works: a series is listed if names of it are minted here, if names of it are known here, or
if a delegation in force is about it. A resolver should know all of a series that it resolves
(section 3.8.1 of the draft), so each says if it does: it is complete if it is minted here and no
delegation is about any of it. Otherwise the delegations say where the rest is.
# ruling: series-resolved

What must stay true: a series is called complete only if no other resolver has names of it.
"""

from __future__ import annotations

import msgspec

from perdure.ids import parse, scheme_of
from perdure.ids.name_set import make_set
from perdure.model.delegations import HeldDelegation
from perdure.reading.delegations import Delegations
from perdure.reading.listing import Listings


class ResolvedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A series that is resolved here."""

    series: str
    is_minted: bool
    delegations: tuple[HeldDelegation, ...] = ()
    """Those in force about some of its names, the oldest first."""

    @property
    def is_complete(self) -> bool:
        """True if every name of the series is known here."""
        return self.is_minted and not self.delegations


def list_resolved_series(
    listings: Listings, delegations: Delegations, minted: tuple[str, ...]
) -> list[ResolvedSeries]:
    """Return the series that are resolved here, sorted. `minted` are those with new names."""
    in_force = delegations.list_in_force()
    found = set(listings.list_series(minted))
    for one in in_force:
        example = one.delegation.names.example
        if scheme_of(example).has_patterns:
            found.add(example.assigned_under)
    return [
        ResolvedSeries(
            series=series,
            is_minted=series in minted,
            delegations=tuple(delegations.list_touching(make_set(parse(f"pdi://{series}/")))),
        )
        for series in sorted(found)
    ]


def describe_series(one: ResolvedSeries) -> dict[str, object]:
    """Return a series as every interface shows it in JSON."""
    return {
        "series": one.series,
        "minted": one.is_minted,
        "complete": one.is_complete,
        "delegated": [describe_delegated(held) for held in one.delegations],
    }


def describe_delegated(held: HeldDelegation) -> dict[str, object]:
    """Return a delegation about a series as the descriptions of the series have it."""
    said = held.delegation
    return {
        "names": str(said.names),
        "subseries": said.has_subseries,
        "first_day": said.first_day or None,
        "last_day": said.last_day or None,
        "role": said.role,
        "how": said.how,
        "resolvers": [each.base for each in said.resolvers],
        "delegation": str(held.identifier),
    }
