"""DataCite metadata kernel 4 as XML.

Specification: DataCite Metadata Schema 4.7, https://doi.org/10.14454/mzv1-5b55; namespace
`http://datacite.org/schema/kernel-4`, validated with `schemas/datacite-4.7.xsd`. Records of earlier
kernels are upgraded first (`perdure.metadata.datacite_old`).

What must stay true: a written record is valid for every description; if a property that the kernel
requires is missing, the record has the kernel's own code for that, `(:unav)` (appendix 3 of the
documentation). `read_record(write_record(x))` returns everything in x for which the kernel has a
place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from perdure.errors.records import RootNotOfFormat
from perdure.ids import scheme_of
from perdure.metadata import datacite_old, xml_text
from perdure.metadata.port import DescribedResource, Format, Signature
from perdure.metadata.resource_types import guess_type
from perdure.metadata.xml_text import (
    collect_text,
    keep_valid_uri,
    strip_namespace,
    wrap_elements,
    write_element,
)
from perdure.model.about import (
    About,
    Affiliation,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Funding,
    GeoBox,
    GeoPlace,
    Point,
    Polygon,
    Publisher,
    RelatedItem,
    Relation,
    Rights,
    Subject,
    check_description,
    find_year,
)

NAMESPACE = "http://datacite.org/schema/kernel-4"
SCHEMA = "http://schema.datacite.org/meta/kernel-4.7/metadata.xsd"
UNAVAILABLE = "(:unav)"
_PLACEHOLDERS = frozenset(
    f"(:{code})" for code in ("unac", "unal", "unap", "unas", "unav", "unkn", "none", "null", "tba")
)
"""Codes for values that are missing (appendix 3 of the kernel's documentation)."""
NO_YEAR = "0000"
"""The year of publication if no one has stated it: the kernel requires four digits."""
_DEPOSITED = "deposited"
_NAME = "datacite"
_XSD = "datacite-4.7.xsd"
_ROOT = (
    f'<resource xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    f'xsi:schemaLocation="{NAMESPACE} {SCHEMA}">'
)


# Writing
# -------


def write_record(described: DescribedResource) -> bytes:
    """Write the record, in UTF-8."""
    return f"{xml_text.DECLARATION}{write_resource(described)}\n".encode()


def write_resource(described: DescribedResource) -> str:
    """Write the element `write_resource`, as a separate document or to include in another."""
    about = described.about
    # ruling: cite-date
    year = about.year or find_year(about.first_date("Issued", "Available", "Created"))
    general = about.resource_type or guess_type(described.media_type) or "Other"
    name, scheme = find_name_and_scheme(described)
    publisher = about.publisher or Publisher(name=UNAVAILABLE)
    parts = [
        _ROOT,
        write_element("identifier", name, identifierType=scheme),
        wrap_elements(
            "creators", map(_write_creator, about.creators or (Agent(name=UNAVAILABLE),))
        ),
        wrap_elements(
            "titles", map(_write_title, about.titles or (DescriptionText(value=UNAVAILABLE),))
        ),
        write_element("publisher", publisher.name, **_list_publisher_attributes(publisher)),
        write_element("publicationYear", year or NO_YEAR),
        f'<resourceType resourceTypeGeneral="{general}">',
        xml_text.escape_text(about.resource_kind),
        "</resourceType>",
    ]
    parts.extend(_write_optional(described))
    parts.append("</resource>")
    return "".join(parts)


def find_name_and_scheme(described: DescribedResource) -> tuple[str, str]:
    """Return the identifier in the form of the kernel (a DOI without its label) and its type."""
    identifier = described.identifier
    label = scheme_of(identifier).label_of(identifier)
    text = str(identifier)
    return text[len(label.text) :] if label.is_dropped else text, label.datacite_type


def _write_optional(described: DescribedResource) -> Iterator[str]:
    about = described.about
    if about.subjects:
        yield wrap_elements("subjects", map(_write_subject, about.subjects))
    if about.contributors:
        yield wrap_elements("contributors", map(_write_contributor, about.contributors))
    yield wrap_elements("dates", map(_write_date, _list_dates(described)))
    yield write_element("language", about.language)
    codes = (Code(value=described.url, scheme="URL"), *about.codes)
    yield wrap_elements("alternateIdentifiers", map(_write_alternate, codes))
    if about.relations:
        yield wrap_elements("relatedIdentifiers", map(_write_relation, about.relations))
    sizes = about.sizes or ((f"{described.length} bytes",) if described.length is not None else ())
    yield wrap_elements("sizes", (write_element("size", one) for one in sizes))
    formats = about.formats or ((described.media_type,) if described.media_type else ())
    yield wrap_elements("formats", (write_element("format", one) for one in formats))
    yield write_element("version", find_version(described))
    if about.rights:
        yield wrap_elements("rightsList", map(_write_rights, about.rights))
    if about.descriptions:
        yield wrap_elements("descriptions", map(_write_description, about.descriptions))
    if about.places:
        yield wrap_elements("geoLocations", map(_write_place, about.places))
    if about.fundings:
        yield wrap_elements("fundingReferences", map(_write_funding, about.fundings))
    if about.related:
        yield wrap_elements("relatedItems", map(_write_related, about.related))


def _list_dates(described: DescribedResource) -> Iterator[DescriptionDate]:
    """List the dates of a description, and the date of the deposit, which is called so."""
    dates = described.about.dates
    yield from dates
    if described.at and not any(one.note == _DEPOSITED for one in dates):
        yield DescriptionDate(value=described.at, kind="Other", note=_DEPOSITED)


def find_version(described: DescribedResource) -> str:
    """Return the version in the description, else the registry's number if there are several."""
    known = described.version
    return described.about.version or (str(known) if known is not None else "")


def _write_creator(agent: Agent) -> str:
    return wrap_elements("creator", _write_agent("creatorName", agent))


def _write_contributor(agent: Agent) -> str:
    inner = _write_agent("contributorName", agent)
    return wrap_elements("contributor", inner, contributorType=agent.role or "Other")


def _write_agent(name: str, agent: Agent, *, whereabouts: bool = True) -> Iterator[str]:
    kind = agent.kind or ("Personal" if agent.is_person else "")
    shown = agent.display_name or UNAVAILABLE
    yield write_element(name, shown, nameType=kind, xml__lang=agent.language)
    yield write_element("givenName", agent.given)
    yield write_element("familyName", agent.family)
    if whereabouts:
        for code in agent.codes:
            scheme = code.scheme or "URL"
            yield write_element(
                "nameIdentifier",
                code.value,
                nameIdentifierScheme=scheme,
                schemeURI=keep_valid_uri(code.scheme_uri),
            )
        for one in agent.affiliations:
            code = one.code or Code(value="")
            yield write_element(
                "affiliation",
                one.name,
                affiliationIdentifier=code.value,
                affiliationIdentifierScheme=code.scheme,
                schemeURI=keep_valid_uri(code.scheme_uri),
            )


def _list_publisher_attributes(publisher: Publisher) -> dict[str, str]:
    code = publisher.code or Code(value="")
    return {
        "publisherIdentifier": code.value,
        "publisherIdentifierScheme": code.scheme,
        "schemeURI": keep_valid_uri(code.scheme_uri),
        "xml__lang": publisher.language,
    }


def _write_title(title: DescriptionText) -> str:
    return write_element("title", title.value, titleType=title.kind, xml__lang=title.language)


def _write_subject(one: Subject) -> str:
    return write_element(
        "subject",
        one.value,
        subjectScheme=one.scheme,
        schemeURI=keep_valid_uri(one.scheme_uri),
        valueURI=keep_valid_uri(one.uri),
        classificationCode=keep_valid_uri(one.code),
        xml__lang=one.language,
    )


def _write_date(one: DescriptionDate) -> str:
    return write_element("date", one.value, dateType=one.kind, dateInformation=one.note)


def _write_alternate(code: Code) -> str:
    scheme = code.scheme or "local"
    return write_element("alternateIdentifier", code.value, alternateIdentifierType=scheme)


def _write_relation(one: Relation) -> str:
    value, scheme = one.value, one.scheme
    if scheme == "PDI":  # the kernel does not list it, but URNs  # ruling: pdi-prefix
        value = value if value[:4].lower() == "urn:" else f"urn:{value}"
        scheme = "URN"
    return write_element(
        "relatedIdentifier",
        value,
        resourceTypeGeneral=one.resource_type,
        relatedIdentifierType=scheme,
        relationType=one.relation,
        relationTypeInformation=one.note,
        relatedMetadataScheme=one.metadata_scheme,
        schemeURI=keep_valid_uri(one.scheme_uri),
        schemeType=one.scheme_type,
    )


def _write_rights(one: Rights) -> str:
    text = xml_text.escape_text(one.value or one.code)
    attributes = xml_text.write_attributes(
        {
            "rightsURI": keep_valid_uri(one.uri),
            "rightsIdentifier": one.code,
            "rightsIdentifierScheme": one.scheme,
            "schemeURI": keep_valid_uri(one.scheme_uri),
            "xml:lang": one.language,
        }
    )
    return f"<rights{attributes}>{text}</rights>"


def _write_description(one: DescriptionText) -> str:
    kind = one.kind or "Abstract"
    return write_element("description", one.value, descriptionType=kind, xml__lang=one.language)


def _write_point(name: str, point: Point | None) -> str:
    if point is None:
        return ""
    inner = (
        write_element("pointLongitude", point.longitude),
        write_element("pointLatitude", point.latitude),
    )
    return wrap_elements(name, inner)


def _write_place(place: GeoPlace) -> str:
    parts = [
        write_element("geoLocationPlace", place.name),
        _write_point("geoLocationPoint", place.point),
    ]
    if place.box is not None:
        box = (
            write_element("westBoundLongitude", place.box.west),
            write_element("eastBoundLongitude", place.box.east),
            write_element("southBoundLatitude", place.box.south),
            write_element("northBoundLatitude", place.box.north),
        )
        parts.append(wrap_elements("geoLocationBox", box))
    for one in place.polygons:
        points = [_write_point("polygonPoint", point) for point in one.points]
        points.append(_write_point("inPolygonPoint", one.inside))
        parts.append(wrap_elements("geoLocationPolygon", points))
    return wrap_elements("geoLocation", parts)


def _write_funding(one: Funding) -> str:
    code = one.code or Code(value="")
    parts = (
        write_element("funderName", one.funder),
        write_element(
            "funderIdentifier",
            code.value,
            funderIdentifierType=code.scheme or "Other",
            schemeURI=keep_valid_uri(code.scheme_uri),
        ),
        write_element("awardNumber", one.award, awardURI=keep_valid_uri(one.award_uri)),
        write_element("awardTitle", one.award_title),
    )
    return wrap_elements("fundingReference", parts)


def _write_related(one: RelatedItem) -> str:
    code = one.code or Code(value="")
    creators = (
        wrap_elements("creator", _write_agent("creatorName", who, whereabouts=False))
        for who in one.creators
    )
    contributors = (
        wrap_elements(
            "contributor",
            _write_agent("contributorName", who, whereabouts=False),
            contributorType=who.role or "Other",
        )
        for who in one.contributors
    )
    parts = (
        write_element("relatedItemIdentifier", code.value, relatedItemIdentifierType=code.scheme),
        wrap_elements("creators", creators),
        wrap_elements("titles", map(_write_title, one.titles)),
        write_element("publicationYear", one.year),
        write_element("volume", one.volume),
        write_element("issue", one.issue),
        write_element("number", one.number, numberType=one.number_kind),
        write_element("firstPage", one.first_page),
        write_element("lastPage", one.last_page),
        write_element("publisher", one.publisher),
        write_element("edition", one.edition),
        wrap_elements("contributors", contributors),
    )
    kinds = {
        "relatedItemType": one.resource_type or "Other",
        "relationType": one.relation,
        "relationTypeInformation": one.note,
    }
    return wrap_elements("relatedItem", parts, **kinds)


# Reading
# -------


def read_record(data: bytes) -> About:
    """Read a record. Raises InvalidMetadata with line and reason, TooLarge."""
    root = xml_text.parse_xml(data, _NAME)
    if str(root.tag).rpartition("}")[0].removeprefix("{") in datacite_old.NAMESPACES:
        datacite_old.upgrade_record(root, NAMESPACE)
    datacite_old.relax_record(root)
    if root.tag != f"{{{NAMESPACE}}}resource":
        raise RootNotOfFormat(
            format=_NAME,
            line=root.sourceline,
            root=str(root.tag),
            needed="resource",
            namespace=NAMESPACE,
        )
    xml_text.validate_record(root, _NAME, _XSD)
    parts = {strip_namespace(one): one for one in root}
    publisher = parts["publisher"]
    general = parts["resourceType"].get("resourceTypeGeneral")
    return check_description(
        About(
            titles=tuple(
                one for one in map(_read_title, parts["titles"]) if one.value not in _PLACEHOLDERS
            ),
            creators=tuple(_drop_unavailable(_read_agent(one) for one in parts["creators"])),
            contributors=tuple(map(_read_agent, parts.get("contributors", ()))),
            publisher=None
            if collect_text(publisher) in _PLACEHOLDERS
            else _read_publisher(publisher),
            year=collect_text(parts["publicationYear"]).replace(NO_YEAR, ""),
            dates=_drop_empty(map(_read_date, parts.get("dates", ()))),
            language=_read_text(parts, "language"),
            resource_type=general,
            resource_kind=collect_text(parts["resourceType"]),
            subjects=_drop_empty(map(_read_subject, parts.get("subjects", ()))),
            codes=(
                *_read_identifier(parts["identifier"]),
                *_read_alternates(parts.get("alternateIdentifiers", ())),
            ),
            relations=_drop_empty(map(_read_relation, parts.get("relatedIdentifiers", ()))),
            sizes=tuple(filter(None, map(collect_text, parts.get("sizes", ())))),
            formats=tuple(filter(None, map(collect_text, parts.get("formats", ())))),
            version=_read_text(parts, "version"),
            rights=tuple(map(_read_rights, parts.get("rightsList", ()))),
            descriptions=_drop_empty(map(_read_description, parts.get("descriptions", ()))),
            places=tuple(map(_read_place, parts.get("geoLocations", ()))),
            fundings=tuple(map(_read_funding, parts.get("fundingReferences", ()))),
            related=tuple(map(_read_related, parts.get("relatedItems", ()))),
        )
    )


_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def _read_text(parts: dict[str, Any], name: str) -> str:
    return collect_text(parts[name]) if name in parts else ""


def _get_uri(one: Any, name: str) -> str:
    """Return a URI. Schemas collapse white space around it, and allow blanks inside."""
    return "%20".join(one.get(name, "").split())


_Valued = TypeVar("_Valued", DescriptionDate, DescriptionText, Relation, Subject)


def _drop_empty(values: Iterable[_Valued]) -> tuple[_Valued, ...]:
    """Drop elements without text, which the schema allows."""
    return tuple(one for one in values if one.value)


def _drop_unavailable(agents: Iterator[Agent]) -> Iterator[Agent]:
    """Drop agents whose name is a code, such as `(:unav)`, for a missing name."""
    return (one for one in agents if one.display_name not in _PLACEHOLDERS)


def _read_identifier(identifier: Any) -> Iterator[Code]:
    """Read the identifier in the record; it may differ from the one the record is stored under."""
    yield Code(value=collect_text(identifier), scheme=identifier.get("identifierType"))


def _read_alternates(found: Any) -> Iterator[Code]:
    for one in found:
        if collect_text(one):
            yield Code(value=collect_text(one), scheme=one.get("alternateIdentifierType"))


def _read_title(one: Any) -> DescriptionText:
    return DescriptionText(
        value=collect_text(one), kind=one.get("titleType", ""), language=one.get(_LANG, "")
    )


def _read_agent(one: Any) -> Agent:
    name = one[0]
    found: dict[str, list[Any]] = {}
    for part in one:
        found.setdefault(strip_namespace(part), []).append(part)
    codes = tuple(
        Code(
            value=collect_text(part),
            scheme=part.get("nameIdentifierScheme"),
            scheme_uri=_get_uri(part, "schemeURI"),
        )
        for part in found.get("nameIdentifier", ())
        if collect_text(part)
    )
    return Agent(
        name=collect_text(name),
        kind=name.get("nameType", ""),
        language=name.get(_LANG, ""),
        role=one.get("contributorType", ""),
        given="".join(map(collect_text, found.get("givenName", ()))),
        family="".join(map(collect_text, found.get("familyName", ()))),
        codes=codes,
        affiliations=tuple(
            _read_affiliation(part) for part in found.get("affiliation", ()) if collect_text(part)
        ),
    )


def _read_affiliation(one: Any) -> Affiliation:
    value = one.get("affiliationIdentifier", "")
    scheme = one.get("affiliationIdentifierScheme", "")
    code = (
        Code(value=value, scheme=scheme, scheme_uri=_get_uri(one, "schemeURI")) if value else None
    )
    return Affiliation(name=collect_text(one), code=code)


def _read_publisher(one: Any) -> Publisher:
    value = one.get("publisherIdentifier", "")
    scheme = one.get("publisherIdentifierScheme", "")
    code = (
        Code(value=value, scheme=scheme, scheme_uri=_get_uri(one, "schemeURI")) if value else None
    )
    return Publisher(name=collect_text(one), code=code, language=one.get(_LANG, ""))


def _read_date(one: Any) -> DescriptionDate:
    return DescriptionDate(
        value=collect_text(one), kind=one.get("dateType"), note=one.get("dateInformation", "")
    )


def _read_subject(one: Any) -> Subject:
    return Subject(
        value=collect_text(one),
        scheme=one.get("subjectScheme", ""),
        scheme_uri=_get_uri(one, "schemeURI"),
        uri=_get_uri(one, "valueURI"),
        code=one.get("classificationCode", ""),
        language=one.get(_LANG, ""),
    )


def _read_relation(one: Any) -> Relation:
    return Relation(
        value=collect_text(one),
        scheme=one.get("relatedIdentifierType"),
        relation=one.get("relationType"),
        resource_type=one.get("resourceTypeGeneral", ""),
        metadata_scheme=one.get("relatedMetadataScheme", ""),
        scheme_uri=_get_uri(one, "schemeURI"),
        scheme_type=one.get("schemeType", ""),
        note=one.get("relationTypeInformation", ""),
    )


def _read_rights(one: Any) -> Rights:
    return Rights(
        value=collect_text(one),
        uri=_get_uri(one, "rightsURI"),
        code=one.get("rightsIdentifier", ""),
        scheme=one.get("rightsIdentifierScheme", ""),
        scheme_uri=_get_uri(one, "schemeURI"),
        language=one.get(_LANG, ""),
    )


def _read_description(one: Any) -> DescriptionText:
    for line_break in one:
        line_break.tail = "\n" + (line_break.tail or "")
    kind = one.get("descriptionType")
    return DescriptionText(value=collect_text(one), kind=kind, language=one.get(_LANG, ""))


def _read_point(one: Any) -> Point:
    parts = {strip_namespace(part): collect_text(part) for part in one}
    return Point(longitude=parts["pointLongitude"], latitude=parts["pointLatitude"])


def _read_place(one: Any) -> GeoPlace:
    names, polygons = [], []
    point: Point | None = None
    box: GeoBox | None = None
    for part in one:
        match strip_namespace(part):
            case "geoLocationPlace":
                names.append(collect_text(part))
            case "geoLocationPoint":
                point = _read_point(part)
            case "geoLocationBox":
                edges = {strip_namespace(edge): collect_text(edge) for edge in part}
                box = GeoBox(
                    west=edges["westBoundLongitude"],
                    east=edges["eastBoundLongitude"],
                    south=edges["southBoundLatitude"],
                    north=edges["northBoundLatitude"],
                )
            case _:
                polygons.append(_read_polygon(part))
    return GeoPlace(name="; ".join(names), point=point, box=box, polygons=tuple(polygons))


def _read_polygon(one: Any) -> Polygon:
    corners = tuple(_read_point(part) for part in one if strip_namespace(part) == "polygonPoint")
    inside = [_read_point(part) for part in one if strip_namespace(part) == "inPolygonPoint"]
    return Polygon(points=corners, inside=inside[0] if inside else None)


def _read_funding(one: Any) -> Funding:
    parts = {strip_namespace(part): part for part in one}
    code = parts.get("funderIdentifier")
    award = parts.get("awardNumber")
    return Funding(
        funder=collect_text(parts["funderName"]),
        code=None
        if code is None or not collect_text(code)
        else Code(
            value=collect_text(code),
            scheme=code.get("funderIdentifierType"),
            scheme_uri=_get_uri(code, "schemeURI"),
        ),
        award="" if award is None else collect_text(award),
        award_uri="" if award is None else _get_uri(award, "awardURI"),
        award_title=_read_text(parts, "awardTitle"),
    )


def _read_related(one: Any) -> RelatedItem:
    parts = {strip_namespace(part): part for part in one}
    code, number = parts.get("relatedItemIdentifier"), parts.get("number")
    return RelatedItem(
        relation=one.get("relationType"),
        resource_type=one.get("relatedItemType"),
        code=None
        if code is None or not collect_text(code)
        else Code(value=collect_text(code), scheme=code.get("relatedItemIdentifierType", "")),
        titles=tuple(map(_read_title, parts.get("titles", ()))),
        creators=tuple(map(_read_agent, parts.get("creators", ()))),
        contributors=tuple(map(_read_agent, parts.get("contributors", ()))),
        year=_read_text(parts, "publicationYear"),
        volume=_read_text(parts, "volume"),
        issue=_read_text(parts, "issue"),
        number=_read_text(parts, "number"),
        number_kind="" if number is None else number.get("numberType", ""),
        first_page=_read_text(parts, "firstPage"),
        last_page=_read_text(parts, "lastPage"),
        publisher=_read_text(parts, "publisher"),
        edition=_read_text(parts, "edition"),
        note=one.get("relationTypeInformation", ""),
    )


FORMAT = Format(
    name=_NAME,
    title="DataCite 4.7 XML",
    media_types=("application/vnd.datacite.datacite+xml",),
    write=write_record,
    read=read_record,
    schema=SCHEMA,
    signature=Signature(opening=(b"<",), marks=(NAMESPACE.rpartition("-")[0].encode(),)),
    place=10,
)
