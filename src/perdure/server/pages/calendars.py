"""Calendars and bars of counts, as values for the template `calendar.html`. Pure.

How it works: a calendar shows months as tables of weeks that begin on Monday. A cell leads to the
list of a day, and is shaded by its number in five steps. Bars are as wide as their share of the
highest number, but never too narrow to be seen.

What must stay true: every shade and every bar has its number beside it, as a text.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Mapping

import msgspec

SHADES = 5
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_LEAST = 1.5  # per cent of the full width
_CYCLE = 400  # years after which weekdays and leap years repeat; Python knows 9999 years


class CalendarDay(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a calendar."""

    number: int
    """The day of the month."""
    href: str = ""
    """Empty if the day has nothing."""
    count: int | None = None
    """None if it is not known."""
    shade: int = 0
    """From 1 to `SHADES`; 0 if there is nothing, or the count is not known."""


class CalendarMonth(msgspec.Struct, frozen=True, kw_only=True):
    """A month with its weeks; a week has None in place of the days of its neighbours."""

    year: int
    name: str
    weeks: tuple[tuple[CalendarDay | None, ...], ...]
    href: str = ""
    count: int | None = None


class CountBar(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table of counts."""

    label: str
    href: str
    count: int | None
    width: float
    """Per cent of the highest count."""


def make_month(
    year: int,
    month: int,
    days: Mapping[int, tuple[str, int | None]],
    *,
    highest: int,
    href: str = "",
    count: int | None = None,
) -> CalendarMonth:
    """Return a month; `days` has the address and the count of each day that has something.

    >>> found = make_month(1997, 9, {1: ("/1", 7)}, highest=7)
    >>> found.name, found.weeks[0][0].shade, found.weeks[4][1].number, found.weeks[4][2]
    ('September', 5, 30, None)
    """
    weeks = calendar.monthcalendar(year % _CYCLE + _CYCLE, month)
    return CalendarMonth(
        year=year,
        name=MONTHS[month - 1],
        weeks=tuple(tuple(_make_day(one, days, highest) for one in week) for week in weeks),
        href=href,
        count=count,
    )


def _make_day(
    number: int, days: Mapping[int, tuple[str, int | None]], highest: int
) -> CalendarDay | None:
    if not number:
        return None
    if number not in days:
        return CalendarDay(number=number, count=0)
    href, count = days[number]
    return CalendarDay(number=number, href=href, count=count, shade=choose_shade(count, highest))


def choose_shade(count: int | None, highest: int) -> int:
    """Return the step of a count, on a scale of logarithms, as few days have most of all names.

    >>> [choose_shade(one, 1000) for one in (None, 0, 1, 10, 1000)]
    [0, 0, 1, 2, 5]
    """
    if not count:
        return 0
    if highest <= 1:
        return SHADES
    return 1 + round((SHADES - 1) * math.log(count) / math.log(highest))


def make_bars(rows: list[tuple[str, str, int | None]]) -> tuple[CountBar, ...]:
    """Return the rows of a table: each has a label, an address and a count.

    >>> [bar.width for bar in make_bars([("a", "/a", 1000), ("b", "/b", 250), ("c", "/c", 1)])]
    [100.0, 25.0, 1.5]
    """
    highest = max((count or 0 for _, _, count in rows), default=0)
    return tuple(
        CountBar(
            label=label,
            href=href,
            count=count,
            width=round(max(100 * count / highest, _LEAST), 1) if count else 0,
        )
        for label, href, count in rows
    )
