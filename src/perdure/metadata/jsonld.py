"""JSON-LD in the vocabulary of schema.org, which search engines read on landing pages.

Specifications: JSON-LD 1.1 (the compact form with one `@context`), https://schema.org/ and the
guidelines of science-on-schema.org for datasets.

What must stay true: no context is ever fetched, so only the plain names of schema.org are
understood; no record can end the script element of the page that contains it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.errors.limits import MetadataTooLarge
from perdure.errors.records import NotOneNode, quote_parser
from perdure.metadata import homes
from perdure.metadata.port import LARGEST, DescribedResource, Format, Signature
from perdure.metadata.resource_types import find_resource_type, find_type_of_word, guess_type
from perdure.model.about import (
    About,
    Affiliation,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Funding,
    GeoPlace,
    Publisher,
    RelatedItem,
    Relation,
    Rights,
    Subject,
    check_description,
    find_year,
    is_safe_link,
    parse_person,
)

Node = dict[str, Any]

_NAME = "jsonld"
CONTEXT = "https://schema.org/"
_ROLES = {"Editor": "editor", "Translator": "translator", "Sponsor": "sponsor"}
_RELATIONS = {
    "IsPartOf": "isPartOf",
    "HasPart": "hasPart",
    "Cites": "citation",
    "References": "citation",
    "IsDerivedFrom": "isBasedOn",
    "IsTranslationOf": "translationOfWork",
    "HasTranslation": "workTranslation",
    "IsIdenticalTo": "sameAs",
}


# Writing
# -------


def write_record(described: DescribedResource) -> bytes:
    """Write one node, as a JSON object that is safe inside a script element."""
    text = msgspec.json.format(msgspec.json.encode(make_node(described)), indent=2) + b"\n"
    # these three occur only inside strings
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def make_node(described: DescribedResource) -> Node:
    """Make the node of a resource."""
    about = described.about
    general = about.resource_type or guess_type(described.media_type)
    found: Node = {
        "@context": CONTEXT,
        "@type": find_resource_type(general).schema,
        "@id": described.url,
        "identifier": [_make_property(str(described.identifier)), *map(_make_code, about.codes)],
        "url": described.url,
        "name": about.title or str(described.identifier),
        "alternateName": [one.value for one in about.titles if one.kind],
        "additionalType": about.resource_kind,
        "creator": [_make_agent(one) for one in about.creators],
        "description": "\n\n".join(one.value for one in about.descriptions),
        "inLanguage": about.language,
        "keywords": [_make_subject(one) for one in about.subjects],
        "datePublished": about.first_date("Issued", "Available") or about.year,
        "dateCreated": about.first_date("Created"),
        "dateModified": about.first_date("Updated"),
        "temporalCoverage": about.first_date("Coverage", "Collected"),
        "version": about.version or (str(described.version) if described.version else ""),
        "bookEdition": about.edition,
        "license": [one.uri for one in about.rights if one.uri],
        "copyrightNotice": [one.value for one in about.rights if one.value and not one.uri],
        "encodingFormat": about.formats or described.media_type,
        "contentSize": f"{described.length} B" if described.length is not None else "",
        "spatialCoverage": [_make_place(one) for one in about.places],
        "funding": [_make_funding(one) for one in about.fundings],
        "archivedAt": about.archive,
    }
    if described.sha512:
        found["sha512"] = described.sha512  # from pending.schema.org, like sha256
    if about.publisher is not None:
        found["publisher"] = _make_publisher(about.publisher)
    for one in about.contributors:
        found.setdefault(_ROLES.get(one.role, "contributor"), []).append(_make_agent(one))
    for relation in about.relations:
        if name := _RELATIONS.get(relation.relation):
            found.setdefault(name, []).append({"@id": _find_iri(relation), "name": relation.value})
    if about.container is not None:
        found.setdefault("isPartOf", []).append(_make_container(about.container))
        pages = (about.container.first_page, about.container.last_page)
        found |= {"pageStart": pages[0], "pageEnd": pages[1]}
    return {name: value for name, value in found.items() if value}


def _find_iri(relation: Relation) -> str:
    value = relation.value
    return value if ":" in value else homes.add_home(value, relation.scheme)


def _make_property(value: str) -> Node:
    return {"@type": "PropertyValue", "propertyID": value.partition(":")[0], "value": value}


def _make_code(code: Code) -> Node:
    return {"@type": "PropertyValue", "propertyID": code.scheme or "local", "value": code.value}


def _make_agent(agent: Agent) -> Node:
    found: Node = {
        "@type": "Person" if agent.is_person else "Organization",
        "name": " ".join(part for part in (agent.given, agent.family) if part)
        or agent.display_name,
        "givenName": agent.given,
        "familyName": agent.family,
        "sameAs": [_find_home(one) for one in agent.codes],
        "affiliation": [_make_affiliation(one) for one in agent.affiliations],
    }
    if found["sameAs"]:
        found["@id"] = found["sameAs"][0]
    return {name: value for name, value in found.items() if value}


def _find_home(code: Code) -> str:
    """Return the address of an identifier of a person or an organisation."""
    if code.value.startswith(("http://", "https://")):
        return code.value
    return homes.add_home(code.value, code.scheme)


def _make_affiliation(one: Affiliation) -> Node:
    found: Node = {"@type": "Organization", "name": one.name}
    return found | ({"@id": _find_home(one.code)} if one.code else {})


def _make_publisher(one: Publisher) -> Node:
    found: Node = {"@type": "Organization", "name": one.name}
    if one.place:
        found["address"] = one.place
    return found | ({"@id": _find_home(one.code)} if one.code else {})


def _make_subject(one: Subject) -> str | Node:
    if not one.scheme and not one.uri:
        return one.value
    found = {
        "@type": "DefinedTerm",
        "name": one.value,
        "inDefinedTermSet": one.scheme_uri or one.scheme,
        "url": one.uri,
        "termCode": one.code,
    }
    return {name: value for name, value in found.items() if value}


def _make_place(one: GeoPlace) -> Node:
    found: Node = {"@type": "Place", "name": one.name}
    if one.point is not None:
        found["geo"] = {
            "@type": "GeoCoordinates",
            "latitude": one.point.latitude,
            "longitude": one.point.longitude,
        }
    elif one.box is not None:
        corners = f"{one.box.south} {one.box.west} {one.box.north} {one.box.east}"
        found["geo"] = {"@type": "GeoShape", "box": corners}
    elif one.polygons:
        line = " ".join(f"{at.latitude} {at.longitude}" for at in one.polygons[0].points)
        found["geo"] = {"@type": "GeoShape", "polygon": line}
    return {name: value for name, value in found.items() if value}


def _make_funding(one: Funding) -> Node:
    funder: Node = {"@type": "Organization", "name": one.funder}
    if one.code is not None:
        funder["@id"] = _find_home(one.code)
    found: Node = {
        "@type": "Grant",
        "identifier": one.award,
        "url": one.award_uri,
        "name": one.award_title,
        "funder": funder,
    }
    return {name: value for name, value in found.items() if value}


def _make_container(one: RelatedItem) -> Node:
    kind = find_resource_type(one.resource_type).schema
    found: Node = {
        "@type": kind,
        "name": one.titles[0].value if one.titles else "",
        "publisher": one.publisher,
    }
    found = {name: value for name, value in found.items() if value}
    if one.code is not None:
        name = {"ISSN": "issn", "EISSN": "issn", "ISBN": "isbn"}.get(one.code.scheme, "identifier")
        found[name] = one.code.value
    if kind == "Periodical" and one.volume:
        found = {"@type": "PublicationVolume", "volumeNumber": one.volume, "isPartOf": found}
    if kind == "Periodical" and one.issue:
        found = {"@type": "PublicationIssue", "issueNumber": one.issue, "isPartOf": found}
    return found


# Reading
# -------


def read_record(data: bytes) -> About:
    """Read a node, or the first node of a graph. Raises InvalidMetadata or TooLarge."""
    if len(data) > LARGEST:
        raise MetadataTooLarge(format=_NAME, limit=LARGEST)
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise quote_parser(_NAME, "msgspec", error) from None
    graph = found.get("@graph") if isinstance(found, dict) else found
    if isinstance(graph, list) and graph:
        found = graph[0]
    if not isinstance(found, dict) or not _read_first(found, "@type"):
        raise NotOneNode()
    return check_description(
        _read_about({name.removeprefix("schema:"): found[name] for name in found})
    )


def _list_values(node: Node, name: str) -> list[Any]:
    """Return all values; science-on-schema.org recommends a `@list` for creators."""
    value = node.get(name)
    if isinstance(value, dict):
        value = value.get("@list", value.get("@set", value))
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _read_string(value: Any) -> str:
    """Read the text of a value: a plain one, one with a language, or a node."""
    if isinstance(value, dict):
        value = value.get("@value") or value.get("name") or value.get("value") or value.get("@id")
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _read_strings(node: Node, name: str) -> list[str]:
    return [text for value in _list_values(node, name) if (text := _read_string(value))]


def _read_first(node: Node, name: str) -> str:
    return next(iter(_read_strings(node, name)), "")


def _read_about(node: Node) -> About:
    kinds = [
        find_type_of_word("schema", _read_string(one).rpartition("/")[2])
        for one in _list_values(node, "@type")
    ]
    published = _read_first(node, "datePublished")
    dates = (
        ("Issued", published),
        ("Created", _read_first(node, "dateCreated")),
        ("Updated", _read_first(node, "dateModified")),
        ("Coverage", _read_first(node, "temporalCoverage")),
    )
    creators = _list_values(node, "creator") or _list_values(node, "author")
    publisher = _read_first(node, "publisher")
    part_of = [
        one for one in _list_values(node, "isPartOf") if isinstance(one, dict) and "@type" in one
    ]
    return About(
        titles=(
            *(
                DescriptionText(value=one)
                for one in _read_strings(node, "name")[:1] or _read_strings(node, "headline")
            ),
            *(
                DescriptionText(value=one, kind="AlternativeTitle")
                for one in _read_strings(node, "alternateName")
            ),
        ),
        creators=tuple(agent for one in creators if (agent := _read_agent(one, "")).display_name),
        contributors=tuple(
            agent
            for role, name in {**_ROLES, "Other": "contributor"}.items()
            for one in _list_values(node, name)
            if (agent := _read_agent(one, role)).display_name
        ),
        publisher=Publisher(name=publisher) if publisher else None,
        year=find_year(published),
        dates=tuple(DescriptionDate(value=value, kind=kind) for kind, value in dates if value),
        language=_read_first(node, "inLanguage"),
        resource_type=next(filter(None, kinds), "Other"),
        resource_kind=_read_first(node, "additionalType"),
        subjects=tuple(_read_subjects(node)),
        codes=tuple(_read_codes(node)),
        relations=tuple(_read_relations(node)),
        formats=tuple(_read_strings(node, "encodingFormat")),
        version=_read_first(node, "version"),
        edition=_read_first(node, "bookEdition"),
        rights=tuple(_read_rights(one) for one in _read_strings(node, "license")),
        descriptions=tuple(
            DescriptionText(value=one, kind="Abstract")
            for one in _read_strings(node, "description") or _read_strings(node, "abstract")
        ),
        places=tuple(GeoPlace(name=one) for one in _read_strings(node, "spatialCoverage")),
        related=tuple(_read_container(one, node) for one in part_of[:1]),
    )


def _read_agent(value: Any, role: str) -> Agent:
    if not isinstance(value, dict):
        one = parse_person(_read_string(value))
        return msgspec.structs.replace(one, role=role)
    family, given = _read_first(value, "familyName"), _read_first(value, "givenName")
    is_person = _read_first(value, "@type") != "Organization"
    name = ", ".join(part for part in (family, given) if part) or _read_first(value, "name")
    links = (_read_strings(value, "sameAs") or _read_strings(value, "@id"))[:8]
    codes = (
        Code(value=one, scheme=homes.find_type(one)) for one in links if one.startswith("http")
    )
    affiliations = (Affiliation(name=one) for one in _read_strings(value, "affiliation"))
    return Agent(
        name=name,
        family=family,
        given=given,
        kind="Personal" if is_person and family else "" if is_person else "Organizational",
        role=role,
        codes=tuple(codes),
        affiliations=tuple(affiliations),
    )


def _read_subjects(node: Node) -> list[Subject]:
    found = []
    for one in _list_values(node, "keywords"):
        if isinstance(one, dict):
            uri = _read_first(one, "url")
            if _read_string(one):
                found.append(
                    Subject(value=_read_string(one), uri=uri, code=_read_first(one, "termCode"))
                )
        else:
            words = (word.strip() for word in _read_string(one).split(","))
            found.extend(Subject(value=word) for word in words if word)
    return found


def _read_codes(node: Node) -> list[Code]:
    found = []
    for one in _list_values(node, "identifier"):
        if isinstance(one, dict):
            scheme = _read_first(one, "propertyID").rpartition("/")[2]
            value = _read_first(one, "value") or _read_first(one, "@id")
        else:
            value, scheme = _read_string(one), "URL" if _read_string(one).startswith("http") else ""
        if value and is_safe_link(value):
            found.append(Code(value=value, scheme=scheme))
    return found


def _read_relations(node: Node) -> list[Relation]:
    back = {name: relation for relation, name in reversed(_RELATIONS.items())}
    found = []
    for name, relation in back.items():
        for one in _list_values(node, name):
            link = _read_string(one.get("@id") if isinstance(one, dict) else one)
            if link.startswith(("http://", "https://")):
                found.append(Relation(value=link, scheme="URL", relation=relation))
    return found


def _read_rights(text: str) -> Rights:
    return Rights(uri=text) if text.startswith(("http://", "https://")) else Rights(value=text)


def _read_container(part: Node, node: Node) -> RelatedItem:
    issue, volume = _read_first(part, "issueNumber"), _read_first(part, "volumeNumber")
    while isinstance(part.get("isPartOf"), dict):
        part = part["isPartOf"]
        volume = volume or _read_first(part, "volumeNumber")
    issn, isbn = _read_first(part, "issn"), _read_first(part, "isbn")
    code = Code(value=issn or isbn, scheme="ISSN" if issn else "ISBN") if issn or isbn else None
    name = _read_first(part, "name")
    return RelatedItem(
        relation="IsPublishedIn",
        resource_type=find_type_of_word("schema", _read_first(part, "@type")) or "Other",
        titles=(DescriptionText(value=name),) if name else (),
        code=code,
        volume=volume,
        issue=issue,
        first_page=_read_first(node, "pageStart"),
        last_page=_read_first(node, "pageEnd"),
    )


FORMAT = Format(
    name=_NAME,
    title="JSON-LD (schema.org)",
    media_types=("application/ld+json", "application/vnd.schemaorg.ld+json"),
    write=write_record,
    read=read_record,
    schema=CONTEXT,
    aliases=("schemaorg", "schema.org"),
    signature=Signature(opening=(b"{", b"["), marks=(b'"@context"', b'"@type"'), reach=LARGEST + 1),
    place=30,
)
