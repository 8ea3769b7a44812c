"""Dates and date intervals in citations, in the order of a language or of a style.

Specification: CSL 1.0.2, "Date" and "Date ranges".

What must stay true: the parts that both ends of an interval share are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from perdure.metadata.citation.locale import NAMESPACE, Locale
from perdure.metadata.citation.wording import add_affixes, change_case

_PARTS = ("year", "month", "day")
_AFFIXES = ("prefix", "suffix")
_PLAIN_FROM = 500
"""The first year that citeproc-js writes without an era."""
Day = Sequence[int]
"""Year (negative before the year 1, without a year 0), month and day; later ones may be missing."""


class _Part(msgspec.Struct, frozen=True):
    """One part of a date, with the format that a style or a locale sets."""

    name: str
    form: str
    prefix: str
    suffix: str
    case: str
    range_delimiter: str
    strip_periods: bool


def compile_date(element: Any, locale: Locale) -> Callable[[dict[str, Any]], str]:
    """Compile a date element into a function from CSL dates to text."""
    own = {str(one.get("name")): one for one in element.findall(f"{NAMESPACE}date-part")}
    form = element.get("form")
    if form is None:
        parts = [_make_part(one, one) for one in own.values()]
        delimiter = element.get("delimiter", "")
    else:
        pattern = locale.dates[form]
        wanted = element.get("date-parts", "year-month-day").split("-")
        listed = pattern.findall(f"{NAMESPACE}date-part")
        parts = [
            _make_part(one, own.get(one.get("name"))) for one in listed if one.get("name") in wanted
        ]
        delimiter = element.get("delimiter", pattern.get("delimiter", ""))

    def write_date(date: dict[str, Any]) -> str:
        ends = [tuple(map(int, end)) for end in date.get("date-parts", ()) if end]
        if not ends:  # such a date is not part of a date element without the year
            words = str(date.get("literal") or date.get("raw") or "")
            return words if any(one.name == "year" for one in parts) else ""
        if len(ends) > 1 and ends[0] != ends[1]:
            return _write_interval(ends[0], ends[1], parts, delimiter, locale)
        return _write_day(ends[0], parts, delimiter, locale)

    return write_date


def _make_part(pattern: Any, own: Any | None) -> _Part:
    """Make a part from its attributes; those of the style override those of the locale."""

    def find_attribute(name: str, default: str = "") -> str:
        mine = None if own is None or (name in _AFFIXES and own is not pattern) else own.get(name)
        return str(mine if mine is not None else pattern.get(name, default))

    name = str(pattern.get("name"))
    return _Part(
        name,
        find_attribute("form", "numeric" if name == "day" else "long"),
        find_attribute("prefix"),
        find_attribute("suffix"),
        find_attribute("text-case"),
        find_attribute("range-delimiter", "–"),
        find_attribute("strip-periods") == "true",
    )


def _write_day(
    day: Day, parts: Sequence[_Part], delimiter: str, locale: Locale, *, era: bool = True
) -> str:
    texts = (_write_part(day, one, locale, era=era) for one in parts)
    return delimiter.join(text for text in texts if text)


def _write_interval(
    first: Day, last: Day, parts: Sequence[_Part], delimiter: str, locale: Locale
) -> str:
    """Write both ends: the shared parts once, around the parts that differ."""
    largest = next(
        name for at, name in enumerate(_PARTS) if first[at : at + 1] != last[at : at + 1]
    )
    differing = _PARTS[_PARTS.index(largest) :]
    mixed = [at for at, one in enumerate(parts) if one.name in differing]
    if not mixed:
        return _write_day(first, parts, delimiter, locale)
    start, stop = mixed[0], mixed[-1] + 1
    between = next((one.range_delimiter for one in parts if one.name == largest), "–")
    before = _write_day(first, parts[:start], delimiter, locale)
    shared = first[0] < _PLAIN_FROM and last[0] < _PLAIN_FROM and (first[0] < 0) == (last[0] < 0)
    left = _write_day(first, parts[start:stop], delimiter, locale, era=not shared)
    right = _write_day(last, parts[start:stop], delimiter, locale)
    if not left and not right:  # the months of two years, for example
        between = ""
    after = _write_day(last, parts[stop:], delimiter, locale)
    # the affixes next to the range delimiter belong to the complete date
    tail = parts[stop - 1].suffix
    head = parts[start].prefix
    if tail and left.endswith(tail):
        left = left[: -len(tail)]
    if head and right.startswith(head):
        right = right[len(head) :]
    return delimiter.join(part for part in (before, f"{left}{between}{right}", after) if part)


def _write_part(day: Day, part: _Part, locale: Locale, *, era: bool = True) -> str:
    at = _PARTS.index(part.name)
    if at >= len(day) or not day[at]:
        return ""
    number = day[at]
    match part.name, part.form:
        case "year", "short":
            text = f"{number % 100:02}"
        case "year", _:
            text = _write_year(number, locale) if era else str(abs(number))
        case "month", "numeric":
            text = str(number)
        case "month", "numeric-leading-zeros":
            text = f"{number:02}"
        case "month", form:
            name = f"month-{number:02}" if number <= 12 else f"season-{number % 10:02}"
            text = locale.find_term(name, form)
        case _, "numeric-leading-zeros":
            text = f"{number:02}"
        case _, "ordinal" if number == 1 or not locale.ordinal_first_day_only:
            text = locale.write_ordinal(number)
        case _:
            text = str(number)
    if part.strip_periods:
        text = text.replace(".", "")
    if part.case:
        text = change_case(text, part.case, english=locale.name.startswith("en"))
    return add_affixes(text, part.prefix, part.suffix)


def _write_year(number: int, locale: Locale) -> str:
    """Write a year, with its era (BC or AD) if the year is before 500."""
    if number >= _PLAIN_FROM:
        return str(number)
    era = locale.find_term("bc" if number < 0 else "ad")
    blank = "\xa0" if era[:1].isalpha() and era[:1].isascii() else ""  # others bring a blank
    return f"{abs(number)}{blank}{era}"
