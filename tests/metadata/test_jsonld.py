"""JSON-LD: nothing that the model has is lost on the way to schema.org and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure import metadata
from perdure.ids import parse
from perdure.metadata.jsonld_words import CONTRIBUTORS
from perdure.metadata.jsonld_writing import make_node
from perdure.metadata.port import CollectedMember, DescribedResource, HeldFile
from perdure.model import kernel_words as words
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
from perdure.model.description_checks import check_description
from perdure.model.records import Record
from perdure.reading.described import describe_resource

URL = "https://id.example/hdl:1839/00-1"
_WORDS = (
    st.text("aZé1 .,;:()'-", min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda text: any(letter.isalpha() for letter in text))
)
_PLAIN = st.text("abcdefgé", min_size=1, max_size=8)
_MAYBE = st.just("") | _WORDS
_LANGUAGES = st.sampled_from(["", "de", "en-GB"])
_LINKS = st.sampled_from(["", "https://a.example/x", "http://b.example/y#z"])
_CODES = st.builds(
    Code, value=_PLAIN, scheme=st.sampled_from(["ORCID", "ROR", "ISBN", "x", ""]), scheme_uri=_LINKS
)
_AFFILIATIONS = st.builds(Affiliation, name=_WORDS, code=st.none() | _CODES)
_AGENTS = (
    st.builds(
        Agent,
        name=_PLAIN,
        kind=st.sampled_from(["", "Personal", "Organizational"]),
        codes=st.lists(_CODES, max_size=2).map(tuple),
        affiliations=st.lists(_AFFILIATIONS, max_size=2).map(tuple),
        language=_LANGUAGES,
    )
    | st.builds(
        lambda family, given, codes: Agent(
            name=f"{family}, {given}", family=family, given=given, kind="Personal", codes=codes
        ),
        _PLAIN,
        _PLAIN,
        st.lists(_CODES, max_size=1).map(tuple),
    )
    | st.builds(Agent, name=_WORDS, kind=st.just("Organizational"))
)
_CONTRIBUTORS = st.builds(
    lambda agent, role: replace(agent, role=role), _AGENTS, st.sampled_from(sorted(words.ROLES))
)
_NUMBERS = st.sampled_from(["0", "47.10", "-12.5", "89.999"])
_POINTS = st.builds(Point, longitude=_NUMBERS, latitude=_NUMBERS)
_PLACES = st.builds(
    GeoPlace,
    name=_WORDS,
    point=st.none() | _POINTS,
    box=st.none() | st.builds(GeoBox, west=_NUMBERS, east=_NUMBERS, south=_NUMBERS, north=_NUMBERS),
    polygons=st.lists(
        st.builds(
            Polygon,
            points=st.lists(_POINTS, min_size=4, max_size=5).map(tuple),
            inside=st.none() | _POINTS,
        ),
        max_size=2,
    ).map(tuple),
)


def _texts(kinds: frozenset[str], default: tuple[str, ...] = ()) -> st.SearchStrategy[Any]:
    return st.builds(
        DescriptionText,
        value=_WORDS,
        kind=st.sampled_from([*default, *sorted(kinds)]),
        language=_LANGUAGES,
    )


_TITLES = st.lists(_texts(words.TITLES, ("",)), max_size=3).map(tuple)
_DATES = st.builds(
    DescriptionDate,
    value=st.sampled_from(["1997", "2001-09-01", "1997-01-01/1998-01-01", "2001-09-01T08:00:00Z"]),
    kind=st.sampled_from(sorted(words.DATES)),
    note=_MAYBE,
)
_SUBJECTS = st.builds(
    Subject, value=_WORDS, scheme=_MAYBE, scheme_uri=_LINKS, uri=_LINKS, code=_MAYBE,
    language=_LANGUAGES,
)  # fmt: skip
_RELATIONS = st.builds(
    Relation,
    value=st.sampled_from(["10.1000/182", "https://c.example/z", "urn:x:y"]),
    scheme=st.sampled_from(sorted(words.SCHEMES)),
    relation=st.sampled_from(sorted(words.RELATIONS)),
    resource_type=st.sampled_from(["", *sorted(words.RESOURCE_TYPES)]),
    metadata_scheme=_MAYBE,
    scheme_uri=_LINKS,
    scheme_type=_MAYBE,
    note=_MAYBE,
)
_RIGHTS = st.builds(
    Rights, value=_WORDS, uri=_LINKS, code=_PLAIN, scheme=st.just("SPDX"), scheme_uri=_LINKS,
    language=_LANGUAGES,
) | st.builds(Rights, uri=st.just("https://creativecommons.org/licenses/by/4.0/"))  # fmt: skip
_FUNDINGS = st.builds(
    Funding, funder=_WORDS, code=st.none() | _CODES, award=_MAYBE, award_uri=_LINKS,
    award_title=_MAYBE,
)  # fmt: skip
_RELATED = st.builds(
    RelatedItem,
    relation=st.sampled_from(sorted(words.RELATIONS - {"IsPublishedIn"})),
    resource_type=st.sampled_from(sorted(words.RESOURCE_TYPES)),
    code=st.none() | st.builds(Code, value=_PLAIN, scheme=st.sampled_from(["ISSN", "ISBN", "DOI"])),
    titles=_TITLES,
    creators=st.lists(_AGENTS, max_size=1).map(tuple),
    contributors=st.lists(_CONTRIBUTORS, max_size=1).map(tuple),
    year=st.sampled_from(["", "1997"]),
    volume=_MAYBE,
    issue=_MAYBE,
    number=_WORDS,
    number_kind=st.sampled_from(["", *sorted(words.NUMBERS)]),
    first_page=_MAYBE,
    last_page=_MAYBE,
    publisher=_MAYBE,
    edition=_MAYBE,
    note=_MAYBE,
)
_CONTAINERS = st.builds(
    lambda item, name: replace(
        item, relation="IsPublishedIn", titles=(DescriptionText(value=name), *item.titles)
    ),
    _RELATED,
    _WORDS,
)


def _few(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=2).map(tuple)


ABOUTS = st.builds(
    About,
    titles=_TITLES,
    creators=_few(_AGENTS),
    contributors=_few(_CONTRIBUTORS),
    publisher=st.none()
    | st.builds(Publisher, name=_WORDS, code=st.none() | _CODES, language=_LANGUAGES, place=_MAYBE),
    dates=_few(_DATES),
    language=_LANGUAGES,
    resource_type=st.sampled_from(sorted(words.RESOURCE_TYPES)),
    resource_kind=_MAYBE,
    subjects=_few(_SUBJECTS),
    codes=_few(_CODES),
    relations=_few(_RELATIONS),
    sizes=_few(_WORDS),
    formats=_few(_WORDS),
    version=_MAYBE,
    edition=_MAYBE,
    rights=_few(_RIGHTS),
    descriptions=_few(_texts(words.DESCRIPTIONS)),
    places=_few(_PLACES),
    measured=_few(st.builds(Measurement, name=_WORDS, uri=_LINKS, unit=_MAYBE, note=_MAYBE)),
    fundings=_few(_FUNDINGS),
    related=st.tuples(_CONTAINERS) | _few(_RELATED),
    archive=_MAYBE | st.just("https://archive.example/"),
    variables=st.just(()) | st.just((CitationVariable(name="event-place", value="Bonn"),)),
)


def written(about: About) -> bytes:
    what = describe_resource(parse("hdl:1839/00-1"), Record(about=about), URL)
    return metadata.write_record(what, "jsonld")


def read(data: bytes) -> About:
    found = metadata.read_record(data, "jsonld")
    return metadata.adopt_description(found, parse("hdl:1839/00-1"), URL)


def ordered(about: About) -> About:
    """The same description in one order: schema.org groups by kind what the model has in a list.

    The year of publication follows from its date.
    """
    roles = [*CONTRIBUTORS, ""]
    return replace(
        about,
        titles=_order_titles(about.titles),
        contributors=tuple(
            sorted(
                about.contributors,
                key=lambda one: roles.index(one.role if one.role in roles else ""),
            )
        ),
        dates=tuple(sorted(about.dates, key=lambda one: (one.kind, one.value, one.note))),
        relations=tuple(sorted(about.relations, key=str)),
        related=tuple(replace(one, titles=_order_titles(one.titles)) for one in about.related),
        year="",
    )


def _order_titles(titles: tuple[DescriptionText, ...]) -> tuple[DescriptionText, ...]:
    return tuple(sorted(titles, key=lambda one: bool(one.kind)))


@given(about=ABOUTS)
def test_nothing_is_lost_on_the_way_to_schema_org_and_back(about: About) -> None:
    """ "JSON-LD … loses nothing of a description" (docs/reference/metadata.md), and every property
    that is written is read."""
    data = written(check_description(about))
    assert ordered(read(data)) == ordered(about)
    assert metadata.list_unread(data, "jsonld") == ()


def node(about: About, **more: Any) -> dict[str, Any]:
    what = DescribedResource(identifier=parse("hdl:1839/00-1"), about=about, url=URL, **more)
    found = make_node(what)
    assert isinstance(found, dict)
    return found


def test_each_file_is_a_download() -> None:
    """Google Dataset Search reads `distribution.contentUrl` and `encodingFormat`."""
    file = HeldFile(url=f"{URL}.csv", media_type="text/csv", length=12, sha512="ab" * 64, version=2)
    found = node(About(resource_type="Dataset"), files=(file,), length=12)
    (download,) = found["distribution"]
    assert download == {
        "@type": "DataDownload",
        "contentUrl": f"{URL}.csv",
        "encodingFormat": "text/csv",
        "contentSize": "12 B",
        "version": "2",
        "identifier": {"@type": "PropertyValue", "propertyID": "sha-512", "value": "ab" * 64},
    }
    assert not {"sha512", "contentSize"} & found.keys()  # contentSize is one of media objects
    assert node(About(resource_type="Image"), length=12)["contentSize"] == "12 B"


def test_a_collection_has_its_members() -> None:
    member = CollectedMember(number=1, identifier="doi:10.1000/182", title="One")
    found = node(About(titles=(DescriptionText(value="Two"),)), members=(member,))
    assert found["@type"] == "Collection"
    assert found["hasPart"] == [
        {"@type": "CreativeWork", "identifier": "doi:10.1000/182", "name": "One", "position": 1}
    ]
    assert read(json.dumps(found).encode()).relations == ()  # the registry knows them itself


def test_a_part_says_what_it_is_a_part_of() -> None:
    found = node(About(), whole=URL)
    assert found["isPartOf"][0]["@id"] == URL
    assert read(json.dumps(found).encode()).relations == ()


@pytest.mark.parametrize(
    ("agent", "written_as"),
    [
        (Agent(name="Doe, Jane"), {"@type": "Person", "name": "Doe, Jane"}),
        (Agent(name="Ada Lovelace"), "Ada Lovelace"),
        (Agent(name="BBC", kind="Organizational"), {"@type": "Organization", "name": "BBC"}),
        (Agent(name="Plato", kind="Personal"), {"@type": "Person", "name": "Plato"}),
    ],
)
def test_a_name_of_unknown_kind_is_never_an_organisation(agent: Agent, written_as: Any) -> None:
    assert node(About(creators=(agent,)))["creator"] == [written_as]


@pytest.mark.parametrize(
    ("uri", "is_free"),
    [
        ("https://creativecommons.org/licenses/by/4.0/", True),
        ("http://purl.org/coar/access_right/c_abf2", True),
        ("http://purl.org/coar/access_right/c_16ec", False),
        ("https://a.example/terms", None),
    ],
)
def test_access_follows_from_the_rights(uri: str, is_free: bool | None) -> None:
    assert node(About(rights=(Rights(uri=uri),))).get("isAccessibleForFree") is is_free


def test_derivations_are_said_in_prov_too() -> None:
    relation = Relation(value="https://c.example/z", scheme="URL", relation="IsNewVersionOf")
    found = node(About(relations=(relation,)))
    assert found["@context"] == ["https://schema.org/", {"prov": "http://www.w3.org/ns/prov#"}]
    assert found["prov:wasRevisionOf"] == [{"@id": "https://c.example/z"}]


OF_A_REPOSITORY = {
    "@context": {"@vocab": "https://schema.org/"},
    "@id": "https://data.example/dataset/7",
    "@type": "Dataset",
    "name": "Sea ice thickness",
    "description": "Thickness of ice, measured from a ship.",
    "isAccessibleForFree": True,
    "audience": "everyone",
    "creator": {"@list": [{"@type": "Person", "name": "Doe, Jane", "familyName": "Doe"}]},
    "contributor": {"@type": "Role", "roleName": "chief scientist", "contributor": "Ida Noor"},
    "variableMeasured": [
        "Depth",
        {"@type": "PropertyValue", "name": "Thickness", "unitText": "m", "minValue": 0},
    ],
    "spatialCoverage": {
        "@type": "Place",
        "geo": {"@type": "GeoShape", "box": "-10.5,20 30.25,40"},
    },
    "temporalCoverage": "2001-01-01/2002-01-01",
    "measurementTechnique": "Drilling",
    "inLanguage": "English",
    "funder": {"@type": "Organization", "name": "DFG", "sameAs": "https://ror.org/018mejw64"},
    "distribution": {"@type": "DataDownload", "contentUrl": "https://data.example/7.tab"},
}
"""The shape that science-on-schema.org recommends to repositories."""


def test_what_repositories_write_is_read_and_what_is_dropped_is_named() -> None:
    data = json.dumps(OF_A_REPOSITORY).encode()
    about = read(data)
    assert about.measured == (Measurement(name="Depth"), Measurement(name="Thickness", unit="m"))
    assert about.places[0].box == GeoBox(west="20", east="40", south="-10.5", north="30.25")
    assert [one.kind for one in about.descriptions] == ["Abstract", "Methods"]
    assert about.rights == (Rights(uri="http://purl.org/coar/access_right/c_abf2"),)
    assert about.contributors[0].role == "Other"
    assert about.fundings == (
        Funding(funder="DFG", code=Code(value="https://ror.org/018mejw64", scheme="ROR")),
    )
    assert metadata.list_unread(data, "jsonld") == ("audience", "variableMeasured.minValue")


# Records of other repositories
# -----------------------------


@pytest.mark.parametrize(
    "record",
    [
        {"@context": "https://schema.org/", "@type": "Dataset", "name": "N"},
        {
            "@context": {"schema": "https://schema.org/"},
            "@type": "schema:Dataset",
            "schema:name": "N",
        },
        {"@context": {"s": "http://schema.org/"}, "@type": ["s:Dataset"], "s:name": "N"},
        {"@context": [{"s": "https://schema.org"}, 5], "@type": "s:Dataset", "s:name": "N"},
        {"@type": "https://schema.org/Dataset", "https://schema.org/name": "N"},
        [{"@type": ["http://schema.org/Dataset"], "http://schema.org/name": [{"@value": "N"}]}],
        {
            "@context": "https://schema.org/",
            "@graph": [
                5,
                {"@type": "Person", "@id": "#p", "name": "P"},
                {"@type": "Dataset", "@id": "#d", "name": "N", "creator": {"@id": "#p"}},
            ],
        },
    ],
    ids=["plain", "schema", "prefix", "list", "complete", "expanded", "graph"],
)
def test_names_of_schema_org_are_read_in_every_form(record: Any) -> None:
    """JSON-LD 1.1 sections 3.1, 3.2 and 3.3: a term, an IRI and a compact IRI are one property."""
    data = json.dumps(record).encode()
    found = metadata.read_record(data, "jsonld")
    assert [one.value for one in found.titles] == ["N"]
    assert found.resource_type == "Dataset"
    assert metadata.list_unread(data, "jsonld") == ()


@pytest.mark.parametrize(
    ("pagination", "expected"),
    [("12-19", ("12", "19")), ("e12 – e19", ("e12", "e19")), ("7", ("7", "")), ("3, 5", ("", ""))],
)
def test_a_range_of_pages_is_read(pagination: str, expected: tuple[str, str]) -> None:
    record: dict[str, Any] = {"@type": "ScholarlyArticle", "name": "N", "pagination": pagination}
    record["isPartOf"] = {"@type": "Periodical", "name": "J"}
    (item,) = metadata.read_record(json.dumps(record).encode(), "jsonld").related
    assert (item.first_page, item.last_page) == expected


def test_names_of_other_vocabularies_are_reported() -> None:
    record = {"@type": "Dataset", "name": "N", "dct:title": "T", "http://purl.org/dc/terms/type": 1}
    unread = metadata.list_unread(json.dumps(record).encode(), "jsonld")
    assert unread == ("dct:title", "http://purl.org/dc/terms/type")


@pytest.mark.parametrize("licence", ["https://creativecommons.org/licenses/by/4.0/", ""])
def test_what_is_not_free_stays_so_under_a_free_licence(licence: str) -> None:
    """A record that says `isAccessibleForFree: false` is never written as free."""
    record = {"@type": "Dataset", "name": "N", "license": licence, "isAccessibleForFree": False}
    record["conditionsOfAccess"] = "on request"
    found = metadata.read_record(json.dumps(record).encode(), "jsonld")
    shown = json.loads(written(found))
    assert (shown["isAccessibleForFree"], shown["conditionsOfAccess"]) == (False, "on request")
    assert ordered(read(written(found))) == ordered(found)
