"""Writing the node of a resource in the vocabulary of schema.org.

How it works: `make_node` makes one property after the other. A text with a language is a value
object (`@value`, `@language`). Codes are a `PropertyValue`: scheme in `propertyID`, the URI of the
scheme in `valueReference`. Files are in `distribution`, members of a collection in `hasPart` with
their `position`.

What must stay true: every property and type is one of schema.org, on a type that has it, except
the terms of PROV for derivations, which have a prefix; `perdure.metadata.jsonld_reading` reads all
of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from perdure.metadata import homes
from perdure.metadata.jsonld_words import (
    CLOSED,
    CODES,
    CONTRIBUTORS,
    CSL_TYPE,
    DATES,
    DIGEST,
    FREE_LICENCES,
    OPEN,
    RELATIONS,
)
from perdure.metadata.port import CollectedMember, DescribedResource, HeldFile
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
    Measurement,
    Point,
    Publisher,
    RelatedItem,
    Relation,
    Rights,
    Subject,
)

CONTEXT = "https://schema.org/"
_PROV = {"prov": "http://www.w3.org/ns/prov#"}
_DERIVATIONS = {
    "IsDerivedFrom": "prov:wasDerivedFrom",
    "IsNewVersionOf": "prov:wasRevisionOf",
    "IsVersionOf": "prov:specializationOf",
}
_MEDIA = frozenset(("AudioObject", "VideoObject", "ImageObject"))
Tree = dict[str, Any]


def make_node(described: DescribedResource) -> Tree:
    """Make the node of a resource."""
    about = described.about
    found = _make_heading(described) | _make_properties(described) | _make_genre(described)
    found |= _make_titles(about, str(described.identifier))
    found |= _make_descriptions(about.descriptions)
    found |= _make_access(about.rights)
    if about.publisher is not None:
        found["publisher"] = _make_publisher(about.publisher)
    _add_dates(found, about)
    _add_contributors(found, about.contributors)
    _add_relations(found, about.relations)
    _add_related(found, about)
    _add_archive(found, about)
    _add_collection(found, described)
    _add_variables(found, about)
    return _drop_empty(found)


def _find_general_type(described: DescribedResource) -> str:
    """The general type that the description says, or that its file or its members show."""
    general = described.about.resource_type or guess_type(described.media_type)
    return general or ("Collection" if described.members else "")


def _make_heading(described: DescribedResource) -> Tree:
    """The type of a resource, its names and its address."""
    kind = find_resource_type(_find_general_type(described)).schema
    return {
        "@context": CONTEXT,
        "@type": [kind, "ArchiveComponent"] if _is_in_archive(described.about) else kind,
        "@id": described.url,
        "identifier": [
            {
                "@type": "PropertyValue",
                "propertyID": str(described.identifier).partition(":")[0],
                "value": str(described.identifier),
            },
            *map(_make_code, described.about.codes),
        ],
        "url": described.url,
    }


def _make_properties(described: DescribedResource) -> Tree:
    """The properties that say the same as one field of a description."""
    about = described.about
    return {
        "additionalType": about.resource_kind,
        "creator": [_make_agent(one) for one in about.creators],
        "inLanguage": about.language,
        "keywords": [_make_subject(one) for one in about.subjects],
        "version": about.version,
        "bookEdition": about.edition,
        "size": list(about.sizes),
        "encodingFormat": list(about.formats),
        "license": [_make_licence(one) for one in about.rights],
        "spatialCoverage": [_make_place(one) for one in about.places],
        "variableMeasured": [_make_measurement(one) for one in about.measured],
        "funding": [_make_funding(one) for one in about.fundings],
        "distribution": [_make_file(one) for one in described.files],
    }


def _make_genre(described: DescribedResource) -> Tree:
    """The general type if schema.org has no class for it, and the length of a medium."""
    general = _find_general_type(described)
    kind = find_resource_type(general).schema
    found: Tree = {}
    if general and find_type_of_word("schema", kind) != general:
        found["genre"] = general
    if described.length is not None and kind in _MEDIA:
        found["contentSize"] = f"{described.length} B"
    return found


def _drop_empty(found: Tree) -> Tree:
    return {name: value for name, value in found.items() if value not in ("", [], None)}


def _write_text(value: str, language: str) -> str | Tree:
    return {"@value": value, "@language": language} if language else value


def _make_role(word: str, name: str, value: Any) -> Tree:
    """Qualify the value of a property by a word that schema.org lacks."""
    return {"@type": "Role", "roleName": word, name: value}


def _make_code(code: Code) -> Tree:
    return _drop_empty(
        {
            "@type": "PropertyValue",
            "propertyID": code.scheme or "local",
            "value": code.value,
            "valueReference": code.scheme_uri,
        }
    )


def _find_home(code: Code) -> str:
    """Return the address of an identifier of a person or an organisation."""
    if code.value.startswith(("http://", "https://")):
        return code.value
    return homes.add_home(code.value, code.scheme)


def _add_code(found: Tree, code: Code | None) -> Tree:
    """Add a code of an organisation, with its address if it has one."""
    if code is None:
        return found
    home = _find_home(code)
    place = {"@id": home} if home.startswith(("http://", "https://")) else {}
    return found | place | {"identifier": _make_code(code)}


# Titles, descriptions, subjects
# ------------------------------


def _make_titles(about: About, default: str) -> Tree:
    main = [_write_text(one.value, one.language) for one in about.titles if not one.kind]
    others: list[Any] = []
    for one in about.titles:
        text = _write_text(one.value, one.language)
        if one.kind == "AlternativeTitle":
            others.append(text)
        elif one.kind:
            others.append(_make_role(one.kind, "alternateName", text))
    if not about.titles:
        main = [default]
    return {"name": main[0] if len(main) == 1 else main, "alternateName": others}


def _make_descriptions(all: Iterable[DescriptionText]) -> Tree:
    found: list[Any] = [
        _write_text(one.value, one.language)
        if one.kind in ("", "Abstract")
        else _drop_empty(
            {
                "@type": "TextObject",
                "name": one.kind,
                "text": one.value,
                "inLanguage": one.language,
            }
        )
        for one in all
    ]
    return {"description": found[0] if len(found) == 1 else found}


def _make_subject(one: Subject) -> str | Tree:
    if one == Subject(value=one.value) and "," not in one.value:
        return one.value
    terms: str | Tree = one.scheme
    if one.scheme_uri:
        terms = _drop_empty({"@type": "DefinedTermSet", "name": one.scheme, "url": one.scheme_uri})
    return _drop_empty(
        {
            "@type": "DefinedTerm",
            "name": _write_text(one.value, one.language),
            "inDefinedTermSet": terms,
            "url": one.uri,
            "termCode": one.code,
        }
    )


def _make_measurement(one: Measurement) -> str | Tree:
    if one == Measurement(name=one.name):
        return one.name
    return _drop_empty(
        {
            "@type": "PropertyValue",
            "name": one.name,
            "propertyID": one.uri,
            "unitText": one.unit,
            "description": one.note,
        }
    )


# Persons and organisations
# -------------------------


def _make_agent(agent: Agent) -> str | Tree:
    """Make the node of a person or an organisation; without a type if that is unknown."""
    if agent == Agent(name=agent.name, role=agent.role) and "," not in agent.name:
        return agent.name
    is_person = agent.is_person or (not agent.kind and "," in agent.name)
    sorted_name = ", ".join(part for part in (agent.family, agent.given) if part)
    full = " ".join(part for part in (agent.given, agent.family) if part) or agent.name
    homes_ = [home for one in agent.codes if (home := _find_home(one)).startswith("http")]
    found: Tree = {
        "@type": "Person" if is_person else "Organization" if agent.kind else "",
        "@id": homes_[0] if homes_ else "",
        "name": _write_text(full, agent.language),
        "alternateName": agent.name if agent.name not in ("", sorted_name or full) else "",
        "givenName": agent.given,
        "familyName": agent.family,
        "identifier": [_make_code(one) for one in agent.codes],
        "sameAs": homes_,
        "affiliation": [_make_affiliation(one) for one in agent.affiliations],
    }
    return _drop_empty(found)


def _make_affiliation(one: Affiliation) -> Tree:
    return _add_code({"@type": "Organization", "name": one.name}, one.code)


def _make_publisher(one: Publisher) -> Tree:
    found: Tree = {"@type": "Organization", "name": _write_text(one.name, one.language)}
    if one.place:
        found["address"] = one.place
    return _add_code(found, one.code)


def _add_contributors(found: Tree, contributors: Iterable[Agent]) -> None:
    for one in contributors:
        name = CONTRIBUTORS.get(one.role, "contributor")
        value: Any = _make_agent(one)
        if name == "contributor" and one.role not in ("", "Other"):
            value = _make_role(one.role, name, value)
        found.setdefault(name, []).append(value)


# Dates and places
# ----------------


def _add_dates(found: Tree, about: About) -> None:
    for one in about.dates:
        name = DATES.get(one.kind)
        if name is not None and name not in found and not one.note:
            found[name] = one.value
        else:
            found.setdefault("subjectOf", []).append(_make_event(one))
    if about.year:
        found.setdefault("datePublished", about.year)


def _make_event(one: DescriptionDate) -> Tree:
    start, slash, end = one.value.partition("/")
    if not (slash and start and end) or "/" in end:
        start, end = one.value, ""
    return _drop_empty(
        {
            "@type": "Event",
            "name": one.kind,
            "startDate": start,
            "endDate": end,
            "description": one.note,
        }
    )


def _make_place(one: GeoPlace) -> Tree:
    shapes: list[Tree] = []
    if one.point is not None:
        shapes.append(
            {
                "@type": "GeoCoordinates",
                "latitude": one.point.latitude,
                "longitude": one.point.longitude,
            }
        )
    if one.box is not None:
        corners = f"{one.box.south} {one.box.west} {one.box.north} {one.box.east}"
        shapes.append({"@type": "GeoShape", "box": corners})
    inside = []
    for number, each in enumerate(one.polygons, 1):
        line = " ".join(map(_write_point, each.points))
        shapes.append({"@type": "GeoShape", "polygon": line})
        if each.inside is not None:
            value = _write_point(each.inside)
            label = f"inside {number}"
            inside.append({"@type": "PropertyValue", "propertyID": label, "value": value})
    geo = shapes[0] if len(shapes) == 1 else shapes
    return _drop_empty(
        {"@type": "Place", "name": one.name, "geo": geo, "additionalProperty": inside}
    )


def _write_point(at: Point) -> str:
    return f"{at.latitude} {at.longitude}"


# Rights, funding, files
# ----------------------


def _make_licence(one: Rights) -> str | Tree:
    if one.uri and one == Rights(uri=one.uri):
        return one.uri
    found = {
        "@type": "CreativeWork",
        "name": _write_text(one.value, one.language),
        "url": one.uri,
    }
    if one.code or one.scheme or one.scheme_uri:
        code = Code(value=one.code, scheme=one.scheme, scheme_uri=one.scheme_uri)
        found["identifier"] = _make_code(code)
    return _drop_empty(found)


def _make_access(rights: tuple[Rights, ...]) -> Tree:
    """Say whether everyone may read the resource, if its rights say so."""
    uris = [one.uri for one in rights if one.uri]
    closed = [one for one in rights if one.uri in CLOSED]
    if closed:
        conditions = [one.value for one in closed if one.value]
        return {"isAccessibleForFree": False, "conditionsOfAccess": "; ".join(conditions)}
    if any(uri in OPEN or any(word in uri for word in FREE_LICENCES) for uri in uris):
        return {"isAccessibleForFree": True}
    return {}


def _make_funding(one: Funding) -> Tree:
    return _drop_empty(
        {
            "@type": "Grant",
            "identifier": one.award,
            "url": one.award_uri,
            "name": one.award_title,
            "funder": _add_code({"@type": "Organization", "name": one.funder}, one.code),
        }
    )


def _make_file(one: HeldFile) -> Tree:
    return _drop_empty(
        {
            "@type": "DataDownload",
            "contentUrl": one.url,
            "encodingFormat": one.media_type,
            "contentSize": f"{one.length} B",
            "inLanguage": one.language,
            "version": str(one.version),
            "identifier": {"@type": "PropertyValue", "propertyID": DIGEST, "value": one.sha512},
        }
    )


def _make_member(one: CollectedMember) -> Tree:
    return _drop_empty(
        {
            "@type": "CreativeWork",
            "@id": one.url,
            "identifier": one.identifier,
            "name": one.title,
            "position": one.number,
        }
    )


# Other resources
# ---------------


def _add_relations(found: Tree, relations: Iterable[Relation]) -> None:
    derived = False
    for one in relations:
        name = RELATIONS.get(one.relation, "mentions")
        target = _make_target(one)
        if name == "sameAs":  # its values are addresses
            found.setdefault(name, []).append(_find_iri(one))
            name = "mentions"
        if name == "mentions":
            target = _make_role(one.relation, name, target)
        found.setdefault(name, []).append(target)
        if term := _DERIVATIONS.get(one.relation):
            derived = True
            found.setdefault(term, []).append({"@id": _find_iri(one)})
    if derived:
        found["@context"] = [CONTEXT, _PROV]


def _find_iri(relation: Relation) -> str:
    value = relation.value
    return value if ":" in value else homes.add_home(value, relation.scheme)


def _make_target(one: Relation) -> Tree:
    code = Code(value=one.value, scheme=one.scheme, scheme_uri=one.scheme_uri)
    return _drop_empty(
        {
            "@type": find_resource_type(one.resource_type).schema,
            "@id": _find_iri(one),
            "identifier": _make_code(code),
            "genre": one.resource_type,
            "schemaVersion": one.metadata_scheme,
            "encodingFormat": one.scheme_type,
            "description": one.note,
        }
    )


def _add_related(found: Tree, about: About) -> None:
    """Add other resources with their descriptions; the first container in its own property."""
    container = about.container
    for one in about.related:
        node = _make_related(one)
        if one is container:
            found.setdefault("isPartOf", []).append(_nest_container(one, node))
            found |= {"pageStart": one.first_page, "pageEnd": one.last_page}
            continue
        node |= {"pageStart": one.first_page, "pageEnd": one.last_page}
        node |= {"volumeNumber": one.volume, "issueNumber": one.issue}
        found.setdefault("citation", []).append(
            _make_role(one.relation, "citation", _drop_empty(node))
        )


def _make_related(one: RelatedItem) -> Tree:
    titles = _make_titles(About(titles=one.titles), "")
    node: Tree = {
        "@type": find_resource_type(one.resource_type).schema,
        "genre": one.resource_type,
        **titles,
        "creator": [_make_agent(each) for each in one.creators],
        "datePublished": one.year,
        "publisher": one.publisher,
        "bookEdition": one.edition,
        "description": one.note,
    }
    if one.publisher:
        node["publisher"] = {"@type": "Organization", "name": one.publisher}
    _add_contributors(node, one.contributors)
    codes = []
    if one.code is not None:
        codes.append(_make_code(one.code))
        if name := CODES.get(one.code.scheme):
            node[name] = one.code.value
    if one.number or one.number_kind:
        number = {"@type": "PropertyValue", "name": "number", "propertyID": one.number_kind}
        codes.append(_drop_empty(number | {"value": one.number}))
    node["identifier"] = codes
    return _drop_empty(node)


def _nest_container(one: RelatedItem, node: Tree) -> Tree:
    """Put a periodical into its volume and issue."""
    if one.volume:
        node = {"@type": "PublicationVolume", "volumeNumber": one.volume, "isPartOf": node}
    if one.issue:
        node = {"@type": "PublicationIssue", "issueNumber": one.issue, "isPartOf": node}
    return node


def _is_in_archive(about: About) -> bool:
    return bool(about.archive) and not about.archive.startswith(("http://", "https://"))


def _add_archive(found: Tree, about: About) -> None:
    if _is_in_archive(about):
        found["holdingArchive"] = {"@type": "ArchiveOrganization", "name": about.archive}
    else:
        found["archivedAt"] = about.archive


def _add_collection(found: Tree, described: DescribedResource) -> None:
    """Add the members of a collection, and the whole of a part."""
    if described.members:
        found["hasPart"] = [*found.get("hasPart", ()), *map(_make_member, described.members)]
    if described.whole:
        whole = {"@id": described.whole, "position": "part"}
        found["isPartOf"] = [*found.get("isPartOf", ()), whole]


def _add_variables(found: Tree, about: About) -> None:
    """Add the variables of CSL, which no other property can hold, as a document."""
    if about.variables:
        item = {one.name: one.value for one in about.variables}
        found.setdefault("subjectOf", []).append(
            {
                "@type": "DigitalDocument",
                "encodingFormat": CSL_TYPE,
                "text": msgspec.json.encode(item).decode(),
            }
        )
