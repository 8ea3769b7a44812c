"""WARC-Date and the second in which it falls.

How it works: WARC/1.1 allows every precision of W3CDTF, from `2014` to nanoseconds; ARC files have
14 digits. An index sorts by the second. If a date is less precise, its first second counts.

What must stay true: the date is kept as recorded, together with the second; a date that is invalid
is never replaced by an invented one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_SECOND = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)Z", re.ASCII
)
"""The form of nearly all dates, with a day that every month has."""
_DATE = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[Tt ]?(\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d{1,9})?)?"
    r"(?:[Zz]|([+-]\d\d):?(\d\d))?)?)?)?",
    re.ASCII,
)


def parse_second(date: str) -> str:
    """Return the second of a date, UTC, in 14 digits. Raises ValueError if it is not a date.

    >>> (parse_second("2016-01-22T11:20:29.5Z"), parse_second("2014-01"),
    ...  parse_second("20080430204825"))
    ('20160122112029', '20140101000000', '20080430204825')
    """
    found = _SECOND.fullmatch(date)
    return "".join(found.groups()) if found else _parse_carefully(date)


def _parse_carefully(date: str) -> str:
    found = _DATE.fullmatch(date.strip())
    if not found:
        raise ValueError(f"not a date: {date[:40]!r}")
    year, month, day, hour, minute, sec, east, east_minutes = found.groups()
    leap = sec == "60"  # RFC 3339 section 5.7; such a second sorts after the 59th
    moment = datetime(  # noqa: DTZ001  # in the zone of the text, converted to UTC below
        int(year),
        int(month or 1),
        int(day or 1),
        int(hour or 0),
        int(minute or 0),
        59 if leap else int(sec or 0),
    )
    if east:
        sign = -1 if east.startswith("-") else 1
        try:
            moment -= sign * timedelta(hours=abs(int(east)), minutes=int(east_minutes))
        except OverflowError as error:
            raise ValueError(str(error)) from error
    text = f"{moment.year:04}{moment:%m%d%H%M%S}"
    return f"{text[:-2]}60" if leap else text


def format_second(time: str) -> str:
    """Return the date with the precision of the second.

    >>> format_second("20160122112029")
    '2016-01-22T11:20:29Z'
    """
    return f"{_format_day(time[:8])}T{time[8:10]}:{time[10:12]}:{time[12:]}Z"


@lru_cache(maxsize=16384)  # the days of forty years; captures come in any order
def _format_day(digits: str) -> str:
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"


def seconds_between(earlier: str, later: str) -> int:
    """Return the seconds from one 14-digit time to another; negative if the other is earlier."""
    return int((_parse_moment(later) - _parse_moment(earlier)).total_seconds())


def add_seconds(time: str, seconds: int) -> str:
    """Return the 14-digit time some seconds after another, at most the end of the year 9999.

    >>> add_seconds("20161231235960", 1)
    '20170101000001'
    """
    try:
        moment = _parse_moment(time) + timedelta(seconds=seconds)
    except OverflowError:
        return "99991231235959"
    return f"{moment.year:04}{moment:%m%d%H%M%S}"


def _parse_moment(time: str) -> datetime:
    leap = time[12:] == "60"
    moment = datetime(
        int(time[:4]),
        int(time[4:6]),
        int(time[6:8]),
        int(time[8:10]),
        int(time[10:12]),
        59 if leap else int(time[12:]),
        tzinfo=UTC,
    )
    return moment + timedelta(seconds=1) if leap else moment
