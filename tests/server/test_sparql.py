"""`/sparql`: queries over HTTP, as the SPARQL 1.1 Protocol says, and their limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, problem, text
from tests.server.test_withholding import configure

from perdure.ids import parse
from perdure.model.assertions import write_assertion
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.asserting import store_assertion

pytest.importorskip("pyoxigraph")
ALL = "SELECT ?a { ?a a <http://www.w3.org/ns/oa#Annotation> }"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = configure(tmp_path_factory.mktemp("sparql") / "registry", sparql="on")
    with deployed(root) as running:
        yield running


@pytest.fixture(scope="module")
def name(asked: Deployment) -> str:
    document = asked.mint(text(b"to whom it may concern"))
    data = write_assertion((document,), ("commenting",), body="x")
    return store_assertion(asked.registry, data, series=SERIES).identifier


def find(site: Deployment, query: str) -> list[dict[str, str]]:
    answer = site.get(f"/sparql?query={quote(query)}")
    assert answer.status == 200, answer.body
    rows = json.loads(answer.body)["results"]["bindings"]
    return [{name: one["value"] for name, one in row.items()} for row in rows]


def test_a_query_by_each_operation(asked: Deployment, name: str) -> None:
    """ "query via GET", "query via URL-encoded POST", "query via POST directly" (section 2.1)"""
    expected = asked.get(f"/sparql?query={quote(ALL)}")
    assert expected.headers["content-type"] == "application/sparql-results+json"
    assert expected.headers["access-control-allow-origin"] == "*"
    assert name in expected.body.decode()
    form = urlencode({"query": ALL}).encode()
    kind = "Content-Type: application/x-www-form-urlencoded"
    length = f"Content-Length: {len(form)}"
    assert asked.ask("POST", "/sparql", kind, length, body=form).body == expected.body
    kind, length = "Content-Type: application/sparql-query", f"Content-Length: {len(ALL)}"
    assert asked.ask("POST", "/sparql", kind, length, body=ALL.encode()).body == expected.body


def test_a_request_names_the_graphs(asked: Deployment, name: str) -> None:
    """SPARQL 1.1 Protocol, section 2.1.4: "the dataset description specified in the protocol
    request" counts instead of that of the query."""
    other = "pdi://a.us/1997/09/01/1.jsonld.1"
    query = f"/sparql?query={quote(ALL)}"
    assert {"a": name} in find(asked, ALL)
    assert find(asked, ALL.replace("{", f"FROM <{other}> {{", 1)) == []
    for given, expected in ((name, [name]), (other, [])):
        address = f"{query}&default-graph-uri={quote(given, safe='')}"
        rows = json.loads(asked.get(address).body)["results"]["bindings"]
        assert [one["a"]["value"] for one in rows] == expected
    form = urlencode({"query": ALL, "default-graph-uri": other}).encode()
    kind = "Content-Type: application/x-www-form-urlencoded"
    answer = asked.ask("POST", "/sparql", kind, f"Content-Length: {len(form)}", body=form)
    assert json.loads(answer.body)["results"]["bindings"] == []
    kind, length = "Content-Type: application/sparql-query", f"Content-Length: {len(ALL)}"
    target = f"/sparql?named-graph-uri={quote(other, safe='')}"
    answer = asked.ask("POST", target, kind, length, body=ALL.encode())
    assert json.loads(answer.body)["results"]["bindings"] == []
    problem(asked.get(f"{query}&default-graph-uri=x"), 400, "invalid-request")


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        (ALL, "text/csv", "text/csv"),
        (ALL, "application/sparql-results+xml", "application/sparql-results+xml"),
        (ALL, "application/json", "application/sparql-results+json"),
        ("ASK { }", "text/turtle, */*;q=0.1", "application/sparql-results+json"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "*/*", "text/turtle"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "application/n-triples", "application/n-triples"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "application/ld+json", "application/ld+json"),
    ],
)
def test_forms(asked: Deployment, name: str, query: str, accept: str, kind: str) -> None:
    answer = asked.get(f"/sparql?query={quote(query)}", f"Accept: {accept}")
    assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, kind)


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        ("/sparql", 400, "invalid-request"),
        (f"/sparql?query={quote('SELECT {')}", 400, "invalid-request"),
        (f"/sparql?query={quote('ASK { SERVICE <http://a.example/> {} }')}", 400,
         "invalid-request"),
        (f"/sparql?query={quote('DELETE WHERE { ?s ?p ?o }')}", 400, "invalid-request"),
    ],
)  # fmt: skip
def test_other_queries_are_refused(asked: Deployment, target: str, status: int, code: str) -> None:
    problem(asked.get(target), status, code)


def test_other_types_are_refused(asked: Deployment) -> None:
    answer = asked.get(f"/sparql?query={quote(ALL)}", "Accept: image/png")
    problem(answer, 406, "not-acceptable")


def test_a_query_without_end_is_stopped(asked: Deployment, name: str) -> None:
    walk = " ".join(f"?s{n} ?p{n} ?o{n} ." for n in range(9))
    answer = asked.get(f"/sparql?query={quote(f'SELECT (COUNT(*) AS ?n) {{ {walk} }}')}")
    assert "10 seconds" in problem(answer, 400, "invalid-request")["detail"]
    assert find(asked, ALL)


def test_it_is_off_by_default(site: Deployment) -> None:
    assert site.get(f"/sparql?query={quote(ALL)}").status == 404


def test_answers_have_nothing_closed_or_withdrawn(tmp_path: Path) -> None:
    root = configure(tmp_path / "registry", sparql="on")
    with deployed(root) as site:
        first, second = (site.mint(text(one)) for one in (b"one", b"two"))
        names = [
            store_assertion(site.registry, write_assertion((one,)), series=SERIES).identifier
            for one in (first, second, second)
        ]
        assert len(find(site, ALL)) == 3
        rule = ReadingRule(about=first, access=Access.CLOSED, by_token=True)
        site.do(Restrict(rule=rule))
        site.do(Withdraw(identifier=parse(names[1].partition(".jsonld")[0]), reason="a court"))
        assert find(site, ALL) == [{"a": names[2]}]
