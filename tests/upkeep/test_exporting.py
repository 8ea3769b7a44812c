"""Citations in the forms of other services, read with the programs of others."""

from __future__ import annotations

import csv
import io
import json

import pytest

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
    """The form that oc-validator 1.0.0 accepts: `url:` without the scheme of the address."""
    rows = list(csv.reader(io.StringIO(write("opencitations"))))
    assert rows == [
        ["citing_id", "citing_publication_date", "cited_id", "cited_publication_date"],
        [f"url:pid.example/{MEMO}", "", f"url:pid.example/{SPEECH}", ""],
        [f"url:pid.example/{MEMO}", "", "doi:10.1000/182", ""],
    ]


def test_an_export_needs_a_known_form_and_addresses() -> None:
    with pytest.raises(UnknownExportForm):
        export_citations("bibtex", CITATIONS, BASE)
    with pytest.raises(NoPublicResolver):
        "".join(export_citations("scholix", CITATIONS, ""))
