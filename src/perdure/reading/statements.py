"""The statement of this registry to other resolvers: the series that it resolves.

How it works: a series is resolved here if it is minted here, has identifiers here, or is delegated
to another resolver (`perdure.reading.resolved_series`). A registry knows everything about a series
that it mints, unless it is a copy, or other resolvers answer for some of its names: the statement
is complete as of the last change. About any other series it knows what it holds.

What must stay true: the statement and OPTIONS on a series agree; a copy never claims to be complete
(section 3.8.1 of the draft: "the server operator guarantees … sufficient knowledge").
"""

from __future__ import annotations

from typing import Literal

import msgspec

from perdure.ids import Authority
from perdure.reading.delegations import Delegations
from perdure.reading.listing import Listings
from perdure.reading.resolved_series import (
    ResolvedSeries,
    describe_delegated,
    list_resolved_series,
)

SeriesRole = Literal["authority", "holder", "delegator"]
"""An authority assigns the names of a series; a holder has some of them; a delegator has none, and
knows which resolvers answer."""


class SeriesStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One series, as it is resolved here."""

    series: str
    interval: str
    """The names that the statement is about: `pdi://oma.eop.gov.us/`."""
    role: SeriesRole
    minted: bool
    """True if new names of the series are given out here."""
    complete: bool
    """True if a name that is unknown here was never given out."""
    delegated: tuple[dict[str, object], ...] = ()
    """The delegations in force about some of its names."""


class RegistryStatement(msgspec.Struct, frozen=True, kw_only=True):
    """The series that a registry resolves, as of its last change."""

    as_of: str
    """The mark of the last change, `0.17`; empty if nothing was ever written."""
    at: str
    """The time of the last change; empty likewise."""
    series: tuple[SeriesStatement, ...]
    authorities: tuple[Authority, ...]
    """The authorities of other schemes for which names are minted here."""


def make_statement(
    listings: Listings,
    authorities: tuple[Authority, ...],
    *,
    is_copy: bool,
    delegations: Delegations,
) -> RegistryStatement:
    """Make the statement of a registry with our own `authorities` of all schemes."""
    minted = tuple(one.name for one in authorities if one.scheme == "pdi")
    held = set(listings.list_series(minted))
    head = listings.records.find_head()
    at = ""
    if head is not None:
        before = msgspec.structs.replace(head, number=head.number - 1).mark
        latest = listings.records.list_changes(before, limit=1)
        at = latest[0].at if latest else ""
    return RegistryStatement(
        as_of="" if head is None else str(head.mark),
        at=at,
        series=tuple(
            SeriesStatement(
                series=one.series,
                interval=f"pdi://{one.series}/",
                role=_find_role(one, held),
                minted=one.is_minted and not is_copy,
                complete=one.is_complete and not is_copy,
                delegated=tuple(map(describe_delegated, one.delegations)),
            )
            for one in list_resolved_series(listings, delegations, minted)
        ),
        authorities=tuple(one for one in authorities if one.scheme != "pdi"),
    )


def _find_role(one: ResolvedSeries, held: set[str]) -> SeriesRole:
    if one.is_minted:
        return "authority"
    return "holder" if one.series in held else "delegator"
