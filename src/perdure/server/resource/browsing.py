"""Browsing: a series by its years, a year or a month as a calendar, and what a list says of a name.

How it works: which years, months and days there are comes from the registry
(`Listings.list_interval`), and how many names each has from the counts that a follower keeps, so
that no request counts. Before they are read, the last few changes are counted; if there are more,
the page says how many are not counted yet. A list says of each name what its record says to the
reader: title, kind, size, day and state.

What must stay true: counts are of names, which are public even if what they name was withdrawn or
is closed; of these a list says nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from perdure.errors.unavailable import FollowerFailed
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet, read_set
from perdure.ids.pdi import Pdi
from perdure.model.queries import ListingInterval
from perdure.model.records import Record, Representation
from perdure.policy.levels import describe_level, find_level
from perdure.policy.naming import read_qualifiers
from perdure.policy.showing import find_withdrawal, show_to_readers
from perdure.reading.resolved_series import ResolvedSeries
from perdure.reading.targets import spell_path
from perdure.server.common import asking
from perdure.server.common.lists import EntryFacts, ListEntry
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.calendars import (
    CalendarMonth,
    CountBar,
    make_bars,
    make_month,
)
from perdure.server.pages.trail import find_page
from perdure.server.resource.describing import status_of
from perdure.upkeep.changes.counts import authority_of
from perdure.upkeep.changes.name_counts import NameCounts

_LONGEST_TITLE = 300  # characters
_LATEST, _LATEST_CHANGES = 10, 200
"""Names that changed last, and the changes in which they are looked for."""
_MONTHS = range(1, 13)


class BrowsedInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A series, year or month as a page shows it."""

    total: int | None = None
    uncounted: int | None = 0
    """Changes that are not counted yet; None if it is not known how many."""
    bars: tuple[CountBar, ...] = ()
    """The years of a series."""
    months: tuple[CalendarMonth, ...] = ()
    counts: dict[str, int | None] = {}
    """The number of names of each member, by its text."""


def browse_interval(service: Service, interval: ListingInterval) -> BrowsedInterval:
    """Return the years of a series with their numbers of names, or the days of a year or month."""
    try:
        with service.indexes.open_name_counts() as counts:
            uncounted = counts.take_few(service.registry.records)
            return _browse_counted(service, interval, counts, uncounted)
    except FollowerFailed:
        return _browse_counted(service, interval, None, None)


def _browse_counted(
    service: Service, interval: ListingInterval, counts: NameCounts | None, uncounted: int | None
) -> BrowsedInterval:
    pattern = interval.pattern
    assert isinstance(pattern, Pdi)  # noqa: S101  (only its scheme has intervals)
    known = counts.list_members(pattern.key) if counts is not None else {}
    found = BrowsedInterval(
        total=sum(known.values()) if counts is not None else None,
        uncounted=uncounted,
        counts={str(one): known.get(one.key) for one in interval.members},
    )
    if pattern.date is None:
        bars = make_bars([(_name_last(name), f"/{name}", n) for name, n in found.counts.items()])
        return msgspec.structs.replace(found, bars=bars)
    months = (pattern,) if pattern.month else interval.members
    days = {
        _read_last(one): _list_days(service, one, counts, is_complete=uncounted == 0)
        for one in months
    }
    highest = max((count or 0 for month in days.values() for _, count in month.values()), default=0)
    shown = [
        make_month(
            int(str(pattern.year)),
            month,
            days.get(month, {}),
            highest=highest,
            href=f"/{pattern}{month:02}/" if month in days and not pattern.month else "",
            count=sum(count or 0 for _, count in days.get(month, {}).values()),
        )
        for month in ([int(pattern.month)] if pattern.month else _MONTHS)
    ]
    return msgspec.structs.replace(found, months=tuple(shown))


def _list_days(
    service: Service, month: Identifier, counts: NameCounts | None, *, is_complete: bool
) -> dict[int, tuple[str, int | None]]:
    """Return the days of a month that have names, with address and count.

    If all changes are counted, the counts have all days, and the registry is not asked.
    """
    known = counts.list_members(month.key) if counts is not None else {}
    if is_complete:
        return {int(key[-2:]): (f"/{month}{key[-2:]}/", count) for key, count in known.items()}
    return {
        _read_last(one): (f"/{one}", known.get(one.key))
        for one in service.listings.list_interval(month).members
    }


def _name_last(interval: str) -> str:
    """Return the year, month or day that an interval ends with."""
    return interval.rstrip("/").rpartition("/")[2]


def _read_last(interval: Identifier) -> int:
    return int(_name_last(str(interval)))


def count_names(service: Service, names: list[NameSet]) -> dict[str, int]:
    """Return the numbers of names of authorities, by their texts; none if they are not known."""
    try:
        with service.indexes.open_name_counts() as counts:
            counts.take_few(service.registry.records)
            return {str(one): counts.count_authority(authority_of(one.low)) for one in names}
    except FollowerFailed:
        return {}


def count_series(service: Service, found: Iterable[ResolvedSeries]) -> dict[str, int]:
    """Return the numbers of names of series; none if they are not known."""
    sets = {read_set(f"pdi://{one.series}/"): one.series for one in found}
    counts = count_names(service, list(sets))
    return {sets[names]: counts[str(names)] for names in sets if str(names) in counts}


# what a list says of a name
# --------------------------


def list_latest(service: Service, request: Request) -> list[ListEntry]:
    """List the names that changed last, as everyone may see them; withdrawn ones are left out.

    It looks at the last 200 changes, so it may find none.
    """
    found = service.registry.harvest.list_latest(None, limit=_LATEST, most_changes=_LATEST_CHANGES)
    return [
        ListEntry(
            str(one.identifier),
            f"/{spell_path(one.identifier)}",
            find_page(one.identifier),
            facts=describe_entry(service, request, one.identifier, one.resolved.known),
        )
        for one in found
        if one.resolved is not None
    ]


def describe_entry(
    service: Service, request: Request, name: Identifier, record: Record
) -> EntryFacts:
    """Return what the record of a name says of it to the reader of a request."""
    shown = show_record(service, request, name, record)
    if shown is None:
        return EntryFacts(state="closed", date=name.assigned_on or "")
    titles = describe_level(shown, find_level(name)).titles
    held = _find_document(name, shown)
    is_gone = find_withdrawal(name, record) is not None
    return EntryFacts(
        title=titles[0].value[:_LONGEST_TITLE] if titles else "",
        language=titles[0].language if titles else "",
        media_type="" if held is None or is_gone else held.media_type,
        length=held.length if held is not None and held.is_shown and not is_gone else None,
        date=name.assigned_on or _find_deposit(shown),
        state="withdrawn" if is_gone else status_of(shown),
    )


def show_record(
    service: Service, request: Request, name: Identifier, record: Record
) -> Record | None:
    """Return what the reader of a request may see of a record, or None if it is closed."""
    shown = show_to_readers(record)
    guard = asking.find_guard(service, request, name)
    if guard is None:
        return shown
    return guard.show(shown) if guard.is_admitted() else None


def _find_deposit(record: Record) -> str:
    newest = record.newest
    return (newest.at if newest is not None else record.at)[:10]


def _find_document(name: Identifier, record: Record) -> Representation | None:
    """Return the document that a list describes: the one named, or the first of the newest
    version."""
    number, format = read_qualifiers(name)
    version = record.version(number) if number is not None else record.newest
    if version is None or not version.representations:
        return None
    if format is None:
        return version.representations[0]
    return version.find_representation(format)
