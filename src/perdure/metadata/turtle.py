"""RDF in Turtle: the resource in DCMI terms, persons in FOAF.

Specifications: RDF 1.1 Turtle, DCMI Metadata Terms, FOAF 0.99. rdflib writes it, and so
escapes every literal and IRI as RDF requires.

What must stay true: the subject is the actionable identifier, and `dcterms:identifier` is the
identifier itself.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from typing import Any

from perdure.errors.unavailable import import_library
from perdure.metadata import homes
from perdure.metadata.port import DescribedResource, Format
from perdure.metadata.resource_types import find_resource_type, guess_type
from perdure.model.about import Agent, Code

_NAME = "turtle"
_TERMS = "http://purl.org/dc/terms/"
_TYPES = "http://purl.org/dc/dcmitype/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_SCHEMA = "https://schema.org/"
_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|\\^`]*')
_RELATIONS = {
    "IsPartOf": "isPartOf",
    "IsPublishedIn": "isPartOf",
    "HasPart": "hasPart",
    "Cites": "references",
    "References": "references",
    "IsReferencedBy": "isReferencedBy",
    "IsCitedBy": "isReferencedBy",
    "IsVersionOf": "isVersionOf",
    "HasVersion": "hasVersion",
    "IsNewVersionOf": "replaces",
    "IsPreviousVersionOf": "isReplacedBy",
    "Obsoletes": "replaces",
    "IsObsoletedBy": "isReplacedBy",
    "Requires": "requires",
    "IsRequiredBy": "isRequiredBy",
    "IsDerivedFrom": "source",
    "IsVariantFormOf": "isFormatOf",
    "IsOriginalFormOf": "hasFormat",
}
_DATES = {"Issued": "issued", "Created": "created", "Updated": "modified", "Available": "available",
          "Accepted": "dateAccepted", "Submitted": "dateSubmitted", "Valid": "valid",
          "Copyrighted": "dateCopyrighted", "Coverage": "temporal"}  # fmt: skip


def _load_rdflib() -> Any:
    return import_library("rdflib", task="writing RDF", extra="metadata")


def write_record(described: DescribedResource) -> bytes:
    """Write the graph, in Turtle and UTF-8."""
    written: bytes = make_graph(described).serialize(format="turtle", encoding="utf-8")
    return written


def make_graph(described: DescribedResource) -> Any:
    """Make the rdflib graph of a resource. Raises Unavailable if rdflib is not installed."""
    found = _Graph(described.url)
    about = described.about
    found.add_type(
        _TYPES + find_resource_type(about.resource_type or guess_type(described.media_type)).dcmi
    )
    found.add_text("identifier", str(described.identifier))
    for code in about.codes:
        found.add_text("identifier", code.value)
    for title in about.titles:
        found.add_text("alternative" if title.kind else "title", title.value, title.language)
    for agent in about.creators:
        found.add_agent("creator", agent)
    for agent in about.contributors:
        found.add_agent("contributor", agent)
    if about.publisher is not None:
        one = about.publisher
        found.add_agent("publisher", Agent(name=one.name, codes=(one.code,) if one.code else ()))
    for when in about.dates:
        found.add_date(_DATES.get(when.kind, "date"), when.value)
    if about.year and not about.first_date("Issued"):
        found.add_date("issued", about.year)
    if about.language:
        found.add_text("language", about.language)
    for subject in about.subjects:
        if subject.uri:
            found.add_link("subject", subject.uri)
        found.add_text("subject", subject.value, subject.language)
    for text in about.descriptions:
        term = {"Abstract": "abstract", "TableOfContents": "tableOfContents"}.get(text.kind)
        found.add_text(term or "description", text.value, text.language)
    for right in about.rights:
        if right.uri:
            found.add_link("license", right.uri)
        if right.value:
            found.add_text("rights", right.value, right.language)
    for place in about.places:
        if place.name:
            found.add_text("spatial", place.name)
    for relation in about.relations:
        found.add_link(
            _RELATIONS.get(relation.relation, "relation"),
            _find_iri(relation.value, relation.scheme),
        )
    held_in = about.container
    if held_in is not None and held_in.titles:
        found.add_text("isPartOf", held_in.titles[0].value)
    for name in about.formats or ((described.media_type,) if described.media_type else ()):
        found.add_text("format", name)
    if about.version:
        found.add_text("hasVersion", about.version)
    return found.graph


def _find_iri(value: str, scheme: str) -> str:
    return value if _IRI.fullmatch(value) else homes.add_home(value, scheme)


class _Graph:
    """A graph about one subject."""

    def __init__(self, subject: str) -> None:
        self._rdf = _load_rdflib()
        self.graph = self._rdf.Graph()
        for prefix, uri in (("dcterms", _TERMS), ("dcmitype", _TYPES), ("foaf", _FOAF)):
            self.graph.bind(prefix, uri)
        self._subject = self._rdf.URIRef(subject)

    def _add_triple(self, predicate: str, value: Any, subject: Any = None) -> None:
        self.graph.add((subject or self._subject, self._rdf.URIRef(predicate), value))

    def add_type(self, uri: str) -> None:
        self._add_triple(str(self._rdf.RDF.type), self._rdf.URIRef(uri))

    def add_text(self, term: str, value: str, language: str = "") -> None:
        self._add_triple(_TERMS + term, self._rdf.Literal(value, lang=language or None))

    def add_link(self, term: str, iri: str) -> None:
        """Add a link, or a text if RDF does not allow the link."""
        fits = _IRI.fullmatch(iri)
        self._add_triple(_TERMS + term, self._rdf.URIRef(iri) if fits else self._rdf.Literal(iri))

    def add_date(self, term: str, value: str) -> None:
        """Add a date with its type, or a text if the calendar does not have the date."""
        kinds = {4: "gYear", 7: "gYearMonth", 10: "date"}
        kind = self._rdf.URIRef(_XSD + kinds[len(value)]) if _is_date(value) else None
        literal = self._rdf.Literal(value, datatype=kind, normalize=False)
        self._add_triple(_TERMS + term, literal)

    def add_agent(self, term: str, agent: Agent) -> None:
        home = next((iri for code in agent.codes if (iri := _find_home(code))), "")
        node = self._rdf.URIRef(home) if home else self._rdf.BNode()
        self._add_triple(_TERMS + term, node)
        kind = "Person" if agent.is_person else "Organization" if agent.kind else "Agent"
        self._add_triple(str(self._rdf.RDF.type), self._rdf.URIRef(_FOAF + kind), node)
        shown = " ".join(part for part in (agent.given, agent.family) if part) or agent.display_name
        for name, value in (
            ("name", shown),
            ("givenName", agent.given),
            ("familyName", agent.family),
        ):
            if value:
                self._add_triple(_FOAF + name, self._rdf.Literal(value), node)


def _is_date(value: str) -> bool:
    """Return True if a text is a year, a month or a day of the calendar."""
    if re.fullmatch("[0-9]{4}(-[0-9]{2}){0,2}", value, re.ASCII) is None:
        return False
    with suppress(ValueError):
        return bool(date.fromisoformat(f"{value}-01-01"[:10]))
    return False


def _find_home(code: Code) -> str:
    iri = _find_iri(code.value, code.scheme.upper())
    return iri if _IRI.fullmatch(iri) else ""


FORMAT = Format(
    name=_NAME,
    title="RDF (Turtle, DCMI terms)",
    media_types=("text/turtle",),
    write=write_record,
    schema=_TERMS,
    aliases=("rdf", "ttl"),
    is_text=True,
    is_slow=True,
    place=40,
)
