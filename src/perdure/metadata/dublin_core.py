"""Dublin Core as XML: the fifteen elements in the container of OAI-PMH.

Specifications: Dublin Core Metadata Element Set 1.1 (ISO 15836-1) and the format `oai_dc` of
OAI-PMH 2.0; validated with `schemas/oai_dc.xsd`. In records of the wider DCMI terms, the terms
with the names of these elements are read, and those that refine them.

What must stay true: a written record is valid, and has the identifier in both its forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perdure.errors.records import NamespacesMissing
from perdure.metadata import xml_text
from perdure.metadata.port import DescribedResource, Format, Signature
from perdure.metadata.resource_types import find_resource_type, find_type_of_word, guess_type
from perdure.metadata.xml_text import collect_text, strip_namespace, write_element
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    GeoPlace,
    Publisher,
    Relation,
    Rights,
    Subject,
)
from perdure.model.description_checks import check_description, is_safe_link
from perdure.model.plain_words import find_year, parse_person

NAMESPACE = "http://www.openarchives.org/OAI/2.0/oai_dc/"
SCHEMA = "http://www.openarchives.org/OAI/2.0/oai_dc.xsd"
ELEMENTS = "http://purl.org/dc/elements/1.1/"
TERMS = "http://purl.org/dc/terms/"
_NAME = "dc"
_ROOT = (
    f'<oai_dc:dc xmlns:oai_dc="{NAMESPACE}" xmlns:dc="{ELEMENTS}" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    f'xsi:schemaLocation="{NAMESPACE} {SCHEMA}">'
)


# Writing
# -------


def write_record(described: DescribedResource) -> bytes:
    """Write the record, in UTF-8."""
    lines = [
        write_element(f"dc:{name}", text, xml__lang=lang)
        for name, text, lang in list_pairs(described)
    ]
    return "\n".join([f"{xml_text.DECLARATION}{_ROOT}", *lines, "</oai_dc:dc>\n"]).encode()


def list_pairs(described: DescribedResource) -> Iterator[tuple[str, str, str]]:
    """Yield element, value and language of everything that the fifteen elements can express."""
    about = described.about
    yield from (("title", one.value, one.language) for one in about.titles)
    yield from (("creator", one.display_name, one.language) for one in about.creators)
    yield from (("subject", one.value, one.language) for one in about.subjects)
    yield from (("description", one.value, one.language) for one in about.descriptions)
    if about.publisher is not None:
        yield "publisher", about.publisher.name, about.publisher.language
    yield from (("contributor", one.display_name, one.language) for one in about.contributors)
    date = about.first_date("Issued", "Available", "Created") or about.year
    if date:
        yield "date", date, ""
    general = about.resource_type or guess_type(described.media_type)
    if general:
        yield "type", find_resource_type(general).dcmi, ""
    if about.resource_kind:
        yield "type", about.resource_kind, ""
    formats = about.formats or ((described.media_type,) if described.media_type else ())
    yield from (("format", one, "") for one in formats)
    yield "identifier", str(described.identifier), ""
    if described.url != str(described.identifier):
        yield "identifier", described.url, ""
    yield from (("identifier", one.value, "") for one in about.codes)
    if about.language:
        yield "language", about.language, ""
    for one in about.relations:
        yield ("source" if one.relation == "IsDerivedFrom" else "relation"), one.value, ""
    yield from (("coverage", one.name, "") for one in about.places)
    for right in about.rights:
        yield "rights", right.value or right.code, right.language
        if right.uri:
            yield "rights", right.uri, ""


# Reading
# -------

_TERMS = {
    "alternative": "title",
    "abstract": "description",
    "tableOfContents": "description",
    "created": "date",
    "issued": "date",
    "modified": "date",
    "available": "date",
    "spatial": "coverage",
    "license": "rights",
    "accessRights": "rights",
    "isPartOf": "relation",
    "hasPart": "relation",
    "references": "relation",
}
"""DCMI terms that refine an element, with that element."""
_DATES = {"created": "Created", "modified": "Updated", "available": "Available"}
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_record(data: bytes) -> About:
    """Read a record. Raises InvalidMetadata with line and reason, TooLarge."""
    root = xml_text.parse_xml(data, _NAME)
    if root.tag == f"{{{NAMESPACE}}}dc":
        xml_text.validate_record(root, _NAME, "oai_dc.xsd")
    found: dict[str, list[tuple[str, Any]]] = {}
    for one in root.iter():
        if isinstance(one.tag, str) and one.tag.startswith((f"{{{ELEMENTS}}}", f"{{{TERMS}}}")):
            name = strip_namespace(one)
            if collect_text(one):
                found.setdefault(_TERMS.get(name, name), []).append((name, one))
    if not found:
        spaces = (ELEMENTS, TERMS)
        raise NamespacesMissing(format=_NAME, line=root.sourceline, namespaces=spaces)
    return check_description(_read_about(found))


def _read_about(found: dict[str, list[tuple[str, Any]]]) -> About:
    def list_values(name: str) -> list[str]:
        return [collect_text(one) for _, one in found.get(name, ())]

    dates = tuple(
        DescriptionDate(value=collect_text(one), kind=_DATES.get(name, "Issued"))
        for name, one in found.get("date", ())
    )
    kinds = list_values("type")
    general = next((word for kind in kinds if (word := find_type_of_word("dcmi", kind))), "")
    publisher = list_values("publisher")
    languages = list_values("language")
    return About(
        titles=tuple(
            DescriptionText(
                value=collect_text(one),
                kind="AlternativeTitle" if name == "alternative" or at else "",
                language=one.get(_LANG, ""),
            )
            for at, (name, one) in enumerate(found.get("title", ()))
        ),
        creators=tuple(map(parse_person, list_values("creator"))),
        contributors=tuple(map(_read_contributor, list_values("contributor"))),
        publisher=Publisher(name=publisher[0]) if publisher else None,
        year=next((year for one in dates if (year := find_year(one.value))), ""),
        dates=dates,
        language=languages[0] if languages else "",
        resource_type=general,
        resource_kind=next((kind for kind in kinds if not find_type_of_word("dcmi", kind)), ""),
        subjects=tuple(Subject(value=one) for one in list_values("subject")),
        codes=tuple(
            Code(value=one, scheme=_guess_scheme(one)) for one in list_values("identifier")
        ),
        relations=(
            *(_read_relation(one, "References") for one in list_values("relation")),
            *(_read_relation(one, "IsDerivedFrom") for one in list_values("source")),
        ),
        formats=tuple(list_values("format")),
        rights=tuple(map(_read_rights, list_values("rights"))),
        descriptions=tuple(
            DescriptionText(
                value=collect_text(one),
                kind="TableOfContents" if name == "tableOfContents" else "Abstract",
                language=one.get(_LANG, ""),
            )
            for name, one in found.get("description", ())
        ),
        places=tuple(GeoPlace(name=one) for one in list_values("coverage")),
    )


def _read_contributor(name: str) -> Agent:
    one = parse_person(name)
    return Agent(name=one.name, family=one.family, given=one.given, kind=one.kind, role="Other")


def _guess_scheme(text: str) -> str:
    lowered = text.lower()
    known = {"doi:": "DOI", "hdl:": "Handle", "urn:": "URN", "ark:": "ARK", "http": "URL"}
    return known.get(lowered[:4], "local")


def _read_relation(text: str, relation: str) -> Relation:
    scheme = _guess_scheme(text)
    return Relation(value=text, scheme="URL" if scheme == "local" else scheme, relation=relation)


def _read_rights(text: str) -> Rights:
    is_link = text.startswith(("http://", "https://")) and is_safe_link(text)
    return Rights(uri=text) if is_link else Rights(value=text)


FORMAT = Format(
    name=_NAME,
    title="Dublin Core XML (oai_dc)",
    media_types=("application/vnd.oai.dc+xml", "application/x-dc+xml"),
    write=write_record,
    read=read_record,
    schema=SCHEMA,
    aliases=("dublincore", "oai_dc"),
    signature=Signature(
        opening=(b"<",),
        marks=(NAMESPACE.encode(), ELEMENTS.encode(), TERMS.encode()),
        generality=1,
    ),
    place=20,
)
