"""Delegations: reading, writing and covering, without a registry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import PerdureError
from perdure.errors.delegations import DelegationMalformed
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.assertions import CONTEXT, DELEGATES, read_assertion
from perdure.model.delegations import (
    HOWS,
    KINDS,
    ROLES,
    Delegation,
    HeldDelegation,
    Revocation,
    make_delegation,
    read_delegation,
    read_resolver,
    write_delegation,
    write_revocation,
)

ARCHIVES = "https://resolver.archives.example/"
SERIES = "pdi://press.oma.eop.gov.us/"


def delegation(names: str = f"{SERIES}1993/", **terms: Any) -> Delegation:
    return make_delegation(read_set(names), (read_resolver(ARCHIVES),), **terms)


def document(**changes: Any) -> bytes:
    """A delegation as another program may write it, with the fields in `changes`."""
    body = {"type": "pd:Delegation", "pd:resolver": {"id": ARCHIVES}}
    plain = {
        "@context": [CONTEXT, {"pd": "urn:perdure:delegation#"}],
        "type": "Annotation",
        "motivation": DELEGATES,
        "target": SERIES,
        "body": body | changes.pop("body", {}),
    }
    return json.dumps(plain | changes).encode()


@pytest.mark.parametrize(
    "names",
    [
        SERIES,
        f"{SERIES}1993/",
        f"{SERIES}1993/01/20/",
        f"{SERIES}1997/*/01/*",
        f"{SERIES}1993/01/20/1",
        "ark:/12148/b5*",
        "ark:12148/",
        "hdl:4263537/",
        "doi:10.1000/*",
        "urn:isbn:",
        "URN:IANA:42117::*",
    ],
)
def test_every_set_of_names_can_be_delegated_and_reads_back(names: str) -> None:
    """ "of a series, subseries (to the left), interval, ARK shoulder, Handle prefix, naming
    authority" """
    made = delegation(names)
    assert read_delegation(read_assertion(write_delegation(made))) == made


_days = st.sampled_from(["", "1993-01-20", "2001-01-20"])


@given(
    role=st.sampled_from(ROLES),
    how=st.sampled_from(HOWS),
    below=st.booleans(),
    first=_days,
    effective=_days,
    reason=st.text(max_size=50),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
)
def test_what_is_written_reads_back(
    role: str, how: str, below: bool, first: str, effective: str, reason: str, kinds: list[str]
) -> None:
    """ "What it writes reads back as the same delegation." """
    resolvers = tuple(
        read_resolver(f"https://{at}.example/a", kind=kind, priority=at)
        for at, kind in enumerate(kinds)
    )
    made = make_delegation(
        read_set(SERIES),
        resolvers,
        role=role,
        how=how,
        has_subseries=below,
        first_day=first,
        effective=effective,
        reason=reason,
    )
    assert read_delegation(read_assertion(write_delegation(made))) == made


def test_a_revocation_reads_back() -> None:
    ended = Revocation(
        delegation=parse(f"{SERIES}2026/11/24/1.jsonld.1"), effective="2027-01-01", reason="moved"
    )
    assert read_delegation(read_assertion(write_revocation(ended))) == ended
    later = Revocation(delegation=ended.delegation, first_day="1993-07-01")
    assert read_delegation(read_assertion(write_revocation(later))) == later


@pytest.mark.parametrize(
    ("names", "terms", "first_day", "last_day"),
    [
        (SERIES, {}, "1993-07-01", "1993-06-30"),
        (f"{SERIES}1993/", {}, "1993-01-02", "1993-01-01"),
        (f"{SERIES}1993/", {}, "1993-12-31", "1993-12-30"),
        (SERIES, {"first_day": "1993-01-20", "last_day": "2001-01-19"}, "2000-03-01", "2000-02-29"),
        (SERIES, {"last_day": "2001-01-19"}, "2001-01-20", None),
        (SERIES, {}, "0001-01-01", None),
        (SERIES, {"first_day": "1993-01-20"}, "1993-01-20", None),
        (f"{SERIES}1993/", {}, "1994-01-01", None),
        (f"{SERIES}1993/", {}, "1993-01-01", None),
        ("hdl:1839/*", {}, "1993-01-01", None),
    ],
)
def test_a_delegation_loses_the_names_from_a_date_on(
    names: str, terms: dict[str, str], first_day: str, last_day: str | None
) -> None:
    made = delegation(names, **terms)
    if last_day is None:
        with pytest.raises(DelegationMalformed) as caught:
            made.narrow_days(first_day)
        assert caught.value.place == "first-day"
    else:
        assert made.narrow_days(first_day) == delegation(names, **(terms | {"last_day": last_day}))


@pytest.mark.parametrize(
    ("names", "terms", "covered", "others"),
    [
        (SERIES, {}, [f"{SERIES}1993/01/20/1", SERIES], ["pdi://a.press.oma.eop.gov.us/1993/"]),
        (
            f"{SERIES}1993/",
            {},
            [f"{SERIES}1993/01/20/1.text.1", f"{SERIES}1993/02/"],
            [f"{SERIES}1994/01/20/1", SERIES, "hdl:1839/1"],
        ),
        (
            SERIES,
            {"first_day": "1993-01-20", "last_day": "2001-01-19"},
            [f"{SERIES}1993/01/20/1", f"{SERIES}2001/01/19/9", f"{SERIES}1999/"],
            [f"{SERIES}1993/01/19/1", f"{SERIES}2001/01/20/1", f"{SERIES}2001/01/", SERIES],
        ),
        (
            "pdi://eop.gov.us/1993/",
            {"has_subseries": True},
            [f"{SERIES}1993/01/20/1", "pdi://eop.gov.us/1993/05/", "pdi://oma.eop.gov.us/1993/"],
            [f"{SERIES}1994/01/20/1", "pdi://xeop.gov.us/1993/01/20/1", "hdl:1839/1"],
        ),
        ("ark:12148/b5", {}, ["ark:12148/b5"], ["ark:12148/b51"]),
        ("ark:12148/b5*", {}, ["ark:/12148/b51", "ark:12148/b5"], ["ark:12148/c5"]),
        ("hdl:4263537/", {}, ["hdl:4263537/4000"], ["hdl:42635/1"]),
        ("urn:isbn:", {}, ["urn:isbn:0451450523"], ["urn:issn:0167-6423"]),
    ],
)
def test_a_delegation_covers_exactly_its_names(
    names: str, terms: dict[str, Any], covered: list[str], others: list[str]
) -> None:
    made = delegation(names, **terms)
    assert [one for one in covered if not made.covers(parse(one))] == []
    assert [one for one in others if made.covers(parse(one))] == []


@pytest.mark.parametrize(
    ("terms", "place"),
    [
        ({"role": "king"}, "role"),
        ({"how": "shout"}, "how"),
        ({"first_day": "1993"}, "first-day"),
        ({"last_day": "1993-02-30"}, "last-day"),
        ({"effective": "tomorrow"}, "effective"),
        ({"first_day": "2001-01-20", "last_day": "1993-01-20"}, "last-day"),
        ({"reason": "x" * 2001}, "reason"),
    ],
)
def test_terms_that_nobody_can_meet_are_refused(terms: dict[str, str], place: str) -> None:
    with pytest.raises(DelegationMalformed) as caught:
        delegation(SERIES, **terms)
    assert caught.value.place == place
    assert str(caught.value)


@pytest.mark.parametrize(
    ("names", "terms"),
    [
        (f"{SERIES}1993/01/20/1.text.1", {}),
        (f"{SERIES}1993/01/20/1.text.1#char=1,2", {}),
        (f"{SERIES}1993/01/20/1", {"has_subseries": True}),
        ("hdl:4263537/", {"has_subseries": True}),
        ("hdl:4263537/", {"first_day": "1993-01-20"}),
    ],
)
def test_what_is_no_set_of_whole_names_is_not_delegated(names: str, terms: dict[str, Any]) -> None:
    with pytest.raises(DelegationMalformed) as caught:
        delegation(names, **terms)
    assert caught.value.place == "names"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/",
        "https://user@a.example/",
        "https://a.example/?q",
        "https://a.example/#f",
        "https:///x",
        "a.example",
        "https://a.example/\r\nX: y",
        "https://a.example/" + "x" * 2048,
        "javascript:alert(1)",
        'https://a.example/"><script>',
    ],
)
def test_a_resolver_is_a_plain_web_address(url: str) -> None:
    with pytest.raises(DelegationMalformed):
        read_resolver(url)


@pytest.mark.parametrize("url", ["http://[2001:db8::1]:8080", "http://a.example:8080/b/c"])
def test_a_resolver_may_have_a_port_and_a_path(url: str) -> None:
    assert read_resolver(url).base == f"{url}/"


def test_resolvers_are_limited_and_in_the_order_of_their_priorities() -> None:
    first, second = read_resolver("https://b.example"), read_resolver("https://a.example")
    last = read_resolver("https://c.example", priority=20)
    made = make_delegation(read_set(SERIES), (last, first, second))
    assert [one.base[8] for one in made.resolvers] == ["a", "b", "c"]
    for some in ((), (first,) * 17):
        with pytest.raises(DelegationMalformed):
            make_delegation(read_set(SERIES), some)
    for terms in ({"priority": -1}, {"weight": 65_536}, {"kind": "gopher"}):
        with pytest.raises(DelegationMalformed):
            read_resolver("https://a.example", **terms)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"motivation": "commenting"}, "motivation"),
        ({"target": [SERIES, "hdl:1839/1"]}, "target"),
        ({"target": "https://example.org/"}, "target"),
        ({"body": {"type": "TextualBody"}}, "body.type"),
        ({"body": {"pd:resolver": ARCHIVES}}, "resolver"),
        ({"body": {"pd:resolver": {"id": ARCHIVES, "pd:priority": "1"}}}, "resolver"),
        ({"body": {"pd:resolver": []}}, "resolver"),
        ({"body": {"pd:reason": 1}}, "reason"),
        ({"body": {"type": "pd:Revocation"}, "target": "https://example.org/"}, "target"),
        (
            {
                "body": {"type": "pd:Revocation", "pd:effective": "soon"},
                "target": f"{SERIES}2026/11/24/1.jsonld.1",
            },
            "effective",
        ),
        (
            {
                "body": {
                    "type": "pd:Revocation",
                    "pd:effective": "2027-01-01",
                    "pd:firstDay": "1993-07-01",
                },
                "target": f"{SERIES}2026/11/24/1.jsonld.1",
            },
            "effective",
        ),
    ],
)
def test_a_document_that_says_something_else_is_refused(
    changes: dict[str, Any], place: str
) -> None:
    with pytest.raises(DelegationMalformed) as caught:
        read_delegation(read_assertion(document(**changes)))
    assert caught.value.place == place


def test_a_document_of_another_program_needs_only_a_resolver() -> None:
    found = read_delegation(read_assertion(document()))
    assert isinstance(found, Delegation)
    assert (found.role, found.how, found.resolvers[0].kind) == ("resolver", "redirect", "http")
    with pytest.raises(DelegationMalformed):
        read_delegation(read_assertion(document().replace(b'"body": {', b'"bodyless": {')))


def test_other_vocabularies_stay_unknown() -> None:
    wrong = document().replace(b"urn:perdure:delegation#", b"urn:else:delegation#")
    with pytest.raises(PerdureError):
        read_assertion(wrong)


def test_a_delegation_holds_from_its_day_until_it_is_ended() -> None:
    name = parse(f"{SERIES}2026/11/24/1.jsonld.1")
    held = HeldDelegation(
        identifier=name,
        delegation=delegation(effective="2001-01-20"),
        by="local",
        at="2000-12-01T00:00:00Z",
        ended="2002-01-01",
    )
    days = ["2001-01-19", "2001-01-20", "2001-12-31", "2002-01-01"]
    assert [held.is_in_force(day) for day in days] == [False, True, True, False]
    at_once = HeldDelegation(identifier=name, delegation=delegation(), by="x", at="2000-12-01T0")
    assert at_once.effective == "2000-12-01"
    assert at_once.is_in_force("2030-01-01")
