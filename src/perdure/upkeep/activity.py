"""The figures of an operator: names minted, storage, verification, backup, lost locations.

How it works: names are counted by the day that they state, from the counts that a follower keeps
(`perdure.upkeep.changes.name_counts`). Names of schemes without dates are in the totals of their
authorities only. Lost locations are those of the last check of links, which redirects skip.

What must stay true: the cost does not depend on the size of the registry. Nothing is counted
here but the last few changes; lists have a bound, and say if there is more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from datetime import date, timedelta

import msgspec

from perdure.errors.unavailable import FollowerFailed
from perdure.ids import parse
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.changes.name_counts import NameCounts
from perdure.upkeep.indexing import open_name_counts, reporting_failures
from perdure.upkeep.linkcheck.state import FILE as LINKS
from perdure.upkeep.linkcheck.state import Links
from perdure.upkeep.linkcheck.verdict import LinkFinding
from perdure.upkeep.status import Holdings, measure_holdings

DAYS = 30
MONTHS = 24
_MOST_AUTHORITIES = 20
_MOST_SERIES = 1000
MOST_COUNTED = 10_000
"""Lost locations that are counted."""
_MOST_LOST = 50


class NameCount(msgspec.Struct, frozen=True):
    """The number of names of a day, a month or an authority."""

    of: str
    """`2026-11-21`, `2026-11`, or an authority such as `hdl:1839`."""
    names: int


class MintedNames(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of names, as far as they are counted."""

    days: tuple[NameCount, ...]
    """The last `DAYS` days, the oldest first."""
    months: tuple[NameCount, ...]
    """The last `MONTHS` months, the oldest first."""
    authorities: tuple[NameCount, ...]
    """The largest authorities, at most 20."""
    total: int
    uncounted: int | None
    """Changes that are not counted yet; None if it is not known how many."""


class LostLocations(msgspec.Struct, frozen=True, kw_only=True):
    """The locations that redirects skip."""

    verdicts: dict[str, int]
    """Their numbers by verdict; together no more than `MOST_COUNTED`."""
    shown: tuple[LinkFinding, ...]
    """The first of them by verdict and address, at most 50."""
    ended: str | None
    """When the last complete check ended; None if there was none."""


class RegistryActivity(msgspec.Struct, frozen=True, kw_only=True):
    """All that an operator watches."""

    at: str
    minted: MintedNames | None
    """None if the counts of names cannot be read."""
    holdings: Holdings
    lost: LostLocations | None
    """None if locations were never checked."""


def measure_activity(registry: Registry) -> RegistryActivity:
    """Read all figures. Raises Corrupt or Unavailable."""
    now = format_timestamp(registry.clock())
    return RegistryActivity(
        at=now,
        minted=_read_minted(registry, date.fromisoformat(now[:10])),
        holdings=measure_holdings(registry),
        lost=_read_lost(registry),
    )


# names
# -----


def _read_minted(registry: Registry, today: date) -> MintedNames | None:
    series = registry.settings.series[:_MOST_SERIES]
    try:
        with open_name_counts(registry) as counts:
            uncounted = counts.take_few(registry.records)
            totals = counts.list_members("")
            days = _count_days(counts, series, today)
            months = _count_months(counts, series, today)
    except FollowerFailed:
        return None
    largest = sorted(totals.items(), key=lambda row: (-row[1], row[0]))[:_MOST_AUTHORITIES]
    return MintedNames(
        days=days,
        months=months,
        authorities=tuple(NameCount(of, names) for of, names in largest),
        total=sum(totals.values()),
        uncounted=uncounted,
    )


def _count_days(counts: NameCounts, series: Iterable[str], today: date) -> tuple[NameCount, ...]:
    days = [today - timedelta(ago) for ago in reversed(range(DAYS))]
    months = sorted({f"{day:%Y/%m}" for day in days})
    found = _add_up(counts, series, months)
    return tuple(NameCount(f"{day:%Y-%m-%d}", found[f"{day:%Y%m%d}"]) for day in days)


def _count_months(counts: NameCounts, series: Iterable[str], today: date) -> tuple[NameCount, ...]:
    last = today.year * 12 + today.month - 1
    months = [divmod(one, 12) for one in range(last - MONTHS + 1, last + 1)]
    found = _add_up(counts, series, sorted({str(year) for year, _ in months}))
    return tuple(
        NameCount(f"{year}-{month + 1:02}", found[f"{year}{month + 1:02}"])
        for year, month in months
    )


def _add_up(counts: NameCounts, series: Iterable[str], intervals: list[str]) -> Counter[str]:
    """Return the numbers of names of all series, by the day or month as keys write it."""
    found: Counter[str] = Counter()
    for one in series:
        for interval in intervals:
            for key, names in counts.list_members(parse(f"pdi://{one}/{interval}/").key).items():
                found[key.rpartition("/")[2]] += names
    return found


# locations
# ---------


def _read_lost(registry: Registry) -> LostLocations | None:
    if not (registry.root / LINKS).exists():
        return None
    try:
        with reporting_failures("the check of links"), closing(Links(registry.root)) as links:
            return LostLocations(
                verdicts=links.count_lost(MOST_COUNTED),
                shown=tuple(links.list_lost_findings(_MOST_LOST)),
                ended=links.find_last_end(),
            )
    except FollowerFailed:  # a cache, which can be deleted and made again
        return None
