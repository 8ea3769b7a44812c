"""The statements of a description on a landing page, each under its name."""

from __future__ import annotations

from perdure.ids import parse
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Funding,
    Publisher,
    Relation,
    Rights,
    Subject,
)
from perdure.model.records import Level, NarrowDescription, Record
from perdure.server.resource.facts import list_abstracts, list_facts, list_levels, name_agent

ABOUT = About(
    creators=(Agent(name="Doe, Jane"), Agent(name="", given="Ada", family="Lovelace")),
    contributors=(Agent(name="A helper"),),
    publisher=Publisher(name="P"),
    year="1997",
    dates=(DescriptionDate(value="1997-09-01", kind="Issued"),),
    language="en",
    resource_type="Text",
    resource_kind="Letter",
    subjects=(Subject(value="Letters"),),
    version="2",
    edition="second",
    rights=(Rights(value="Free"), Rights(uri="https://a.example/rights")),
    codes=(Code(value="17", scheme="local"),),
    relations=(Relation(relation="Cites", value="https://b.example/", scheme="URL"),),
    fundings=(Funding(funder="F", award="3"), Funding(funder="G")),
    descriptions=(
        DescriptionText(value="short", kind="Abstract"),
        DescriptionText(value="plain"),
        DescriptionText(value="how", kind="Methods"),
    ),
)


def test_every_statement_is_under_its_name() -> None:
    assert list_facts(ABOUT) == [
        ("Creator", ["Doe, Jane", "Ada Lovelace"]),
        ("Contributor", ["A helper"]),
        ("Publisher", ["P"]),
        ("Year", ["1997"]),
        ("Date", ["1997-09-01 (issued)"]),
        ("Kind", ["Text", "Letter"]),
        ("Language", ["en"]),
        ("Subject", ["Letters"]),
        ("Edition", ["2", "second"]),
        ("Rights", ["Free", "https://a.example/rights"]),
        ("Also known as", ["17 (local)"]),
        ("Related", ["Cites: https://b.example/"]),
        ("Funding", ["F 3", "G"]),
    ]
    assert list_facts(About()) == []
    assert list_abstracts(ABOUT) == ["short", "plain"]
    assert name_agent("", "Ada", "") == "Ada"


def test_a_level_shows_what_was_said_of_it_alone() -> None:
    name = parse("pdi://oma.eop.gov.us/1997/09/01/1")
    titled = About(titles=(DescriptionText(value="The whole"),))
    narrow = About(edition="second", descriptions=(DescriptionText(value="of it"),))
    record = Record(
        about=titled, narrower=(NarrowDescription(version=2, format="text", about=narrow),)
    )
    shown = list_levels(name, record, Level(version=2, format="text"))
    assert [(one.label, one.facts, one.is_this) for one in shown.seen] == [
        ("the resource", [("Title", ["The whole"])], False),
        (
            "version 2 in the format text",
            [("Edition", ["second"]), ("Description", ["of it"])],
            True,
        ),
    ]
    assert [one.href for one in shown.seen] == [
        f"/{name}?landing",
        f"/{name}.text.2?landing",
    ]
    assert (shown.others, shown.more) == ((), 0)
    assert list_levels(name, Record(about=titled), Level(version=2)).more == 0
