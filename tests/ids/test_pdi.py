"""PDIs as values: their fields, and how they are made."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier
from perdure.ids import parse as parse_any
from perdure.ids import pdi_defaults
from perdure.ids.pdi import Pdi, parse_pdi
from perdure.ids.pdi_defaults import find_default_scheme, is_video
from perdure.ids.pdi_plain import read_plain_ending, read_plain_keys
from perdure.testing import pdi as pdis

TEXT = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"


def test_a_full_value() -> None:
    pdi = parse_pdi(
        "URN:pdi://OMA.eop.gov.us/1997/9/1/4.Text.2@103=pdi://a.us/2026/11/20/5.gif.1#(1,2),(3,4)"
    )
    assert (pdi.series, pdi.date, pdi.uid) == ("oma.eop.gov.us", "1997/09/01", "4")
    assert (pdi.year, pdi.month, pdi.day) == ("1997", "09", "01")
    assert pdi.calendar_day == datetime.date(1997, 9, 1)
    assert (pdi.serial, pdi.format, pdi.version) == (4, "text", 2)
    assert pdi.fragment is None
    assert pdi.citation is not None
    assert pdi.citation.origin == "103"
    cited = pdi.citation.cited
    assert pdi.cited == cited
    assert cited.cited is None
    assert cited.fragment is not None
    assert cited.fragment.scheme == "rect"
    assert cited.fragment.positions == (("1", "2"), ("3", "4"))
    assert cited.fragment.numbers == (1, 2, 3, 4)
    assert cited.written == "pdi://a.us/2026/11/20/5.gif.1#(1,2),(3,4)"
    assert str(pdi.whole) == "pdi://oma.eop.gov.us/1997/09/01/4.text.2"
    assert str(pdi.resource) == "pdi://oma.eop.gov.us/1997/09/01/4"
    assert pdi.urn == f"urn:{pdi}"
    assert repr(pdi.resource) == "Pdi('pdi://oma.eop.gov.us/1997/09/01/4')"


@pytest.mark.parametrize(
    ("fragment", "numbers"),
    [
        ("char=37,51", (37, 51)),
        ("rect=(1,2),(3,4),5", (1, 2, 3, 4, 5)),
        ("crop=msec,1,2", (1, 2)),
        ("crop=sec,1,2,(3,4),(5,6)", (1, 2, 3, 4, 5, 6)),
        ("name=1,2", ()),
        ("x-mine=1,2", ()),
    ],
)
def test_numbers_of_a_fragment(fragment: str, numbers: tuple[int, ...]) -> None:
    read = parse_pdi(f"{TEXT}#{fragment}").fragment
    assert read is not None
    assert read.numbers == numbers
    assert str(read) == fragment


@given(pdis.texts())
def test_the_long_way_is_the_short_way(text: str) -> None:
    """`perdure.ids.parse` finds what the scheme's own parser finds."""
    assert parse_any(text) == parse_pdi(text)
    assert parse_any(text).written == text


@given(pdis.values())
def test_a_value_is_more_than_its_resource(pdi: Pdi) -> None:
    assert pdi.resource == pdi.whole.resource == pdi.resource.resource
    assert pdi.resource.key == pdi.whole.key == pdi.key
    assert (pdi.resource.format, pdi.resource.version) == (None, None)
    assert (pdi.whole.fragment, pdi.whole.citation) == (None, None)
    assert pdi.resource.matches(pdi)
    for derived in (pdi.resource, pdi.whole):
        assert parse_pdi(str(derived)) == derived


def test_equality_is_for_pdis() -> None:
    pdi = parse_pdi(TEXT)
    assert pdi != TEXT
    assert len({pdi, parse_pdi(TEXT.upper()), parse_pdi(f"urn:{TEXT}")}) == 1
    with pytest.raises(TypeError):
        sorted([pdi, "text"])  # type: ignore[type-var]  # that is what is tested


# making
# ------


def test_make_for_minting() -> None:
    made = Pdi.make(
        series="OMA.eop.gov.us", date=datetime.date(1997, 9, 1), uid="1", format="text", version=1
    )
    assert made == parse_pdi(TEXT)
    assert Pdi.make(series="a.us", date=datetime.date(97, 1, 2), uid="1").date == "0097/01/02"
    assert Pdi.make(series="a.us", date="*/9/*", uid="*", format="*", version="*").is_pattern


@given(pdis.texts(depth=0))
def test_make_is_the_inverse_of_the_fields(text: str) -> None:
    pdi = parse_pdi(text)
    if pdi.date is None or pdi.uid is None:
        return
    made = Pdi.make(
        series=pdi.series, date=pdi.date, uid=pdi.uid, format=pdi.format, version=pdi.version
    )
    assert made == pdi.whole


@pytest.mark.parametrize(
    ("component", "value", "at"),
    [
        ("series", "a.us/1997", 4),
        ("series", "us", 2),
        ("series", "", 0),
        ("date", "1997/09", 7),
        ("date", "1997/09/01/1", 10),
        ("uid", "", 0),
        ("uid", "1.text", 1),
        ("uid", "1#char=1,2", 1),
        ("uid", "1@3=pdi://a.us/1997/09/01/2", 1),
        ("uid", "a%2", 1),
        ("format", "text.1", 4),
        ("format", "", 0),
        ("version", 0, 0),
        ("version", -1, 0),
        ("version", 10**18, 18),
    ],
)
def test_make_lets_no_component_be_more_than_one(component: str, value: object, at: int) -> None:
    components: dict[str, object] = {
        "series": "a.us",
        "date": "1997/09/01",
        "uid": "1",
        "format": "text",
        "version": 1,
    }
    with pytest.raises(MalformedIdentifier) as caught:
        Pdi.make(**components | {component: value})  # type: ignore[arg-type]
    assert caught.value.text == str(value)
    assert caught.value.at <= at


def test_make_refuses_what_the_calendar_does_not_have() -> None:
    with pytest.raises(MalformedIdentifier) as caught:
        Pdi.make(series="a.us", date="1997/02/29", uid="1")
    assert caught.value.rule == "ruling pdi-date"


def test_a_version_requires_a_format() -> None:
    """Section 1.2.1: "versions require formats"."""
    with pytest.raises(MalformedIdentifier):
        Pdi.make(series="a.us", date="1997/09/01", uid="1", version=1)
    with pytest.raises(MalformedIdentifier):
        parse_pdi("pdi://a.us/1997/09/01/1").at(version=2)


def test_at_another_format_or_version() -> None:
    pdi = parse_pdi(f"{TEXT}#1,2")
    assert str(pdi.at(version=3)) == "pdi://oma.eop.gov.us/1997/09/01/1.text.3"
    assert str(pdi.at(format="svg%2Bxml")) == "pdi://oma.eop.gov.us/1997/09/01/1.svg%2bxml.1"
    assert (
        str(pdi.resource.at(format="gif", version=1)) == "pdi://oma.eop.gov.us/1997/09/01/1.gif.1"
    )
    with pytest.raises(MalformedIdentifier):
        parse_pdi("pdi://a.us/1997/").at(format="text", version=1)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50))
def test_any_text_can_be_encapsulated(text: str) -> None:
    """Section 2.4.1: "foreign document identifiers MAY be incorporated within a PDI"."""
    uid = Pdi.encapsulate(text)
    pdi = Pdi.make(series="a.us", date="1997/09/01", uid=uid, format="html", version=1)
    assert pdi.uid == uid
    assert parse_pdi(str(pdi)) == pdi


def test_half_a_surrogate_pair_cannot_be_encapsulated() -> None:
    with pytest.raises(MalformedIdentifier) as caught:
        Pdi.encapsulate("a\ud800")
    assert caught.value.at == 1


# defaults of formats
# -------------------


@pytest.mark.parametrize(
    ("token", "scheme"),
    [
        *(("text", "char"), ("html", "char"), ("sgml", "char"), ("xml", "char"), ("css", "char")),
        *(("utf-8", "char"), ("euc-jp", "char"), ("text+x", "char"), ("txt", "char")),
        *(("gif", "rect"), ("jpeg", "rect"), ("vnd%2edjvu", "rect"), ("image+x", "rect")),
        *(("basic", "sec"), ("au", "sec"), ("audio+mpeg", "sec"), ("mpeg", "sec"), ("mp4", "sec")),
        *(("pdf", None), ("application+sgml", None), ("*", None), ("", None), ("text%2b", None)),
    ],
)
def test_default_schemes(token: str, scheme: str | None) -> None:
    """Sections 3.4.1 to 3.4.5, and ruling pdi-fragment-default."""
    assert find_default_scheme(token) == scheme


def test_a_default_that_was_published_stays() -> None:
    """Else identifiers would have another canonical form, or none."""
    path = Path(__file__).parents[2] / "vectors" / "pdi-default-formats.json"
    published = json.loads(path.read_text("utf-8"))["formats"]
    schemes = {"text": "char", "image": "rect", "audio": "sec", "video": "sec"}
    for major, tokens in published.items():
        for token in tokens:
            assert find_default_scheme(token) == schemes[major], token
            assert is_video(token) == (major == "video"), token


def test_a_default_is_that_of_a_format_in_canonical_form() -> None:
    for token in pdi_defaults._MAJOR_TYPES:
        assert parse_pdi(f"pdi://a.us/1997/09/01/1.{token}.1").format == token
        assert find_default_scheme(token)


def test_which_formats_may_be_videos() -> None:
    assert is_video("mpeg")
    assert is_video("video+mp4")
    assert not is_video("audio+mpeg")
    assert not is_video("gif")


def test_an_interval_may_be_empty() -> None:
    """ruling: part-range: what is wrong behind an empty interval is not its order."""
    whole = "pdi://a.us/1997/09/01/1.text.1#char=5,5"
    assert str(parse_pdi(whole)) == whole
    with pytest.raises(MalformedIdentifier) as refused:
        parse_pdi(f"{whole}x")
    assert refused.value.at == len(whole)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("pdi://a.us/x/01/01/1", "a year of four or more digits, or '*'"),
        ("pdi://a.us/1997/x/01/1", "a month of one or two digits, or '*'"),
        ("pdi://a.us/1997/01/x/1", "a day of one or two digits, or '*'"),
    ],
)
def test_a_misspelled_date_is_told_what_is_expected(text: str, unit: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        parse_pdi(text)
    assert (refused.value.at, refused.value.expected) == (text.index("x"), unit)


@pytest.mark.parametrize(
    ("interval", "member"),
    [
        ("pdi://a.us/", "pdi://a.us/1997/"),
        ("pdi://a.us/1997/", "pdi://a.us/1997/09/"),
        ("pdi://a.us/1997/09/", "pdi://a.us/1997/09/01/"),
    ],
)
def test_the_member_of_an_interval_with_a_key(interval: str, member: str) -> None:
    key = parse_pdi("pdi://a.us/1997/09/01/1").key
    assert parse_pdi(interval).is_divided
    assert parse_pdi(interval).member_of(key) == parse_pdi(member)


@pytest.mark.parametrize(
    ("fragment", "template"),
    [
        ("char=1", "char=N,N"),
        ("elt=1", "elt=N,N"),
        ("name=a", "name=S,S"),
        ("rect=1", "rect=(N,N),(N,N)[,N]"),
        ("sec=1", "sec=N,N"),
        ("msec=1", "msec=N,N"),
        ("crop=sec", "crop=T,N,N[,(N,N),(N,N)]"),
        ("byte=1", "byte=N,N"),
    ],
)
def test_positions_of_the_draft_have_the_form_of_its_sections(fragment: str, template: str) -> None:
    with pytest.raises(MalformedIdentifier, match=re.escape(f"as in {template}")):
        parse_pdi(f"pdi://a.us/1997/09/01/1.x.1#{fragment}")


DAY = "pdi://oma.eop.gov.us/1997/09/01"


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "nothing",
        f"{DAY}/",
        f"{DAY}/a*",
        f"{DAY}/a:b",
        f"{DAY}/1.",
        f"{DAY}/1.text.0",
        f"{DAY}/{'x' * 256}",
        f"pdi://{'x' * 300}/1997/09/01/1",
        "pdi://oma.eop.gov.us/1997/02/30/1",
    ],
)
def test_one_odd_name_among_plain_ones_is_noticed(odd: str) -> None:
    plain = [f"{DAY}/1", f"{DAY}/x-1.text", f"{DAY}/10.text.1"]
    assert read_plain_keys(plain) == (
        [
            "oma.eop.gov.us/19970901/a1",
            "oma.eop.gov.us/19970901/~x-1",
            "oma.eop.gov.us/19970901/b10",
        ],
        ["", ".text", ".text.1"],
    )
    assert [read_plain_ending(one) for one in ("", ".text", ".text.1")] == [
        (None, None),
        ("text", None),
        ("text", "1"),
    ]
    for place in range(4):
        assert read_plain_keys([*plain[:place], odd, *plain[place:]]) is None
