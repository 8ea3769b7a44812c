"""DataCite's JSON: the attributes of a DOI in its REST API, read and written.

How it works: each member of the kernel has a function for each direction; members of the API that
are not of the kernel (`url`, `state`, `event`, …) are none of this module's business. Unknown words
of controlled lists become the ones that the kernel has for them (`Other`).

What must stay true: `read_attributes(write_attributes(x)) == x` for every description that
the XML of DataCite can hold.

Specification: DataCite REST API, "JSON representation of metadata"; DataCite Metadata Schema 4.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from perdure.errors.records import quote_parser
from perdure.model import kernel_words as words
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

_NAME = "datacite-json"
Members = dict[str, Any]
_Read = TypeVar("_Read")


# Reading
# -------


def read_attributes(attributes: Members) -> About:
    """Read the description in the attributes of a DOI. Raises InvalidMetadata or InvalidRequest."""
    try:
        return check_description(_read_about(attributes))
    except (TypeError, AttributeError, ValueError, KeyError) as error:
        if isinstance(error, ValueError) and hasattr(error, "code"):
            raise
        raise quote_parser(_NAME, "the reader of DataCite's JSON", error) from None


def _read_about(members: Members) -> About:
    types = members.get("types") or {}
    return About(
        titles=_read_each(members, "titles", _read_title),
        creators=_read_each(members, "creators", _read_agent),
        contributors=_read_each(members, "contributors", _read_contributor),
        publisher=_read_publisher(members.get("publisher")),
        year=_spell(members.get("publicationYear")),
        dates=_read_each(members, "dates", _read_date),
        language=_spell(members.get("language")),
        resource_type=_choose(_spell(types.get("resourceTypeGeneral")), words.RESOURCE_TYPES),
        resource_kind=_spell(types.get("resourceType")),
        subjects=_read_each(members, "subjects", _read_subject),
        codes=tuple(_read_codes(members)),
        relations=_read_each(members, "relatedIdentifiers", _read_relation),
        sizes=tuple(map(_spell, _list(members, "sizes"))),
        formats=tuple(map(_spell, _list(members, "formats"))),
        version=_spell(members.get("version") or members.get("schemaVersionOfResource")),
        rights=_read_each(members, "rightsList", _read_rights),
        descriptions=_read_each(members, "descriptions", _read_description),
        places=_read_each(members, "geoLocations", _read_place),
        fundings=_read_each(members, "fundingReferences", _read_funding),
        related=_read_each(members, "relatedItems", _read_related),
    )


def _list(members: Members, name: str) -> list[Any]:
    found = members.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        raise TypeError(f"{name} is not a list")
    return found


def _read_each(
    members: Members, name: str, read: Callable[[Members], _Read | None]
) -> tuple[_Read, ...]:
    found = []
    for one in _list(members, name):
        if not isinstance(one, dict):
            raise TypeError(f"an element of {name} is not an object")
        value = read(one)
        if value is not None:
            found.append(value)
    return tuple(found)


def _spell(value: Any) -> str:
    """Return a text or a number as text; empty for null."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is neither a text nor a number")
    return str(value)


def _choose(word: str, known: frozenset[str], other: str = "Other") -> str:
    return word if not word or word in known else other


def _read_title(one: Members) -> DescriptionText | None:
    value = _spell(one.get("title"))
    kind = _choose(_spell(one.get("titleType")), words.TITLES)
    return (
        DescriptionText(value=value, kind=kind, language=_spell(one.get("lang"))) if value else None
    )


def _read_description(one: Members) -> DescriptionText | None:
    value = _spell(one.get("description"))
    kind = _choose(_spell(one.get("descriptionType")) or "Other", words.DESCRIPTIONS)
    return (
        DescriptionText(value=value, kind=kind, language=_spell(one.get("lang"))) if value else None
    )


def _read_code(one: Members, value: str, scheme: str, scheme_uri: str) -> Code | None:
    text = _spell(one.get(value))
    if not text:
        return None
    return Code(value=text, scheme=_spell(one.get(scheme)), scheme_uri=_spell(one.get(scheme_uri)))


def _read_agent(one: Members) -> Agent | None:
    given, family = _spell(one.get("givenName")), _spell(one.get("familyName"))
    name = _spell(one.get("name")) or ", ".join(filter(None, (family, given)))
    codes = (
        _read_code(each, "nameIdentifier", "nameIdentifierScheme", "schemeUri")
        for each in _list(one, "nameIdentifiers")
    )
    kind = _spell(one.get("nameType"))
    agent = Agent(
        name=name,
        given=given,
        family=family,
        kind=kind if kind in ("Personal", "Organizational") else "",
        language=_spell(one.get("lang")),
        codes=tuple(code for code in codes if code is not None),
        affiliations=tuple(_read_affiliations(_list(one, "affiliation"))),
    )
    return agent if name else None


def _read_affiliations(listed: Iterable[Any]) -> Iterator[Affiliation]:
    for one in listed:
        if isinstance(one, str):
            if one:
                yield Affiliation(name=one)
        elif name := _spell(one.get("name")):
            code = _read_code(
                one, "affiliationIdentifier", "affiliationIdentifierScheme", "schemeUri"
            )
            yield Affiliation(name=name, code=code)


def _read_contributor(one: Members) -> Agent | None:
    agent = _read_agent(one)
    if agent is None:
        return None
    role = _choose(_spell(one.get("contributorType")) or "Other", words.ROLES)
    return Agent(
        name=agent.name,
        given=agent.given,
        family=agent.family,
        kind=agent.kind,
        role=role,
        codes=agent.codes,
        affiliations=agent.affiliations,
        language=agent.language,
    )


def _read_publisher(value: Any) -> Publisher | None:
    if isinstance(value, dict):
        code = _read_code(value, "publisherIdentifier", "publisherIdentifierScheme", "schemeUri")
        name = _spell(value.get("name"))
        language = _spell(value.get("lang"))
        return Publisher(name=name, code=code, language=language) if name else None
    name = _spell(value)
    return Publisher(name=name) if name else None


def _read_date(one: Members) -> DescriptionDate | None:
    value, kind = _spell(one.get("date")), _spell(one.get("dateType")) or "Other"
    note = _spell(one.get("dateInformation"))
    return (
        DescriptionDate(value=value, kind=_choose(kind, words.DATES), note=note) if value else None
    )


def _read_subject(one: Members) -> Subject | None:
    subject = Subject(
        value=_spell(one.get("subject")),
        scheme=_spell(one.get("subjectScheme")),
        scheme_uri=_spell(one.get("schemeUri")),
        uri=_spell(one.get("valueUri")),
        code=_spell(one.get("classificationCode")),
        language=_spell(one.get("lang")),
    )
    return subject if subject.value else None


def _read_codes(members: Members) -> Iterator[Code]:
    if doi := _spell(members.get("doi")):
        yield Code(value=doi, scheme="DOI")
    for name, value, scheme in (
        ("identifiers", "identifier", "identifierType"),
        ("alternateIdentifiers", "alternateIdentifier", "alternateIdentifierType"),
    ):
        for one in _list(members, name):
            code = _read_code(one, value, scheme, "")
            if code is not None:
                yield code
        if members.get(name):
            return  # the API gives both, with the same content


def _read_relation(one: Members) -> Relation | None:
    relation = Relation(
        value=_spell(one.get("relatedIdentifier")),
        scheme=_choose(_spell(one.get("relatedIdentifierType")), words.SCHEMES, "URL"),
        relation=_choose(_spell(one.get("relationType")), words.RELATIONS),
        resource_type=_choose(_spell(one.get("resourceTypeGeneral")), words.RESOURCE_TYPES),
        metadata_scheme=_spell(one.get("relatedMetadataScheme")),
        scheme_uri=_spell(one.get("schemeUri")),
        scheme_type=_spell(one.get("schemeType")),
        note=_spell(one.get("relationTypeInformation")),
    )
    return relation if relation.value else None


def _read_rights(one: Members) -> Rights | None:
    rights = Rights(
        value=_spell(one.get("rights")),
        uri=_spell(one.get("rightsUri")),
        code=_spell(one.get("rightsIdentifier")),
        scheme=_spell(one.get("rightsIdentifierScheme")),
        scheme_uri=_spell(one.get("schemeUri")),
        language=_spell(one.get("lang")),
    )
    return rights if rights != Rights() else None


def _read_point(one: Members) -> Point:
    return Point(longitude=_spell(one["pointLongitude"]), latitude=_spell(one["pointLatitude"]))


def _read_place(one: Members) -> GeoPlace | None:
    point, box = one.get("geoLocationPoint"), one.get("geoLocationBox")
    given = one.get("geoLocationPolygon") or []
    listed = [given] if isinstance(given, list) and given and "polygonPoint" in given[0] else given
    listed = [listed] if isinstance(listed, dict) else listed
    place = GeoPlace(
        name=_spell(one.get("geoLocationPlace")),
        point=_read_point(point) if point else None,
        box=None
        if not box
        else GeoBox(
            west=_spell(box["westBoundLongitude"]),
            east=_spell(box["eastBoundLongitude"]),
            south=_spell(box["southBoundLatitude"]),
            north=_spell(box["northBoundLatitude"]),
        ),
        polygons=tuple(map(_read_polygon, listed)),
    )
    return place if place != GeoPlace() else None


def _read_polygon(given: Any) -> Polygon:
    listed = given["polygonPoints"] if isinstance(given, dict) else given
    points = [
        _read_point(one.get("polygonPoint", one)) for one in listed if "inPolygonPoint" not in one
    ]
    inside = [_read_point(one["inPolygonPoint"]) for one in listed if "inPolygonPoint" in one]
    return Polygon(points=tuple(points), inside=inside[0] if inside else None)


def _read_funding(one: Members) -> Funding | None:
    funder = _spell(one.get("funderName"))
    if not funder:
        return None
    return Funding(
        funder=funder,
        code=_read_code(one, "funderIdentifier", "funderIdentifierType", "schemeUri"),
        award=_spell(one.get("awardNumber")),
        award_uri=_spell(one.get("awardUri")),
        award_title=_spell(one.get("awardTitle")),
    )


def _read_related(one: Members) -> RelatedItem | None:
    given = one.get("relatedItemIdentifier")
    code = (
        _read_code(given, "relatedItemIdentifier", "relatedItemIdentifierType", "schemeUri")
        if isinstance(given, dict)
        else _read_code(one, "relatedItemIdentifier", "relatedItemIdentifierType", "schemeUri")
    )
    return RelatedItem(
        relation=_choose(_spell(one.get("relationType")), words.RELATIONS) or "Other",
        resource_type=_choose(_spell(one.get("relatedItemType")), words.RESOURCE_TYPES) or "Other",
        code=code,
        titles=_read_each(one, "titles", _read_title),
        creators=_read_each(one, "creators", _read_agent),
        contributors=_read_each(one, "contributors", _read_contributor),
        year=_spell(one.get("publicationYear")),
        volume=_spell(one.get("volume")),
        issue=_spell(one.get("issue")),
        number=_spell(one.get("number")),
        number_kind=_choose(_spell(one.get("numberType")), words.NUMBERS),
        first_page=_spell(one.get("firstPage")),
        last_page=_spell(one.get("lastPage")),
        publisher=_spell(one.get("publisher")),
        edition=_spell(one.get("edition")),
        note=_spell(one.get("relationTypeInformation")),
    )


# Writing
# -------


def write_attributes(about: About, doi: str) -> Members:
    """Write the description as attributes of the DOI `doi` (without its prefix `doi:`)."""
    codes = [one for one in about.codes if one.value.lower() != doi.lower()]
    return {
        "titles": [_write_text(one, "title", "titleType") for one in about.titles],
        "creators": [_write_agent(one) for one in about.creators],
        "contributors": [_write_agent(one, "contributorType") for one in about.contributors],
        "publisher": None if about.publisher is None else about.publisher.name,
        "publicationYear": int(about.year) if about.year.isdecimal() else None,
        "dates": [
            _drop_empty({"date": one.value, "dateType": one.kind, "dateInformation": one.note})
            for one in about.dates
        ],
        "language": about.language or None,
        "types": _drop_empty(
            {
                "resourceTypeGeneral": about.resource_type,
                "resourceType": about.resource_kind,
            }
        ),
        "subjects": [_write_subject(one) for one in about.subjects],
        "identifiers": [{"identifier": one.value, "identifierType": one.scheme} for one in codes],
        "relatedIdentifiers": [_write_relation(one) for one in about.relations],
        "sizes": list(about.sizes),
        "formats": list(about.formats),
        "version": about.version or None,
        "rightsList": [_write_rights(one) for one in about.rights],
        "descriptions": [
            _write_text(one, "description", "descriptionType") for one in about.descriptions
        ],
        "geoLocations": [_write_place(one) for one in about.places],
        "fundingReferences": [_write_funding(one) for one in about.fundings],
        "relatedItems": [_write_related(one) for one in about.related],
    }


def _write_subject(one: Subject) -> Members:
    return _drop_empty(
        {
            "subject": one.value,
            "subjectScheme": one.scheme,
            "schemeUri": one.scheme_uri,
            "valueUri": one.uri,
            "classificationCode": one.code,
            "lang": one.language,
        }
    )


def _write_relation(one: Relation) -> Members:
    return _drop_empty(
        {
            "relatedIdentifier": one.value,
            "relatedIdentifierType": one.scheme if one.scheme != "PDI" else "URN",
            "relationType": one.relation,
            "resourceTypeGeneral": one.resource_type,
            "relatedMetadataScheme": one.metadata_scheme,
            "schemeUri": one.scheme_uri,
            "schemeType": one.scheme_type,
            "relationTypeInformation": one.note,
        }
    )


def _write_rights(one: Rights) -> Members:
    return _drop_empty(
        {
            "rights": one.value,
            "rightsUri": one.uri,
            "rightsIdentifier": one.code,
            "rightsIdentifierScheme": one.scheme,
            "schemeUri": one.scheme_uri,
            "lang": one.language,
        }
    )


def _write_funding(one: Funding) -> Members:
    return _drop_empty(
        {
            "funderName": one.funder,
            **_write_code(one.code, "funderIdentifier", "funderIdentifierType"),
            "awardNumber": one.award,
            "awardUri": one.award_uri,
            "awardTitle": one.award_title,
        }
    )


def _drop_empty(members: Members) -> Members:
    return {name: value for name, value in members.items() if value}


def _write_text(one: DescriptionText, name: str, kind: str) -> Members:
    return _drop_empty({name: one.value, kind: one.kind, "lang": one.language})


def _write_code(code: Code | None, value: str, scheme: str) -> Members:
    if code is None:
        return {}
    return {value: code.value, scheme: code.scheme, "schemeUri": code.scheme_uri}


def _write_agent(one: Agent, role: str = "") -> Members:
    members = _drop_empty(
        {
            "name": one.display_name,
            "nameType": one.kind,
            "givenName": one.given,
            "familyName": one.family,
            "lang": one.language,
        }
    )
    members["affiliation"] = [
        _drop_empty(
            {
                "name": each.name,
                **_write_code(each.code, "affiliationIdentifier", "affiliationIdentifierScheme"),
            }
        )
        for each in one.affiliations
    ]
    members["nameIdentifiers"] = [
        _drop_empty(_write_code(each, "nameIdentifier", "nameIdentifierScheme"))
        for each in one.codes
    ]
    return members | ({role: one.role} if role else {})


def _write_point(point: Point) -> Members:
    return {"pointLongitude": point.longitude, "pointLatitude": point.latitude}


def _write_place(one: GeoPlace) -> Members:
    box = one.box
    return _drop_empty(
        {
            "geoLocationPlace": one.name,
            "geoLocationPoint": _write_point(one.point) if one.point else None,
            "geoLocationBox": {
                "westBoundLongitude": box.west,
                "eastBoundLongitude": box.east,
                "southBoundLatitude": box.south,
                "northBoundLatitude": box.north,
            }
            if box
            else None,
            "geoLocationPolygon": [
                [
                    *({"polygonPoint": _write_point(point)} for point in each.points),
                    *([{"inPolygonPoint": _write_point(each.inside)}] if each.inside else ()),
                ]
                for each in one.polygons
            ],
        }
    )


def _write_related(one: RelatedItem) -> Members:
    code = _write_code(one.code, "relatedItemIdentifier", "relatedItemIdentifierType")
    return _drop_empty(
        {
            "relationType": one.relation,
            "relatedItemType": one.resource_type,
            "relatedItemIdentifier": _drop_empty(code),
            "titles": [_write_text(each, "title", "titleType") for each in one.titles],
            "creators": [_write_agent(each) for each in one.creators],
            "contributors": [_write_agent(each, "contributorType") for each in one.contributors],
            "publicationYear": one.year,
            "volume": one.volume,
            "issue": one.issue,
            "number": one.number,
            "numberType": one.number_kind,
            "firstPage": one.first_page,
            "lastPage": one.last_page,
            "publisher": one.publisher,
            "edition": one.edition,
            "relationTypeInformation": one.note,
        }
    )
