"""Regular expressions for intervals of dates, judged by Python's `re` over every day."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.policy.discovery.intervals import list_numbers, list_shapes

DAYS = st.dates(date(1992, 1, 1), date(2003, 12, 31))


def spell(day: date) -> str:
    return day.strftime("%Y/%m/%d")


@pytest.mark.parametrize(
    ("first", "last", "shapes"),
    [
        ("1993/01/20", "1993/01/20", ["1993/01/20/"]),
        ("1993/01/20", "1993/01/31", ["1993/01/(2[0-9]|3[0-1])/"]),
        ("1993/01/01", "1993/01/31", ["1993/01/"]),
        ("1993/02/01", "1993/12/31", ["1993/(0[2-9]|1[0-2])/"]),
        ("1993/01/01", "1993/12/31", ["1993/"]),
        ("1993/01/01", "1999/12/31", ["199[3-9]/"]),
        ("1990/01/01", "1999/12/31", ["199[0-9]/"]),
        ("1993/03/05", "1993/05/31", ["1993/03/(0[5-9]|[1-2][0-9]|3[0-1])/", "1993/0[4-5]/"]),
        ("1999/12/31", "2000/01/01", ["1999/12/31/", "2000/01/01/"]),
        (
            "2001/01/01",
            "",
            ["200[1-9]/", "20[1-9][0-9]/", "2[1-9][0-9][0-9]/", "[3-9][0-9][0-9][0-9]/"],
        ),
        ("2001/01/01", "2000/01/01", []),
    ],
)
def test_an_interval_has_few_shapes(first: str, last: str, shapes: list[str]) -> None:
    assert list_shapes(first, last) == shapes


@given(DAYS, DAYS)
@example(date(1993, 1, 20), date(2001, 1, 19))
def test_exactly_the_days_of_an_interval_match(one: date, other: date) -> None:
    first, last = sorted((one, other))
    found = re.compile("|".join(list_shapes(spell(first), spell(last))))
    day = first - timedelta(days=40)
    while day <= last + timedelta(days=40):
        assert bool(found.match(f"{spell(day)}/1")) == (first <= day <= last), day
        day += timedelta(days=1)


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_exactly_the_numbers_of_a_range_match(one: int, other: int) -> None:
    low, high = sorted((one, other))
    found = re.compile("|".join(list_numbers(low, high, 4)))
    for number in {0, low - 1, low, low + 1, (low + high) // 2, high, high + 1, 9999}:
        if 0 <= number <= 9999:
            assert bool(found.fullmatch(f"{number:04}")) == (low <= number <= high)


def test_the_interval_of_a_white_house_is_short() -> None:
    """From the 20th of January 1993 to the 19th of January 2001."""
    assert len("|".join(list_shapes("1993/01/20", "2001/01/19"))) < 100
