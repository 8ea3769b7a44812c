"""DataCite metadata kernel 4 as XML.

Specification: DataCite Metadata Schema 4.6, https://doi.org/10.14454/mzv1-5b55; namespace
`http://datacite.org/schema/kernel-4`, validated with `schemas/datacite-4.6.xsd`. Records of 4.0 to
4.5 are valid records of 4.6.

What must stay true: a written record is valid for every description; if a property that the kernel
requires is missing, the record has the kernel's own code for that, `(:unav)` (appendix 3 of the
documentation). `read(write(x))` returns everything in x for which the kernel has a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perdure.ids import scheme_of
from perdure.metadata import xml_text
from perdure.metadata.port import Described, Format, Signature, wrong
from perdure.metadata.resource_types import from_media
from perdure.metadata.xml_text import any_uri, around, content, element, local
from perdure.model.about import (
    About,
    Affiliation,
    Agent,
    Box,
    Code,
    Funding,
    Place,
    Point,
    Polygon,
    Publisher,
    Related,
    Relation,
    Rights,
    Subject,
    Text,
    When,
    checked,
    year_of,
)

NAMESPACE = "http://datacite.org/schema/kernel-4"
SCHEMA = "http://schema.datacite.org/meta/kernel-4.6/metadata.xsd"
UNAVAILABLE = "(:unav)"
_NAME = "datacite"
_XSD = "datacite-4.6.xsd"
_ROOT = (
    f'<resource xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    f'xsi:schemaLocation="{NAMESPACE} {SCHEMA}">'
)


# Writing
# -------


def write(described: Described) -> bytes:
    """Write the record, in UTF-8."""
    return f"{xml_text.DECLARATION}{resource(described)}\n".encode()


def resource(described: Described) -> str:
    """Write the element `resource`, as a separate document or to include in another."""
    about = described.about
    year = about.year or year_of(about.date("Issued", "Available", "Created") or described.at)
    general = about.resource_type or from_media(described.media_type) or "Other"
    name, scheme = name_and_scheme(described)
    publisher = about.publisher or Publisher(name=UNAVAILABLE)
    parts = [
        _ROOT,
        element("identifier", name, identifierType=scheme),
        around("creators", map(_creator, about.creators or (Agent(name=UNAVAILABLE),))),
        around("titles", map(_title, about.titles or (Text(value=UNAVAILABLE),))),
        element("publisher", publisher.name, **_publisher(publisher)),
        element("publicationYear", year or "0000"),
        f'<resourceType resourceTypeGeneral="{general}">',
        xml_text.text(about.resource_kind),
        "</resourceType>",
    ]
    parts.extend(_optional(described))
    parts.append("</resource>")
    return "".join(parts)


def name_and_scheme(described: Described) -> tuple[str, str]:
    """Return the identifier in the form of the kernel (a DOI without its label) and its type."""
    identifier = described.identifier
    label = scheme_of(identifier).label_of(identifier)
    text = str(identifier)
    return text[len(label.text) :] if label.is_dropped else text, label.datacite_type


def _optional(described: Described) -> Iterator[str]:
    about = described.about
    if about.subjects:
        yield around("subjects", map(_subject, about.subjects))
    if about.contributors:
        yield around("contributors", map(_contributor, about.contributors))
    if about.dates:
        yield around("dates", map(_date, about.dates))
    yield element("language", about.language)
    codes = (Code(value=described.url, scheme="URL"), *about.codes)
    yield around("alternateIdentifiers", map(_alternate, codes))
    if about.relations:
        yield around("relatedIdentifiers", map(_relation, about.relations))
    sizes = about.sizes or ((f"{described.length} bytes",) if described.length is not None else ())
    yield around("sizes", (element("size", one) for one in sizes))
    formats = about.formats or ((described.media_type,) if described.media_type else ())
    yield around("formats", (element("format", one) for one in formats))
    yield element("version", version(described))
    if about.rights:
        yield around("rightsList", map(_rights, about.rights))
    if about.descriptions:
        yield around("descriptions", map(_description, about.descriptions))
    if about.places:
        yield around("geoLocations", map(_place, about.places))
    if about.fundings:
        yield around("fundingReferences", map(_funding, about.fundings))
    if about.related:
        yield around("relatedItems", map(_related, about.related))


def version(described: Described) -> str:
    """Return the version in the description, else the registry's number if there are several."""
    known = described.version
    return described.about.version or (str(known) if known is not None else "")


def _creator(agent: Agent) -> str:
    return around("creator", _agent("creatorName", agent))


def _contributor(agent: Agent) -> str:
    inner = _agent("contributorName", agent)
    return around("contributor", inner, contributorType=agent.role or "Other")


def _agent(name: str, agent: Agent, *, whereabouts: bool = True) -> Iterator[str]:
    kind = agent.kind or ("Personal" if agent.is_person else "")
    shown = agent.shown or UNAVAILABLE
    yield element(name, shown, nameType=kind, xml__lang=agent.language)
    yield element("givenName", agent.given)
    yield element("familyName", agent.family)
    if whereabouts:
        for code in agent.codes:
            scheme = code.scheme or "URL"
            yield element(
                "nameIdentifier",
                code.value,
                nameIdentifierScheme=scheme,
                schemeURI=any_uri(code.scheme_uri),
            )
        for one in agent.affiliations:
            code = one.code or Code(value="")
            yield element(
                "affiliation",
                one.name,
                affiliationIdentifier=code.value,
                affiliationIdentifierScheme=code.scheme,
                schemeURI=any_uri(code.scheme_uri),
            )


def _publisher(publisher: Publisher) -> dict[str, str]:
    code = publisher.code or Code(value="")
    return {
        "publisherIdentifier": code.value,
        "publisherIdentifierScheme": code.scheme,
        "schemeURI": any_uri(code.scheme_uri),
        "xml__lang": publisher.language,
    }


def _title(title: Text) -> str:
    return element("title", title.value, titleType=title.kind, xml__lang=title.language)


def _subject(one: Subject) -> str:
    return element(
        "subject",
        one.value,
        subjectScheme=one.scheme,
        schemeURI=any_uri(one.scheme_uri),
        valueURI=any_uri(one.uri),
        classificationCode=any_uri(one.code),
        xml__lang=one.language,
    )


def _date(one: When) -> str:
    return element("date", one.value, dateType=one.kind, dateInformation=one.note)


def _alternate(code: Code) -> str:
    scheme = code.scheme or "local"
    return element("alternateIdentifier", code.value, alternateIdentifierType=scheme)


def _relation(one: Relation) -> str:
    return element(
        "relatedIdentifier",
        one.value,
        resourceTypeGeneral=one.resource_type,
        relatedIdentifierType=one.scheme,
        relationType=one.relation,
        relatedMetadataScheme=one.metadata_scheme,
        schemeURI=any_uri(one.scheme_uri),
        schemeType=one.scheme_type,
    )


def _rights(one: Rights) -> str:
    text = xml_text.text(one.value or one.code)
    attributes = xml_text.attributes(
        {
            "rightsURI": any_uri(one.uri),
            "rightsIdentifier": one.code,
            "rightsIdentifierScheme": one.scheme,
            "schemeURI": any_uri(one.scheme_uri),
            "xml:lang": one.language,
        }
    )
    return f"<rights{attributes}>{text}</rights>"


def _description(one: Text) -> str:
    kind = one.kind or "Abstract"
    return element("description", one.value, descriptionType=kind, xml__lang=one.language)


def _point(name: str, point: Point | None) -> str:
    if point is None:
        return ""
    inner = (
        element("pointLongitude", point.longitude),
        element("pointLatitude", point.latitude),
    )
    return around(name, inner)


def _place(place: Place) -> str:
    parts = [
        element("geoLocationPlace", place.name),
        _point("geoLocationPoint", place.point),
    ]
    if place.box is not None:
        box = (
            element("westBoundLongitude", place.box.west),
            element("eastBoundLongitude", place.box.east),
            element("southBoundLatitude", place.box.south),
            element("northBoundLatitude", place.box.north),
        )
        parts.append(around("geoLocationBox", box))
    for one in place.polygons:
        points = [_point("polygonPoint", point) for point in one.points]
        points.append(_point("inPolygonPoint", one.inside))
        parts.append(around("geoLocationPolygon", points))
    return around("geoLocation", parts)


def _funding(one: Funding) -> str:
    code = one.code or Code(value="")
    parts = (
        element("funderName", one.funder),
        element(
            "funderIdentifier",
            code.value,
            funderIdentifierType=code.scheme or "Other",
            schemeURI=any_uri(code.scheme_uri),
        ),
        element("awardNumber", one.award, awardURI=any_uri(one.award_uri)),
        element("awardTitle", one.award_title),
    )
    return around("fundingReference", parts)


def _related(one: Related) -> str:
    code = one.code or Code(value="")
    creators = (
        around("creator", _agent("creatorName", who, whereabouts=False)) for who in one.creators
    )
    contributors = (
        around(
            "contributor",
            _agent("contributorName", who, whereabouts=False),
            contributorType=who.role or "Other",
        )
        for who in one.contributors
    )
    parts = (
        element("relatedItemIdentifier", code.value, relatedItemIdentifierType=code.scheme),
        around("creators", creators),
        around("titles", map(_title, one.titles)),
        element("publicationYear", one.year),
        element("volume", one.volume),
        element("issue", one.issue),
        element("number", one.number, numberType=one.number_kind),
        element("firstPage", one.first_page),
        element("lastPage", one.last_page),
        element("publisher", one.publisher),
        element("edition", one.edition),
        around("contributors", contributors),
    )
    kinds = {"relatedItemType": one.resource_type or "Other", "relationType": one.relation}
    return around("relatedItem", parts, **kinds)


# Reading
# -------


def read(data: bytes) -> About:
    """Read a record. Raises InvalidMetadata with line and reason, TooLarge."""
    root = xml_text.parse(data, _NAME)
    if root.tag != f"{{{NAMESPACE}}}resource":
        reason = f"the root is {root.tag}, not resource of {NAMESPACE}"
        raise wrong(_NAME, reason, root.sourceline)
    xml_text.validate(root, _NAME, _XSD)
    parts = {local(one): one for one in root}
    publisher = parts["publisher"]
    general = parts["resourceType"].get("resourceTypeGeneral")
    return checked(
        About(
            titles=tuple(map(_read_title, parts["titles"])),
            creators=tuple(_said(_read_agent(one) for one in parts["creators"])),
            contributors=tuple(map(_read_agent, parts.get("contributors", ()))),
            publisher=None if content(publisher) == UNAVAILABLE else _read_publisher(publisher),
            year=content(parts["publicationYear"]).replace("0000", ""),
            dates=tuple(map(_read_date, parts.get("dates", ()))),
            language=_text(parts, "language"),
            resource_type=general,
            resource_kind=content(parts["resourceType"]),
            subjects=tuple(map(_read_subject, parts.get("subjects", ()))),
            codes=(*_own(parts["identifier"]), *_alternates(parts.get("alternateIdentifiers", ()))),
            relations=tuple(map(_read_relation, parts.get("relatedIdentifiers", ()))),
            sizes=tuple(filter(None, map(content, parts.get("sizes", ())))),
            formats=tuple(filter(None, map(content, parts.get("formats", ())))),
            version=_text(parts, "version"),
            rights=tuple(map(_read_rights, parts.get("rightsList", ()))),
            descriptions=tuple(map(_read_description, parts.get("descriptions", ()))),
            places=tuple(map(_read_place, parts.get("geoLocations", ()))),
            fundings=tuple(map(_read_funding, parts.get("fundingReferences", ()))),
            related=tuple(map(_read_related, parts.get("relatedItems", ()))),
        )
    )


_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def _text(parts: dict[str, Any], name: str) -> str:
    return content(parts[name]) if name in parts else ""


def _said(agents: Iterator[Agent]) -> Iterator[Agent]:
    """Drop agents named `(:unav)`, which means that the name is missing."""
    return (one for one in agents if one.shown != UNAVAILABLE)


def _own(identifier: Any) -> Iterator[Code]:
    """Read the identifier in the record; it may differ from the one the record is stored under."""
    yield Code(value=content(identifier), scheme=identifier.get("identifierType"))


def _alternates(found: Any) -> Iterator[Code]:
    for one in found:
        if content(one):
            yield Code(value=content(one), scheme=one.get("alternateIdentifierType"))


def _read_title(one: Any) -> Text:
    return Text(value=content(one), kind=one.get("titleType", ""), language=one.get(_LANG, ""))


def _read_agent(one: Any) -> Agent:
    name = one[0]
    found: dict[str, list[Any]] = {}
    for part in one:
        found.setdefault(local(part), []).append(part)
    codes = tuple(
        Code(
            value=content(part),
            scheme=part.get("nameIdentifierScheme"),
            scheme_uri=part.get("schemeURI", ""),
        )
        for part in found.get("nameIdentifier", ())
    )
    return Agent(
        name=content(name),
        kind=name.get("nameType", ""),
        language=name.get(_LANG, ""),
        role=one.get("contributorType", ""),
        given="".join(map(content, found.get("givenName", ()))),
        family="".join(map(content, found.get("familyName", ()))),
        codes=codes,
        affiliations=tuple(map(_read_affiliation, found.get("affiliation", ()))),
    )


def _read_affiliation(one: Any) -> Affiliation:
    value = one.get("affiliationIdentifier", "")
    scheme = one.get("affiliationIdentifierScheme", "")
    code = Code(value=value, scheme=scheme, scheme_uri=one.get("schemeURI", "")) if value else None
    return Affiliation(name=content(one), code=code)


def _read_publisher(one: Any) -> Publisher:
    value = one.get("publisherIdentifier", "")
    scheme = one.get("publisherIdentifierScheme", "")
    code = Code(value=value, scheme=scheme, scheme_uri=one.get("schemeURI", "")) if value else None
    return Publisher(name=content(one), code=code, language=one.get(_LANG, ""))


def _read_date(one: Any) -> When:
    return When(value=content(one), kind=one.get("dateType"), note=one.get("dateInformation", ""))


def _read_subject(one: Any) -> Subject:
    return Subject(
        value=content(one),
        scheme=one.get("subjectScheme", ""),
        scheme_uri=one.get("schemeURI", ""),
        uri=one.get("valueURI", ""),
        code=one.get("classificationCode", ""),
        language=one.get(_LANG, ""),
    )


def _read_relation(one: Any) -> Relation:
    return Relation(
        value=content(one),
        scheme=one.get("relatedIdentifierType"),
        relation=one.get("relationType"),
        resource_type=one.get("resourceTypeGeneral", ""),
        metadata_scheme=one.get("relatedMetadataScheme", ""),
        scheme_uri=one.get("schemeURI", ""),
        scheme_type=one.get("schemeType", ""),
    )


def _read_rights(one: Any) -> Rights:
    return Rights(
        value=content(one),
        uri=one.get("rightsURI", ""),
        code=one.get("rightsIdentifier", ""),
        scheme=one.get("rightsIdentifierScheme", ""),
        scheme_uri=one.get("schemeURI", ""),
        language=one.get(_LANG, ""),
    )


def _read_description(one: Any) -> Text:
    for line_break in one:
        line_break.tail = "\n" + (line_break.tail or "")
    kind = one.get("descriptionType")
    return Text(value=content(one), kind=kind, language=one.get(_LANG, ""))


def _read_point(one: Any) -> Point:
    parts = {local(part): content(part) for part in one}
    return Point(longitude=parts["pointLongitude"], latitude=parts["pointLatitude"])


def _read_place(one: Any) -> Place:
    names, polygons = [], []
    point: Point | None = None
    box: Box | None = None
    for part in one:
        match local(part):
            case "geoLocationPlace":
                names.append(content(part))
            case "geoLocationPoint":
                point = _read_point(part)
            case "geoLocationBox":
                edges = {local(edge): content(edge) for edge in part}
                box = Box(
                    west=edges["westBoundLongitude"],
                    east=edges["eastBoundLongitude"],
                    south=edges["southBoundLatitude"],
                    north=edges["northBoundLatitude"],
                )
            case _:
                polygons.append(_read_polygon(part))
    return Place(name="; ".join(names), point=point, box=box, polygons=tuple(polygons))


def _read_polygon(one: Any) -> Polygon:
    corners = tuple(_read_point(part) for part in one if local(part) == "polygonPoint")
    inside = [_read_point(part) for part in one if local(part) == "inPolygonPoint"]
    return Polygon(points=corners, inside=inside[0] if inside else None)


def _read_funding(one: Any) -> Funding:
    parts = {local(part): part for part in one}
    code = parts.get("funderIdentifier")
    award = parts.get("awardNumber")
    return Funding(
        funder=content(parts["funderName"]),
        code=None
        if code is None or not content(code)
        else Code(
            value=content(code),
            scheme=code.get("funderIdentifierType"),
            scheme_uri=code.get("schemeURI", ""),
        ),
        award="" if award is None else content(award),
        award_uri="" if award is None else award.get("awardURI", ""),
        award_title=_text(parts, "awardTitle"),
    )


def _read_related(one: Any) -> Related:
    parts = {local(part): part for part in one}
    code, number = parts.get("relatedItemIdentifier"), parts.get("number")
    return Related(
        relation=one.get("relationType"),
        resource_type=one.get("relatedItemType"),
        code=None
        if code is None or not content(code)
        else Code(value=content(code), scheme=code.get("relatedItemIdentifierType", "")),
        titles=tuple(map(_read_title, parts.get("titles", ()))),
        creators=tuple(map(_read_agent, parts.get("creators", ()))),
        contributors=tuple(map(_read_agent, parts.get("contributors", ()))),
        year=_text(parts, "publicationYear"),
        volume=_text(parts, "volume"),
        issue=_text(parts, "issue"),
        number=_text(parts, "number"),
        number_kind="" if number is None else number.get("numberType", ""),
        first_page=_text(parts, "firstPage"),
        last_page=_text(parts, "lastPage"),
        publisher=_text(parts, "publisher"),
        edition=_text(parts, "edition"),
    )


FORMAT = Format(
    name=_NAME,
    title="DataCite 4.6 XML",
    media_types=("application/vnd.datacite.datacite+xml",),
    write=write,
    read=read,
    schema=SCHEMA,
    signature=Signature(opening=(b"<",), marks=(NAMESPACE.rpartition("-")[0].encode(),)),
    place=10,
)
