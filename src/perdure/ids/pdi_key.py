"""The sort key of a PDI: in code-point order, a listing by key is chronological.

How it works: the key is series, date and unique-id, each written so that everything in an interval
sorts directly after the interval:

    oma.eop.gov.us/19970901/b15      the 15th document of the day
    oma.eop.gov.us/19970901/~memo    a name, after all serial numbers
    oma.eop.gov.us/199709            the month, before all that it contains
    oma.eop.gov.us/                  the series
    oma.eop.gov.us/1997*01/*         wildcards, before what they stand for

A number of any length sorts as a number because a letter in front gives the number of digits (`a9`,
`b10`). Years of four digits have no letter, longer ones have one: `e10000`.

What must stay true: keys are injective, contain no spaces, and begin with a series, so that they
differ from the keys of all other schemes (`urn:…`, `ark:…`). Keys are stored, so the encoding never
changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

MOST_COUNTED = 25
"""The digits that one letter from a to y can count; z begins a longer count."""
COUNTS = "`abcdefghijklmnopqrstuvwxy"
"""The letter before a number, by the number of its digits."""


def encode_number(digits: str) -> str:
    """Encode digits without leading zeros so that code-point order is numeric order.

    >>> sorted(["9", "10", "1" * 26], key=encode_number) == ["9", "10", "1" * 26]
    True
    """
    length = len(digits)
    if length <= MOST_COUNTED:
        return COUNTS[length] + digits
    return "z" + encode_number(str(length)) + digits


def make_plain_day_key(series: str, date: str) -> str:
    """Return the key of a day `YYYY/MM/DD`, as nearly all are."""
    return f"{series}/{date.replace('/', '')}"


def make_resource_key(series: str, date: str | None, uid: str | None) -> str:
    """Return the key of a generic resource, or of an interval if components are None.

    All components must be canonical.
    """
    if date is None:
        return f"{series}/"
    if uid is not None and len(date) == 10 and date[4] + date[7] == "//":
        return f"{make_plain_day_key(series, date)}/{make_uid_key(uid)}"
    year, slash, rest = date.partition("/")
    if len(year) > 4:
        year = encode_number(year)
    day = year + rest.replace("/", "") if slash else year
    if uid is None:
        return f"{series}/{day}"
    return f"{series}/{day}/{make_uid_key(uid)}"


NAMED = "~"
"""Before a unique-id that is not a number, in a key: after all numbers in code-point order."""


def make_uid_key(uid: str) -> str:
    """Return the last component of a key. The unique-id must be canonical."""
    if uid.isdigit() and uid[0] != "0":
        length = len(uid)
        return f"{COUNTS[length]}{uid}" if length <= MOST_COUNTED else encode_number(uid)
    return uid if uid == "*" else f"{NAMED}{uid}"


_SERIALS = "|".join(
    f"{count}[1-9]{'[0-9]' * digits}" for digits, count in enumerate("abcdefghi")
)  # of at most nine digits


def are_serial_keys(day: str, keys: Sequence[str]) -> bool:
    """Return True if all are keys of plain serial numbers of one day, which has the key `day`.

    >>> are_serial_keys("a.us/20261121", ["a.us/20261121/a7", "a.us/20261121/b10"])
    True
    >>> are_serial_keys("a.us/20261121", ["a.us/20261121/b07"])
    False
    """
    return _compile_serials(day).fullmatch("\n".join([*keys, ""])) is not None


@lru_cache(maxsize=8)
def _compile_serials(day: str) -> re.Pattern[str]:
    return re.compile(f"(?:{re.escape(day)}/(?:{_SERIALS})\n)*")


_COUNT = re.compile("z(?:b[0-9]{2}|c[0-9]{3}|d[0-9]{4})|[a-y]")


def _decode_number(text: str) -> tuple[str, str]:
    """Return the digits of a counted number and the text after it; no digits if there is none."""
    count = _COUNT.match(text)
    if count is None:
        return "", text
    length = int(count[0][2:]) if count[0][0] == "z" else ord(count[0]) - 0x60
    end = count.end() + length
    return text[count.end() : end], text[end:]


def read_resource_key(key: str) -> str:
    """Return the canonical text of the generic resource or interval that has this key.

    For any other text, the result is not a PDI, or is a PDI with a different key.
    """
    series, _, rest = key.partition("/")
    day, has_uid, uid = rest.partition("/")
    text = f"pdi://{series}/{_spell_day(day)}"
    if not has_uid:
        return text
    return text + (uid[1:] if uid[:1] == "~" else _decode_number(uid)[0] or uid)


@lru_cache(maxsize=512)
def _spell_day(day: str) -> str:
    """Return the components of a day's key, each with a slash behind it. Cached."""
    return "/".join((*_split_day(day), ""))


def _split_day(day: str) -> list[str]:
    if not day:
        return []
    if day[0].isalpha():
        year, rest = _decode_number(day)
    else:
        width = 1 if day[0] == "*" else 4
        year, rest = day[:width], day[width:]
    components = [year]
    while rest:
        width = 1 if rest[0] == "*" else 2
        components.append(rest[:width])
        rest = rest[width:]
    return components


def make_key_range(series: str, date: str | None, uid: str | None) -> tuple[str, str]:
    """Return the least key, and the end (exclusive) of the keys, that a pattern can match.

    The components before the first wildcard form a common prefix of all matching keys.
    """
    fixed: list[str] = []
    for component in date.split("/") if date else ():
        if component == "*":
            break
        fixed.append(component)
    if len(fixed) == 3 and uid not in {None, "*"}:
        key = make_resource_key(series, date, uid)
        return key, f"{key} "  # no key is in between, because no key contains a space
    prefix = make_resource_key(series, "/".join(fixed) or None, None)
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def find_next_day_key(series: str, month: str | None, day: str | None, date: str) -> str | None:
    """Return the key of the next date after `date` with this month and day.

    None if `date` itself has them.

    `None` and `*` stand for any month or day.

    >>> find_next_day_key("a.us", "02", None, "1997/09/01")
    'a.us/199802'
    >>> find_next_day_key("a.us", "09", "*", "1997/09/01") is None
    True
    """
    written_year, *there = date.split("/")
    year = int(written_year)
    if month not in (None, "*", there[0]):
        year += str(month) < there[0]
        return _make_day_key(series, year, int(str(month)), day)
    if day in (None, "*", there[1]):
        return None
    if str(day) > there[1]:
        return _make_day_key(series, year, int(there[0]), day)
    if month not in (None, "*"):
        return _make_day_key(series, year + 1, int(there[0]), day)
    following = int(there[0]) % 12 + 1
    return _make_day_key(series, year + (following == 1), following, day)


def _make_day_key(series: str, year: int, month: int, day: str | None) -> str:
    date = f"{year:04d}/{month:02d}"
    return make_resource_key(series, date if day in (None, "*") else f"{date}/{day}", None)
