"""Reading rules: their subjects, which of two is more specific, and which are malformed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.errors.reading import (
    MalformedCaptureAddress,
    MalformedDay,
    MalformedNetwork,
    MalformedSubject,
    PointlessCondition,
    ReasonTooLong,
)
from perdure.ids import parse
from perdure.model.reading_rules import Access, ReadingRule
from perdure.policy.reading_rules import check_captures, check_rule, read_subject
from perdure.policy.rights import is_within, make_object

DOCUMENT = "pdi://oma.eop.gov.us/1997/09/01/1"
FROM_LEAST_TO_MOST = (
    "*",
    "*.us",
    "*.eop.gov.us",
    "oma.eop.gov.us",
    "pdi://oma.eop.gov.us/1997/",
    "pdi://oma.eop.gov.us/1997/09/",
    "pdi://oma.eop.gov.us/1997/09/01/",
    DOCUMENT,
    f"{DOCUMENT}.*.2",
    f"{DOCUMENT}.html.2",
    f"{DOCUMENT}.html.2#char=3,700",
)


@pytest.mark.parametrize("at", range(len(FROM_LEAST_TO_MOST) - 1))
def test_order_of_subjects(at: int) -> None:
    wider, narrower = (read_subject(text) for text in FROM_LEAST_TO_MOST[at : at + 2])
    assert wider.specificity < narrower.specificity


@pytest.mark.parametrize(
    ("about", "canonical", "is_scope"),
    [
        ("pdi://OMA.eop.gov.us/1997/09/01/1", DOCUMENT, False),
        ("oma.eop.gov.us", "oma.eop.gov.us", True),
        ("*", "*", True),
        ("99999/fk4", "99999/fk4", True),
        ("hdl:1839/*", "hdl:1839/*", True),
        ("hdl:1839/00-0000", "hdl:1839/00-0000", False),
        ("pdi://oma.eop.gov.us/1997/09/*/*", "pdi://oma.eop.gov.us/1997/09/*/*", True),
        ("ark:/99999/x", "ark:99999/x", False),
        ("A.US", "a.us", True),
        ("*.EOP.gov.us", "*.eop.gov.us", True),
        ("urn:PWID:Archive.org:2016*", "pwid:archive.org:2016*", True),
        ("pwid:*", "pwid:*", True),
        ("URN:pdi://A.us/1997/*", "pdi://a.us/1997/*", True),
        ("99999/FK4", "99999/FK4", True),
        ("IANA:42117", "IANA:42117", True),
    ],
)
def test_what_a_rule_is_about(about: str, canonical: str, *, is_scope: bool) -> None:
    subject = read_subject(about)
    assert (subject.about, subject.is_scope) == (canonical, is_scope)


def test_a_part_beside_a_name_that_cannot_include_it() -> None:
    subject = read_subject("ark:99999/x", "page=2")
    assert (subject.about, subject.part) == ("ark:99999/x", "page=2")
    assert subject.level.part == "page=2"
    inside = read_subject(DOCUMENT + ".text.1", "char=3,7")
    assert (inside.about, inside.part) == (DOCUMENT + ".text.1#char=3,7", "")


@pytest.mark.parametrize("about", ["", "a*b", "x" * 5000, "a\nb"])
def test_a_text_that_is_no_subject(about: str) -> None:
    with pytest.raises((MalformedSubject, MalformedIdentifier)):
        read_subject(about)


@pytest.mark.parametrize(("length", "is_read"), [(4000, True), (4001, False)])
def test_a_subject_has_4000_characters_at_most(length: int, is_read: bool) -> None:
    beginning = "http://a.example/"
    about = beginning + "x" * (length - len(beginning))
    captures = make_rule(about=about, match="exact")
    scope = "hdl:1/" + "x" * (length - len("hdl:1/*")) + "*"
    if is_read:
        assert read_subject(scope).about == scope
        assert check_captures(captures).about == about
    else:
        with pytest.raises(MalformedSubject):
            read_subject(scope)
        with pytest.raises(MalformedCaptureAddress):
            check_captures(captures)


def test_a_reason_has_1000_characters_at_most() -> None:
    assert check_rule(make_rule(reason="x" * 1000)).reason == "x" * 1000


def test_a_scope_has_no_parts() -> None:
    with pytest.raises(MalformedSubject):
        read_subject("oma.eop.gov.us", "page=2")


names = st.sampled_from(("a", "b", "ab", "gov", "us"))
series = st.lists(names, min_size=1, max_size=3).map(lambda found: ".".join((*found, "us")))
days = st.tuples(st.integers(1994, 1999), st.integers(1, 12), st.integers(1, 28))


@st.composite
def scopes(draw: st.DrawFn) -> str:
    """A scope of PDIs of a few similar series."""
    name = draw(series)
    year, month, day = draw(days)
    full = f"pdi://{name}/{year}/{month:02}/{day:02}/"
    return draw(
        st.sampled_from(
            (
                "*",
                f"*.{name}",
                name,
                f"pdi://{name}/{year}/",
                f"pdi://{name}/{year}/{month:02}/",
                full,
                f"pdi://{name}/{year}/*/{day:02}/*",
                f"pdi://{name}/*/{month:02}/*/*",
            )
        )
    )


@given(scopes(), scopes())
def test_law_the_narrower_scope_is_more_specific(one: str, other: str) -> None:
    """ "the most specific rule wins": a scope inside another one, and not equal to it, wins."""
    first, second = read_subject(one), read_subject(other)
    if is_within(first.about, second.about) and not is_within(second.about, first.about):
        assert first.specificity > second.specificity


@given(scopes(), series, days, st.integers(1, 99))
def test_law_every_document_is_more_specific_than_its_scopes(
    scope: str, name: str, day: tuple[int, int, int], number: int
) -> None:
    year, month, date = day
    text = f"pdi://{name}/{year}/{month:02}/{date:02}/{number}"
    document = read_subject(text)
    found = read_subject(scope)
    identifier = parse(text)
    if found.covers(make_object(identifier), identifier.key):
        assert found.specificity < document.specificity


def make_rule(**fields: Any) -> ReadingRule:
    return ReadingRule(**({"about": DOCUMENT, "access": Access.CLOSED} | fields))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"until": "2027-02-30"}, MalformedDay),
        ({"until": "soon"}, MalformedDay),
        ({"until": "2027-01-01T00:00:00Z"}, MalformedDay),
        ({"networks": ("10.0.0.1/8",)}, MalformedNetwork),
        ({"networks": ("here",)}, MalformedNetwork),
        ({"reason": "x" * 1001}, ReasonTooLong),
        ({"access": Access.OPEN, "by_token": True}, PointlessCondition),
        ({"access": Access.UNAVAILABLE, "until": "2027-01-01"}, PointlessCondition),
        ({"access": Access.OPEN, "networks": ("10.0.0.0/8",)}, PointlessCondition),
    ],
)
def test_rules_that_are_refused(fields: dict[str, Any], error: type[InvalidRequest]) -> None:
    with pytest.raises(error):
        check_rule(make_rule(**fields))


def test_a_rule_is_stored_under_the_canonical_name() -> None:
    rule = make_rule(about="pdi://OMA.EOP.GOV.US/1997/09/01/1", until="2027-01-01", by_token=True)
    assert check_rule(rule).about == DOCUMENT
