"""The sort key of a PDI: under code-point order a listing by key is chronological.

How it works: series, date and unique-id in turn, each written so that no longer text can come
between a shorter one and what lies under it:

    oma.eop.gov.us/19970901/b15      the 15th document of the day
    oma.eop.gov.us/19970901/~memo    a name, after all serial numbers
    oma.eop.gov.us/199709            the month, before all that it contains
    oma.eop.gov.us/                  the series
    oma.eop.gov.us/1997*01/*         wildcards, before what they stand for

A number of any length sorts as a number because a letter in front says how many digits follow
(`a9`, `b10`). Years have four digits and no letter, longer ones have theirs: `e10000`.

What must stay true: keys are injective, have no space in them, and begin with a series, so that no
other scheme's key (`urn:…`, `ark:…`) can be one. They are stored: the encoding is never changed.
"""

from __future__ import annotations

import re

_MOST_COUNTED = 25  # digits that one letter, a to y, can count; z begins a longer count
_COUNTS = "`abcdefghijklmnopqrstuvwxy"


def counted(digits: str) -> str:
    """Digits without leading zeros, written so that code-point order is numeric order.

    >>> sorted(["9", "10", "1" * 26], key=counted) == ["9", "10", "1" * 26]
    True
    """
    length = len(digits)
    if length <= _MOST_COUNTED:
        return _COUNTS[length] + digits
    return "z" + counted(str(length)) + digits


def plain_resource_key(series: str, date: str, uid: str) -> str:
    """`resource_key` of a resource on a day of four digits, two and two, as nearly all are."""
    if uid.isdigit() and uid[0] != "0" and len(uid) <= _MOST_COUNTED:
        return f"{series}/{date.replace('/', '')}/{_COUNTS[len(uid)]}{uid}"
    return f"{series}/{date.replace('/', '')}/{_uid_key(uid)}"


def resource_key(series: str, date: str | None, uid: str | None) -> str:
    """The key of the generic resource, or of the interval where parts are None; all canonical."""
    if date is None:
        return f"{series}/"
    if uid is not None and len(date) == 10 and date[4:8:3] == "//":
        return plain_resource_key(series, date, uid)
    year, slash, rest = date.partition("/")
    if len(year) > 4:
        year = counted(year)
    day = year + rest.replace("/", "") if slash else year
    if uid is None:
        return f"{series}/{day}"
    return f"{series}/{day}/{_uid_key(uid)}"


def _uid_key(uid: str) -> str:
    if uid.isdigit() and uid[0] != "0":
        return counted(uid)
    return uid if uid == "*" else f"~{uid}"


_COUNT = re.compile("z(?:b[0-9]{2}|c[0-9]{3}|d[0-9]{4})|[a-y]")


def _uncounted(text: str) -> tuple[str, str]:
    """The digits that a counted number gives, and what follows it; no digits where it is none."""
    count = _COUNT.match(text)
    if count is None:
        return "", text
    length = int(count[0][2:]) if count[0][0] == "z" else ord(count[0]) - 0x60
    end = count.end() + length
    return text[count.end() : end], text[end:]


def resource_text(key: str) -> str:
    """The canonical text of the generic resource or interval that has this key.

    Of any other text it makes one that is no PDI, or one whose key is another.
    """
    series, _, rest = key.partition("/")
    day, has_uid, uid = rest.partition("/")
    if len(day) == 8 and day.isdigit():  # a plain day, nearly always
        text = f"pdi://{series}/{day[:4]}/{day[4:6]}/{day[6:]}/"
    else:
        text = "/".join((f"pdi://{series}", *_date_components(day), ""))
    if not has_uid:
        return text
    return text + (uid[1:] if uid[:1] == "~" else _uncounted(uid)[0] or uid)


def _date_components(day: str) -> list[str]:
    if not day:
        return []
    if day[0].isalpha():
        year, rest = _uncounted(day)
    else:
        width = 1 if day[0] == "*" else 4
        year, rest = day[:width], day[width:]
    components = [year]
    while rest:
        width = 1 if rest[0] == "*" else 2
        components.append(rest[:width])
        rest = rest[width:]
    return components


def key_range(series: str, date: str | None, uid: str | None) -> tuple[str, str]:
    """The least key, and the end of the keys, that a pattern with these parts can match.

    Up to the first wildcard a key is a prefix of all that the pattern stands for.
    """
    fixed: list[str] = []
    for component in date.split("/") if date else ():
        if component == "*":
            break
        fixed.append(component)
    if len(fixed) == 3 and uid not in {None, "*"}:
        key = resource_key(series, date, uid)
        return key, f"{key} "  # nothing lies between: no key has a space in it
    prefix = resource_key(series, "/".join(fixed) or None, None)
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def next_day_key(series: str, month: str | None, day: str | None, date: str) -> str | None:
    """The key at which a month and a day can come next after a date; None if the date has them.

    `None` and `*` stand for any month or day.

    >>> next_day_key("a.us", "02", None, "1997/09/01")
    'a.us/199802'
    >>> next_day_key("a.us", "09", "*", "1997/09/01") is None
    True
    """
    written_year, *there = date.split("/")
    year = int(written_year)
    if month not in (None, "*", there[0]):
        year += str(month) < there[0]
        return _day_key(series, year, int(str(month)), day)
    if day in (None, "*", there[1]):
        return None
    if str(day) > there[1]:
        return _day_key(series, year, int(there[0]), day)
    if month not in (None, "*"):
        return _day_key(series, year + 1, int(there[0]), day)
    following = int(there[0]) % 12 + 1
    return _day_key(series, year + (following == 1), following, day)


def _day_key(series: str, year: int, month: int, day: str | None) -> str:
    date = f"{year:04d}/{month:02d}"
    return resource_key(series, date if day in (None, "*") else f"{date}/{day}", None)
