"""Read a record of the DataCite kernel 4 (see `perdure.metadata.datacite`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from perdure.errors.records import RootNotOfFormat
from perdure.metadata import datacite_old, xml_text
from perdure.metadata.datacite_words import (
    NAME,
    NAMESPACE,
    NO_YEAR,
)
from perdure.metadata.xml_text import (
    collect_text,
    strip_namespace,
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
)
from perdure.model.description_checks import check_description

_XSD = "datacite-4.7.xsd"


def read_record(data: bytes) -> About:
    """Read a record. Raises InvalidMetadata with line and reason, TooLarge."""
    root = xml_text.parse_xml(data, NAME)
    if str(root.tag).rpartition("}")[0].removeprefix("{") in datacite_old.NAMESPACES:
        datacite_old.upgrade_record(root, NAMESPACE)
    datacite_old.relax_record(root)
    if root.tag != f"{{{NAMESPACE}}}resource":
        raise RootNotOfFormat(
            format=NAME,
            line=root.sourceline,
            root=str(root.tag),
            needed="resource",
            namespace=NAMESPACE,
        )
    xml_text.validate_record(root, NAME, _XSD)
    parts = {strip_namespace(one): one for one in root}
    general = parts["resourceType"].get("resourceTypeGeneral")
    return check_description(
        About(
            titles=tuple(map(_read_title, parts["titles"])),
            creators=tuple(map(_read_agent, parts["creators"])),
            contributors=tuple(map(_read_agent, parts.get("contributors", ()))),
            publisher=_read_publisher(parts["publisher"]),
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
