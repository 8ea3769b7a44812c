"""Losses of exports: what a form holds in other words is not lost, and all else is listed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.upkeep.exchange import samples
from tests.upkeep.exchange.samples import DATACITE_JSON, lines

from perdure.registry import Registry, initialise
from perdure.upkeep.exchange import forms
from perdure.upkeep.exchange.losses import name_kind
from perdure.upkeep.exchange.writing import FormExport, Loss
from perdure.upkeep.transfer.importing import ImportSource, import_lines


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    initialise(tmp_path / "r", handle_prefixes=("21.t14999",))
    with Registry(tmp_path / "r") as opened:
        yield opened


def take_out(registry: Registry, form: str, *given: dict[str, Any]) -> tuple[str, set[str]]:
    """Import lines, and export them in a form; return its text and the fields that it lost."""
    data = b"\n".join(map(msgspec.json.encode, given))
    *_, last = import_lines(registry, ImportSource(io.BytesIO(data), Path()))
    assert last.refused == 0
    losses: list[Loss] = []
    export = FormExport(registry, forms.find_form(form), note_loss=losses.append)
    return b"".join(export).decode(), {one.field for one in losses}


LOVELACE = {"name": "Lovelace, Ada"}


@pytest.mark.parametrize("form", ["bibtex", "ris", "csl-json", "datacite-json", "marc21"])
def test_a_name_that_a_form_divides_is_not_lost(registry: Registry, form: str) -> None:
    line = {"id": "doi:10.5072/x", "about": {"titles": [{"value": "T"}], "creators": [LOVELACE]}}
    text, lost = take_out(registry, form, line)
    assert "Lovelace" in text
    assert lost == set()


@pytest.mark.parametrize("form", ["bibtex", "ris", "csl-json", "datacite-json", "datacite-xml"])
def test_the_name_itself_is_not_a_lost_code(registry: Registry, form: str) -> None:
    codes = [{"value": "10.5072/X", "scheme": "DOI"}]
    line = {"id": "doi:10.5072/x", "about": {"titles": [{"value": "T"}], "codes": codes}}
    assert take_out(registry, form, line)[1] == set()


@pytest.mark.parametrize("form", ["bibtex", "datacite-json", "datacite-xml", "marc21"])
def test_plain_words_that_become_a_description_are_not_lost(registry: Registry, form: str) -> None:
    pairs = {"title": "Names", "creator": "Lovelace, Ada", "shelf": "7"}
    text, lost = take_out(registry, form, {"id": "doi:10.5072/x", "metadata": pairs})
    assert "Names" in text
    assert lost == {"metadata.shelf"}


def test_members_of_a_description_are_listed_one_by_one(registry: Registry) -> None:
    about = {
        "titles": [{"value": "Names", "language": "en"}],
        "creators": [LOVELACE | {"affiliations": [{"name": "Royal Society"}]}, {"name": "Group"}],
    }
    _, lost = take_out(registry, "bibtex", {"id": "doi:10.5072/x", "about": about})
    assert lost == {"about.titles[0].language", "about.creators[0].affiliations"}


def test_an_item_that_is_gone_is_lost_whole_and_so_is_the_order(registry: Registry) -> None:
    subjects = [{"value": "a"}, {"value": "b; c"}, {"value": "d"}]
    line = {"id": "doi:10.5072/x", "about": {"subjects": subjects}}
    text, lost = take_out(registry, "csv", line)
    assert "a; b; c; d" in text
    assert lost == {"about.subjects[1]"}


def test_a_table_has_the_words_of_a_description(registry: Registry) -> None:
    about = {
        "titles": [{"value": "Names"}],
        "creators": [LOVELACE, {"name": "Müller, Anna"}],
        "publisher": {"name": "MIT"},
        "year": "1994",
        "subjects": [{"value": "names"}, {"value": "numbers"}],
    }
    described = {"id": "doi:10.5072/x", "about": about, "metadata": {"Titel": "Namen"}}
    plain = {"id": "doi:10.5072/y", "metadata": {"title": "Plain"}}
    text, lost = take_out(registry, "csv", described, plain)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows == [
        {"id": "doi:10.5072/x", "url": "", "Titel": "Namen",
         "creator": "Lovelace, Ada; Müller, Anna", "date": "1994",
         "publisher": "MIT", "subject": "names; numbers", "title": "Names"},
        {"id": "doi:10.5072/y", "url": "", "Titel": "", "creator": "", "date": "", "publisher": "",
         "subject": "", "title": "Plain"},
    ]  # fmt: skip
    assert lost == set()


def test_a_handle_in_the_xml_of_datacite_is_read_again(registry: Registry) -> None:
    about = {"titles": [{"value": "T"}]}
    text, lost = take_out(registry, "datacite-xml", {"id": "hdl:21.T14999/a", "about": about})
    assert '<identifier identifierType="Handle">21.T14999/a</identifier>' in text
    assert lost == set()
    (line,) = samples.lines("datacite-xml", text)
    assert line["id"] == "hdl:21.T14999/a"


def test_the_identifier_is_not_its_own_alternative(registry: Registry) -> None:
    codes = [{"value": "10.5072/X", "scheme": "DOI"}, {"value": "7", "scheme": "Shelf"}]
    line = {"id": "doi:10.5072/x", "about": {"titles": [{"value": "T"}], "codes": codes}}
    text, _ = take_out(registry, "datacite-xml", line)
    assert "10.5072/X" not in text
    assert 'alternateIdentifierType="Shelf">7<' in text


def test_moments_are_spelled_as_each_system_spells_them(registry: Registry) -> None:
    """EZID: "_created … as seconds since the epoch"; DataCite: ISO 8601."""
    pairs = {"_created": "1514764800", "_owner": "apitest"}
    line = {"id": "doi:10.5072/x", "metadata": pairs, "about": {"titles": [{"value": "T"}]}}
    text, lost = take_out(registry, "datacite-json", line)
    assert json.loads(text)["attributes"]["created"] == "2018-01-01T00:00:00Z"
    assert lost == set()
    other = {"id": "doi:10.5072/y", "metadata": {"_created": "2018-01-01T00:00:00.000Z"}}
    text, lost = take_out(registry, "ezid-csv", other)
    rows = {row["_id"]: row["_created"] for row in csv.DictReader(io.StringIO(text))}
    assert rows == {"doi:10.5072/X": "1514764800", "doi:10.5072/Y": "1514764800"}
    assert lost == set()


def test_a_doi_that_was_published_in_a_year_says_so_again(registry: Registry) -> None:
    # as https://api.datacite.org/dois/10.5438/0012 answers
    answer = json.loads(DATACITE_JSON)["data"][0]
    answer["attributes"] |= {"published": "2016", "registered": "2016-09-19T21:53:57.000Z"}
    (line,) = lines("datacite-json", json.dumps(answer))
    text, lost = take_out(registry, "datacite-json", line)
    assert json.loads(text) == answer
    assert lost == set()


@pytest.mark.parametrize("form", ["ezid-csv", "ezid-anvl", "ezid-xml", "datacite-json"])
def test_an_address_goes_out_as_it_came(registry: Registry, form: str) -> None:
    address = "https://a.example/caf\u00e9"
    line = {"id": "doi:10.5072/x", "metadata": {"_target": address},
            "locations": ["https://a.example/caf%C3%A9"]}  # fmt: skip
    text, lost = take_out(registry, form, line)
    assert address in text
    assert lost == set()
    moved = line | {"id": "doi:10.5072/y", "locations": ["https://b.example/"]}
    assert "https://b.example/" in take_out(registry, form, moved)[0]


def test_a_draft_was_never_registered(registry: Registry) -> None:
    text, _ = take_out(registry, "datacite-json", {"id": "doi:10.5072/x"})
    attributes = json.loads(text)["attributes"]
    assert attributes["state"] == "draft"
    assert not {"registered", "published"} & attributes.keys()


@pytest.mark.parametrize(
    ("field", "kind"),
    [("values[3].at", "values.at"), ("about.year", "about.year"),
     ("about.creators[10].codes[0].scheme", "about.creators.codes.scheme")],
)  # fmt: skip
def test_losses_are_counted_by_kind(field: str, kind: str) -> None:
    assert name_kind(field) == kind
