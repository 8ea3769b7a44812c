"""What an identifier names in its record, what leads back to it, and what it is called in full."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import sha512, text

from perdure import testing
from perdure.errors import (
    InvalidRequest,
    MalformedIdentifier,
)
from perdure.ids import Identifier, parse
from perdure.ids.name_set import choose_names, make_set
from perdure.ids.pdi import Pdi
from perdure.model.commands import make_representation
from perdure.model.records import Location, Record, Version
from perdure.model.references import list_references
from perdure.policy import naming

NOW = "2026-11-21T12:00:00Z"


def test_everything_that_leads_back_to_a_record() -> None:
    record = Record(
        locations=(Location(uri="https://a.example/", sha512="a" * 128),),
        aliases=("hdl:1/2", "URN:IANA:1::Foo:::"),
        versions=(Version(number=1, at=NOW, representations=(make_representation(text("one")),)),),
    )
    assert list_references(record) == {
        "location:https://a.example/",
        "sha512:" + "a" * 128,
        "sha512:" + sha512(b"one"),
        "alias:" + parse("hdl:1/2").key,
        "alias:" + parse("urn:iana:1::FOO:::").key,
    }


@pytest.mark.parametrize(
    "name",
    [
        "pdi://oma.eop.gov.us/1997/09/01/1",
        "pdi://oma.eop.gov.us/1994/10/20/HTTP:%2f%2fWWW%2ewhitehouse%2egov%2f",
        "hdl:4263537/4000",
        "URN:IANA:42117::Opaque-1:::",
        "ark:12345/x6np1wh8k",
    ],
)
def test_a_record_knows_its_own_name(name: str) -> None:
    identifier = parse(name)
    record = Record(name=naming.spell_name(identifier))
    assert str(naming.identify_record(identifier.key, record)) == str(identifier)


@pytest.mark.parametrize("format", ["*", "", "te.xt", "te/xt", "a+b+c", "é"])
def test_formats_that_no_minted_pdi_has(format: str) -> None:
    with pytest.raises(MalformedIdentifier):
        naming.canonical_format(format)


@pytest.mark.parametrize(
    ("format", "canonical"),
    [("TEXT", "text"), ("svg%2Bxml", "svg%2bxml"), ("Audio+X", "audio+x"), ("%61", "a")],
)
def test_formats_have_a_canonical_form(format: str, canonical: str) -> None:
    assert naming.canonical_format(format) == canonical


@given(testing.values(), st.integers(1, 30), st.sampled_from(["text", "HTML", "au+gzip"]))
def test_the_full_name_is_told_from_the_key(name: Identifier, version: int, format: str) -> None:
    """However an identifier is spelled: the short way and the long way say the same."""
    try:
        identifier = naming.check_bindable(name)
    except InvalidRequest:
        return
    if isinstance(identifier, Pdi):
        identifier = identifier.resource
    record = Record(name=naming.spell_name(identifier), at=NOW)
    expected = str(naming.qualify_identifier(identifier, version, format))
    assert naming.spell_full_name(identifier.key, record, version, format) == expected


@pytest.mark.parametrize(
    ("name", "version", "format"),
    [
        ("pdi://a.example.us/2026/11/21/7", 1, "text"),
        ("pdi://a.example.us/2026/11/21/1234567", 12, "html"),
        ("pdi://a.example.us/2026/11/21/report", 1, "text"),
        ("pdi://a.example.us/2026/11/21/a%2fb", 1, "text"),
        ("ark:/99999/x", 1, "text"),
        ("hdl:1/a", 2, "text"),
    ],
)
def test_the_full_name_by_example(name: str, version: int, format: str) -> None:
    identifier = parse(name)
    record = Record(name="" if isinstance(identifier, Pdi) else name)
    full = naming.spell_full_name(identifier.key, record, version, format)
    assert full == str(naming.qualify_identifier(identifier, version, format))


@pytest.mark.parametrize(
    "name",
    [
        "pdi://oma.eop.gov.us/1997/09/01/1",
        "pdi://oma.eop.gov.us/1997/09/01/907",
        "pdi://oma.eop.gov.us/1997/09/01/01",
        "pdi://oma.eop.gov.us/1997/09/01/letter-1",
        "pdi://oma.eop.gov.us/1997/09/01/1a",
        "pdi://oma.eop.gov.us/1997/09/01/http:%2f%2fa%2eexample%2f",
        "pdi://oma.eop.gov.us/12345/09/01/1",
        "hdl:4263537/4000",
        "ark:12345/x6np1wh8k",
    ],
)
@pytest.mark.parametrize(("version", "format"), [(1, "text"), (12, "x+y"), (2, "a%2eb")])
def test_the_short_way_to_a_full_name_is_the_long_way(name: str, version: int, format: str) -> None:
    identifier = parse(name)
    record = Record(name=naming.spell_name(identifier))
    full = naming.qualify_identifier(identifier, version, format)
    assert naming.spell_full_name(identifier.key, record, version, format) == str(full)


KEYS = st.sampled_from(["a7", "b10", "b07", "a10", "~memo", "j1234567890", "*", "a٣", "a7\n"]).map(
    "oma.eop.gov.us/19970901/{}".format
) | st.sampled_from(["oma.eop.gov.us/19970230/a7", "oma.eop.gov.us/19970901/a7", "hdl:1/a7", ""])


@given(st.lists(KEYS, min_size=1, max_size=3))
def test_a_page_of_serial_names_has_no_damaged_key(keys: list[str]) -> None:
    if naming.are_serial_names(keys):
        for key in keys:
            number = Pdi.from_key(key).serial
            full = naming.spell_full_name(key, Record(), 1, "text")
            assert full == f"pdi://oma.eop.gov.us/1997/09/01/{number}.text.1"


def test_serial_names_of_one_day() -> None:
    day = "oma.eop.gov.us/19970901"
    assert naming.are_serial_names([f"{day}/a1", f"{day}/b10", f"{day}/i999999999"])
    for other in (f"{day}/b07", f"{day}/~memo", "oma.eop.gov.us/19970902/a1", f"{day}/a٣"):
        assert not naming.are_serial_names([f"{day}/a1", other])
    assert not naming.are_serial_names(["oma.eop.gov.us/19970230/a1"])


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [
        ("pdi://a.us/1997/01/01/", True),
        ("pdi://a.us/1997/01/01/1", True),
        ("pdi://a.us/1997/01/01/*.text.1", True),
        ("pdi://a.us/1997/01/01/*.*.2", False),  # no version 2
        ("pdi://a.us/1997/01/01/*.html.*", False),
        ("pdi://a.us/1997/01/01/1.html.7", True),  # one name: its resource
        ("pdi://a.us/1997/01/02/*.text.1", False),
    ],
)
def test_a_set_of_representations_covers_the_records_that_have_one(
    pattern: str, *, covered: bool
) -> None:
    held = make_representation(text("x"), 1, 0)
    record = Record(versions=(Version(number=1, at="", representations=(held,)),))
    name = parse("pdi://a.us/1997/01/01/1")
    assert naming.covers_record(make_set(parse(pattern)), name, record) is covered


def test_the_member_of_a_day_is_the_resource() -> None:
    """ "They are representations if the set consists of these, else the resource itself." """
    names = make_set(parse("pdi://a.us/1997/01/01/*"))
    inside, outside = parse("pdi://a.us/1997/01/01/7"), parse("pdi://a.us/1997/01/02/7")
    assert naming.list_members(names, inside, Record()) == [inside]
    assert naming.list_members(names, outside, Record()) == []


def test_the_members_of_a_list_are_the_listed_names() -> None:
    day = "pdi://oma.eop.gov.us/1997/09/01"
    listed = tuple(parse(one) for one in (f"{day}/2.text.1", f"{day}/2", f"{day}/3"))
    names = choose_names(listed, "@names.txt")
    assert naming.list_members(names, parse(f"{day}/2"), Record()) == list(listed[:2])
    assert naming.list_members(names, parse(f"{day}/4"), Record()) == []
    assert naming.covers_record(names, parse(f"{day}/3"), Record())
