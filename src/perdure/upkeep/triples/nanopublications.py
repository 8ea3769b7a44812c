"""Nanopublications: assertions in the form of other registries of them, out and in.

Specification: Nanopublication Guidelines (nanopub.net): a head, an assertion, its provenance, and
the information about the publication are four named graphs, written in TriG.

How it works: an assertion goes out with its own triples as the assertion graph; who made it and
when is its provenance; the publication is derived from the identifier. A nanopublication comes in
as the body of an assertion, byte for byte, about the identifiers in its assertion graph; it goes
out again as it came.

What must stay true: nothing is fetched, and nothing of a nanopublication is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from perdure.errors import PerdureError
from perdure.errors.triples import (
    NanopublicationGraph,
    NanopublicationHeads,
    NanopublicationNotTrig,
    NanopublicationTooLong,
    NanopublicationUnnamed,
)
from perdure.ids.urls import urlify
from perdure.model.assertions import CONTEXT, LONGEST, MOST, PREFIXES, find_identifier
from perdure.reading.assertions import HeldAssertion
from perdure.reading.targets import spell_path
from perdure.upkeep.triples.library import load_pyoxigraph
from perdure.upkeep.triples.quads import TRIG, expand_document, find_trig

_NP = "http://www.nanopub.org/nschema#"
_PROV = PREFIXES["prov"]
_DCTERMS = PREFIXES["dcterms"]
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
_NAME = "http://xmlns.com/foaf/0.1/name"
_GRAPHS = ("hasAssertion", "hasProvenance", "hasPublicationInfo")


class Nanopublication(NamedTuple):
    """A nanopublication, read."""

    address: str
    assertion: str
    """The name of the graph that is asserted."""
    targets: tuple[str, ...]
    """The identifiers in the assertion graph, as they are written."""
    creator: str
    created: str


def write_nanopublication(held: HeldAssertion, base: str) -> bytes:
    """Write an assertion as a nanopublication in TriG; one that came as such, as it came.

    `base` is the address of our own resolver. Raises NoPublicResolver, or AssertionNotTriples.
    """
    came = find_trig(held)
    if came is not None:
        return came
    ox = load_pyoxigraph()
    address = urlify(held.identifier, base, spell_path(held.identifier))
    quads = list(_list_quads(ox, held, address))
    prefixes = {
        "": f"{address}#",
        "np": _NP,
        "prov": _PROV,
        "dcterms": _DCTERMS,
        "oa": PREFIXES["oa"],
        "xsd": _DATE_TIME.removesuffix("dateTime"),
    }
    written: bytes = ox.serialize(quads, format=ox.RdfFormat.TRIG, prefixes=prefixes)
    return written


def _list_quads(ox: Any, held: HeldAssertion, address: str) -> Iterator[Any]:
    node = ox.NamedNode
    here = node(address)
    head, said, origin, about = (
        node(f"{address}#{one}") for one in ("Head", "assertion", "provenance", "pubinfo")
    )
    yield ox.Quad(here, node(_TYPE), node(f"{_NP}Nanopublication"), head)
    for name, graph in zip(_GRAPHS, (said, origin, about), strict=True):
        yield ox.Quad(here, node(f"{_NP}{name}"), graph, head)
    for triple in expand_document(held):
        yield ox.Quad(triple.subject, triple.predicate, triple.object, said)
    identifier = node(str(held.identifier))
    yield ox.Quad(said, node(f"{_PROV}wasDerivedFrom"), identifier, origin)
    actor = ox.BlankNode()
    yield ox.Quad(said, node(f"{_PROV}wasAttributedTo"), actor, origin)
    yield ox.Quad(actor, node(_TYPE), node(f"{_PROV}Agent"), origin)
    yield ox.Quad(actor, node(_NAME), ox.Literal(held.by), origin)
    at = ox.Literal(held.at, datatype=node(_DATE_TIME))
    yield ox.Quad(here, node(f"{_DCTERMS}created"), at, about)
    yield ox.Quad(here, node(f"{_DCTERMS}identifier"), ox.Literal(str(held.identifier)), about)
    creator = held.assertion.document.get("creator")
    if isinstance(creator, str) and ":" in creator:
        yield ox.Quad(here, node(f"{_DCTERMS}creator"), node(creator), about)


# in
# --


def read_nanopublication(data: bytes) -> Nanopublication:
    """Read a nanopublication in TriG. Raises NanopublicationMalformed or NanopublicationTooLong."""
    if len(data) > LONGEST // 2:
        raise NanopublicationTooLong(limit=LONGEST // 2)
    ox = load_pyoxigraph()
    try:
        quads = list(ox.parse(data, format=ox.RdfFormat.TRIG))
    except (SyntaxError, ValueError, OSError) as error:
        raise NanopublicationNotTrig(fault=str(error)) from None
    heads = [
        one
        for one in quads
        if one.predicate.value == _TYPE and _spell(one.object) == f"{_NP}Nanopublication"
    ]
    if len(heads) != 1:
        raise NanopublicationHeads(count=len(heads))
    (head,) = heads
    parts = {
        name: [
            one.object
            for one in quads
            if one.graph_name == head.graph_name
            and one.subject == head.subject
            and one.predicate.value == f"{_NP}{name}"
        ]
        for name in _GRAPHS
    }
    for name, graphs in parts.items():
        if len(graphs) != 1 or not any(one.graph_name == graphs[0] for one in quads):
            raise NanopublicationGraph(name=name)
    said, origin, about = (parts[name][0] for name in _GRAPHS)
    return Nanopublication(
        address=_spell(head.subject),
        assertion=_spell(said),
        targets=tuple(_list_targets(one for one in quads if one.graph_name == said)),
        creator=_find_value(quads, origin, said, f"{_PROV}wasAttributedTo"),
        created=_find_value(quads, about, head.subject, f"{_DCTERMS}created"),
    )


def _list_targets(quads: Iterator[Any]) -> Iterator[str]:
    """Yield the identifiers that triples name, each once, up to the most of an assertion."""
    seen: set[str] = set()
    named_node = load_pyoxigraph().NamedNode
    for quad in quads:
        for one in (quad.subject, quad.object):
            iri = one.value if isinstance(one, named_node) else ""
            try:
                is_named = find_identifier(iri) is not None
            except PerdureError:
                is_named = False
            if is_named and iri not in seen and len(seen) < MOST:
                seen.add(iri)
                yield iri


def _find_value(quads: list[Any], graph: Any, subject: Any, predicate: str) -> str:
    """Return the first value of a property in a graph; empty if it has none."""
    for one in quads:
        if one.graph_name == graph and one.subject == subject and one.predicate.value == predicate:
            return _spell(one.object)
    return ""


def _spell(term: Any) -> str:
    """Return an IRI or the text of a literal; empty for a blank node."""
    return "" if isinstance(term, load_pyoxigraph().BlankNode) else str(getattr(term, "value", ""))


def make_annotation(data: bytes) -> dict[str, Any]:
    """Return the assertion that keeps a nanopublication.

    Raises NanopublicationMalformed or NanopublicationTooLong.
    """
    found = read_nanopublication(data)
    if not found.targets:
        raise NanopublicationUnnamed()
    fields: dict[str, Any] = {
        "@context": CONTEXT,
        "type": "Annotation",
        "motivation": "linking",
        "creator": found.creator if ":" in found.creator else "",
        "created": found.created,
        "via": found.address,
        "body": {"type": "TextualBody", "format": TRIG, "value": data.decode("utf-8")},
        "target": found.targets[0] if len(found.targets) == 1 else list(found.targets),
    }
    return {name: value for name, value in fields.items() if value}
