"""The words of descriptions, and the days of searches."""

from __future__ import annotations

import re

import pytest

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
    Measurement,
    Point,
    Publisher,
    RelatedItem,
    Relation,
    Rights,
    Subject,
)
from perdure.model.records import Level, NarrowDescription, Record, Value
from perdure.policy.searching.described import describe_words, read_day

ABOUT = About(
    titles=(DescriptionText(value="Main"), DescriptionText(value="Second", kind="Subtitle")),
    creators=(Agent(name="Ada", affiliations=(Affiliation(name="Office"),)),),
    publisher=Publisher(name="Press", place="Bonn"),
    subjects=(Subject(value="birds", scheme="LCSH"),),
    dates=(DescriptionDate(value="1997-09", kind="Issued"),),
    descriptions=(DescriptionText(value="An abstract", kind="Abstract", language="en"),),
    relations=(Relation(value="doi:10.1/x", scheme="DOI", relation="Cites"),),
    related=(
        RelatedItem(
            relation="IsPublishedIn",
            resource_type="Journal",
            titles=(DescriptionText(value="Nature"),),
        ),
    ),
    resource_type="Dataset",
    language="de",
)


def test_title_people_and_the_rest_are_three_texts() -> None:
    said = describe_words(Record(about=ABOUT), Level())
    assert said.title == "Main\nSecond"
    assert said.people.splitlines() == ["Ada", "Office", "Press"]
    words = said.metadata.splitlines()
    assert {"birds", "1997-09", "An abstract", "doi:10.1/x", "Nature", "Bonn"} <= {*words}
    assert not {"LCSH", "Abstract", "en", "Cites", "Journal", "Dataset", "de", "Ada"} & {*words}
    assert (said.date, said.is_said) == ("1997-09", True)


def test_words_of_lists_addresses_and_numbers_are_not_searched() -> None:
    """A word of the kernel, a licence's address or a degree would be found in half of all texts."""
    code = Code(value="found1", scheme="left1", scheme_uri="left2")
    about = About(
        titles=(DescriptionText(value="found2", kind="left3", language="left4"),),
        subjects=(Subject(value="found3", scheme="left5", scheme_uri="left6", uri="left7"),),
        creators=(Agent(name="found4", kind="left8", role="left9", codes=(code,)),),
        rights=(Rights(value="found5", uri="left10"),),
        relations=(
            Relation(
                value="found6",
                scheme="left11",
                relation="left12",
                resource_type="left13",
                metadata_scheme="left14",
                scheme_type="left15",
            ),
        ),
        related=(
            RelatedItem(
                relation="left16",
                resource_type="left17",
                number_kind="left18",
                titles=(DescriptionText(value="found7"),),
                creators=(Agent(name="found8"),),
            ),
        ),
        fundings=(Funding(funder="found9", award_uri="left19"),),
        places=(
            GeoPlace(
                name="found10",
                point=Point(longitude="left20", latitude="left21"),
                box=GeoBox(west="left22", east="left23", south="left24", north="left25"),
            ),
        ),
        measured=(Measurement(name="found11", unit="left26"),),
        sizes=("left27",),
        formats=("left28",),
        derived="left29",
        language="left30",
        resource_type="left31",
    )
    words = describe_words(Record(about=about), Level())
    text = "\n".join(value for _, value in words.by_field())
    assert "left" not in text
    assert set(re.findall("found[0-9]+", text)) == {f"found{number}" for number in range(1, 12)}


def test_plain_names_and_values_are_a_description() -> None:
    said = describe_words(Record(metadata={"title": "T", "creator": "C", "shelf": "7b"}), Level())
    assert said.title == "T"
    assert "C" in said.people
    assert "7b" in said.metadata


def test_public_texts_of_a_handle_are_a_description() -> None:
    values = (
        Value(index=1, type="DESC", data="public words"),
        Value(index=2, type="EMAIL", data="private@a.example", permissions="1100"),
        Value(index=3, type="URL", data="https://a.example/words"),
        Value(index=4, type="HS_ADMIN", data="{}"),
        Value(index=5, type="X", format="base64", data="AAAA"),
    )
    assert describe_words(Record(values=values), Level()).metadata == "public words"


def test_a_level_has_its_own_words() -> None:
    narrow = NarrowDescription(
        version=2, about=About(titles=(DescriptionText(value="Of the second"),), year="1998")
    )
    record = Record(about=About(titles=(DescriptionText(value="Of all"),)), narrower=(narrow,))
    assert describe_words(record, Level(version=1)).title == "Of all"
    said = describe_words(record, Level(version=2))
    assert (said.title, said.date) == ("Of the second", "1998")


KINDS = ("Issued", "Available", "Created", "Collected", "Valid", "Copyrighted")


@pytest.mark.parametrize("kind", KINDS)
def test_the_date_of_a_document_is_that_of_the_best_kind(kind: str) -> None:
    """The kinds of the DataCite schema that date a document itself, publication first."""
    lesser = KINDS[KINDS.index(kind) :]
    dates = tuple(
        DescriptionDate(value=f"20{KINDS.index(one):02}", kind=one) for one in reversed(lesser)
    )
    said = describe_words(Record(about=About(dates=dates, year="1997")), Level())
    assert said.date == f"20{KINDS.index(kind):02}"
    withdrawn = (DescriptionDate(value="2026", kind="Withdrawn"),)
    assert describe_words(Record(about=About(dates=withdrawn, year="1997")), Level()).date == "1997"


def test_nothing_said_has_no_words() -> None:
    assert not describe_words(Record(), Level()).is_said


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1997", 19970000, 19979999),
        ("1997-09", 19970900, 19970999),
        ("1997-09-01", 19970901, 19970901),
        ("1997-09-01T12:00:00Z", 19970901, 19970901),
        ("", 0, 0),
        ("19970", 0, 0),
        ("97", 0, 0),
    ],
)
def test_days(text: str, first: int, last: int) -> None:
    assert (read_day(text), read_day(text, end=True)) == (first, last)
