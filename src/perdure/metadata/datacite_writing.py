"""Write a description as a record of the DataCite kernel 4 (see `perdure.metadata.datacite`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from perdure.errors import PerdureError
from perdure.errors.root import count_things
from perdure.ids import Identifier, parse, scheme_of
from perdure.metadata import xml_text
from perdure.metadata.datacite_words import (
    NAMESPACE,
    NO_YEAR,
    SCHEMA,
    UNAVAILABLE,
)
from perdure.metadata.port import CollectedMember, DescribedResource
from perdure.metadata.resource_types import guess_type
from perdure.metadata.xml_text import (
    keep_valid_uri,
    wrap_elements,
    write_element,
)
from perdure.model.about import (
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Funding,
    GeoPlace,
    Point,
    Publisher,
    RelatedItem,
    Relation,
    Rights,
    Subject,
)
from perdure.model.kernel_words import FUNDER_SCHEMES, SCHEMES
from perdure.model.plain_words import find_year

_ROOT = (
    f'<resource xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    f'xsi:schemaLocation="{NAMESPACE} {SCHEMA}">'
)
_DEPOSITED = "deposited"


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
    return _find_name_and_scheme(described.identifier)


def _find_name_and_scheme(identifier: Identifier) -> tuple[str, str]:
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
    yield wrap_elements("alternateIdentifiers", map(_write_alternate, _list_others(described)))
    yield wrap_elements("relatedIdentifiers", map(_write_relation, _list_relations(described)))
    sizes = about.sizes or (
        (count_things(described.length, "byte"),) if described.length is not None else ()
    )
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


def _list_others(described: DescribedResource) -> Iterator[Code]:
    """List the address and the codes, without the identifier itself."""
    address = Code(value=described.url, scheme="URL")
    own = tuple(one.lower() for one in find_name_and_scheme(described))
    yield address
    for one in described.about.codes:
        if (one.value.lower(), one.scheme.lower()) != own and one != address:
            yield one


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


def _find_word(scheme: str, words: frozenset[str]) -> str:
    """The kernel's word for the scheme of a code, in any case; empty if it has none."""
    return next((one for one in words if one.lower() == scheme.lower()), "")


def _write_pdi_as_urn(value: str, scheme: str) -> tuple[str, str]:
    """The kernel lists URNs, but not PDIs.  # ruling: pdi-prefix"""
    if scheme != "PDI":
        return value, scheme
    return value if value[:4].lower() == "urn:" else f"urn:{value}", "URN"


def _list_relations(described: DescribedResource) -> Iterator[Relation]:
    """Yield the relations that the description states, then those to members of a collection."""
    stated = described.about.relations
    yield from stated
    named = {one.value for one in stated if one.relation == "HasPart"}
    for member in described.members:
        relation = _relate_member(member)
        if relation is not None and relation.value not in named:
            yield relation


def _relate_member(member: CollectedMember) -> Relation | None:
    """Return the relation to a member, by its URL if the kernel does not list its scheme."""
    with suppress(PerdureError):
        value, scheme = _find_name_and_scheme(parse(member.identifier))
        if scheme in SCHEMES or scheme == "PDI":
            return Relation(value=value, scheme=scheme, relation="HasPart")
    if not member.url:
        return None
    return Relation(value=member.url, scheme="URL", relation="HasPart")


def _write_relation(one: Relation) -> str:
    value, scheme = _write_pdi_as_urn(one.value, one.scheme)
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
            funderIdentifierType=_find_word(code.scheme, FUNDER_SCHEMES) or "Other",
            schemeURI=keep_valid_uri(code.scheme_uri),
        ),
        write_element("awardNumber", one.award, awardURI=keep_valid_uri(one.award_uri)),
        write_element("awardTitle", one.award_title),
    )
    return wrap_elements("fundingReference", parts)


def _write_related(one: RelatedItem) -> str:
    code = one.code or Code(value="")
    value, scheme = _write_pdi_as_urn(code.value, code.scheme)
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
        write_element(
            "relatedItemIdentifier", value, relatedItemIdentifierType=_find_word(scheme, SCHEMES)
        ),
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
