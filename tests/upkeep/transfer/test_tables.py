"""Tables as imports."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors.importing import TableWithoutIds
from perdure.upkeep.transfer.tables import read_table


def read(text: str, *columns: str) -> list[object]:
    """The lines of a table; None for an empty one."""
    lines = list(read_table(io.StringIO(text, newline=""), columns))
    assert all(one.endswith(b"\n") and one.count(b"\n") == 1 for one in lines)
    return [json.loads(one) if one.strip() else None for one in lines]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_columns_are_named_in_the_first_row(delimiter: str) -> None:
    text = "id,url,title\nark:99999/fk4a,https://a.example/1,One\n".replace(",", delimiter)
    line = {"id": "ark:99999/fk4a", "locations": ["https://a.example/1"]}
    assert read(text) == [None, line | {"metadata": {"title": "One"}}]


def test_columns_are_given() -> None:
    assert read("1839/a,https://a.example/1\n", "handle", "url") == [
        {"id": "hdl:1839/a", "locations": ["https://a.example/1"]}
    ]


def test_several_locations_and_empty_cells() -> None:
    assert read("handle,url,url,\nhdl:1839/a,,https://b.example/,no\n\n1839/b\n") == [
        None,
        {"id": "hdl:1839/a", "locations": ["https://b.example/"]},
        None,
        {"id": "hdl:1839/b"},
    ]


@pytest.mark.parametrize("text", ["", "\n", "name,url\na,b\n"])
def test_a_table_without_identifiers_is_refused(text: str) -> None:
    with pytest.raises(TableWithoutIds):
        read(text)


@given(st.lists(st.text(max_size=9), min_size=1, max_size=4))
def test_every_row_is_one_line(cells: list[str]) -> None:
    import csv

    table = io.StringIO(newline="")
    csv.writer(table).writerows([["id", "title"], *(["hdl:1/x", cell] for cell in cells)])
    assert len(read(table.getvalue())) == len(cells) + 1
