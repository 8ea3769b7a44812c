"""The triples of an assertion, in a graph that its identifier names.

Specifications: JSON-LD 1.1; Web Annotation Vocabulary, with the context of its appendix A, which is
shipped; PROV-O.

How it works: pyoxigraph expands the document with the shipped context. Motivations are written as
the IRIs that they mean, and each target also under its identifier. Added are what the registry
knows: who asserted it and when, which assertions it invalidates, and the parts of a conjunction.

What must stay true: nothing is fetched, and an assertion says nothing outside its own graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.errors.triples import AssertionNotTriples
from perdure.ids import Identifier
from perdure.model.assertions import CONJOINS, CONTEXT, PREFIXES
from perdure.model.conjunctions import list_conjuncts
from perdure.reading.assertions import HeldAssertion
from perdure.upkeep.triples.library import load_pyoxigraph

_PROV = PREFIXES["prov"]
_TARGET = f"{PREFIXES['oa']}hasTarget"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_NAME = "http://xmlns.com/foaf/0.1/name"
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
TRIG = "application/trig"
"""The format of a body that is a nanopublication."""


def list_quads(held: HeldAssertion, invalidated: Iterable[Identifier] = ()) -> Iterator[Any]:
    """Yield the triples of an assertion, and those about it, as quads. `invalidated` are the
    assertions that it retracts, if it counts.

    Raises AssertionNotTriples if JSON-LD gives it no meaning without fetching something.
    """
    ox = load_pyoxigraph()
    graph = ox.NamedNode(str(held.identifier))
    for triple in expand_document(held):
        yield ox.Quad(triple.subject, triple.predicate, triple.object, graph)
    for predicate, objects in (
        (_TARGET, held.assertion.about),
        (CONJOINS, _list_parts(held)),
        (f"{_PROV}invalidated", invalidated),
    ):
        for one in objects:
            yield ox.Quad(graph, ox.NamedNode(predicate), ox.NamedNode(str(one)), graph)
    for triple in _read_body(held):
        yield ox.Quad(triple.subject, triple.predicate, triple.object, graph)
    actor = ox.BlankNode()
    at = ox.Literal(held.at, datatype=ox.NamedNode(_DATE_TIME))
    yield ox.Quad(graph, ox.NamedNode(f"{_PROV}generatedAtTime"), at, graph)
    yield ox.Quad(graph, ox.NamedNode(f"{_PROV}wasAttributedTo"), actor, graph)
    yield ox.Quad(actor, ox.NamedNode(_TYPE), ox.NamedNode(f"{_PROV}Agent"), graph)
    yield ox.Quad(actor, ox.NamedNode(_NAME), ox.Literal(held.by), graph)


def expand_document(held: HeldAssertion) -> Iterator[Any]:
    """Yield the triples of the document of an assertion, about its identifier.

    Raises AssertionNotTriples.
    """
    ox = load_pyoxigraph()
    document = dict(held.assertion.document)
    contexts = document["@context"]
    document["@context"] = [
        _load_context() if one == CONTEXT else one
        for one in (contexts if isinstance(contexts, list) else [contexts])
    ]
    document["id"] = str(held.identifier)
    if held.assertion.motivations:
        document["motivation"] = list(held.assertion.motivations)
    data = msgspec.json.encode(document)
    try:
        for quad in ox.parse(data, format=ox.RdfFormat.JSON_LD):
            yield quad.triple
    except (SyntaxError, ValueError, OSError) as error:
        raise AssertionNotTriples(identifier=str(held.identifier), fault=str(error)) from None


@cache
def _load_context() -> Any:
    data = (files("perdure.upkeep.triples") / "anno.jsonld").read_bytes()
    return msgspec.json.decode(data)["@context"]


def find_trig(held: HeldAssertion) -> bytes | None:
    """Return the nanopublication that the body of an assertion is; None if it is something else."""
    body = held.assertion.document.get("body")
    if not isinstance(body, dict) or body.get("format") != TRIG:
        return None
    value = body.get("value")
    return value.encode() if isinstance(value, str) else None


def _read_body(held: HeldAssertion) -> Iterator[Any]:
    """Yield the triples of a body that is a nanopublication; none if it is not TriG."""
    data = find_trig(held)
    if data is None:
        return
    ox = load_pyoxigraph()
    try:
        yield from [one.triple for one in ox.parse(data, format=ox.RdfFormat.TRIG)]
    except (SyntaxError, ValueError, OSError):
        return


def _list_parts(held: HeldAssertion) -> tuple[Identifier, ...]:
    try:
        return list_conjuncts(held.assertion)
    except PerdureError:  # of an older release, which did not check it
        return ()
