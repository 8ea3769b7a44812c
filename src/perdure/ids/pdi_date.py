"""The date of a PDI: does it exist, and how is it written.

How it works: components are texts as the grammar lets them through: digits, a wildcard, or None
where an interval ends. `impossible` says which of them no calendar has; `canonical_date` pads them.

What must stay true: the calendar is the Gregorian one, also for years before it was in use, and a
year has four or more digits. It is never turned into a number: it may be longer than those can be.
"""

from __future__ import annotations

_LAST_DAY = {1: 31, 2: 28, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}


def last_day(year: str, month: str) -> int:
    """The last day that the month has, or that any has which a wildcard stands for.

    >>> last_day("1997", "2"), last_day("*", "2"), last_day("1997", "*")
    (28, 29, 31)
    """
    if month == "*":
        return 31
    if int(month) == 2 and (year == "*" or _is_leap(year)):
        return 29
    return _LAST_DAY[int(month)]


def _is_leap(year: str) -> bool:
    within = int(year[-4:])  # the rule repeats every 400 years, and so every 10,000
    return within % 4 == 0 and (within % 100 != 0 or within % 400 == 0)


def impossible(year: str | None, month: str | None, day: str | None) -> int | None:
    """Which component no calendar has (0 year, 1 month, 2 day), or None where the date exists."""
    # ruling: pdi-date
    if year is None:
        return None
    if not year.strip("0"):
        return 0
    if month is None:
        return None
    if month != "*" and not 1 <= int(month) <= 12:
        return 1
    if day is None or day == "*" or 1 <= int(day) <= last_day(year, month):
        return None
    return 2


def canonical_date(year: str, month: str | None, day: str | None) -> str:
    """`YYYY/MM/DD`, or as much of it as there is; the components exist.

    >>> canonical_date("1999", "9", "*")
    '1999/09/*'
    """
    if len(year) > 4:
        year = year.lstrip("0").rjust(4, "0")
    rest = (c if c == "*" else c.rjust(2, "0") for c in (month, day) if c is not None)
    return "/".join((year, *rest))
