"""JSON-LD in the vocabulary of schema.org, which search engines read on landing pages.

Specifications: JSON-LD 1.1 (the compact form with one `@context`), https://schema.org/ and the
guidelines of science-on-schema.org for datasets.

What must stay true: no context is ever fetched, so only the plain names of schema.org are
understood; no record can end the script element of the page that contains it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.errors import TooLarge
from perdure.metadata import homes
from perdure.metadata.port import LARGEST, Described, Format, Signature, wrong
from perdure.metadata.resource_types import from_media, from_word, row
from perdure.model.about import (
    About,
    Affiliation,
    Agent,
    Code,
    Funding,
    Place,
    Publisher,
    Related,
    Relation,
    Rights,
    Subject,
    Text,
    When,
    checked,
    is_safe,
    person,
    year_of,
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


def write(described: Described) -> bytes:
    """Write one node, as a JSON object that is safe inside a script element."""
    text = msgspec.json.format(msgspec.json.encode(node(described)), indent=2) + b"\n"
    # these three occur only inside strings
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def node(described: Described) -> Node:
    """Make the node of a resource."""
    about = described.about
    general = about.resource_type or from_media(described.media_type)
    found: Node = {
        "@context": CONTEXT,
        "@type": row(general).schema,
        "@id": described.url,
        "identifier": [_property(str(described.identifier)), *map(_code, about.codes)],
        "url": described.url,
        "name": about.title or str(described.identifier),
        "alternateName": [one.value for one in about.titles if one.kind],
        "additionalType": about.resource_kind,
        "creator": [_agent(one) for one in about.creators],
        "description": "\n\n".join(one.value for one in about.descriptions),
        "inLanguage": about.language,
        "keywords": [_subject(one) for one in about.subjects],
        "datePublished": about.date("Issued", "Available") or about.year,
        "dateCreated": about.date("Created"),
        "dateModified": about.date("Updated"),
        "temporalCoverage": about.date("Coverage", "Collected"),
        "version": about.version or (str(described.version) if described.version else ""),
        "bookEdition": about.edition,
        "license": [one.uri for one in about.rights if one.uri],
        "copyrightNotice": [one.value for one in about.rights if one.value and not one.uri],
        "encodingFormat": about.formats or described.media_type,
        "contentSize": f"{described.length} B" if described.length is not None else "",
        "spatialCoverage": [_place(one) for one in about.places],
        "funding": [_funding(one) for one in about.fundings],
        "archivedAt": about.archive,
    }
    if described.sha512:
        found["sha512"] = described.sha512  # from pending.schema.org, like sha256
    if about.publisher is not None:
        found["publisher"] = _publisher(about.publisher)
    for one in about.contributors:
        found.setdefault(_ROLES.get(one.role, "contributor"), []).append(_agent(one))
    for relation in about.relations:
        if name := _RELATIONS.get(relation.relation):
            found.setdefault(name, []).append({"@id": _iri(relation), "name": relation.value})
    if about.container is not None:
        found.setdefault("isPartOf", []).append(_container(about.container))
        pages = (about.container.first_page, about.container.last_page)
        found |= {"pageStart": pages[0], "pageEnd": pages[1]}
    return {name: value for name, value in found.items() if value}


def _iri(relation: Relation) -> str:
    value = relation.value
    return value if ":" in value else homes.add_home(value, relation.scheme)


def _property(value: str) -> Node:
    return {"@type": "PropertyValue", "propertyID": value.partition(":")[0], "value": value}


def _code(code: Code) -> Node:
    return {"@type": "PropertyValue", "propertyID": code.scheme or "local", "value": code.value}


def _agent(agent: Agent) -> Node:
    found: Node = {
        "@type": "Person" if agent.is_person else "Organization",
        "name": " ".join(part for part in (agent.given, agent.family) if part) or agent.shown,
        "givenName": agent.given,
        "familyName": agent.family,
        "sameAs": [_home(one) for one in agent.codes],
        "affiliation": [_affiliation(one) for one in agent.affiliations],
    }
    if found["sameAs"]:
        found["@id"] = found["sameAs"][0]
    return {name: value for name, value in found.items() if value}


def _home(code: Code) -> str:
    """Return the address of an identifier of a person or an organisation."""
    if code.value.startswith(("http://", "https://")):
        return code.value
    return homes.add_home(code.value, code.scheme)


def _affiliation(one: Affiliation) -> Node:
    found: Node = {"@type": "Organization", "name": one.name}
    return found | ({"@id": _home(one.code)} if one.code else {})


def _publisher(one: Publisher) -> Node:
    found: Node = {"@type": "Organization", "name": one.name}
    if one.place:
        found["address"] = one.place
    return found | ({"@id": _home(one.code)} if one.code else {})


def _subject(one: Subject) -> str | Node:
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


def _place(one: Place) -> Node:
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


def _funding(one: Funding) -> Node:
    funder: Node = {"@type": "Organization", "name": one.funder}
    if one.code is not None:
        funder["@id"] = _home(one.code)
    found: Node = {
        "@type": "Grant",
        "identifier": one.award,
        "url": one.award_uri,
        "name": one.award_title,
        "funder": funder,
    }
    return {name: value for name, value in found.items() if value}


def _container(one: Related) -> Node:
    kind = row(one.resource_type).schema
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


def read(data: bytes) -> About:
    """Read a node, or the first node of a graph. Raises InvalidMetadata or TooLarge."""
    if len(data) > LARGEST:
        raise TooLarge(what="the jsonld record", limit=LARGEST)
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise wrong(_NAME, error) from None
    graph = found.get("@graph") if isinstance(found, dict) else found
    if isinstance(graph, list) and graph:
        found = graph[0]
    if not isinstance(found, dict) or not _first(found, "@type"):
        raise wrong(_NAME, "expected a node with an @type, as an object")
    return checked(_about({name.removeprefix("schema:"): found[name] for name in found}))


def _list(node: Node, name: str) -> list[Any]:
    """Return all values; science-on-schema.org recommends a `@list` for creators."""
    value = node.get(name)
    if isinstance(value, dict):
        value = value.get("@list", value.get("@set", value))
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _string(value: Any) -> str:
    """Read the text of a value: a plain one, one with a language, or a node."""
    if isinstance(value, dict):
        value = value.get("@value") or value.get("name") or value.get("value") or value.get("@id")
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _strings(node: Node, name: str) -> list[str]:
    return [text for value in _list(node, name) if (text := _string(value))]


def _first(node: Node, name: str) -> str:
    return next(iter(_strings(node, name)), "")


def _about(node: Node) -> About:
    kinds = [from_word("schema", _string(one).rpartition("/")[2]) for one in _list(node, "@type")]
    published = _first(node, "datePublished")
    dates = (
        ("Issued", published),
        ("Created", _first(node, "dateCreated")),
        ("Updated", _first(node, "dateModified")),
        ("Coverage", _first(node, "temporalCoverage")),
    )
    creators = _list(node, "creator") or _list(node, "author")
    publisher = _first(node, "publisher")
    part_of = [one for one in _list(node, "isPartOf") if isinstance(one, dict) and "@type" in one]
    return About(
        titles=(
            *(Text(value=one) for one in _strings(node, "name")[:1] or _strings(node, "headline")),
            *(Text(value=one, kind="AlternativeTitle") for one in _strings(node, "alternateName")),
        ),
        creators=tuple(agent for one in creators if (agent := _read_agent(one, "")).shown),
        contributors=tuple(
            agent
            for role, name in {**_ROLES, "Other": "contributor"}.items()
            for one in _list(node, name)
            if (agent := _read_agent(one, role)).shown
        ),
        publisher=Publisher(name=publisher) if publisher else None,
        year=year_of(published),
        dates=tuple(When(value=value, kind=kind) for kind, value in dates if value),
        language=_first(node, "inLanguage"),
        resource_type=next(filter(None, kinds), "Other"),
        resource_kind=_first(node, "additionalType"),
        subjects=tuple(_read_subjects(node)),
        codes=tuple(_read_codes(node)),
        relations=tuple(_read_relations(node)),
        formats=tuple(_strings(node, "encodingFormat")),
        version=_first(node, "version"),
        edition=_first(node, "bookEdition"),
        rights=tuple(_read_rights(one) for one in _strings(node, "license")),
        descriptions=tuple(
            Text(value=one, kind="Abstract")
            for one in _strings(node, "description") or _strings(node, "abstract")
        ),
        places=tuple(Place(name=one) for one in _strings(node, "spatialCoverage")),
        related=tuple(_read_container(one, node) for one in part_of[:1]),
    )


def _read_agent(value: Any, role: str) -> Agent:
    if not isinstance(value, dict):
        one = person(_string(value))
        return msgspec.structs.replace(one, role=role)
    family, given = _first(value, "familyName"), _first(value, "givenName")
    is_person = _first(value, "@type") != "Organization"
    name = ", ".join(part for part in (family, given) if part) or _first(value, "name")
    links = (_strings(value, "sameAs") or _strings(value, "@id"))[:8]
    codes = (
        Code(value=one, scheme=homes.find_type(one)) for one in links if one.startswith("http")
    )
    affiliations = (Affiliation(name=one) for one in _strings(value, "affiliation"))
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
    for one in _list(node, "keywords"):
        if isinstance(one, dict):
            uri = _first(one, "url")
            if _string(one):
                found.append(Subject(value=_string(one), uri=uri, code=_first(one, "termCode")))
        else:
            words = (word.strip() for word in _string(one).split(","))
            found.extend(Subject(value=word) for word in words if word)
    return found


def _read_codes(node: Node) -> list[Code]:
    found = []
    for one in _list(node, "identifier"):
        if isinstance(one, dict):
            scheme = _first(one, "propertyID").rpartition("/")[2]
            value = _first(one, "value") or _first(one, "@id")
        else:
            value, scheme = _string(one), "URL" if _string(one).startswith("http") else ""
        if value and is_safe(value):
            found.append(Code(value=value, scheme=scheme))
    return found


def _read_relations(node: Node) -> list[Relation]:
    back = {name: relation for relation, name in reversed(_RELATIONS.items())}
    found = []
    for name, relation in back.items():
        for one in _list(node, name):
            link = _string(one.get("@id") if isinstance(one, dict) else one)
            if link.startswith(("http://", "https://")):
                found.append(Relation(value=link, scheme="URL", relation=relation))
    return found


def _read_rights(text: str) -> Rights:
    return Rights(uri=text) if text.startswith(("http://", "https://")) else Rights(value=text)


def _read_container(part: Node, node: Node) -> Related:
    issue, volume = _first(part, "issueNumber"), _first(part, "volumeNumber")
    while isinstance(part.get("isPartOf"), dict):
        part = part["isPartOf"]
        volume = volume or _first(part, "volumeNumber")
    issn, isbn = _first(part, "issn"), _first(part, "isbn")
    code = Code(value=issn or isbn, scheme="ISSN" if issn else "ISBN") if issn or isbn else None
    name = _first(part, "name")
    return Related(
        relation="IsPublishedIn",
        resource_type=from_word("schema", _first(part, "@type")) or "Other",
        titles=(Text(value=name),) if name else (),
        code=code,
        volume=volume,
        issue=issue,
        first_page=_first(node, "pageStart"),
        last_page=_first(node, "pageEnd"),
    )


FORMAT = Format(
    name=_NAME,
    title="JSON-LD (schema.org)",
    media_types=("application/ld+json", "application/vnd.schemaorg.ld+json"),
    write=write,
    read=read,
    schema=CONTEXT,
    aliases=("schemaorg", "schema.org"),
    signature=Signature(opening=(b"{", b"["), marks=(b'"@context"', b'"@type"'), reach=LARGEST + 1),
    place=30,
)
