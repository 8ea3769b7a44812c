"""Formats of metadata: valid whatever was said, and read again without loss where there is room."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from msgspec.structs import replace
from rdflib import Graph, Literal, URIRef

from perdure import metadata
from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.metadata import resource_types, xml_text
from perdure.metadata.port import CollectedMember, DescribedResource
from perdure.model import collection, description_checks, kernel_words
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
from perdure.model.merging import drop_empty_items, patch_description, read_patch
from perdure.model.records import Record, Representation, Version
from perdure.reading.described import describe_resource
from perdure.upkeep.transfer.lines import Line, read_line

URL = "https://pid.example.org/hdl:1839/00-1"
PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk"
CORNERS = tuple(
    Point(longitude=x, latitude=y)
    for x, y in (("4", "51"), ("6", "51"), ("6", "52"), ("4", "52"), ("4", "51"))
)
FULL = About(
    titles=(
        DescriptionText(value="Words & <Things>", language="en"),
        DescriptionText(value="A corpus", kind="Subtitle"),
        DescriptionText(value="Mots et choses", kind="TranslatedTitle", language="fr"),
    ),
    creators=(
        Agent(
            name="Doe, Jane",
            given="Jane",
            family="Doe",
            kind="Personal",
            codes=(Code(value="0000-0002-1825-0097", scheme="ORCID"),),
            affiliations=(
                Affiliation(
                    name="MPI for Psycholinguistics",
                    code=Code(value="https://ror.org/00671me87", scheme="ROR"),
                ),
            ),
        ),
        Agent(name="The Language Archive", kind="Organizational", language="en"),
    ),
    contributors=(Agent(name="Roe, Richard", given="Richard", family="Roe", role="Editor"),),
    publisher=Publisher(
        name="TLA", code=Code(value="https://ror.org/00671me87", scheme="ROR"), language="en"
    ),
    year="2024",
    dates=(
        DescriptionDate(value="2024-03-05", kind="Issued"),
        DescriptionDate(value="1997/1999", kind="Collected", note="in the field"),
    ),
    language="en-GB",
    resource_type="Dataset",
    resource_kind="Speech corpus",
    subjects=(
        Subject(
            value="phonetics",
            scheme="LCSH",
            scheme_uri="http://id.loc.gov/authorities/subjects",
            uri="http://id.loc.gov/authorities/subjects/sh85100930",
            language="en",
        ),
    ),
    codes=(Code(value="TLA-7", scheme="local"),),
    relations=(
        Relation(value="10.1000/182", scheme="DOI", relation="IsDerivedFrom"),
        Relation(
            value="https://a.example/more.xml",
            scheme="URL",
            relation="HasMetadata",
            metadata_scheme="CMDI",
            scheme_uri="http://www.clarin.eu/cmd/1",
            scheme_type="XSD",
        ),
    ),
    sizes=("12 h",),
    formats=("audio/wav", "application/xml"),
    version="2.1",
    rights=(
        Rights(
            value="Attribution 4.0",
            uri="https://creativecommons.org/licenses/by/4.0/",
            code="CC-BY-4.0",
            scheme="SPDX",
            scheme_uri="https://spdx.org/licenses/",
            language="en",
        ),
    ),
    descriptions=(
        DescriptionText(value="What was said.\nAnd how.", kind="Abstract", language="en"),
        DescriptionText(value="Recorded on DAT.", kind="TechnicalInfo"),
    ),
    places=(
        GeoPlace(name="Nijmegen", point=Point(longitude="5.86", latitude="51.84")),
        GeoPlace(box=GeoBox(west="3.3", east="7.2", south="50.7", north="53.6")),
        GeoPlace(polygons=(Polygon(points=CORNERS, inside=Point(longitude="5", latitude="51.5")),)),
    ),
    fundings=(
        Funding(
            funder="European Research Council",
            code=Code(value="https://ror.org/0472cxd90", scheme="ROR"),
            award="101",
            award_uri="https://cordis.europa.eu/project/id/101",
            award_title="Words",
        ),
    ),
    related=(
        RelatedItem(
            relation="IsPublishedIn",
            resource_type="Journal",
            code=Code(value="1234-5678", scheme="ISSN"),
            titles=(DescriptionText(value="Journal of Words"),),
            creators=(Agent(name="Poe, P.", family="Poe", given="P."),),
            contributors=(Agent(name="Moe, M.", role="Editor"),),
            year="2024",
            volume="12",
            issue="3",
            number="e7",
            number_kind="Article",
            first_page="37",
            last_page="51",
            publisher="Words Inc.",
            edition="2",
        ),
    ),
)


def described(about: About | None, name: str = "hdl:1839/00-1", **record: Any) -> DescribedResource:
    held = Record(about=about, at="2026-11-21T01:02:03Z", **record)
    return describe_resource(parse(name), held, URL)


def judged(data: bytes, schema: str) -> None:
    """Raises where libxml2 finds the document not valid."""
    xml_text.load_schema(schema).assertValid(etree.fromstring(data))


# DataCite
# --------


def test_datacite_is_valid_and_loses_nothing() -> None:
    written = metadata.write_record(described(FULL), "datacite")
    judged(written, "datacite-4.7.xsd")
    again = metadata.adopt_description(
        metadata.read_record(written, "datacite"), parse("hdl:1839/00-1"), URL
    )
    contributors = (msgspec.structs.replace(FULL.contributors[0], kind="Personal"),)
    assert again.contributors == contributors  # a family name makes a person
    related = msgspec.structs.replace(
        FULL.related[0],
        creators=(msgspec.structs.replace(FULL.related[0].creators[0], kind="Personal"),),
    )
    assert again == msgspec.structs.replace(FULL, contributors=contributors, related=(related,))


def test_datacite_names_the_members_of_a_collection() -> None:
    """ "Identifiers of related resources", of which `HasPart` "indicates A includes the part B"
    (DataCite 4.7, properties 12 and 12.b)."""
    names = ("pdi://a.example.us/1997/09/01/1.text.1", "doi:10.1000/182", "hdl:1839/00-0000",
             "ark:12148/btv1b8449691v", PWID, "no identifier")  # fmt: skip
    members = tuple(
        CollectedMember(number=number, identifier=name, url=f"{URL}/{number}")
        for number, name in enumerate(names, 1)
    )
    about = About(relations=(Relation(value="10.1000/182", scheme="DOI", relation="HasPart"),))
    what = msgspec.structs.replace(
        described(about), media_type=collection.MEDIA_TYPE, members=members
    )
    written = metadata.write_record(what, "datacite")
    judged(written, "datacite-4.7.xsd")
    root = etree.fromstring(written)
    (kind,) = root.findall(".//{*}resourceType")
    assert kind.get("resourceTypeGeneral") == "Collection"
    related = root.findall(".//{*}relatedIdentifier")
    assert {one.get("relationType") for one in related} == {"HasPart"}
    assert [(one.get("relatedIdentifierType"), one.text) for one in related] == [
        ("DOI", "10.1000/182"),  # the description says it already
        ("URN", "urn:pdi://a.example.us/1997/09/01/1.text.1"),
        ("Handle", "1839/00-0000"),
        ("ARK", "ark:12148/btv1b8449691v"),
        ("URL", f"{URL}/5"),
        ("URL", f"{URL}/6"),
    ]


def test_every_format_calls_a_collection_one() -> None:
    what = msgspec.structs.replace(described(None), media_type=collection.MEDIA_TYPE)
    assert b">Collection<" in metadata.write_record(what, "dc")
    assert json.loads(metadata.write_record(what, "jsonld"))["@type"] == "Collection"
    assert json.loads(metadata.write_record(what, "csl"))["type"] == "collection"


def test_datacite_says_unavailable_where_it_demands_what_nobody_said() -> None:
    """ "(:unav) value unavailable, possibly unknown" (DataCite 4.7, appendix 3)."""
    written = metadata.write_record(described(None), "datacite")
    judged(written, "datacite-4.7.xsd")
    root = etree.fromstring(written)
    texts = {etree.QName(one).localname: one.text for one in root.iter()}
    assert texts["creatorName"] == texts["title"] == texts["publisher"] == "(:unav)"
    assert texts["publicationYear"] == "0000"  # ruling: cite-date
    again = metadata.read_record(written, "datacite")
    assert (again.creators, again.publisher) == ((), None)
    for code in (b"(:unkn)", b"(:none)", b"(:tba)"):  # the other codes of the appendix
        sent = written.replace(b"(:unav)", code)
        again = metadata.read_record(sent, "datacite")
        assert (again.creators, again.publisher) == ((), None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("doi:10.1000/182", ("10.1000/182", "DOI")),
        ("hdl:1839/00-1", ("1839/00-1", "Handle")),
        ("ark:12345/x6", ("ark:12345/x6", "ARK")),
        ("urn:nbn:de:101", ("urn:nbn:de:101", "URN")),
        ("urn:isbn:9780306406157", ("9780306406157", "ISBN")),
        ("urn:issn:0378-5955", ("0378-5955", "ISSN")),
        ("URN:IANA:42117::x:::", ("URN:IANA:42117::x:::", "URN")),
        (
            "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk",
            ("pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk", "PWID"),
        ),
        ("pdi://oma.eop.gov.us/1997/9/1/1", ("pdi://oma.eop.gov.us/1997/09/01/1", "PDI")),
    ],
)
def test_datacite_names_the_scheme_of_an_identifier(name: str, expected: tuple[str, str]) -> None:
    root = etree.fromstring(metadata.write_record(described(FULL, name), "datacite"))
    (one,) = root.iter("{*}identifier")
    assert (one.text, one.get("identifierType")) == expected


def test_datacite_has_the_actionable_form_too() -> None:
    root = etree.fromstring(metadata.write_record(described(FULL), "datacite"))
    codes = {
        one.get("alternateIdentifierType"): one.text for one in root.iter("{*}alternateIdentifier")
    }
    assert codes == {"URL": URL, "local": "TLA-7"}


@pytest.mark.parametrize("label", ["pdi:", "urn:pdi:", "URN:PDI:"])
def test_a_relation_to_a_pdi_is_a_urn_for_datacite(label: str) -> None:
    name = f"{label}//a.example.us/2026/11/22/1.text.1"
    relation = Relation(value=name, scheme="PDI", relation="Cites")
    about = description_checks.check_description(
        msgspec.structs.replace(FULL, relations=(relation,))
    )
    written = metadata.write_record(described(about), "datacite")
    judged(written, "datacite-4.7.xsd")
    [related] = etree.fromstring(written).iter("{*}relatedIdentifier")
    assert related.get("relatedIdentifierType") == "URN"
    assert related.text is not None
    assert related.text.lower() == "urn:pdi://a.example.us/2026/11/22/1.text.1"


@pytest.mark.parametrize(
    ("scheme", "written"),
    [("ROR", "ROR"), ("Wikidata", "Other"), ("ror", "ROR"), ("", "Other")],
)
def test_a_funder_of_another_scheme_is_one_of_datacite(scheme: str, written: str) -> None:
    """The schema has five words for `funderIdentifierType`; a description may have any."""
    code = Code(value="https://ror.org/0", scheme=scheme)
    data = metadata.write_record(
        described(About(fundings=(Funding(funder="A", code=code),))), "datacite"
    )
    judged(data, "datacite-4.7.xsd")
    [found] = etree.fromstring(data).iter("{*}funderIdentifier")
    assert found.get("funderIdentifierType") == written


@pytest.mark.parametrize(
    ("code", "written"),
    [
        (Code(value="1234-5679", scheme="ISSN"), ("ISSN", "1234-5679")),
        (Code(value="1234-5679", scheme="issn"), ("ISSN", "1234-5679")),
        (Code(value="Q1", scheme="Wikidata"), (None, "Q1")),
        (Code(value="Q1"), (None, "Q1")),
        (
            Code(value="pdi://a.example.us/2026/11/22/1", scheme="PDI"),
            ("URN", "urn:pdi://a.example.us/2026/11/22/1"),
        ),
    ],
)
def test_the_code_of_a_related_item_has_a_type_of_the_schema_or_none(
    code: Code, written: tuple[str | None, str]
) -> None:
    """`relatedItemIdentifierType` is a word of a list, and optional."""
    title = DescriptionText(value="T")
    item = RelatedItem(relation="IsPublishedIn", resource_type="Book", titles=(title,), code=code)
    data = metadata.write_record(described(About(related=(item,))), "datacite")
    judged(data, "datacite-4.7.xsd")
    [found] = etree.fromstring(data).iter("{*}relatedItemIdentifier")
    assert (found.get("relatedItemIdentifierType"), found.text) == written


def test_the_lists_of_the_schema_are_those_of_the_model() -> None:
    root = etree.parse("src/perdure/metadata/schemas/datacite-4.7.xsd").getroot()
    xs = "{http://www.w3.org/2001/XMLSchema}"
    lists = {
        one.get("name"): {value.get("value") for value in one.iter(f"{xs}enumeration")}
        for one in root.findall(f"{xs}simpleType")
    }
    assert lists["TitleType"] == kernel_words.TITLES
    assert lists["DescriptionType"] == kernel_words.DESCRIPTIONS
    assert lists["ContributorType"] == kernel_words.ROLES
    assert lists["DateType"] == kernel_words.DATES
    assert lists["ResourceType"] == kernel_words.RESOURCE_TYPES
    assert lists["RelatedIdentifierType"] == kernel_words.SCHEMES
    assert lists["RelationType"] == kernel_words.RELATIONS
    assert lists["FunderIdentifierType"] == kernel_words.FUNDER_SCHEMES
    assert lists["NumberType"] == kernel_words.NUMBERS
    assert {row.datacite for row in resource_types.ROWS} == kernel_words.RESOURCE_TYPES


# examples in the documentation of the kernel: what each version of it brought
_DATACITE = """<resource xmlns="http://datacite.org/schema/kernel-4">
<identifier identifierType="DOI">10.82433/B09Z-4K37</identifier>
<creators><creator><creatorName nameType="Personal">Example, Given</creatorName></creator>
</creators><titles><title xml:lang="en">Example Title</title></titles>
<publisher publisherIdentifier="https://ror.org/04z8jg394" publisherIdentifierScheme="ROR"
 schemeURI="https://ror.org/">Example Publisher</publisher>
<publicationYear>2022</publicationYear>
<resourceType resourceTypeGeneral="Dataset">Example ResourceType</resourceType>
{more}</resource>"""


_MORE = """
<dates><date dateType="Coverage" dateInformation="x">2022-10-23/2023</date></dates>
<descriptions><description descriptionType="Abstract">a<br/>b</description></descriptions>
<geoLocations><geoLocation><geoLocationPlace>Vancouver</geoLocationPlace><geoLocationPoint>\
<pointLatitude>49.2827</pointLatitude><pointLongitude>-123.1207</pointLongitude>\
</geoLocationPoint></geoLocation></geoLocations>
<contributors><contributor contributorType="Translator"><contributorName>T</contributorName>\
</contributor></contributors>
<relatedIdentifiers><relatedIdentifier relatedIdentifierType="RRID" \
relationType="HasTranslation">x</relatedIdentifier></relatedIdentifiers>
<fundingReferences><fundingReference><awardTitle>T</awardTitle><funderName>F</funderName>\
<funderIdentifier funderIdentifierType="Crossref Funder ID">https://doi.org/1</funderIdentifier>\
</fundingReference></fundingReferences>
<relatedItems><relatedItem relatedItemType="Book" relationType="IsPublishedIn"><titles>\
<title>T</title></titles></relatedItem></relatedItems>
<subjects><subject classificationCode="https://a.example/1">x</subject></subjects>
<sizes/><formats/><dates/><language>en-us</language><version>1.0</version>
"""


@pytest.mark.parametrize("more", ["", *_MORE.strip().splitlines()])
def test_datacite_of_others_is_read(more: str) -> None:
    about = metadata.read_record(_DATACITE.format(more=more).encode(), "datacite")
    assert about.title == "Example Title"
    assert about.publisher is not None
    assert about.publisher.code == Code(
        value="https://ror.org/04z8jg394", scheme="ROR", scheme_uri="https://ror.org/"
    )


def test_a_line_break_in_a_datacite_description_is_one() -> None:
    more = (
        '<descriptions><description descriptionType="Abstract">a<br/>b</description></descriptions>'
    )
    about = metadata.read_record(_DATACITE.format(more=more).encode(), "datacite")
    assert about.descriptions[0].value == "a\nb"


# laws
# ----

_CONTROLS = [chr(one) for one in range(32) if one not in (9, 10, 13)]
_texts = st.text(
    st.characters(codec="utf-8", exclude_characters=[*_CONTROLS, "\ufffe", "\uffff"]), max_size=20
)
_words = _texts.filter(str.strip)
_agents = st.builds(
    Agent,
    name=_texts,
    given=_texts,
    family=_texts,
    kind=st.sampled_from(["", "Personal", "Organizational"]),
    role=st.sampled_from(["", "Editor", "Other"]),
    codes=st.lists(st.builds(Code, value=_texts, scheme=_texts), max_size=2).map(tuple),
)
_links = st.just("") | st.tuples(
    st.sampled_from(["", "https:", "https://a.example", "//", "510."]),
    st.text("a1:/?#[]@%2F.-_é", max_size=8),
).map("".join)
_abouts = st.builds(
    About,
    titles=st.lists(
        st.builds(DescriptionText, value=_texts, kind=st.sampled_from(["", "Subtitle"])), max_size=3
    ).map(tuple),
    creators=st.lists(_agents, max_size=3).map(tuple),
    contributors=st.lists(_agents, max_size=2).map(tuple),
    publisher=st.none() | st.builds(Publisher, name=_texts),
    year=st.sampled_from(["", "1997"]),
    dates=st.lists(
        st.builds(DescriptionDate, value=_texts, kind=st.sampled_from(["Issued", "Created"])),
        max_size=2,
    ).map(tuple),
    language=st.sampled_from(["", "en", "de-AT"]),
    resource_type=st.sampled_from(["", *sorted(kernel_words.RESOURCE_TYPES)]),
    resource_kind=_texts,
    subjects=st.lists(
        st.builds(Subject, value=_texts, uri=_links, code=_links, scheme_uri=_links), max_size=2
    ).map(tuple),
    rights=st.lists(st.builds(Rights, value=_texts, uri=_links), max_size=2).map(tuple),
    descriptions=st.lists(
        st.builds(DescriptionText, value=_texts, kind=st.just("Abstract")), max_size=2
    ).map(tuple),
    related=st.lists(
        st.builds(
            RelatedItem,
            relation=st.just("IsPublishedIn"),
            resource_type=st.just("Book"),
            volume=_texts,
            first_page=_texts,
        ),
        max_size=1,
    ).map(tuple),
)


def allowed(about: About) -> bool:
    try:
        description_checks.check_description(about)
    except ValueError:
        return False
    return True


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(_abouts.filter(allowed))
def test_what_is_written_is_valid_whatever_was_said(about: About) -> None:
    """ "XML encodings with a declared schema" (ISO 24619 section 5.3)."""
    what = described(about)
    judged(metadata.write_record(what, "datacite"), "datacite-4.7.xsd")
    judged(metadata.write_record(what, "dc"), "oai_dc.xsd")
    for name in ("jsonld", "csl", "json"):
        json.loads(metadata.write_record(what, name))
    Graph().parse(data=metadata.write_record(what, "turtle"), format="turtle")
    ris = metadata.write_record(what, "ris").decode()
    assert all(re.fullmatch(r"[A-Z][A-Z0-9]  - .*", line) for line in re.split("\r\n", ris)[:-1])
    bibtex = metadata.write_record(what, "bibtex").decode()
    bare = re.sub(r"\\[{}]", "", bibtex)
    assert bare.count("{") == bare.count("}")
    said = drop_empty_items(about)
    assert metadata.read_record(metadata.write_record(what, "json"), "json") == said


@pytest.mark.parametrize(
    ("code", "kept"),
    [("310607", True), ("Q1 a", True), ("510.1:2", False), ("Q1 [x]", False), ("100%", False)],
)
def test_a_notation_that_is_no_uri_has_no_place_in_datacite(code: str, *, kept: bool) -> None:
    """`classificationCode` is of the type anyURI in the kernel."""
    about = About(subjects=(Subject(value="words", code=code, scheme="UDC"),))
    written = metadata.write_record(described(about), "datacite")
    judged(written, "datacite-4.7.xsd")
    assert metadata.read_record(written, "datacite").subjects[0].code == (code if kept else "")
    assert code in metadata.write_record(described(about), "jsonld").decode()


@settings(deadline=None)
@given(_words)
def test_a_script_element_holds_json_ld_as_it_is(title: str) -> None:
    about = About(titles=(DescriptionText(value=f"</script><!--{title}"),))
    if allowed(about):
        written = metadata.write_record(described(about), "jsonld")
        assert b"<" not in written
        assert json.loads(written)["name"] == f"</script><!--{title}"


# the others
# ----------


def test_dublin_core_is_valid_and_read_again() -> None:
    written = metadata.write_record(described(FULL), "dc")
    judged(written, "oai_dc.xsd")
    assert b"<dc:identifier>hdl:1839/00-1</dc:identifier>" in written
    assert f"<dc:identifier>{URL}</dc:identifier>".encode() in written
    again = metadata.read_record(written, "dc")
    assert again.title == FULL.title
    assert [one.display_name for one in again.creators] == ["Doe, Jane", "The Language Archive"]
    assert (again.year, again.resource_type, again.language) == ("2024", "Dataset", "en-GB")


def test_dcmi_terms_are_read_as_the_elements_that_they_refine() -> None:
    record = b"""<metadata xmlns:dcterms="http://purl.org/dc/terms/">
      <dcterms:title>T</dcterms:title><dcterms:alternative>A</dcterms:alternative>
      <dcterms:issued>1999-12</dcterms:issued><dcterms:abstract>Short.</dcterms:abstract>
      <dcterms:license>https://creativecommons.org/licenses/by/4.0/</dcterms:license></metadata>"""
    about = metadata.read_record(record, "dc")
    assert (about.title, about.year, about.first_date("Issued")) == ("T", "1999", "1999-12")
    assert about.descriptions[0].kind == "Abstract"
    assert about.rights[0].uri.startswith("https://creativecommons.org")


def test_json_ld_is_schema_org_and_read_again() -> None:
    node = json.loads(metadata.write_record(described(FULL), "jsonld"))
    assert node["@context"] == ["https://schema.org/", {"prov": "http://www.w3.org/ns/prov#"}]
    assert (node["@type"], node["@id"]) == ("Dataset", URL)
    assert node["creator"][0]["@id"] == "https://orcid.org/0000-0002-1825-0097"
    assert node["license"][0]["url"] == "https://creativecommons.org/licenses/by/4.0/"
    again = metadata.read_record(json.dumps(node).encode(), "jsonld")
    assert again.creators[0].family == "Doe"
    assert again.creators[0].codes[0].scheme == "ORCID"
    assert again.container is not None
    assert (again.container.volume, again.container.issue) == ("12", "3")
    assert (again.container.first_page, again.container.last_page) == ("37", "51")


@pytest.mark.parametrize("container", ["@list", "@set"])
def test_creators_of_json_ld_may_stand_in_a_list(container: str) -> None:
    """JSON-LD 1.1, "Lists" and "Sets": values with an order, and without one."""
    people = [{"@type": "Person", "name": name} for name in ("B", "A")]
    node = {"@type": "Dataset", "name": "x", "creator": {container: people}}
    read = metadata.read_record(json.dumps(node).encode(), "jsonld")
    assert [one.display_name for one in read.creators] == ["B", "A"]


def test_turtle_is_what_rdflib_reads() -> None:
    graph = Graph().parse(data=metadata.write_record(described(FULL), "turtle"), format="turtle")
    terms = "http://purl.org/dc/terms/"
    said = {(str(p), o) for p, o in graph.predicate_objects(URIRef(URL))}
    assert (f"{terms}title", Literal("Words & <Things>", lang="en")) in said
    assert (f"{terms}identifier", Literal("hdl:1839/00-1")) in said
    assert (f"{terms}source", URIRef("https://doi.org/10.1000/182")) in said
    assert (f"{terms}creator", URIRef("https://orcid.org/0000-0002-1825-0097")) in said


@pytest.mark.parametrize(
    ("date", "kind"),
    [
        ("2024", "gYear"),
        ("2024-02", "gYearMonth"),
        ("2024-02-29", "date"),
        ("2024-02-31", None),
        ("2024-00-10", None),
        ("2024-13", None),
        ("0000", None),
    ],
)
def test_turtle_types_dates_that_are_some(date: str, kind: str | None) -> None:
    """ "a literal is ill-typed" where its form is not that of its type (RDF 1.1 section 5.1)."""
    what = described(About(dates=(DescriptionDate(value=date, kind="Issued"),)))
    found = Graph().parse(data=metadata.write_record(what, "turtle"), format="turtle")
    literal = found.value(URIRef(URL), URIRef("http://purl.org/dc/terms/issued"))
    assert isinstance(literal, Literal)
    assert str(literal) == date
    assert literal.datatype == (
        URIRef(f"http://www.w3.org/2001/XMLSchema#{kind}") if kind else None
    )


def test_csl_json_is_an_item_and_read_again() -> None:
    item = json.loads(metadata.write_record(described(FULL), "csl"))
    assert item["type"] == "dataset"
    assert item["author"][0] == {"family": "Doe", "given": "Jane"}
    assert item["issued"] == {"date-parts": [[2024, 3, 5]]}
    assert (item["URL"], item["note"]) == (URL, "PID: hdl:1839/00-1")
    again = metadata.read_record(json.dumps([item]).encode(), "csl")
    assert (again.title, again.year) == ("Words & <Things>: A corpus", "2024")
    assert again.creators[0] == Agent(name="Doe, Jane", family="Doe", given="Jane", kind="Personal")


def test_bibtex_escapes_what_tex_would_take_for_itself() -> None:
    about = About(
        titles=(DescriptionText(value=r"50% of {all} $ & # _ ^ ~ \ things"),), year="1999"
    )
    written = metadata.write_record(described(about), "bibtex").decode()
    assert (
        r"title = {50\% of \{all\} \$ \& \# \_ \textasciicircum{} \textasciitilde{} "
        r"\textbackslash{} things}," in written
    )


def test_a_name_with_and_in_it_is_one_name_in_bibtex() -> None:
    """BibTeXing (1988) section 4: names are parted by "and" outside of braces."""
    who = Agent(name="Law and Order, Ltd", family="Law and Order", given="Ltd", kind="Personal")
    written = metadata.write_record(described(About(creators=(who,))), "bibtex").decode()
    assert "author = {{Law and Order}, Ltd}," in written


def test_ris_begins_with_its_type_and_ends_with_er() -> None:
    lines = metadata.write_record(described(FULL), "ris").decode().split("\r\n")
    assert (lines[0], lines[-2:]) == ("TY  - DATA", ["ER  - ", ""])
    assert {"AU  - Doe, Jane", f"UR  - {URL}", "ID  - hdl:1839/00-1"} <= set(lines)


def test_what_the_registry_knows_is_said_too() -> None:
    held = Representation(
        format="html", media_type="text/html", length=99, sha512="0" * 128, segment=1, offset=0
    )
    record = Record(
        versions=(Version(number=1, at="1997-09-01T00:00:00Z", representations=(held,)),)
    )
    what = describe_resource(parse("pdi://oma.eop.gov.us/1997/09/01/1"), record, URL)
    written = metadata.write_record(what, "datacite").decode()
    assert "<size>99 bytes</size>" in written
    assert "<format>text/html</format>" in written
    assert "<publicationYear>0000</publicationYear>" in written  # ruling: cite-date
    deposited = '<date dateType="Other" dateInformation="deposited">1997-09-01T00:00:00Z</date>'
    assert deposited in written


def test_plain_names_and_values_stand_in_for_a_description() -> None:
    what = described(None, metadata={"creator": "Doe, Jane", "title": "T", "date": "1999"})
    assert metadata.read_record(metadata.write_record(what, "datacite"), "datacite").title == "T"


@pytest.mark.parametrize("name", ["datacite", "dc", "jsonld", "csl"])
def test_the_format_of_a_record_is_told_from_it(name: str) -> None:
    assert metadata.guess_format(metadata.write_record(described(FULL), name)) == name


def test_a_bibtex_key_keeps_letters_that_have_accents() -> None:
    about = About(creators=(Agent(name="Müller, Zoë", family="Müller", given="Zoë"),), year="1999")
    assert metadata.write_record(described(about), "bibtex").startswith(b"@misc{Muller1999-")


def test_a_bibtex_key_of_a_name_without_latin_letters_is_the_identifier() -> None:
    """Else all that was written in one year would have the same key."""
    about = About(creators=(Agent(name="鲁, 迅", family="鲁", given="迅"),), year="1923")
    assert metadata.write_record(described(about), "bibtex").startswith(b"@misc{hdl:1839/00-1-")


def test_a_record_of_datacite_4_7_is_read_and_written() -> None:
    """The additions of 4.7: Poster, Presentation; RAiD, SWHID; the relation Other, in words."""
    record = """<resource xmlns="http://datacite.org/schema/kernel-4">
      <identifier identifierType="DOI">10.82433/b09z-4k37</identifier>
      <creators><creator><creatorName>A</creatorName></creator></creators>
      <titles><title>T</title></titles><publisher>P</publisher>
      <publicationYear>2026</publicationYear>
      <resourceType resourceTypeGeneral="Poster">Poster</resourceType>
      <relatedIdentifiers>
        <relatedIdentifier relatedIdentifierType="SWHID" relationType="Other"
          relationTypeInformation="was run by">swh:1:cnt:94a9ed02</relatedIdentifier>
        <relatedIdentifier relatedIdentifierType="RAiD" relationType="IsCollectedBy"
          resourceTypeGeneral="Presentation">https://raid.org/10.1/2</relatedIdentifier>
      </relatedIdentifiers>
      <relatedItems>
        <relatedItem relatedItemType="Other" relationType="Other"
          relationTypeInformation="hangs by">
          <titles><title>Q</title></titles>
        </relatedItem>
      </relatedItems>
    </resource>"""
    about = metadata.read_record(record.encode(), "datacite")
    assert about.resource_type == "Poster"
    assert [one.scheme for one in about.relations] == ["SWHID", "RAiD"]
    assert (about.relations[0].note, about.related[0].note) == ("was run by", "hangs by")
    written = metadata.write_record(described(about), "datacite")
    judged(written, "datacite-4.7.xsd")
    again = metadata.read_record(written, "datacite")
    assert (again.relations, again.related) == (about.relations, about.related)


@pytest.mark.parametrize("code", ["(:unav)", "(:unkn)", "(:tba)"])
def test_a_code_for_a_missing_value_is_no_value(code: str) -> None:
    """Appendix 3 of the kernel's documentation: codes for unknown information."""
    about = About(titles=(DescriptionText(value=code),), publisher=Publisher(name=code))
    written = metadata.write_record(
        described(replace(about, creators=(Agent(name=code),))), "datacite"
    )
    read = metadata.read_record(written, "datacite")
    assert (read.titles, read.creators, read.publisher) == ((), (), None)


def test_degrees_may_be_numbers() -> None:
    """JSON and GeoJSON (RFC 7946) have numbers."""
    place = {"point": {"longitude": 7.1, "latitude": 50}, "box": {"west": -1e-7, "east": 1,
             "south": "2.50", "north": 3}}  # fmt: skip
    expected = GeoPlace(
        point=Point(longitude="7.1", latitude="50"),
        box=GeoBox(west="-0.0000001", east="1", south="2.50", north="3"),
    )
    data = json.dumps({"places": [place]}).encode()
    assert metadata.read_record(data, "json").places == (expected,)
    patched = patch_description(About(), read_patch(data))
    assert patched.places == (expected,)
    line = read_line(json.dumps({"id": "hdl:1/a", "about": {"places": [place]}}).encode())
    assert isinstance(line, Line)
    assert line.about is not None
    assert line.about.places == (expected,)
    with pytest.raises(PerdureError):
        read_line(b'{"id": "hdl:1/a", "about": {"places": [{"point": 7}]}}')


_KERNEL_3 = """<?xml version="1.0" encoding="UTF-8"?>
<resource xmlns="http://datacite.org/schema/kernel-3">
<identifier identifierType="DOI">10.5072/old</identifier>
<creators><creator><creatorName>Noor, Ida</creatorName>
<nameIdentifier schemeURI="http://orcid.org/" nameIdentifierScheme="ORCID">0000-0001</nameIdentifier>
<affiliation>An institute</affiliation></creator></creators>
<titles><title xml:lang="en-us">Ice</title><title titleType="Subtitle">Thick</title></titles>
<publisher>P</publisher><publicationYear>2014</publicationYear>
<contributors><contributor contributorType="Funder"><contributorName>DFG</contributorName>
<nameIdentifier nameIdentifierScheme="ISNI">0000 0001</nameIdentifier></contributor></contributors>
<dates><date dateType="Collected">2014-10-17</date></dates>
<rightsList><rights rightsURI=" http://creativecommons.org/publicdomain/zero/1.0/ ">CC0</rights></rightsList>
<geoLocations><geoLocation><geoLocationPoint>31.233 -67.302</geoLocationPoint>
<geoLocationBox>41.090 -71.032  42.893 -68.211</geoLocationBox></geoLocation></geoLocations>
</resource>"""  # noqa: E501


def test_kernel_3_is_read() -> None:
    """Points were "latitude longitude", boxes "south west north east" (kernel 3.1)."""
    about = metadata.read_record(_KERNEL_3.encode(), "datacite")
    assert (about.title, about.year, about.resource_type) == ("Ice", "2014", "Other")
    assert about.creators[0].codes[0].scheme == "ORCID"
    assert about.contributors == ()
    code = Code(value="0000 0001", scheme="ISNI")
    assert about.fundings == (Funding(funder="DFG", code=code),)
    assert about.places[0].point == Point(latitude="31.233", longitude="-67.302")
    assert about.places[0].box == GeoBox(
        south="41.090", west="-71.032", north="42.893", east="-68.211"
    )
    assert about.rights[0].uri == "http://creativecommons.org/publicdomain/zero/1.0/"
    assert metadata.guess_format(_KERNEL_3.encode()) == "datacite"


def test_kernel_2_is_read() -> None:
    kind = '<resourceType resourceTypeGeneral="Film">x</resourceType>'
    old = re.sub("<geoLocations>.*</geoLocations>|</?rightsList>", "", _KERNEL_3, flags=re.DOTALL)
    old = old.replace("kernel-3", "kernel-2.2").replace("Collected", "StartDate")
    old = old.replace("<resource ", '<resource metadataVersionNumber="1" ')
    old = old.replace("<dates>", f"{kind}<dates>")
    about = metadata.read_record(old.encode(), "datacite")
    assert (about.resource_type, about.dates[0].kind) == ("Audiovisual", "Other")
    assert about.rights[0].value == "CC0"


_EMPTY_AFFILIATION = (
    '<contributors><contributor contributorType="Other"><contributorName>N</contributorName>'
    '<affiliation xml:lang="en"/><affiliation xml:lang="en">A</affiliation></contributor>'
    "</contributors>"
)


@pytest.mark.parametrize(
    "more",
    [
        "<subjects><subject/><subject>x</subject></subjects>",
        '<descriptions><description descriptionType="Abstract"/></descriptions>',
        '<dates><date dateType="Issued"/></dates>',
        '<rightsList><rights rightsURI=" https://a.example/a b "/></rightsList>',
        _EMPTY_AFFILIATION,
    ],
)
def test_valid_records_with_empty_elements_are_read(more: str) -> None:
    about = metadata.read_record(_DATACITE.format(more=more).encode(), "datacite")
    assert about.title == "Example Title"
