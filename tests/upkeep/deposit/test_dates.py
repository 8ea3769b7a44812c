"""Dates of inventories and paths."""

from __future__ import annotations

import pytest

from perdure.errors.depositing import DatePatternMalformed
from perdure.upkeep.deposit.dates import DatePattern, read_date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("1997", "1997"),
        ("1997-09", "1997-09"),
        ("1997-09-01", "1997-09-01"),
        ("1997-09-01T12:00:00Z", "1997-09-01"),
        ("01.09.1997", "1997-09-01"),
        ("1. 9. 1997", "1997-09-01"),
        ("1997/9/1", "1997-09-01"),
        ("2000-02-29", "2000-02-29"),
        ("1900-02-29", None),
        ("1997-13", None),
        ("9/1/1997", None),
        ("97", None),
        ("circa 1997", None),
        ("", None),
    ],
)
def test_dates(text: str, date: str | None) -> None:
    assert read_date(text) == date


@pytest.mark.parametrize(
    ("pattern", "path", "date"),
    [
        ("%Y/%m/%d", "a/1997/09/01/1.txt", "1997-09-01"),
        ("%Y-%m-%d", "letters/x 1997-9-1.txt", "1997-09-01"),
        ("%Y%m%d", "IMG_19970901_120000.jpg", "1997-09-01"),
        ("%Y%m%d", "IMG_119970901.jpg", None),
        ("%Y/%m/%d", "1997/02/30/1.txt", None),
        ("%Y", "reports/1986/memo.txt", "1986"),
        ("%Y/%b", "1997/September/x.txt", "1997-09"),
        ("%y%m%d", "860131.DOC", "1986-01-31"),
        ("%y%m%d", "050131.DOC", "2005-01-31"),
        ("%d.%m.%Y", "x 31.12.1999.txt", "1999-12-31"),
        ("%Y/%d", "1997/12/1.txt", "1997"),
        ("100%% %Y", "100% 1997.txt", "1997"),
    ],
)
def test_patterns(pattern: str, path: str, date: str | None) -> None:
    assert DatePattern(pattern).find_date(path) == date


@pytest.mark.parametrize("pattern", ["", "%m/%d", "%Q%Y", "%Y%Y", "%Y%", "("])
def test_patterns_that_cannot_work(pattern: str) -> None:
    with pytest.raises(DatePatternMalformed):
        DatePattern(pattern)
