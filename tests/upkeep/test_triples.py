"""Assertions as triples: what they say, who may ask, and nanopublications.

Expected triples come from the Web Annotation Vocabulary and from two other readers of JSON-LD and
TriG: rdflib, and PyLD in `.peers`.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
import rdflib
from rdflib.compare import isomorphic
from tests.conftest import SERIES, TODAY, Desk, text
from tests.peers import run_peer

from perdure.errors.triples import (
    NanopublicationGraph,
    NanopublicationHeads,
    NanopublicationNotTrig,
    NanopublicationTooLong,
    NanopublicationUnnamed,
    QueryMalformed,
    ServiceRefused,
    SparqlTooLong,
)
from perdure.ids import parse
from perdure.model.assertions import CONTEXT, write_assertion
from perdure.model.commands import Restrict
from perdure.model.queries import LOCAL_READER, PUBLIC_READER, Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.reading.assertions import HeldAssertion
from perdure.upkeep.asserting import conjoin_parts, retract_assertion, store_assertion
from perdure.upkeep.forgetting import forget_withdrawn
from perdure.upkeep.indexing import bring_up_to_date

pytest.importorskip("pyoxigraph")
from perdure.upkeep.triples import updating
from perdure.upkeep.triples.datasets import Dataset, has_dataset
from perdure.upkeep.triples.nanopublications import make_annotation, write_nanopublication
from perdure.upkeep.triples.quads import expand_document
from perdure.upkeep.triples.querying import LONGEST, answer_query, check_query
from perdure.upkeep.triples.updating import open_triples

NAME = f"{TODAY}/1"
PART = f"{NAME}.text.1#char=0,4"
OA, PROV = "http://www.w3.org/ns/oa#", "http://www.w3.org/ns/prov#"
PREFIXES = f"PREFIX oa: <{OA}> PREFIX prov: <{PROV}> PREFIX foaf: <http://xmlns.com/foaf/0.1/> "


@pytest.fixture
def letter(desk: Desk) -> Desk:
    desk.mint(text("Dear Madam"))
    return desk


def ask(desk: Desk, query: str, reader: Reader = LOCAL_READER) -> list[list[str]]:
    """The rows of an answer, after the names of the columns."""
    with open_triples(desk.registry) as index:
        bring_up_to_date(index)
        _, answer = answer_query(desk.registry, index, PREFIXES + query, reader, ("csv",))
    return list(csv.reader(io.StringIO(answer.decode())))[1:]


def store(desk: Desk, *targets: str, by: str = "ann", **fields: Any) -> str:
    words = fields.pop("motivations", ("commenting",))
    data = write_assertion(targets, words, **fields)
    return store_assertion(desk.registry, data, by=by).identifier


def hold(desk: Desk, name: str) -> HeldAssertion:
    held = desk.registry.assertions.find_assertion(parse(name), LOCAL_READER)
    assert held is not None
    return held


# the triples
# -----------


def test_an_assertion_is_a_graph(letter: Desk) -> None:
    name = store(letter, PART, motivations=("cito:disputes",), body="Out of context.")
    query = "SELECT ?m ?t { GRAPH <%s> { ?a oa:motivatedBy ?m ; oa:hasTarget ?t } }"
    assert ask(letter, query % name) == [["http://purl.org/spar/cito/disputes", PART]]
    (row,) = ask(
        letter,
        "SELECT ?v ?who ?when { ?a oa:hasBody [ "
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#value> ?v ] ;"
        " prov:wasAttributedTo [ foaf:name ?who ] ; prov:generatedAtTime ?when }",
    )
    assert row == ["Out of context.", "ann", "2026-11-21T12:00:00Z"]


def test_a_retraction_invalidates_only_what_the_same_actor_said(letter: Desk) -> None:
    mine, other = store(letter, NAME), store(letter, NAME, by="bob")
    retraction = retract_assertion(letter.registry, parse(mine), by="ann").identifier
    store(letter, other, motivations=("retracts",))
    assert ask(letter, "SELECT ?a ?b { ?a prov:invalidated ?b }") == [[retraction, mine]]


def test_the_parts_of_a_conjunction(letter: Desk) -> None:
    parts = [parse(PART), parse(f"{NAME}.text.1#char=5,10")]
    name = conjoin_parts(letter.registry, parts).identifier
    rows = ask(letter, f"SELECT ?part {{ <{name}> prov:hadMember ?part }} ORDER BY ?part")
    assert [row[0] for row in rows] == sorted(map(str, parts))


@pytest.mark.parametrize("motivation", ["cito:disputes", "retracts"])
@pytest.mark.parametrize(
    "target",
    [
        f"{NAME}.text.1@5={PART}",
        f"pdi://{SERIES}/2026/11/",
        f"pdi://{SERIES}/2026/11/*/*",
        "hdl:1839/x",
        "https://a.example/page",
        f"{NAME}.text.1#char=5,10",
    ],
)
def test_an_assertion_about_any_name_has_triples(
    letter: Desk, target: str, motivation: str
) -> None:
    data = write_assertion((target,), (motivation,))
    name = store_assertion(letter.registry, data, series=SERIES).identifier
    assert ask(letter, f"SELECT ?t {{ <{name}> oa:hasTarget ?t }}") == [[target]]


def test_a_target_is_known_by_its_identifier(letter: Desk) -> None:
    name = store(letter, f"https://pid.example/{NAME}.text.1%23char=0,4")
    assert ask(letter, f"SELECT ?a {{ ?a oa:hasTarget <{PART}> }}") == [[name]]


def list_documents() -> Iterator[dict[str, Any]]:
    """Examples of the Web Annotation Data Model (sections 3 and 4), about names of ours."""
    selector = {"type": "TextQuoteSelector", "exact": "ear", "prefix": "D", "suffix": " "}
    position = {"type": "TextPositionSelector", "start": 1, "end": 4}
    yield {"target": PART, "bodyValue": "Comment text", "motivation": "commenting"}
    yield {
        "target": {"source": f"{NAME}.text.1", "selector": [selector, position]},
        "body": [{"type": "TextualBody", "value": "j'adore !", "language": "fr"}, "hdl:1839/x"],
        "creator": {"id": "https://a.example/u", "type": "Person", "name": "A", "nickname": "a"},
        "created": "2015-01-28T12:00:00Z",
        "motivation": ["replying", "tagging"],
    }
    yield {"target": {"type": "Choice", "items": [NAME, PART]}, "rights": "https://a.example/r"}
    yield {"target": NAME, "body": {"type": "TextualBody", "value": "x", "purpose": "tagging"}}


@pytest.mark.parametrize("document", list(list_documents()))
def test_the_triples_are_those_of_other_readers(letter: Desk, document: dict[str, Any]) -> None:
    """PyLD expands the same document with the same context, and rdflib compares the graphs."""
    data = json.dumps({"@context": CONTEXT, "type": "Annotation", **document}).encode()
    held = hold(letter, store_assertion(letter.registry, data).identifier)
    context = json.loads((files("perdure.upkeep.triples") / "anno.jsonld").read_bytes())
    given = {**held.assertion.document, "@context": context["@context"], "id": str(held.identifier)}
    theirs = run_peer("pyld", _TO_RDF, json.dumps(given).encode())
    ours = "".join(f"{one} .\n" for one in expand_document(held))
    one, other = rdflib.Graph(), rdflib.Graph()
    one.parse(data=ours, format="nt")
    other.parse(data=theirs, format="nt")
    assert len(other) > 2
    assert isomorphic(one, other)


_TO_RDF = """
import json, sys
from pyld import jsonld
jsonld.set_document_loader(None)
print(jsonld.to_rdf(json.load(sys.stdin), {"format": "application/n-quads"}))
"""


def test_the_triples_fit_the_vocabulary(letter: Desk) -> None:
    """Shapes of the model's sentences: "There MUST be 1 or more target relationships" (3.1)"""
    for document in list_documents():
        data = json.dumps({"@context": CONTEXT, "type": "Annotation", **document}).encode()
        held = hold(letter, store_assertion(letter.registry, data).identifier)
        triples = "".join(f"{one} .\n" for one in expand_document(held))
        answer = run_peer("pyshacl", _VALIDATE, json.dumps([triples, _SHAPES]).encode())
        assert answer.startswith(b"True"), answer.decode()
    broken = triples.replace(f"<{OA}hasTarget>", f"<{OA}hasNoTarget>")
    assert run_peer("pyshacl", _VALIDATE, json.dumps([broken, _SHAPES]).encode())[:5] == b"False"


_VALIDATE = """
import json, sys
from pyshacl import validate
data, shapes = json.load(sys.stdin)
fits, _, text = validate(data, shacl_graph=shapes, data_graph_format="nt",
                         shacl_graph_format="turtle")
print(fits, text)
"""
_SHAPES = f"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix oa: <{OA}> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
[] a sh:NodeShape ; sh:targetClass oa:Annotation ;
  sh:property [ sh:path oa:hasTarget ; sh:minCount 1 ; sh:nodeKind sh:BlankNodeOrIRI ] ;
  sh:property [ sh:path oa:hasBody ; sh:nodeKind sh:BlankNodeOrIRI ] ;
  sh:property [ sh:path oa:bodyValue ; sh:maxCount 1 ; sh:datatype xsd:string ] ;
  sh:property [ sh:path oa:motivatedBy ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path dcterms:created ; sh:maxCount 1 ; sh:datatype xsd:dateTime ] .
[] a sh:NodeShape ; sh:targetClass oa:SpecificResource ;
  sh:property [ sh:path oa:hasSource ; sh:minCount 1 ; sh:maxCount 1 ] .
[] a sh:NodeShape ; sh:targetClass oa:TextPositionSelector ;
  sh:property [ sh:path oa:start ; sh:minCount 1 ; sh:maxCount 1 ;
    sh:datatype xsd:nonNegativeInteger ] .
"""


def test_a_context_within_a_document_is_never_fetched(letter: Desk) -> None:
    body = {"@context": "http://127.0.0.1:9/x", "type": "TextualBody", "value": "x"}
    data = json.dumps({"@context": CONTEXT, "type": "Annotation", "target": NAME, "body": body})
    name = store_assertion(letter.registry, data.encode()).identifier
    fine = store(letter, NAME)
    assert ask(letter, "SELECT DISTINCT ?a { ?a a oa:Annotation }") == [[fine]]
    with open_triples(letter.registry) as index:
        assert [one.name for one in index.list_unread()] == [name]


def test_an_assertion_says_nothing_in_the_graph_of_another(letter: Desk) -> None:
    victim = store(letter, NAME)
    inner = {"id": victim, "@graph": [{"id": victim, "dcterms:title": "forged"}]}
    document = {"@context": CONTEXT, "type": "Annotation", "target": NAME, "body": inner}
    store_assertion(letter.registry, json.dumps(document).encode())
    assert not ask(letter, f'SELECT ?s {{ GRAPH <{victim}> {{ ?s ?p "forged" }} }}')


# the index
# ---------


def test_a_withdrawn_assertion_has_no_triples(letter: Desk) -> None:
    name = store(letter, NAME)
    assert ask(letter, "SELECT ?a { ?a a oa:Annotation }") == [[name]]
    letter.withdraw(f"{TODAY}/2")
    assert ask(letter, "SELECT ?a { ?a ?p ?o }") == []


def test_no_bytes_of_a_withdrawn_assertion_stay(letter: Desk) -> None:
    """As words do not stay in the index of words: the withdrawal itself removes them."""
    store(letter, NAME, body="xyzzymarker")
    fine = store(letter, NAME, body="kept")
    assert len(ask(letter, "SELECT ?a { ?a a oa:Annotation }")) == 2
    forget_withdrawn(letter.registry)
    letter.withdraw(f"{TODAY}/2")
    place = letter.root / "followers" / "triples"
    kept = b"".join(path.read_bytes() for path in place.iterdir() if path.is_file())
    assert b"xyzzymarker" not in kept
    assert ask(letter, "SELECT ?a { ?a a oa:Annotation }") == [[fine]]


def test_without_the_library_nothing_of_a_withdrawn_assertion_stays(
    letter: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(letter, NAME)
    ask(letter, "ASK { ?s ?p ?o }")
    monkeypatch.setattr(updating, "has_pyoxigraph", lambda: False)
    forget_withdrawn(letter.registry)
    letter.withdraw(f"{TODAY}/2")
    left = [path.name for path in (letter.root / "followers").glob("triples*")]
    assert left in ([], ["triples.lock"])


@pytest.mark.parametrize("step", ["copied", "moved", "replaced"])
def test_a_copy_that_was_interrupted_is_finished(letter: Desk, step: str) -> None:
    name = store(letter, NAME)
    query = "SELECT ?a { ?a a oa:Annotation }"
    assert ask(letter, query) == [[name]]
    place = letter.root / "followers" / "triples"
    fresh, stale = place.with_name("triples.fresh"), place.with_name("triples.stale")
    shutil.copytree(place, fresh)
    if step == "moved":
        place.rename(stale)
    if step == "replaced":
        place.rename(stale)
        fresh.rename(place)
    assert ask(letter, query) == [[name]]
    assert not fresh.exists()
    assert not stale.exists()


def test_the_index_can_be_made_again(letter: Desk) -> None:
    store(letter, NAME)
    store(letter, PART, body="x")
    query = "SELECT ?a ?t { ?a oa:hasTarget ?t } ORDER BY ?a ?t"
    before = ask(letter, query)
    with open_triples(letter.registry) as index:
        index.reset()
    assert ask(letter, query) == before
    store(letter, NAME, by="bob")
    assert len(ask(letter, query)) == len(before) + 1


def test_a_reader_asks_about_what_he_may_read(letter: Desk) -> None:
    letter.mint(text("Closed"))
    opened, closed = store(letter, NAME), store(letter, f"{TODAY}/2")
    rule = ReadingRule(about=f"{TODAY}/2", access=Access.CLOSED, by_token=True)
    letter.registry.door.execute_command(Restrict(rule=rule))
    query = "SELECT ?a { ?a a oa:Annotation } ORDER BY ?a"
    assert ask(letter, query) == [[opened], [closed]]
    assert ask(letter, query, PUBLIC_READER) == [[opened]]
    graphs = "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"
    assert ask(letter, graphs, PUBLIC_READER) == [[opened]]
    assert ask(letter, f"SELECT ?o {{ GRAPH <{closed}> {{ ?s ?p ?o }} }}", PUBLIC_READER) == []


# datasets
# --------

WHO = "?a a oa:Annotation"
LONG = "'" * 3


@pytest.mark.parametrize("reader", [LOCAL_READER, PUBLIC_READER])
def test_a_query_is_about_the_graphs_that_it_names(letter: Desk, reader: Reader) -> None:
    """SPARQL 1.1 Query Language, section 13.2: "If there is no FROM clause, but there is one or
    more FROM NAMED clauses, then the dataset includes an empty graph for the default graph."
    """
    names = sorted(store(letter, NAME) for _ in range(3))
    first, second, _ = names
    letter.mint(text("Closed"))
    closed = store(letter, f"{TODAY}/5")
    rule = ReadingRule(about=f"{TODAY}/5", access=Access.CLOSED, by_token=True)
    letter.registry.door.execute_command(Restrict(rule=rule))
    is_local = reader is LOCAL_READER

    def find(query: str) -> list[str]:
        return sorted(row[0] for row in ask(letter, query, reader))

    assert find(f"SELECT ?a {{ {WHO} }}") == sorted([*names, closed] if is_local else names)
    assert find(f"SELECT ?a FROM <{first}> {{ {WHO} }}") == [first]
    assert find(f"SELECT ?a FROM <{first}> FROM <{second}> {{ {WHO} }}") == [first, second]
    assert find(f"SELECT ?a FROM <{first}> {{ GRAPH ?g {{ {WHO} }} }}") == []
    assert find(f"SELECT ?a FROM NAMED <{first}> {{ GRAPH ?g {{ {WHO} }} }}") == [first]
    assert find(f"SELECT ?a FROM NAMED <{first}> {{ {WHO} }}") == []
    both = f"FROM <{first}> FROM NAMED <{second}>"
    assert find(f"SELECT ?a {both} {{ {WHO} }}") == [first]
    assert find(f"SELECT ?a {both} {{ GRAPH ?g {{ {WHO} }} }}") == [second]
    assert find(f"SELECT ?a FROM <{closed}> {{ {WHO} }}") == [closed] * is_local
    assert find(f"SELECT ?a FROM <pdi://a.us/1997/09/01/1.jsonld.1> {{ {WHO} }}") == []
    given = Dataset(default=(first, closed), named=(second,))
    asked = f"{PREFIXES} SELECT ?a FROM <{second}> {{ {WHO} }}"
    with open_triples(letter.registry) as index:
        _, answer = answer_query(letter.registry, index, asked, reader, ("csv",), given)
    rows = [row[0] for row in csv.reader(io.StringIO(answer.decode()))][1:]
    assert sorted(rows) == (sorted([first, closed]) if is_local else [first])


@pytest.mark.parametrize(
    ("query", "is_stated"),
    [
        ("SELECT * FROM <a:b> { ?s ?p ?o }", True),
        ("SELECT * #FROM\n from#<c:d>\nnamed <a:b> { ?s ?p ?o }", True),
        ("PREFIX : <a:> SELECT *FROM:b{}", True),
        ("PREFIX from: <a:> SELECT *FROM:b{}", True),
        ("PREFIX : <a:> ASKFROMNAMED:b{}", True),
        ("CONSTRUCT { <a:b> <a:b> 'x' } FROM <a:b> WHERE { }", True),
        ("CONSTRUCTFROM<a:b>WHERE{}", True),
        ("SELECT (?a<?b AS ?c)FROM<a:b>{}", True),
        ("SELECT ('\\'' AS ?c) FROM <a:b> {}", True),
        ('SELECT ("""a"b""" AS ?c) FROM <a:b> {}', True),
        ("SELECT * { ?s ?p ?o }", False),
        ("SELECT ?from { ?from ?p $from }", False),
        ("PREFIX from: <a:> PREFIX x: <b:> SELECT * { from:a x:from 'x'@from, _:from }", False),
        ("SELECT * { ?s <FROM> 'FROM <a:b>', 'it\\'s FROM', \"FROM\" }", False),
        (f"SELECT * {{ ?s ?p {LONG}FROM 'x' FROM{LONG} }}", False),
        ("SELECT * { ?s ?p ?o } # FROM <a:b>", False),
    ],
)
def test_from_is_told_from_the_same_letters(query: str, is_stated: bool) -> None:
    """SPARQL 1.1 Query Language, section 19.8, the terminals of the grammar."""
    assert has_dataset(query) is is_stated


# queries
# -------


@pytest.mark.parametrize(
    "query",
    [
        "ASK { SERVICE <http://a.example/> { ?s ?p ?o } }",
        "ASK { SeRvIcE SILENT <http://a.example/> { ?s ?p ?o } }",
        "ASK { ?s ?p ?o.SERVICE ?o { ?s ?p ?o } }",
        "ASK { ?s ?p 1service$o { ?s ?p ?o } }",
        "ASK { SERVICE # x > y\n# <\r silent #\n ex:a { ?s ?p ?o } }",
        "ASK { SERVICE:a { ?s ?p ?o } }",
        "ASK { FILTER(?a<?b)SERVICE:a#>\n{ ?s ?p ?o } }",
        "ASK { S\\u0045RVICE <http://a.example/> { ?s ?p ?o } }",
        "ASK { \\U00000053ERVICE <http://a.example/> { ?s ?p ?o } }",
        "ASK { ?s ex:a\\' ?o . SERVICE <http://a.example/> { ?s ?p 'x' } }",
        "ASK { } #" + "service#" * 4000,
        "ASK { } " + "#service\n" * 7000,
    ],
)
def test_a_query_is_never_sent_elsewhere(query: str) -> None:
    with pytest.raises(ServiceRefused):
        check_query(query)


@pytest.mark.parametrize(
    "query",
    [
        'SELECT ?s { ?s ?p "public service" }',
        "SELECT ?s { ?s <http://a.example/service> ?o }",
        "SELECT ?service { ?service a <http://a.example/service/x> }",
        "SELECT ?s { ?s ?p ?o FILTER(?o = 'service, or not') }",
    ],
)
def test_the_word_may_be_in_a_text(query: str) -> None:
    check_query(query)


@pytest.mark.parametrize("query", ["SELECT {", "INSERT DATA { <a:b> <a:b> <a:b> }", ""])
def test_other_queries_are_refused(letter: Desk, query: str) -> None:
    with pytest.raises(QueryMalformed):
        ask(letter, query)
    with pytest.raises(SparqlTooLong):
        check_query(" " * (LONGEST + 1))


# nanopublications
# ----------------


def test_an_assertion_goes_out_as_a_nanopublication(letter: Desk) -> None:
    """The head leads to the three other graphs (Nanopublication Guidelines)."""
    name = store(letter, PART, body="x", creator="https://orcid.org/0000-0001-5109-3700")
    data = write_nanopublication(hold(letter, name), "https://pid.example")
    found = rdflib.Dataset()
    found.parse(data=data, format="trig")
    address = rdflib.URIRef(f"https://pid.example/{name}")
    np = rdflib.Namespace("http://www.nanopub.org/nschema#")
    assert list(found.subjects(rdflib.RDF.type, np.Nanopublication)) == []  # none without a graph
    head = found.graph(rdflib.URIRef(f"{address}#Head"))
    assert (address, rdflib.RDF.type, np.Nanopublication) in head
    graphs = [
        found.graph(rdflib.URIRef(str(head.value(address, np[one]))))
        for one in ("hasAssertion", "hasProvenance", "hasPublicationInfo")
    ]
    said, origin, about = graphs
    assert (rdflib.URIRef(name), rdflib.URIRef(f"{OA}hasTarget"), rdflib.URIRef(PART)) in said
    agent = origin.value(said.identifier, rdflib.URIRef(f"{PROV}wasAttributedTo"))
    assert origin.value(agent, rdflib.FOAF.name) == rdflib.Literal("ann")
    creator = rdflib.URIRef("https://orcid.org/0000-0001-5109-3700")
    assert (address, rdflib.DCTERMS.creator, creator) in about


NANOPUB = f"""
@prefix : <https://w3id.org/np/RA1#> . @prefix np: <http://www.nanopub.org/nschema#> .
@prefix prov: <{PROV}> . @prefix dct: <http://purl.org/dc/terms/> .
:Head {{ : a np:Nanopublication ; np:hasAssertion :a ; np:hasProvenance :p ;
         np:hasPublicationInfo :i . }}
:a {{ <{PART}> <http://purl.org/spar/cito/disputes> <hdl:1839/x> ; <a:b> "{PART}" . }}
:p {{ :a prov:wasAttributedTo <https://orcid.org/0000-0001> . }}
:i {{ : dct:created "2020-01-01T00:00:00Z" . }}
"""


def test_a_nanopublication_comes_in_and_goes_out_as_it_came(letter: Desk) -> None:
    data = json.dumps(make_annotation(NANOPUB.encode())).encode()
    name = store_assertion(letter.registry, data, series=SERIES).identifier
    held = hold(letter, name)
    assert [str(one) for one in held.assertion.about] == [PART, "hdl:1839/x"]
    assert held.assertion.document["via"] == "https://w3id.org/np/RA1#"
    assert held.assertion.document["creator"] == "https://orcid.org/0000-0001"
    assert write_nanopublication(held, "https://pid.example") == NANOPUB.encode()
    query = f"SELECT ?o {{ GRAPH <{name}> {{ <{PART}> <http://purl.org/spar/cito/disputes> ?o }} }}"
    assert ask(letter, query) == [["hdl:1839/x"]]


def test_what_goes_out_can_come_in(letter: Desk) -> None:
    name = store(letter, PART, body="x")
    data = write_nanopublication(hold(letter, name), "https://pid.example")
    annotation = make_annotation(data)
    assert set(annotation["target"]) == {name, PART}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("{", "["), NanopublicationNotTrig),
        ((": a np:Nanopublication ;", ":"), NanopublicationHeads),
        ((": a np:Nanopublication ;", ": a np:Nanopublication . :z a np:Nanopublication . :"),
         NanopublicationHeads),
        (("np:hasProvenance :p ;", ""), NanopublicationGraph),
        (("np:hasProvenance :p ;", "np:hasProvenance :none ;"), NanopublicationGraph),
        ((f"<{PART}> <http", "<https://a.example/> <http"), None),
        ((f"{PART}> <http://purl.org/spar/cito/disputes> <hdl:1839/x", "a:b> <a:b> <a:c"),
         NanopublicationUnnamed),
        (("@prefix", " " * 140_000 + "@prefix"), NanopublicationTooLong),
    ],
)  # fmt: skip
def test_other_documents_are_refused(
    change: tuple[str, str], error: type[Exception] | None
) -> None:
    data = NANOPUB.replace(*change, 1).encode()
    if error is None:
        assert make_annotation(data)["target"] == "hdl:1839/x"
        return
    with pytest.raises(error):
        make_annotation(data)


def test_another_reader_takes_our_nanopublications(letter: Desk) -> None:
    """Nanopublication Guidelines: a head that points to three graphs, none of them empty; the
    provenance is about the assertion, and the publication info about the nanopublication."""
    for document in list_documents():
        data = json.dumps({"@context": CONTEXT, "type": "Annotation", **document}).encode()
        held = hold(letter, store_assertion(letter.registry, data).identifier)
        written = write_nanopublication(held, "https://pid.example")
        told = json.loads(run_peer("nanopub", _READ_NANOPUBLICATION, written))
        found = rdflib.Graph()
        found.parse(data="".join(f"{one} .\n" for one in expand_document(held)), format="nt")
        assert told == [True, f"https://pid.example/{held.identifier}", len(found)]
    broken = written.replace(b"np:hasProvenance", b"np:hasPublicationInfo")
    assert broken != written
    assert not json.loads(run_peer("nanopub", _READ_NANOPUBLICATION, broken))[0]


_READ_NANOPUBLICATION = """
import json, pathlib, sys, tempfile
from nanopub import Nanopub
from nanopub.utils import MalformedNanopubError
with tempfile.TemporaryDirectory() as place:
    path = pathlib.Path(place, "np.trig")
    path.write_bytes(sys.stdin.buffer.read())
    try:
        read = Nanopub(rdf=path)
        told = [read.is_valid, str(read.metadata.np_uri), len(read.assertion)]
    except MalformedNanopubError as error:
        told = [False, str(error), 0]
print(json.dumps(told))
"""
