"""The date of a PDI: check that it exists, and write it in canonical form.

How it works: components are texts that the grammar has accepted: digits, a wildcard, or None if the
interval ends before them. Two small tables, indexed by every spelling of a month and of a day, pad
them and show whether they exist.

What must stay true: the calendar is the Gregorian one, also for years before its introduction, and
a year has four or more digits. It is never converted to a number, because it may be too long.
"""

from __future__ import annotations

# For every spelling: the canonical one, and the month's last day or the day's number.
_MONTHS = {"*": ("*", 31)}
for _number, _last_day in enumerate((31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), 1):
    _MONTHS[f"{_number}"] = _MONTHS[f"{_number:02}"] = (f"{_number:02}", _last_day)
_DAYS = {"*": ("*", 1)}
for _number in range(1, 32):
    _DAYS[f"{_number}"] = _DAYS[f"{_number:02}"] = (f"{_number:02}", _number)


def canonicalise_date(year: str, month: str | None = None, day: str | None = None) -> str | None:
    """Return `YYYY/MM/DD`, or as much of it as is given; None if the date does not exist.

    >>> canonicalise_date("1999", "9", "*"), canonicalise_date("1997", "2", "30")
    ('1999/09/*', None)
    """
    # ruling: pdi-date
    if not year.strip("0"):
        return None
    if len(year) > 4:
        year = year.lstrip("0").rjust(4, "0")
    if month is None:
        return year
    if month not in _MONTHS:
        return None
    month, last = _MONTHS[month]
    if day is None:
        return f"{year}/{month}"
    if day not in _DAYS:
        return None
    day, number = _DAYS[day]
    if number > last and not (number == 29 and last == 28 and _may_be_leap(year)):
        return None
    return f"{year}/{month}/{day}"


def _may_be_leap(year: str) -> bool:
    if year == "*":
        return True
    number = int(year[-4:])  # the leap-year rule repeats every 400 years, and so every 10,000
    return number % 4 == 0 and (number % 100 != 0 or number % 400 == 0)
