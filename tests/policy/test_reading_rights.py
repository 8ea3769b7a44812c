"""Reading rights: who reads what, when, by which of several rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import Embargoed, Forbidden, LegallyUnavailable, PerdureError, Unauthenticated
from perdure.errors.credentials import (
    ReadingNeedsToken,
    ReadingNotAllowed,
    ReadingOnPremises,
    TokenExpired,
)
from perdure.ids import parse
from perdure.model.queries import PUBLIC_READER, Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import LOCAL, Token
from perdure.policy.reading_rights import (
    PartRelation,
    ReadObject,
    check_reading,
    choose_rule,
    is_in_networks,
    make_read_object,
)
from perdure.policy.reading_rules import read_subject

NOW = "2026-11-21T12:00:00Z"
DOCUMENT = "pdi://oma.eop.gov.us/1997/09/01/1"
SECOND = f"{DOCUMENT}.text.2"
NETWORK = ("10.1.0.0/16", "2001:db8::/32")
TOKEN = Token(name="ann", digest="0" * 64, operations=("read",), authorities=("oma.eop.gov.us",))
ANN = Reader(name="ann", tokens=(TOKEN,))
WRITER = Reader(
    name="bob",
    tokens=(Token(name="bob", digest="1" * 64, operations=("mint",), authorities=("*",)),),
)
STRANGER = Reader(
    name="eve",
    tokens=(Token(name="eve", digest="2" * 64, operations=("read",), authorities=("a.us",)),),
)
LATE = Reader(
    name="old",
    tokens=(
        Token(
            name="old",
            digest="3" * 64,
            operations=("read",),
            authorities=("*",),
            expires="2026-11-21T11:59:59Z",
        ),
    ),
)
INSIDE = Reader(address="10.1.2.3")
OUTSIDE = Reader(address="10.2.2.3")
OWNER = Reader(name=LOCAL)


def make_rule(about: str = DOCUMENT, /, **fields: Any) -> ReadingRule:
    return ReadingRule(**({"about": about, "access": Access.CLOSED} | fields))


def want(text: str) -> ReadObject:
    return make_read_object(parse(text))


def find_error(
    rules: list[ReadingRule], text: str, reader: Reader = PUBLIC_READER, **options: Any
) -> type[PerdureError] | None:
    try:
        check_reading(rules, want(text), reader, options.pop("now", NOW), **options)
    except PerdureError as error:
        str(error)
        return type(error)
    return None


@pytest.mark.parametrize(
    ("fields", "reader", "error"),
    [
        ({}, PUBLIC_READER, ReadingNotAllowed),
        ({}, ANN, ReadingNotAllowed),
        ({}, INSIDE, ReadingNotAllowed),
        ({}, OWNER, None),
        ({"access": Access.OPEN}, PUBLIC_READER, None),
        ({"access": Access.UNAVAILABLE}, PUBLIC_READER, LegallyUnavailable),
        ({"access": Access.UNAVAILABLE}, ANN, LegallyUnavailable),
        ({"access": Access.UNAVAILABLE}, OWNER, None),
        ({"until": "2026-11-22"}, PUBLIC_READER, Embargoed),
        ({"until": "2026-11-22"}, ANN, Embargoed),
        ({"until": "2026-11-21"}, PUBLIC_READER, None),
        ({"until": "2026-11-22", "by_token": True}, PUBLIC_READER, Embargoed),
        ({"until": "2026-11-22", "by_token": True}, ANN, None),
        ({"until": "2026-11-22", "networks": NETWORK}, INSIDE, None),
        ({"until": "2026-11-22", "networks": NETWORK}, OUTSIDE, Embargoed),
        ({"by_token": True}, PUBLIC_READER, ReadingNeedsToken),
        ({"by_token": True}, ANN, None),
        ({"by_token": True}, WRITER, ReadingNotAllowed),
        ({"by_token": True}, STRANGER, ReadingNotAllowed),
        ({"by_token": True}, LATE, TokenExpired),
        ({"networks": NETWORK}, INSIDE, None),
        ({"networks": NETWORK}, OUTSIDE, ReadingOnPremises),
        ({"networks": NETWORK}, PUBLIC_READER, ReadingOnPremises),
        ({"networks": NETWORK, "by_token": True}, INSIDE, None),
        ({"networks": NETWORK, "by_token": True}, OUTSIDE, ReadingNeedsToken),
        ({"networks": NETWORK, "by_token": True}, ANN, None),
    ],
)
def test_who_reads_a_document(
    fields: dict[str, Any], reader: Reader, error: type[PerdureError] | None
) -> None:
    assert find_error([make_rule(**fields)], SECOND, reader) is error


@pytest.mark.parametrize(
    ("rules", "text", "is_open"),
    [
        # an open version of a closed document, and the reverse
        ([(DOCUMENT, "closed"), (f"{DOCUMENT}.*.2", "open")], SECOND, True),
        ([(DOCUMENT, "closed"), (f"{DOCUMENT}.*.2", "open")], f"{DOCUMENT}.text.1", False),
        ([(DOCUMENT, "open"), (f"{DOCUMENT}.*.2", "closed")], SECOND, False),
        ([(f"{DOCUMENT}.*.2", "closed")], DOCUMENT, True),
        # a scope, and an exception to it
        ([("oma.eop.gov.us", "closed")], SECOND, False),
        ([("gpo.gov.us", "closed")], SECOND, True),
        ([("*", "closed"), ("pdi://oma.eop.gov.us/1997/09/", "open")], SECOND, True),
        ([("*", "closed"), ("pdi://oma.eop.gov.us/1997/08/", "open")], SECOND, False),
        ([(DOCUMENT, "open"), ("oma.eop.gov.us", "closed")], SECOND, True),
        # formats
        ([(f"{DOCUMENT}.html", "closed")], f"{DOCUMENT}.html.3", False),
        ([(f"{DOCUMENT}.html", "closed")], SECOND, True),
        # an open part of a closed document
        ([(DOCUMENT, "closed"), (f"{SECOND}#char=3,7", "open")], f"{SECOND}#char=3,7", True),
        ([(DOCUMENT, "closed"), (f"{SECOND}#char=3,7", "open")], f"{SECOND}#char=3,8", False),
        ([(DOCUMENT, "closed"), (f"{SECOND}#char=3,7", "open")], SECOND, False),
        # a closed part of an open document
        ([(f"{SECOND}#char=3,7", "closed")], f"{SECOND}#char=3,7", False),
        ([(f"{SECOND}#char=3,7", "closed")], SECOND, False),
        ([(f"{SECOND}#char=3,7", "closed")], f"{SECOND}#byte=0,2", False),
        ([(f"{SECOND}#char=3,7", "closed")], DOCUMENT, False),
        ([(f"{SECOND}#char=3,7", "closed")], f"{DOCUMENT}.text.1", True),
        ([(f"{SECOND}#char=3,7", "closed")], f"{DOCUMENT}.html.2", True),
        ([(f"{DOCUMENT}#char=3,7", "closed")], SECOND, False),
    ],
)
def test_levels_of_a_document(rules: list[tuple[str, str]], text: str, *, is_open: bool) -> None:
    """ "A part of a closed document can be open and the reverse."."""
    found = [
        make_rule(about, access=Access(access), number=at)
        for at, (about, access) in enumerate(rules)
    ]
    assert (find_error(found, text) is None) is is_open
    assert (find_error(found[::-1], text) is None) is is_open


def test_what_is_said_of_a_document_with_a_closed_part() -> None:
    rules = [make_rule(f"{SECOND}#char=3,7")]
    assert find_error(rules, SECOND, with_bytes=False) is None
    assert find_error(rules, f"{SECOND}#char=3,7", with_bytes=False) is ReadingNotAllowed


def relate_ranges(one: str, other: str) -> PartRelation:
    """Compare two ranges of characters."""
    (start, end), (low, high) = (
        tuple(map(int, text.removeprefix("char=").split(","))) for text in (one, other)
    )
    if (start, end) == (low, high):
        return PartRelation.SAME
    if end <= low or high <= start:
        return PartRelation.APART
    if low <= start and end <= high:
        return PartRelation.INSIDE
    if start <= low and high <= end:
        return PartRelation.AROUND
    return PartRelation.UNKNOWN


@pytest.mark.parametrize(
    ("part", "is_open"),
    [
        ("char=0,10", True),
        ("char=5,25", False),
        ("char=20,30", False),
        ("char=22,24", True),
        ("char=20,25", False),
        ("char=30,40", True),
    ],
)
def test_parts_in_parts(part: str, *, is_open: bool) -> None:
    rules = [
        make_rule(f"{SECOND}#char=20,30", number=3),
        make_rule(f"{SECOND}#char=22,24", access=Access.OPEN, number=1),
    ]
    found = find_error(rules, f"{SECOND}#{part}", relate=relate_ranges)
    assert (found is None) is is_open


accesses: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    (
        {"access": Access.OPEN},
        {"access": Access.UNAVAILABLE},
        {},
        {"by_token": True},
        {"networks": NETWORK},
        {"until": "2026-11-22"},
        {"until": "2026-11-21"},
    )
)
abouts = st.sampled_from(
    (
        "*",
        "*.gov.us",
        "oma.eop.gov.us",
        "a.us",
        "pdi://oma.eop.gov.us/1997/",
        "pdi://oma.eop.gov.us/1997/09/01/",
        DOCUMENT,
        "pdi://oma.eop.gov.us/1997/09/01/2",
        f"{DOCUMENT}.*.2",
        f"{DOCUMENT}.text",
        SECOND,
        f"{SECOND}#char=20,30",
        f"{SECOND}#char=22,24",
    )
)
rule_lists = st.lists(st.tuples(abouts, accesses), max_size=8).map(
    lambda found: [
        make_rule(about, **fields, number=at) for at, (about, fields) in enumerate(found)
    ]
)
wanted = st.sampled_from(
    (DOCUMENT, SECOND, f"{DOCUMENT}.html.1", f"{SECOND}#char=21,30", f"{SECOND}#char=0,9")
).map(want)
readers = st.sampled_from((PUBLIC_READER, ANN, WRITER, STRANGER, INSIDE, OUTSIDE))


@given(rule_lists, wanted)
def test_law_the_most_specific_rule_wins_then_the_newest(
    rules: list[ReadingRule], thing: ReadObject
) -> None:
    """ "the most specific rule wins, then the newest"."""
    found = choose_rule(rules, thing, relate_ranges)
    if found is None:
        return
    own = read_subject(found.about)
    for rule in rules:
        if choose_rule([rule], thing, relate_ranges) is None:
            continue  # it is not about all that is wanted
        other = read_subject(rule.about)
        assert other.specificity <= own.specificity
        if other == own:
            assert rule.number <= found.number


@given(rule_lists, wanted, readers, st.randoms(use_true_random=False))
def test_law_the_order_of_the_list_does_not_matter(
    rules: list[ReadingRule], thing: ReadObject, reader: Reader, random: Any
) -> None:
    shuffled = list(rules)
    random.shuffle(shuffled)
    assert choose_rule(rules, thing, relate_ranges) == choose_rule(shuffled, thing, relate_ranges)
    assert is_readable(rules, thing, reader) == is_readable(shuffled, thing, reader)


def is_readable(rules: list[ReadingRule], thing: ReadObject, reader: Reader) -> bool:
    try:
        check_reading(rules, thing, reader, NOW, relate=relate_ranges)
    except (Forbidden, Unauthenticated):
        return False
    return True


@given(rule_lists, wanted, readers)
def test_law_knowing_less_of_parts_opens_nothing(
    rules: list[ReadingRule], thing: ReadObject, reader: Reader
) -> None:
    """Parts that cannot be compared may overlap."""
    closed = [rule for rule in rules if rule.access is not Access.OPEN]
    try:
        check_reading(closed, thing, reader, NOW)
    except (Forbidden, Unauthenticated):
        return
    assert is_readable(closed, thing, reader)


@given(rule_lists, wanted)
def test_law_a_person_on_the_machine_reads_everything(
    rules: list[ReadingRule], thing: ReadObject
) -> None:
    assert is_readable(rules, thing, OWNER)


@given(wanted, readers)
def test_law_without_a_rule_everyone_may_read(thing: ReadObject, reader: Reader) -> None:
    assert is_readable([], thing, reader)


@given(rule_lists, wanted, readers)
def test_law_a_lifted_rule_decides_nothing(
    rules: list[ReadingRule], thing: ReadObject, reader: Reader
) -> None:
    lifted = [
        ReadingRule(about=rule.about, access=rule.access, lifted=True, number=rule.number)
        for rule in rules
    ]
    assert is_readable(lifted, thing, reader)


@pytest.mark.parametrize(
    ("address", "is_in"),
    [
        ("10.1.0.0", True),
        ("10.2.0.0", False),
        ("::ffff:10.1.0.9", True),
        ("2001:db8::1", True),
        ("2001:db8::1%eth0", True),
        ("2001:db9::1", False),
        ("", False),
        ("unix:", False),
    ],
)
def test_networks(address: str, *, is_in: bool) -> None:
    assert is_in_networks(address, NETWORK) is is_in


def test_an_error_says_until_when_and_why() -> None:
    rule = make_rule(until="2030-01-01", reason="under review")
    with pytest.raises(Embargoed) as found:
        check_reading([rule], want(SECOND), PUBLIC_READER, NOW)
    assert (found.value.until, found.value.stated) == ("2030-01-01", "under review")
    assert "until 2030-01-01" in str(found.value)
