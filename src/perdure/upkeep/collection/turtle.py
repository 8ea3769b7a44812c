"""A collection as RDF in Turtle: a `dcmitype:Collection` with its members in order.

    <pdi://…/1.json.1> a dcmitype:Collection ; dcterms:title "A corpus" ;
        dcterms:hasPart <pdi://…/1.json.1#member=1> .
    <pdi://…/1.json.1#member=1> schema:position 1 ; dcterms:identifier "pwid:archive.org:…" .

Vocabularies: DCMI Terms; schema.org (`position`, `contentSize` in bytes); SKOS (`notation`, the
name within the collection); PREMIS (`hasMessageDigest`, as `urn:sha512:…`); BIBO (`authorList`,
because a graph has no order of its own).

What must stay true: members keep their order, which is `schema:position`; the same collection gives
the same bytes; nothing is fetched, whatever a document names.
"""

from __future__ import annotations

import uuid
from typing import Any

from perdure.errors.records import (
    GraphNotOneCollection,
    GraphTooLong,
    SizeNotBytes,
    quote_parser,
)
from perdure.errors.unavailable import import_library
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember

_TERMS = "http://purl.org/dc/terms/"
_TYPES = "http://purl.org/dc/dcmitype/"
_SCHEMA = "https://schema.org/"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_BIBO = "http://purl.org/ontology/bibo/"
_DIGEST = "http://www.loc.gov/premis/rdf/v1#hasMessageDigest"
_PREFIXES = {
    "bibo": _BIBO,
    "dcmitype": _TYPES,
    "dcterms": _TERMS,
    "premis": "http://www.loc.gov/premis/rdf/v1#",
    "schema": _SCHEMA,
    "skos": _SKOS,
}
_LARGEST = 64 << 20  # characters
_TEXTS = {
    "title": _TERMS + "title",
    "media_type": _TERMS + "format",
    "note": _TERMS + "description",
    "name": _SKOS + "notation",
}


def _import_rdflib() -> Any:
    return import_library("rdflib", task="RDF", extra="metadata")


def write_turtle(collection: Collection, identifier: str = "", *, first: int = 1) -> bytes:
    """Write the graph. Without an identifier, its subject is a UUID computed from the content.

    `first` is the number of the first member, if the collection is a page of a longer list.
    """
    rdf = _import_rdflib()
    made = uuid.uuid5(uuid.NAMESPACE_URL, members.write_collection(collection).hex())
    subject = identifier or made.urn
    graph = rdf.Graph()
    for prefix, uri in _PREFIXES.items():
        graph.bind(prefix, uri, replace=True)
    whole = rdf.URIRef(subject)

    def add_triple(about: Any, predicate: str, value: Any) -> None:
        graph.add((about, rdf.URIRef(predicate), value))

    add_triple(whole, str(rdf.RDF.type), rdf.URIRef(_TYPES + "Collection"))
    for predicate, value in (
        ("title", collection.title),
        ("description", collection.purpose),
        ("date", collection.date),
        *(("creator", one) for one in collection.creators),
    ):
        if value:
            add_triple(whole, _TERMS + predicate, rdf.Literal(value))
    if len(collection.creators) > 1:
        authors = rdf.BNode("authors")
        rdf.collection.Collection(graph, authors, [rdf.Literal(one) for one in collection.creators])
        add_triple(whole, _BIBO + "authorList", authors)
    for number, member in enumerate(collection.members, first):
        part = rdf.URIRef(f"{subject}#member={number}")
        add_triple(whole, _TERMS + "hasPart", part)
        add_triple(part, _SCHEMA + "position", rdf.Literal(number))
        add_triple(part, _TERMS + "identifier", rdf.Literal(member.identifier))
        for field, predicate in _TEXTS.items():
            if getattr(member, field):
                add_triple(part, predicate, rdf.Literal(getattr(member, field)))
        if member.digest:
            add_triple(part, _DIGEST, rdf.URIRef(f"urn:{member.digest}"))
        if member.length is not None:
            add_triple(part, _SCHEMA + "contentSize", rdf.Literal(member.length))
    written: bytes = graph.serialize(format="turtle", encoding="utf-8")
    return written


def read_turtle(text: str) -> Collection:
    """Read the one collection of a graph. Raises InvalidMetadata."""
    rdf = _import_rdflib()
    if len(text) > _LARGEST:
        raise GraphTooLong(most=_LARGEST)
    graph = rdf.Graph()
    try:
        graph.parse(data=text, format="turtle")
    except rdf.plugins.parsers.notation3.BadSyntax as error:
        message = getattr(error, "message", "") or "it is not Turtle"
        line = getattr(error, "lines", 0) + 1
        raise quote_parser("collection", "rdflib", message, line) from error
    except ValueError as error:  # an IRI that is not valid
        raise quote_parser("collection", "rdflib", error) from error
    found = list(graph.subjects(rdf.RDF.type, rdf.URIRef(_TYPES + "Collection")))
    if len(found) != 1:
        raise GraphNotOneCollection(count=len(found))

    def texts_of(about: Any, predicate: str) -> list[str]:
        return sorted(str(one) for one in graph.objects(about, rdf.URIRef(predicate)))

    def text_of(about: Any, predicate: str) -> str:
        return next(iter(texts_of(about, predicate)), "")

    whole = found[0]
    parts = list(graph.objects(whole, rdf.URIRef(_TERMS + "hasPart")))
    placed = sorted(
        (_read_position(text_of(part, _SCHEMA + "position"), len(parts)), str(part), part)
        for part in parts
    )
    ordered = graph.value(whole, rdf.URIRef(_BIBO + "authorList"))
    authors = [str(one) for one in rdf.collection.Collection(graph, ordered)] if ordered else []
    return Collection(
        title=text_of(whole, _TERMS + "title"),
        creators=tuple(authors or texts_of(whole, _TERMS + "creator")),
        purpose=text_of(whole, _TERMS + "description"),
        date=text_of(whole, _TERMS + "date"),
        members=tuple(
            CollectionMember(
                identifier=text_of(part, _TERMS + "identifier") or str(part),
                digest=text_of(part, _DIGEST).removeprefix("urn:"),
                length=_read_length(text_of(part, _SCHEMA + "contentSize")),
                **{field: text_of(part, predicate) for field, predicate in _TEXTS.items()},
            )
            for _, _, part in placed
        ),
    )


def _read_position(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


def _read_length(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise SizeNotBytes()
    return int(text)
