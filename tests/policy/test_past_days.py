"""Intervals of past days, as people write them."""

from __future__ import annotations

import pytest

from perdure.errors import PerdureError
from perdure.policy.past_days import read_interval

SERIES = "oma.eop.gov.us"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1997", "1997/01/01", "1997/12/31"),
        ("1997/02/", "1997/02/01", "1997/02/31"),
        ("1997/02/03", "1997/02/03", "1997/02/03"),
    ],
)
@pytest.mark.parametrize("label", ["", "pdi://", "URN:PDI://"])
def test_an_interval_has_a_first_and_a_last_day(
    label: str, text: str, first: str, last: str
) -> None:
    assert read_interval(f"{label}{SERIES}/{text}") == (SERIES, first, last)


@pytest.mark.parametrize("text", ["1997/02/03/1", "1997/*", ""])
def test_other_names_are_not_intervals(text: str) -> None:
    with pytest.raises(PerdureError):
        read_interval(f"{SERIES}/{text}")
