"""Verdicts on citations of tables: what divides the fields of a row is not what they say."""

from __future__ import annotations

import pytest
from tests.conftest import Desk
from tests.reading.test_citations_of_media import check, keep

from perdure.model.verdicts import Verdict

CSV = b'name,born,said\r\nAnn,1931,"one, two"\r\nBob,1932,three four\r\n'
ROWS = {
    "csv": ("text/csv", CSV),
    "html": (
        "text/html",
        b"<!doctype html><table><tr><td>Bob</td><td>1932</td><td>three four</td></tr></table>",
    ),
    "tab-separated-values": ("text/tab-separated-values", b"a\tb\tc\r\nBob\t1932\tthree four\r\n"),
    "text": ("text/plain", b"It was Bob 1932 three four.\n"),
}


@pytest.mark.parametrize(
    ("citing", "origin", "part", "verdict"),
    [
        ("html", 30, "#row=3", Verdict.REFLOWED),
        ("html", 30, "#cell=3,1-3,2", Verdict.REFLOWED),
        ("html", 30, "#cell=3,2-3,3", Verdict.ELSEWHERE),
        ("html", 30, "#row=2", Verdict.ABSENT),
        ("tab-separated-values", 7, "#row=3", Verdict.REFLOWED),
        ("text", 7, "#cell=3,1-3,3", Verdict.REFLOWED),
        ("text", 0, "#cell=3,1-3,3", Verdict.ELSEWHERE),
        ("csv", 37, "#row=3", Verdict.VERBATIM),
    ],
)
def test_fields_are_compared_without_what_divides_them(
    desk: Desk, citing: str, origin: int, part: str, verdict: Verdict
) -> None:
    """RFC 4180 section 2: "Within the header and each record, there may be one or more fields,
    separated by commas."
    """
    names = {format: keep(desk, data, format, kind) for format, (kind, data) in ROWS.items()}
    found = check(desk, f"{names[citing]}@{origin}={names['csv']}{part}")
    assert found.verdict is verdict, found
    if verdict is Verdict.ELSEWHERE:
        assert check(desk, str(found.right)).verdict is Verdict.REFLOWED


@pytest.mark.parametrize(
    ("origin", "verdict"),
    [
        (37, Verdict.REFLOWED),
        (38, Verdict.REFLOWED),
        (41, Verdict.ELSEWHERE),
        (2, Verdict.ELSEWHERE),
    ],
)
def test_an_origin_in_a_field_finds_all_of_it(desk: Desk, origin: int, verdict: Verdict) -> None:
    cited = keep(desk, b"It was Bob 1932 three four.", "text", "text/plain")
    citing = keep(desk, CSV, "csv", "text/csv")
    found = check(desk, f"{citing}@{origin}={cited}#char=7,26")
    assert (found.verdict, str(found.part)) == (verdict, f"{citing}#char=37,56")
    if verdict is Verdict.ELSEWHERE:
        assert str(found.right) == f"{citing}@37={cited}#char=7,26"
