"""Rules about captures: which addresses they match, which is more specific, which are malformed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest
from perdure.errors.reading import (
    CapturesHaveNoParts,
    MalformedCaptureAddress,
    MalformedSpan,
    PointlessCondition,
    UnknownMatch,
)
from perdure.ids.urlkey import make_url_key
from perdure.model.matches import MATCHES
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.timestamps import find_span, read_span
from perdure.policy.capture_subjects import (
    CAPTURES_KEY,
    find_capture_subject,
    list_beginnings,
    list_folder,
)
from perdure.policy.reading_rules import (
    check_rule,
    identify_subject,
    read_rule,
    select_about,
    select_in_force,
)

INSIDE, OUTSIDE = True, False
CASES = [
    ("exact", "http://a.example/x", "https://www.A.example/x/", INSIDE),
    ("exact", "http://a.example/x", "http://a.example/x?q", OUTSIDE),
    ("exact", "http://a.example/x", "http://a.example/xy", OUTSIDE),
    ("prefix", "http://a.example/x", "http://a.example/xy", INSIDE),
    ("prefix", "http://a.example/x", "http://a.example/w", OUTSIDE),
    ("prefix", "http://a.example/x/", "http://a.example/x", INSIDE),
    ("prefix", "http://a.example/x/", "http://a.example/x/?q=1", INSIDE),
    ("prefix", "http://a.example/x/", "http://a.example/x/y", INSIDE),
    ("prefix", "http://a.example/x/", "http://a.example/xy", OUTSIDE),
    ("prefix", "http://a.example/x?", "http://a.example/x?y", INSIDE),
    ("prefix", "http://a.example/x?", "http://a.example/x/y", OUTSIDE),
    ("prefix", "http://a.example/", "http://a.example/", INSIDE),
    ("prefix", "http://a.example/", "http://b.a.example/", OUTSIDE),
    ("host", "http://a.example/x", "http://a.example/", INSIDE),
    ("host", "http://a.example/x", "http://a.example:8080/y", INSIDE),
    ("host", "http://a.example:8080/x", "http://a.example/y", INSIDE),
    ("host", "http://a.example/", "http://b.a.example/", OUTSIDE),
    ("host", "http://a.example/", "http://a.example.org/", OUTSIDE),
    ("host", "http://[2001:db8::1]/", "http://[2001:db8::1]/x", INSIDE),
    ("host", "http://[2001:db8::1]/", "http://[2001:db8::2]/x", OUTSIDE),
    ("domain", "http://a.example/x", "http://b.a.example:8080/y", INSIDE),
    ("domain", "http://a.example/x", "http://a.example/y", INSIDE),
    ("domain", "http://a.example/x", "http://ba.example/y", OUTSIDE),
    ("domain", "http://a.example/x", "http://example/y", OUTSIDE),
]


def rule(about: str, match: str = "exact", **fields: Any) -> ReadingRule:
    return ReadingRule(**({"about": about, "match": match, "access": Access.CLOSED} | fields))


def is_inside(beginnings: tuple[str, ...], url: str) -> bool:
    return f"{make_url_key(url)} ".startswith(beginnings)


@pytest.mark.parametrize(("match", "about", "url", "inside"), CASES)
def test_addresses_of_a_rule(match: str, about: str, url: str, *, inside: bool) -> None:
    assert is_inside(list_beginnings(about, match), url) is inside


@pytest.mark.parametrize(
    ("page", "url", "inside"),
    [
        ("http://a.example/x/y.html?q=/z", "http://a.example/x/z.html", INSIDE),
        ("http://a.example/x/y.html", "http://a.example/x", INSIDE),
        ("http://a.example/x/y.html", "http://a.example/y.html", OUTSIDE),
        ("http://a.example/x.html", "http://a.example/y/z.html", INSIDE),
        ("http://a.example", "http://a.example/y/z.html", INSIDE),
        ("http://a.example", "http://b.example/", OUTSIDE),
        ("a.example", "http://a.example/y", INSIDE),
    ],
)
def test_the_folder_of_an_address(page: str, url: str, *, inside: bool) -> None:
    assert is_inside(list_folder(page), url) is inside


FROM_LEAST_TO_MOST = (
    rule("http://example/", "domain"),
    rule("http://a.example/", "domain"),
    rule("http://a.example/", "host"),
    rule("http://a.example/", "prefix"),
    rule("http://a.example/x/", "prefix"),
    rule("http://a.example/x", "exact"),
    rule("http://a.example/x", "exact", first="20140101000000"),
    rule("http://a.example/x", "exact", first="20140101000000", last="20161231235959"),
    rule("http://a.example/x", "exact", first="20150101000000", last="20151231235959"),
)


@pytest.mark.parametrize("at", range(len(FROM_LEAST_TO_MOST) - 1))
def test_order_of_subjects(at: int) -> None:
    wider, narrower = map(find_capture_subject, FROM_LEAST_TO_MOST[at : at + 2])
    assert wider.specificity < narrower.specificity


URLS = st.builds(
    "http://{}example{}{}".format,
    st.sampled_from(("", "a.", "b.a.")),
    st.sampled_from(("", ":8080")),
    st.sampled_from(("", "/", "/x", "/x/", "/x/y", "/x?", "/x?q")),
)


@given(URLS, st.sampled_from(MATCHES), URLS, st.sampled_from(MATCHES))
def test_the_narrower_of_two_subjects_is_more_specific(
    one: str, one_match: str, other: str, other_match: str
) -> None:
    """If one subject contains another one and more, the other one is more specific."""
    wide, narrow = rule(one, one_match), rule(other, other_match)
    outer, inner = find_capture_subject(wide), find_capture_subject(narrow)
    contains = all(text.startswith(outer.beginnings) for text in inner.beginnings)
    contained = all(text.startswith(inner.beginnings) for text in outer.beginnings)
    if contains and not contained:
        assert outer.specificity < inner.specificity
    if contains and contained:
        assert outer.specificity == inner.specificity


def test_two_spellings_of_one_subject_are_equal() -> None:
    for one, other in (
        (rule("http://a.example/x"), rule("HTTPS://www.a.example/x/#top")),
        (rule("http://a.example/y", "host"), rule("http://a.example/z", "host")),
    ):
        assert identify_subject(one) == identify_subject(other)
        assert select_in_force([one, other]) == [other]
    assert read_rule(rule("http://a.example/")).key == f"{CAPTURES_KEY}example,a)/ "
    assert identify_subject(rule("http://a.example/")) != identify_subject(
        rule("http://a.example/", first="20140101000000")
    )


def test_times_are_kept_in_14_digits() -> None:
    checked = check_rule(rule("http://a.example/", "prefix", first="2014", last="2016-02"))
    assert (checked.first, checked.last) == ("20140101000000", "20160229235959")
    assert check_rule(rule("http://a.example/")) == rule("http://a.example/")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"match": "suffix"}, UnknownMatch),
        ({"about": ""}, MalformedCaptureAddress),
        ({"about": "http://a.example/ b"}, MalformedCaptureAddress),
        ({"about": "http://a.example/\n"}, MalformedCaptureAddress),
        ({"about": "http://a.example/" + "a" * 4000}, MalformedCaptureAddress),
        ({"about": "urn:x:y", "match": "host"}, MalformedCaptureAddress),
        ({"about": "urn:x:y", "match": "domain"}, MalformedCaptureAddress),
        ({"part": "char=1,2"}, CapturesHaveNoParts),
        ({"first": "yesterday"}, MalformedSpan),
        ({"first": "2016", "last": "2015"}, MalformedSpan),
        ({"last": "201613"}, MalformedSpan),
        ({"first": "20160230"}, MalformedSpan),
        ({"first": "201"}, MalformedSpan),
        ({"match": "", "about": "hdl:1/1", "first": "2016"}, MalformedSpan),
        ({"match": "", "about": "hdl:1/1", "last": "2016"}, MalformedSpan),
        ({"access": Access.OPEN, "by_token": True}, PointlessCondition),
    ],
)
def test_malformed_rules_about_captures(
    fields: dict[str, Any], error: type[InvalidRequest]
) -> None:
    with pytest.raises(error) as raised:
        check_rule(rule(**({"about": "http://a.example/"} | fields)))
    assert str(raised.value)


def test_rules_about_an_address_or_a_name() -> None:
    wide, narrow = rule("http://a.example/", "host"), rule("http://a.example/x")
    named = ReadingRule(about="hdl:1/1", access=Access.CLOSED)
    scope = ReadingRule(about="hdl:1/*", access=Access.CLOSED)
    known = [wide, narrow, named, scope]
    assert select_about(known, "https://A.example/x") == [wide, narrow]
    assert select_about(known, "http://a.example/y") == [wide]
    assert select_about(known, "hdl:1/1") == [named]
    assert select_about(known, "hdl:1/*") == [scope]


def test_seconds_of_a_time() -> None:
    assert read_span("2016") == ("20160101000000", "20161231235959")
    assert read_span("20160122112029") == ("20160122112029", "20160122112029")
    assert find_span("2016-01-22T11:20:60Z")[1] == "20160122112060"
