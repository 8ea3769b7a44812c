"""Intervals of past days of a series, as people write them  # ruling: pdi-retrospective"""

from __future__ import annotations

from perdure.errors.naming import DayNotPast
from perdure.ids import parse
from perdure.ids.pdi import Pdi


def read_interval(text: str) -> tuple[str, str, str]:
    """Return the series, and the first and last day, of a day, month or year of a series.

    >>> read_interval("pdi://oma.eop.gov.us/1997/02/")
    ('oma.eop.gov.us', '1997/02/01', '1997/02/31')

    Raises MalformedIdentifier, or DayNotPast if it is not an interval.
    """
    label = "" if text.lower().startswith(("pdi:", "urn:pdi:")) else "pdi://"
    named = parse(f"{label}{text.rstrip('/')}/")
    if not isinstance(named, Pdi) or named.uid is not None:
        raise DayNotPast(identifier=text)
    if not named.date or "*" in named.date:
        raise DayNotPast(identifier=text)
    parts = named.date.split("/")
    first = "/".join([*parts, *("01", "01")[len(parts) - 1 :]])
    last = "/".join([*parts, *("12", "31")[len(parts) - 1 :]])
    return named.series, first, last
