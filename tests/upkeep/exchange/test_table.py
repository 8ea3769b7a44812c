"""Tables as imports."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.upkeep.exchange.samples import lines

from perdure.errors import InvalidRequest
from perdure.errors.exchanging import MappingColumnMissing
from perdure.errors.importing import TableWithoutIds
from perdure.upkeep.exchange import mapping


def read(text: str, *columns: str, **terms: Any) -> list[object]:
    """The lines of a table."""
    return list(lines("csv", text, columns=columns, **terms))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_columns_are_named_in_the_first_row(delimiter: str, mark: str) -> None:
    text = mark + "id,url,title\nark:99999/fk4a,https://a.example/1,One\n".replace(",", delimiter)
    line = {"id": "ark:99999/fk4a", "locations": ["https://a.example/1"]}
    assert read(text) == [line | {"metadata": {"title": "One"}}]


def test_columns_are_given() -> None:
    assert read("1839/a,https://a.example/1\n", "handle", "url") == [
        {"id": "hdl:1839/a", "locations": ["https://a.example/1"]}
    ]


def test_an_address_with_accents_and_spaces_is_escaped() -> None:
    assert read("handle,url\n1839/a,https://a.example/Gr\u00fc\u00dfe 1\n") == [
        {"id": "hdl:1839/a", "locations": ["https://a.example/Gr%C3%BC%C3%9Fe%201"]}
    ]


def test_several_locations_and_empty_cells() -> None:
    text = "handle,url,url,\nhdl:1839/a,,https://b.example/,no\n\n1839/b\n"
    assert read(text) == [
        {"id": "hdl:1839/a", "locations": ["https://b.example/"]},
        {"id": "hdl:1839/b"},
    ]


@pytest.mark.parametrize("text", ["", "\n", "name,url\na,b\n"])
def test_a_table_without_identifiers_is_refused(text: str) -> None:
    with pytest.raises(TableWithoutIds):
        read(text)


def test_a_table_with_other_names_says_how_to_map_them() -> None:
    with pytest.raises(TableWithoutIds, match=r"'Kennung', 'Ort' refused.*--map.*--columns"):
        read("Kennung,Ort\n1/j,https://a.example/10\n")


def test_a_mapping_says_what_columns_mean() -> None:
    text = "Adresse;Titel;Nr;Regal\nhttps://a.example/;Eins;1839/a;7\n"
    entries = mapping.read_mapping("Adresse=location, Titel=title, nr=handle, Regal=-")
    assert read(text, mapping=entries) == [
        {"id": "hdl:1839/a", "locations": ["https://a.example/"], "metadata": {"title": "Eins"}}
    ]


def test_a_mapping_that_fits_nothing_is_refused_with_the_columns() -> None:
    with pytest.raises(MappingColumnMissing) as caught:
        read("id,Titel\n", mapping=mapping.read_mapping("Title=title"))
    assert "'id', 'Titel'" in str(caught.value)


@pytest.mark.parametrize("text", ["a", "=title", "a=", "a=\x01"])
def test_a_malformed_mapping_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        mapping.read_mapping(text)


_words = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="="), min_size=1)


@given(st.lists(st.tuples(_words, _words.filter(lambda one: "," not in one and '"' not in one))))
def test_a_mapping_is_read_as_it_was_written(entries: list[tuple[str, str]]) -> None:
    assert mapping.read_mapping(mapping.write_mapping(entries)) == tuple(entries)


def test_a_million_columns_are_one_row() -> None:
    names = ",".join(["id", *(f"c{number}" for number in range(10**6))])
    cells = ",".join(["hdl:1/a", *([""] * (10**6 - 1)), "x"])
    assert read(f"{names}\n{cells}\n") == [{"id": "hdl:1/a", "metadata": {"c999999": "x"}}]


@given(st.lists(st.text(max_size=9), min_size=1, max_size=4))
def test_every_row_is_one_line(cells: list[str]) -> None:
    import csv

    table = io.StringIO(newline="")
    csv.writer(table).writerows([["id", "title"], *(["hdl:1/x", cell] for cell in cells)])
    found = lines("csv", table.getvalue().encode("utf-8", "surrogatepass"))
    titles = [one.get("metadata", {}).get("title", "") for one in found]
    assert titles == [cell.strip() for cell in cells]
