"""The form of a file is told by its beginning, also if it speaks of another form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.upkeep.exchange.samples import (
    ARKLET,
    BIBTEX,
    CROSSREF,
    CSL,
    DATACITE,
    DATACITE_JSON,
    HANDLE_BATCH,
    HANDLE_JSON,
    OAI,
    RIS,
)

from perdure.upkeep.exchange import forms
from perdure.upkeep.exchange.opening import choose_source

_KERNEL = "http://datacite.org/schema/kernel-4"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("arklet", ARKLET),
        ("bibtex", BIBTEX),
        ("crossref-xml", CROSSREF),
        ("csl-json", CSL),
        ("datacite-json", DATACITE_JSON),
        ("datacite-xml", DATACITE),
        ("datacite-xml", OAI),
        ("handle-batch", HANDLE_BATCH),
        ("handle-json", HANDLE_JSON),
        ("ris", RIS),
    ],
)
def test_a_form_is_told_by_the_beginning(form: str, text: str) -> None:
    assert forms.guess_form(text.encode(), "export").name == form
    assert forms.guess_form(f"\ufeff\n{text}".encode(), "export").name == form


def test_an_answer_of_datacite_names_the_schema_of_its_xml() -> None:
    # as https://api.datacite.org/dois/10.5438/0012 answers
    answer = json.loads(DATACITE_JSON)
    for one in answer["data"]:
        one["attributes"]["schemaVersion"] = _KERNEL
    assert forms.guess_form(json.dumps(answer).encode(), "dois.json").name == "datacite-json"


def test_rows_of_ezid_may_have_records_of_datacite() -> None:
    table = f'_id,_target,datacite\nark:/1/a,https://a.example/,"<resource xmlns=""{_KERNEL}"">"\n'
    assert forms.guess_form(table.encode(), "download.csv").name == "ezid-csv"


def test_lines_of_datacite_are_not_lines_of_perdure(tmp_path: Path) -> None:
    # as in the public data file of DataCite
    lines = tmp_path / "part_0000.jsonl"
    lines.write_text("\n".join(map(json.dumps, json.loads(DATACITE_JSON)["data"])))
    assert choose_source(lines).form.name == "datacite-json"
    lines.write_text('{"id":"doi:10.5438/0012"}\n')
    assert choose_source(lines).is_own
