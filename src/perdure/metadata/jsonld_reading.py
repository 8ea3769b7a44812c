"""Reading a node in the vocabulary of schema.org: ours, or that of another repository.

How it works: a `Node` remembers which of its properties were read, so that the others can be named
to the depositor. A value is read in each form in which repositories write it: a plain text, a text
with a language, a node, or a `Role` around it.

What must stay true: nothing raises an error, whatever the values are; a property that says what the
registry knows by itself (files, members, digests) is not a description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from perdure.metadata import homes
from perdure.metadata.jsonld_node import Node, read_text
from perdure.metadata.jsonld_words import (
    CLOSED,
    CODES,
    CONTRIBUTORS,
    CSL_TYPE,
    DATES,
    FREE_LICENCES,
    OPEN,
    RELATIONS,
)
from perdure.metadata.resource_types import find_type_of_word
from perdure.model.about import (
    About,
    Affiliation,
    Agent,
    CitationVariable,
    Code,
    DescriptionDate,
    DescriptionText,
    Funding,
    GeoBox,
    GeoPlace,
    Measurement,
    Point,
    Polygon,
    Publisher,
    RelatedItem,
    Relation,
    Rights,
    Subject,
)
from perdure.model.description_checks import LANGUAGE, is_safe_link
from perdure.model.kernel_words import DATES as DATE_KINDS
from perdure.model.kernel_words import DESCRIPTIONS, NUMBERS, RESOURCE_TYPES, ROLES, SCHEMES, TITLES
from perdure.model.kernel_words import RELATIONS as RELATION_WORDS
from perdure.model.plain_words import find_year, parse_person

_OWN = ("distribution", "url", "contentSize", "contentUrl", "mainEntityOfPage", "sha256", "sha512")
"""Properties that the registry knows by itself."""


_PAGES = re.compile(r"(\w+)(?:\s?[-–]\s?(\w+))?\Z")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+\Z", re.ASCII)


class RoleValue(NamedTuple):
    """A value with the word of the `Role` around it, or an empty text."""

    word: str
    value: Any


def _read_language(value: Any, name: str = "@language") -> str:
    """Read a language tag; empty if the text is none."""
    text = value.read_first(name) if isinstance(value, Node) else ""
    return text if LANGUAGE.fullmatch(text) else ""


def _choose_word(word: str, known: frozenset[str], default: str) -> str:
    """Return a word of the kernel's list, or the default for any other text."""
    return word if word in known else default


def _list_roles(node: Node, name: str) -> list[RoleValue]:
    found = []
    for one in node.list_values(name):
        if isinstance(one, Node) and (one.has_type("Role") or one.has_type("OrganizationRole")):
            word = one.read_first("roleName")
            found += [RoleValue(word, each) for each in one.list_values(name)]
        else:
            found.append(RoleValue("", one))
    return found


def read_about(node: Node) -> About:
    """Read the description of a node."""
    for name in _OWN:
        node.ignore_values(name)
    published = node.read_first("datePublished")
    own = {read_text(one) for one in node.list_values("identifier")}
    return About(
        titles=tuple(one for one in _read_titles(node) if one.value not in own),
        creators=tuple(_read_agents(node, "creator") or _read_agents(node, "author")),
        contributors=tuple(_read_contributors(node)),
        publisher=_read_publisher(node),
        year=find_year(published),
        dates=tuple(_read_dates(node)),
        language=_read_language(node, "inLanguage"),
        resource_type=_read_type(node),
        resource_kind=node.read_first("additionalType"),
        subjects=tuple(_read_subjects(node)),
        codes=tuple(_read_codes(node)),
        relations=tuple(_read_relations(node)),
        sizes=tuple(node.read_all("size")),
        formats=tuple(node.read_all("encodingFormat")),
        version=node.read_first("version"),
        edition=node.read_first("bookEdition"),
        rights=tuple(_read_rights(node)),
        descriptions=tuple(_read_descriptions(node)),
        places=tuple(
            place
            for one in node.list_values("spatialCoverage")
            if (place := _read_place(one)) != GeoPlace()
        ),
        measured=tuple(
            measurement
            for one in node.list_values("variableMeasured")
            if (measurement := _read_measurement(one)).name
        ),
        fundings=tuple(_read_fundings(node)),
        related=tuple(_read_related(node)),
        archive=node.read_first("holdingArchive", "archivedAt"),
        variables=tuple(_read_variables(node)),
    )


def _read_type(node: Node) -> str:
    """Read the general type, of the kernel's list if the genre is one of its words."""
    genre = node.read_first("genre")
    if genre in RESOURCE_TYPES:
        return genre
    kinds = (
        find_type_of_word("schema", read_text(one).rpartition("/")[2])
        for one in node.list_values("@type")
    )
    return next(filter(None, kinds), "Other")


# Titles, descriptions, subjects
# ------------------------------


def _read_titles(node: Node) -> Iterator[DescriptionText]:
    names = node.list_values("name") or node.list_values("headline")
    node.list_values("headline")
    for one in names:
        if text := read_text(one):
            yield DescriptionText(value=text, language=_read_language(one))
    for word, one in _list_roles(node, "alternateName"):
        if text := read_text(one):
            kind = _choose_word(word, TITLES, "AlternativeTitle")
            yield DescriptionText(value=text, kind=kind, language=_read_language(one))


def _read_descriptions(node: Node) -> Iterator[DescriptionText]:
    for one in node.list_values("description"):
        kind, language, text = "Abstract", _read_language(one), read_text(one)
        if isinstance(one, Node) and one.has_type("TextObject"):
            kind = _choose_word(one.read_first("name"), DESCRIPTIONS, "Other")
            text, language = one.read_first("text"), _read_language(one, "inLanguage")
        if text:
            yield DescriptionText(value=text, kind=kind, language=language)
    for text in node.read_all("abstract"):
        if text not in node.read_all("description"):
            yield DescriptionText(value=text, kind="Abstract")
    for name in ("measurementTechnique", "measurementMethod"):
        for text in node.read_all(name):
            yield DescriptionText(value=text, kind="Methods")


def _read_subjects(node: Node) -> Iterator[Subject]:
    for one in node.list_values("keywords"):
        if not isinstance(one, Node) or not one.has_type("DefinedTerm"):
            words = (word.strip() for word in read_text(one).split(","))
            yield from (Subject(value=word, language=_read_language(one)) for word in words if word)
            continue
        sets = one.list_values("inDefinedTermSet")
        terms = sets[0] if sets else ""
        scheme, address = read_text(terms), ""
        if isinstance(terms, Node):
            scheme, address = terms.read_first("name"), terms.read_first("url", "@id")
        elif scheme.startswith(("http://", "https://")):
            scheme, address = "", scheme
        names = one.list_values("name")
        if text := read_text(one):
            yield Subject(
                value=text,
                scheme=scheme,
                scheme_uri=address,
                uri=one.read_first("url", "@id"),
                code=one.read_first("termCode"),
                language=_read_language(names[0]) if names else "",
            )


def _read_measurement(one: Any) -> Measurement:
    if not isinstance(one, Node):
        return Measurement(name=read_text(one))
    return Measurement(
        name=one.read_first("name", "value"),
        uri=one.read_first("propertyID", "url", "@id"),
        unit=one.read_first("unitText", "unitCode"),
        note=one.read_first("description"),
    )


# Persons and organisations
# -------------------------


def _read_agents(node: Node, name: str, role: str = "") -> list[Agent]:
    found = (
        _read_agent(one, _choose_word(word, ROLES, role) if role else "")
        for word, one in _list_roles(node, name)
    )
    return [one for one in found if one.display_name]


def _read_contributors(node: Node) -> Iterator[Agent]:
    for role, name in {**CONTRIBUTORS, "Other": "contributor"}.items():
        yield from _read_agents(node, name, role)


def _read_agent(value: Any, role: str) -> Agent:
    if not isinstance(value, Node):
        return msgspec.structs.replace(parse_person(read_text(value)), role=role)
    family, given = value.read_first("familyName"), value.read_first("givenName")
    names = value.list_values("name")
    joined = ", ".join(part for part in (family, given) if part)
    name = value.read_first("alternateName") or joined or value.read_first("name")
    kind = "Organizational" if value.has_type("Organization") else ""
    if value.has_type("Person") and (family or "," not in name):
        kind = "Personal"
    return Agent(
        name=name,
        family=family,
        given=given,
        kind=kind,
        role=role,
        codes=tuple(_read_agent_codes(value)),
        affiliations=tuple(
            Affiliation(name=read_text(one), code=_read_code(one))
            for one in value.list_values("affiliation")
            if read_text(one)
        ),
        language=_read_language(names[0]) if names else "",
    )


def _read_agent_codes(value: Node) -> list[Code]:
    links = (value.read_all("sameAs") or value.read_all("@id"))[:8]
    codes = [_read_property(one) for one in value.list_nodes("identifier")]
    codes = [one for one in codes if one.value]
    if codes:
        return codes
    links = links or value.read_all("identifier")
    return [Code(value=one, scheme=homes.find_type(one)) for one in links if one[:4] == "http"]


def _read_property(one: Node) -> Code:
    scheme = one.read_first("propertyID")
    if scheme.startswith(("http://", "https://")):
        scheme = scheme.rpartition("/")[2]
    return Code(
        value=one.read_first("value", "@id", "url"),
        scheme="" if scheme == "local" else scheme,
        scheme_uri=one.read_first("valueReference"),
    )


def _read_code(one: Any) -> Code | None:
    """Read the code of an organisation."""
    if not isinstance(one, Node):
        return None
    link = one.read_first("@id")
    for each in one.list_nodes("identifier"):
        code = _read_property(each)
        if code.value:
            return code
    link = link or one.read_first("sameAs", "identifier")
    return Code(value=link, scheme=homes.find_type(link)) if link[:4] == "http" else None


def _read_publisher(node: Node) -> Publisher | None:
    for one in node.list_values("publisher"):
        names = one.list_values("name") if isinstance(one, Node) else [one]
        if names and (name := read_text(names[0])):
            place = one.read_first("address") if isinstance(one, Node) else ""
            language = _read_language(names[0])
            return Publisher(name=name, code=_read_code(one), language=language, place=place)
    return None


# Dates and places
# ----------------


def _read_dates(node: Node) -> Iterator[DescriptionDate]:
    for kind, name in DATES.items():
        for value in node.read_all(name):
            yield DescriptionDate(value=value, kind=kind)
    for one in node.list_nodes("subjectOf"):
        if one.has_type("Event"):
            ends = (one.read_first("startDate"), one.read_first("endDate"))
            value = "/".join(end for end in ends if end)
            if value:
                kind = _choose_word(one.read_first("name"), DATE_KINDS, "Other")
                yield DescriptionDate(value=value, kind=kind, note=one.read_first("description"))


def _read_place(one: Any) -> GeoPlace:
    if not isinstance(one, Node):
        return GeoPlace(name=read_text(one))
    point, box = None, None
    polygons: list[Polygon] = []
    inside = {
        each.read_first("propertyID"): _read_points(each.read_first("value"))
        for each in one.list_nodes("additionalProperty")
    }
    for shape in one.list_nodes("geo"):
        latitude, longitude = shape.read_first("latitude"), shape.read_first("longitude")
        if latitude and longitude:
            point = Point(latitude=latitude, longitude=longitude)
        corners = _read_points(shape.read_first("box"))
        if len(corners) == 2:
            (low, high) = corners
            box = GeoBox(
                south=low.latitude, west=low.longitude, north=high.latitude, east=high.longitude
            )
        line = _read_points(shape.read_first("polygon"))
        if len(line) > 3:
            within = next(iter(inside.get(f"inside {len(polygons) + 1}", ())), None)
            polygons.append(Polygon(points=tuple(line), inside=within))
    name = one.read_first("name")
    if not name and point is None and box is None and not polygons:
        name = one.read_first("@id", "description")
    return GeoPlace(name=name, point=point, box=box, polygons=tuple(polygons))


def _read_points(text: str) -> list[Point]:
    """Read pairs of latitude and longitude, with spaces or commas between them."""
    numbers = text.replace(",", " ").split()
    pairs = list(pairwise(numbers))[::2]
    if len(numbers) % 2:
        return []
    return [Point(latitude=latitude, longitude=longitude) for latitude, longitude in pairs]


# Rights and funding
# ------------------


def _read_rights(node: Node) -> Iterator[Rights]:
    found = [_read_licence(one) for one in node.list_values("license")]
    found += [Rights(value=text) for text in node.read_all("copyrightNotice")]
    found += [_read_licence(one) for one in node.list_values("usageInfo")]
    uris = [one.uri for one in found]
    conditions = "; ".join(node.read_all("conditionsOfAccess"))
    values = node.list_values("isAccessibleForFree")
    is_free = next((str(one).lower().rpartition("/")[2] for one in values), "")
    is_closed = any(uri in CLOSED for uri in uris)
    is_open = any(uri in OPEN or any(word in uri for word in FREE_LICENCES) for uri in uris)
    if is_free == "false" and not is_closed:  # also under a licence that would allow it
        found.append(Rights(value=conditions, uri=CLOSED[0]))
    elif is_free == "true" and not (is_open or is_closed):
        found.append(Rights(value=conditions, uri=OPEN[0]))
    elif conditions and not is_closed:
        found.append(Rights(value=conditions))
    yield from (one for one in found if one != Rights())


def _read_licence(one: Any) -> Rights:
    if not isinstance(one, Node):
        text = read_text(one)
        return Rights(uri=text) if _ADDRESS.match(text) else Rights(value=text)
    codes = [_read_property(each) for each in one.list_nodes("identifier")]
    code = codes[0] if codes else Code(value="")
    names = one.list_values("name")
    return Rights(
        value=one.read_first("name"),
        uri=one.read_first("url", "@id"),
        code=code.value,
        scheme=code.scheme,
        scheme_uri=code.scheme_uri,
        language=_read_language(names[0]) if names else "",
    )


def _read_fundings(node: Node) -> Iterator[Funding]:
    for one in node.list_values("funding"):
        if not isinstance(one, Node):
            if text := read_text(one):
                yield Funding(funder=text)
            continue
        funders = one.list_values("funder") or [""]
        funder = read_text(funders[0]) or one.read_first("name")
        if funder:
            yield Funding(
                funder=funder,
                code=_read_code(funders[0]),
                award=one.read_first("identifier"),
                award_uri=one.read_first("url"),
                award_title=one.read_first("name"),
            )
    for one in node.list_values("funder"):
        if text := read_text(one):
            yield Funding(funder=text, code=_read_code(one))


# Other resources
# ---------------


def _read_codes(node: Node) -> Iterator[Code]:
    for one in node.list_values("identifier"):
        code = _read_property(one) if isinstance(one, Node) else Code(value=read_text(one))
        if not isinstance(one, Node) and code.value.startswith("http"):
            code = Code(value=code.value, scheme="URL")
        if code.value and is_safe_link(code.value):
            yield code


def _read_relations(node: Node) -> Iterator[Relation]:
    known = set()
    for word, one in _list_roles(node, "mentions"):
        target = _read_target(one, _choose_word(word, RELATION_WORDS, "References"))
        if target is not None and isinstance(one, Node):
            known.add((one.read_first("@id"), word))
            yield target
    for relation, name in RELATIONS.items():
        for word, one in _list_roles(node, name):
            if word or (isinstance(one, Node) and one.read_first("position")):
                continue  # a related item, or a member of a collection
            if relation == "IsIdenticalTo" and (read_text(one), relation) in known:
                continue
            if name == "isPartOf" and isinstance(one, Node) and _is_container(one):
                continue
            target = _read_target(one, relation)
            if target is not None:
                yield target


def _is_container(one: Node) -> bool:
    """Return True if a node describes a publication, and does not only name it."""
    return bool(one.list_values("@type")) and bool(
        one.read_first("name", "issn", "isbn", "isPartOf", "issueNumber", "volumeNumber")
        or one.read_first("datePublished", "publisher", "creator", "bookEdition")
    )


def _read_target(one: Any, relation: str) -> Relation | None:
    if not isinstance(one, Node):
        link = read_text(one)
        is_link = link.startswith(("http://", "https://"))
        return Relation(value=link, scheme="URL", relation=relation) if is_link else None
    link = one.read_first("@id", "url")
    genre = one.read_first("genre")
    more = {
        "relation": relation,
        "resource_type": genre if genre in RESOURCE_TYPES else "",
        "metadata_scheme": one.read_first("schemaVersion"),
        "scheme_type": one.read_first("encodingFormat"),
        "note": one.read_first("description"),
    }
    one.list_values("@type")
    for each in one.list_nodes("identifier"):
        code = _read_property(each)
        if code.value and code.scheme in SCHEMES | {"PDI"}:
            return Relation(
                value=code.value, scheme=code.scheme, scheme_uri=code.scheme_uri, **more
            )
    if link.startswith(("http://", "https://")):
        return Relation(value=link, scheme="URL", **more)
    return None


def _read_related(node: Node) -> Iterator[RelatedItem]:
    containers = [one for one in node.list_nodes("isPartOf") if _is_container(one)]
    for one in containers[:1]:
        yield _read_item(one, "IsPublishedIn", _read_pages(node))
    for word, one in _list_roles(node, "citation"):
        if word and isinstance(one, Node):
            relation = _choose_word(word, RELATION_WORDS, "Cites")
            yield _read_item(one, relation, _read_pages(one))


def _read_pages(node: Node) -> tuple[str, str]:
    """Read the first and the last page, also from a range such as `12-19` (`pagination`)."""
    first, last = node.read_first("pageStart"), node.read_first("pageEnd")
    found = _PAGES.match(node.read_first("pagination"))
    if found is None or first or last:
        return first, last
    return found[1], found[2] or ""


def _read_item(part: Node, relation: str, pages: tuple[str, str]) -> RelatedItem:
    issue, volume = part.read_first("issueNumber"), part.read_first("volumeNumber")
    while not part.read_first("genre", "issn") and part.list_nodes("isPartOf"):
        part = part.list_nodes("isPartOf")[0]
        volume = volume or part.read_first("volumeNumber")
    number, code = Code(value=""), None
    for one in part.list_nodes("identifier"):
        if one.read_first("name") == "number":
            number = _read_property(one)
        else:
            code = _read_property(one)
    for scheme, name in CODES.items():
        if value := part.read_first(name):
            code = code or Code(value=value, scheme=scheme)
    return RelatedItem(
        relation=relation,
        resource_type=_read_type(part),
        code=code,
        titles=tuple(_read_titles(part)),
        creators=tuple(_read_agents(part, "creator")),
        contributors=tuple(_read_contributors(part)),
        year=part.read_first("datePublished"),
        volume=volume,
        issue=issue,
        number=number.value,
        number_kind=_choose_word(number.scheme, NUMBERS, ""),
        first_page=pages[0],
        last_page=pages[1],
        publisher=part.read_first("publisher"),
        edition=part.read_first("bookEdition"),
        note=part.read_first("description"),
    )


def _read_variables(node: Node) -> Iterator[CitationVariable]:
    for one in node.list_nodes("subjectOf"):
        if one.read_first("encodingFormat") != CSL_TYPE:
            continue
        try:
            item = msgspec.json.decode(one.read_first("text").encode())
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
        if isinstance(item, dict):
            for name, value in item.items():
                if isinstance(value, str):
                    yield CitationVariable(name=name, value=value)
