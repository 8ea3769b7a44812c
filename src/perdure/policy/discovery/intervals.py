"""Regular expressions for intervals of dates, as name servers carry them. Pure.

How it works: the dates in PDIs are written `YYYY/MM/DD/` with a fixed number of digits, so the
dates from one day to another are those of a few shapes: the rest of the first month, the other
months of the first year, whole years, the months of the last year, and the beginning of the last
month. Each shape is a text in which one number runs over a range, and a range of numbers with a
fixed number of digits is an alternative for each leading digit at which its ends part.

>>> "|".join(list_shapes("1993/01/20", "2001/01/19"))
'1993/01/(2[0-9]|3[0-1])/|1993/(0[2-9]|1[0-2])/|199[4-9]/|2000/|2001/01/(0[1-9]|1[0-9])/'

What must stay true: the expression matches the beginning of exactly those PDIs whose dates are in
the interval; it has nothing but POSIX extended syntax (RFC 3402 section 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator

_LAST_MONTH, _LAST_DAY = 12, 31
LAST_YEAR = 9999


def list_shapes(first: str, last: str) -> list[str]:
    """Return alternatives that match the dates from `first` to `last`, both `YYYY/MM/DD`.

    Each ends in a slash. `last` may be empty: then the interval has no end. There is none if the
    first day is later than the last one.
    """
    start = tuple(map(int, first.split("/")))
    end = tuple(map(int, last.split("/"))) if last else (LAST_YEAR, _LAST_MONTH, _LAST_DAY)
    return [] if start > end else list(_list_years(start, end))


def _list_years(start: tuple[int, ...], end: tuple[int, ...]) -> Iterator[str]:
    (year, *below), (last, *last_below) = start, end
    if year == last:
        yield from (f"{year:04}/{one}" for one in _list_months(below, last_below))
        return
    if below != [1, 1]:
        months = _list_months(below, [_LAST_MONTH, _LAST_DAY])
        yield from (f"{year:04}/{one}" for one in months)
        year += 1
    whole_end = last_below == [_LAST_MONTH, _LAST_DAY]
    high = last if whole_end else last - 1
    yield from (f"{one}/" for one in list_numbers(year, high, 4))
    if not whole_end:
        yield from (f"{last:04}/{one}" for one in _list_months([1, 1], last_below))


def _list_months(start: list[int], end: list[int]) -> Iterator[str]:
    """The dates of one year, without the year. A whole year has an empty shape."""
    (month, day), (last, last_day) = start, end
    if start == [1, 1] and end == [_LAST_MONTH, _LAST_DAY]:
        yield ""
        return
    if month == last:
        yield from _list_days(month, day, last_day)
        return
    if day != 1:
        yield from _list_days(month, day, _LAST_DAY)
        month += 1
    high = last if last_day == _LAST_DAY else last - 1
    if month <= high:
        yield f"{_join(list_numbers(month, high, 2))}/"
    if last_day != _LAST_DAY:
        yield from _list_days(last, 1, last_day)


def _list_days(month: int, first: int, last: int) -> Iterator[str]:
    if (first, last) == (1, _LAST_DAY):
        yield f"{month:02}/"
    else:
        yield f"{month:02}/{_join(list_numbers(first, last, 2))}/"


def _join(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"({'|'.join(alternatives)})"


def list_numbers(low: int, high: int, digits: int) -> list[str]:
    """Return alternatives that match the numbers from `low` to `high` with a number of digits.

    >>> list_numbers(20, 31, 2), list_numbers(1994, 2000, 4), list_numbers(5, 4, 2)
    (['2[0-9]', '3[0-1]'], ['199[4-9]', '2000'], [])
    """
    if low > high:
        return []
    return _list_texts(f"{low:0{digits}}", f"{high:0{digits}}")


def _list_texts(low: str, high: str) -> list[str]:
    """Alternatives for the texts of digits between two of the same length."""
    if not low:
        return [""]
    if low[0] == high[0]:
        return [low[0] + one for one in _list_texts(low[1:], high[1:])]
    if set(low[1:]) <= {"0"} and set(high[1:]) <= {"9"}:
        return [_make_class(low[0], high[0]) + "[0-9]" * (len(low) - 1)]
    first, last = int(low[0]), int(high[0])
    found = []
    if set(low[1:]) - {"0"}:
        found += [low[0] + one for one in _list_texts(low[1:], "9" * (len(low) - 1))]
        first += 1
    closes = not set(high[1:]) - {"9"}
    top = last if closes else last - 1
    if first <= top:
        found.append(_make_class(str(first), str(top)) + "[0-9]" * (len(low) - 1))
    if not closes:
        found += [high[0] + one for one in _list_texts("0" * (len(low) - 1), high[1:])]
    return found


def _make_class(first: str, last: str) -> str:
    return first if first == last else f"[{first}-{last}]"
