"""Templates: what they read, what they make, and that nothing in a part leads elsewhere."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest
from perdure.policy import templates

PART = st.text(st.characters(min_codepoint=33, exclude_categories=("Cs", "Cc")), max_size=40)
LOCATIONS = st.sampled_from(
    ["http://a.example", "http://a.example/", "https://a.example:8443/x?y=1#z", "http://[::1]/x"]
)


@pytest.mark.parametrize(
    "text",
    [
        "hdl:1839/ # {location}?part={part}",
        "ark:99999/fk4* @ {location}/{part}",
        r"hdl:1839/x ?part= /box\((\d+),(\d+)\)/ http://a.example/{name}?x={1}&y={2}",
        "pdi://oma.eop.gov.us/ * {location}#t={time}",
    ],
)
def test_what_is_read_is_written_alike(text: str) -> None:
    assert str(templates.read_template(text)) == text
    assert templates.read_template(str(templates.read_template(text))) == templates.read_template(
        text
    )


def test_a_template_for_a_fragment_is_for_the_parameter_that_stands_for_it() -> None:
    """ "`?part=` stands for a `#`, which a client would not send" (ruling fragment-transport)"""
    fragments = templates.read_template("hdl:1839/ # {location}?part={part}")
    assert fragments.applies_to("hdl:1839/x", "#")
    assert fragments.applies_to("hdl:1839/x", "?part=")
    assert not fragments.applies_to("hdl:1839/x", "@")
    others = templates.read_template("hdl:1839/ @ {location}/{part}")
    assert others.applies_to("hdl:1839/x", "@")
    assert not others.applies_to("hdl:1839/x", "?part=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hdl:1839/",
        "1839/ # {location}",
        "hdl:1839/ ! {location}",
        "hdl:1839/ # {nothing}",
        "hdl:1839/ # {location}{location}",
        "hdl:1839/ # x{location}",
        "hdl:1839/ # {location}?x={secret}",
        "hdl:1839/ # http://{part}/",
        "hdl:1839/ # http://a.example{part}/",
        "hdl:1839/ # http://a.example:{part}/",
        "hdl:1839/ # javascript:alert({part})",
        "hdl:1839/ # file:///etc/{part}",
        "hdl:1839/ # x {location}",
        "hdl:1839/ # /(/ {location}",
        "hdl:1839/ # // {location}",
        "hdl:1839/ # {location}/\u00e9",
        "hdl:1839/ # {location}" + "x" * templates.LONGEST,
    ],
)
def test_what_is_no_template(text: str) -> None:
    with pytest.raises(InvalidRequest):
        templates.read_template(text)


@given(
    PART, LOCATIONS, st.sampled_from(["?part={part}", "/{part}", "#{part}", "{part}", ".{part}"])
)
def test_a_part_never_leads_to_another_server(part: str, location: str, rest: str) -> None:
    """`http://a.example` with `.evil.example` behind it would be another server."""
    try:
        found = templates.read_template(f"hdl:1/ # {{location}}{rest}").fill_target(
            "hdl:1/a", part, location
        )
    except InvalidRequest:
        return
    assert found is not None
    assert urlsplit(found)[:2] == urlsplit(location)[:2]
    assert found.isascii()
    assert found.isprintable()


@given(PART)
def test_a_fixed_target_stays_on_its_server(part: str) -> None:
    found = templates.read_template("hdl:1/ # http://b.example/{name}/{part}").fill_target(
        "hdl:1/a", part, "x:y"
    )
    assert found is not None
    assert urlsplit(found).netloc == "b.example"


def test_the_most_special_comes_first() -> None:
    listed = [
        templates.read_template(text)
        for text in (
            "hdl:1839/ # {location}?a={part}",
            "hdl:1839/x # {location}?b={part}",
            "hdl:1839/x* # {location}?c={part}",
            "hdl:1839/ @ {location}?d={part}",
        )
    ]
    found = templates.find_applying(listed, "hdl:1839/X", "#")
    assert [one.target[11:12] for one in found] == ["c", "b", "a"]
    assert [one.target[11:12] for one in templates.find_applying(listed, "hdl:1839/xy", "#")] == [
        "c",
        "a",
    ]
    assert templates.find_applying(listed, "hdl:18390/x", "#") == []


@pytest.mark.parametrize(
    ("part", "time"),
    [
        ("time(100s,200s)", "100,200"),  # ISO 24619
        ("t=npt:10,20.5", "10,20.5"),  # Media Fragments URI 1.0
        ("sec=10,20", "10,20"),  # PDI
        ("msec=1500,2000", "1.5,2"),
        ("mp(/~time('npt','10','30'))", "10,30"),  # ISO/IEC 21000-17
        ("t=,20", "0,20"),
        ("t=10", "10"),
    ],
)
def test_a_time_in_every_syntax(part: str, time: str) -> None:
    template = templates.read_template("hdl:1/ @ {location}#t={time}")
    assert (
        template.fill_target("hdl:1/a", part, "http://a.example/") == f"http://a.example/#t={time}"
    )


@pytest.mark.parametrize("part", ["z", "xywh=1,2,3,4", "time(2s,1s)", "t=10"])
def test_what_has_no_end_is_not_put_where_one_must_be(part: str) -> None:
    template = templates.read_template("hdl:1/ @ {location}?from={start}&to={end}")
    assert template.fill_target("hdl:1/a", part, "http://a.example/") is None


@given(st.text("a#@/.", max_size=200))
def test_a_name_is_taken_apart_in_few_ways(text: str) -> None:
    found = templates.list_splits(text, "#@")
    assert len(found) <= 16
    assert all(f"{whole}{delimiter}{part}" == text for whole, delimiter, part in found)
    assert [len(whole) for whole, _, _ in found] == sorted(
        (len(whole) for whole, _, _ in found), reverse=True
    )


def test_what_an_expression_matched_can_be_named() -> None:
    template = templates.read_template(r"hdl:1/ @ /box\((\d+),(\d+)\)/ {location}?x={1}&y={2}")
    assert (
        template.fill_target("hdl:1/a", "box(3,4)", "http://a.example/")
        == "http://a.example/?x=3&y=4"
    )
    assert template.fill_target("hdl:1/a", "page=3", "http://a.example/") is None


@pytest.mark.parametrize(
    ("location", "more", "expected"),
    [
        ("http://a.example/x", "", "http://a.example/x"),
        ("http://a.example/x#y", "/z", "http://a.example/x/z"),
        ("http://a.example/x?a", "?b", "http://a.example/x?a&b"),
        ("http://a.example/x", "?b", "http://a.example/x?b"),
        ("http://a.example", "/x", "http://a.example/x"),
        ("http://a.example", "?b", "http://a.example?b"),
        ("http://[2001:db8::1]/", "x/y", "http://[2001:db8::1]/x/y"),
    ],
)
def test_what_is_appended_to_a_location(location: str, more: str, expected: str) -> None:
    assert templates.append_text(location, more) == expected


@pytest.mark.parametrize("more", [".evil.example", "@evil.example", ":81", "]"])
def test_nothing_appended_leads_to_another_server(more: str) -> None:
    with pytest.raises(InvalidRequest):
        templates.append_text("http://a.example", more)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 40])
def test_a_name_is_split_at_its_last_delimiters(count: int) -> None:
    text = "#".join("abc"[number % 3] for number in range(count + 1))
    found = templates.list_splits(text, "#@")
    assert len(found) == min(count, 16)
    for number, (whole, delimiter, part) in enumerate(found):
        assert f"{whole}{delimiter}{part}" == text
        assert (delimiter, part.count("#")) == ("#", number)


@pytest.mark.parametrize(
    ("part", "address"),
    [
        ("t=10,20", "10-20"),
        ("t=0,0.5", "0-0.5"),
        ("t=100,1000", "100-1000"),
        ("t=0.000000001,2", "0.000000001-2"),
        ("t=1.10,2.050", "1.1-2.05"),
    ],
)
def test_a_moment_has_no_more_decimals_than_it_needs(part: str, address: str) -> None:
    template = templates.read_template("hdl:1/ @ {location}?{start}-{end}")
    assert template.fill_target("hdl:1/a", part, "http://a.example/") == (
        f"http://a.example/?{address}"
    )
