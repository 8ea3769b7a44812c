"""Citations in the forms of other services, read with the programs of others."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.peers import run_peer

from perdure.errors.citing import UnknownExportForm
from perdure.errors.locations import NoPublicResolver
from perdure.upkeep.citations.exporting import export_citations
from perdure.upkeep.citations.listing import ListedCitation

SPEECH = "pdi://oma.eop.gov/1997/09/01/1.text.1"
MEMO = "pdi://oma.eop.gov/1997/09/01/2.text.1"
BASE = "https://pid.example"
CITO = "http://purl.org/spar/cito/"


def make(cited: str, origin: str | None = "20") -> ListedCitation:
    return ListedCitation(
        citing=MEMO, origin=origin, cited=cited, kind="declared:text", day="2026-11-21"
    )


CITATIONS = [make(f"{SPEECH}#char=0,47"), make(SPEECH), make("doi:10.1000/182", None)]


def write(form: str) -> str:
    return "".join(export_citations(form, CITATIONS, BASE))


def test_scholix_has_a_package_for_each_pair_of_documents() -> None:
    first, second = json.loads(write("scholix"))
    assert first["Source"]["Identifier"]["ID"] == MEMO
    assert first["Target"]["Identifier"] == {
        "ID": SPEECH,
        "IDScheme": "PDI",
        "IDURL": f"{BASE}/{SPEECH}",
    }
    assert second["Target"]["Identifier"] == {
        "ID": "10.1000/182",
        "IDScheme": "DOI",
        "IDURL": "https://doi.org/10.1000/182",
    }
    assert first["LinkPublicationDate"] == "2026-11-21"
    assert first["RelationshipType"]["Name"] == "References"
    assert json.loads("".join(export_citations("scholix", [], BASE))) == []


def test_cito_can_be_read_as_turtle() -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data=write("cito"), format="turtle")
    pairs = graph.subject_objects(rdflib.URIRef(f"{CITO}cites"))
    cites = {(str(one), str(other)) for one, other in pairs}
    assert cites == {
        (f"{BASE}/{MEMO}", f"{BASE}/{SPEECH}%23char=0,47"),
        (f"{BASE}/{MEMO}", f"{BASE}/{SPEECH}"),
        (f"{BASE}/{MEMO}", "https://doi.org/10.1000/182"),
    }
    named = set(graph.subjects(rdflib.RDF.type, rdflib.URIRef(f"{CITO}Citation")))
    assert len(named) == 2


def test_opencitations_has_each_pair_once() -> None:
    rows = list(csv.reader(io.StringIO(write("opencitations"))))
    assert rows == [
        ["citing_id", "citing_publication_date", "cited_id", "cited_publication_date"],
        [f"url:pid.example/{MEMO}", "", f"url:pid.example/{SPEECH}", ""],
        [f"url:pid.example/{MEMO}", "", "doi:10.1000/182", ""],
    ]


def test_opencitations_accepts_our_table() -> None:
    """Its validator says nothing of it, and something of one with a DOI that cannot be."""
    table = write("opencitations").encode()
    assert json.loads(run_peer("oc_validator", _VALIDATE, table, place=".validators")) == []
    broken = table.replace(b"doi:10.", b"doi:11.")
    said = json.loads(run_peer("oc_validator", _VALIDATE, broken, place=".validators"))
    assert [one["error_label"] for one in said] == ["br_id_syntax"]


_VALIDATE = """
import json, os, pathlib, sys, tempfile
with tempfile.TemporaryDirectory() as place:
    os.chdir(place)  # it makes directories where it is imported
    from oc_validator.main import Validator
    table = pathlib.Path(place, "citations.csv")
    table.write_bytes(sys.stdin.buffer.read())
    told = pathlib.Path(place, "told")
    Validator(str(table), str(told), verify_id_existence=False).validate()
    lines = [line for one in told.glob("*.jsonl") for line in one.read_text().splitlines()]
print(json.dumps([json.loads(line) for line in lines]))
"""


def test_an_export_needs_a_known_form_and_addresses() -> None:
    with pytest.raises(UnknownExportForm):
        export_citations("bibtex", CITATIONS, BASE)
    with pytest.raises(NoPublicResolver):
        "".join(export_citations("scholix", CITATIONS, ""))
