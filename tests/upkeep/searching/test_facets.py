"""The limits that divide what is found: counted as the entries say, and given back as limits."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from tests.conftest import Desk, text
from tests.upkeep.searching.conftest import SearchDesk

from perdure.upkeep.searching.capture_table import CAPTURE
from perdure.upkeep.searching.facets import count_facets
from perdure.upkeep.searching.found import FacetValue, SearchFacets
from perdure.upkeep.searching.text_index import SCHEMA, Entry, EntryWords, WordTable

_ENTRIES = (
    ("oma.eop.gov.us/19970901/a1", "text", 19970901),
    ("oma.eop.gov.us/19970901/a2", "pdf", 19970900),
    ("oma.eop.gov.us/19980101/a1", "text", 19980000),
    ("hdl:4263537/4000", "", 0),
    ("urn:isbn:9780306406157", "", 19980101),
    ("urn:isbn:9780306406158", "text", 19980102),
    (f"{CAPTURE}http://a.example/", "html", 20010101),
    ("oma.eop.gov.us/00000101/a1", "text", 101),
)


@pytest.fixture
def table(tmp_path: Path) -> WordTable:
    connection = apsw.Connection(str(tmp_path / "words.sqlite"))
    connection.execute(SCHEMA)
    table = WordTable(connection)
    with connection:
        table.begin_batch()
        for key, format, day in _ENTRIES:
            table.add_entry(Entry(0, key, 1, format, day, 0), EntryWords("w", "", "", ""))
        table.end_batch()
    return table


def values(**counts: int) -> tuple[FacetValue, ...]:
    named = ((name.removeprefix("y"), count) for name, count in counts.items())
    return tuple(FacetValue(value=name, count=count) for name, count in named)


def test_entries_are_counted_by_series_year_and_format(table: WordTable) -> None:
    found = count_facets(table.count_limits([*range(1, len(_ENTRIES) + 1)]))
    assert found.year == values(y1998=3, y1997=2, y2001=1, y0000=1)
    assert found.format == values(text=4, html=1, pdf=1)
    assert {one.value: one.count for one in found.series} == {
        "oma.eop.gov.us": 4, "urn:isbn:": 2, "hdl:4263537/": 1
    }  # fmt: skip


def test_only_the_entries_that_were_found_are_counted(table: WordTable) -> None:
    found = count_facets(table.count_limits([2, 5, 99]))
    assert (found.year, found.format) == (values(y1997=1, y1998=1), values(pdf=1))
    assert count_facets(table.count_limits([])) == SearchFacets()


def test_a_value_given_back_leaves_what_it_counts(desk: Desk, searched: SearchDesk) -> None:
    for number in range(3):
        desk.mint(text(f"a quokka {number}"))
    facets = searched.ask("quokka").page.facets
    (series,), (year,), (format,) = facets.series, facets.year, facets.format
    for limit in ({"within": series.value}, {"formats": [format.value]},
                  {"first": year.value, "last": year.value}):  # fmt: skip
        assert searched.count("quokka", **limit) == (3, False)
    assert {one.count for one in (series, year, format)} == {3}
