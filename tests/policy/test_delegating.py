"""The choice among delegations: the most specific one, then the newest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.delegations import HeldDelegation, make_delegation, read_resolver
from perdure.policy.delegating import (
    DelegationIndex,
    choose_for_reading,
    choose_for_writing,
    choose_hand_over,
    list_replaced,
    may_overlap,
)

DAY = "2026-11-24"
SETS = [
    "pdi://gov.us/",
    "pdi://eop.gov.us/",
    "pdi://oma.eop.gov.us/",
    "pdi://oma.eop.gov.us/1993/",
    "pdi://oma.eop.gov.us/1993/01/",
    "pdi://oma.eop.gov.us/1993/01/20/1",
    "pdi://oma.eop.gov.us/*/01/20/*",
    "hdl:4263537/",
    "hdl:4263537/4*",
    "ark:12148/",
    "ark:12148/b5*",
    "urn:isbn:",
]
NAMES = [
    "pdi://oma.eop.gov.us/1993/01/20/1",
    "pdi://oma.eop.gov.us/1993/02/20/1.text.1",
    "pdi://press.oma.eop.gov.us/1993/01/20/1",
    "pdi://oma.eop.gov.us/1993/",
    "pdi://x.gov.us/2000/01/01/1",
    "hdl:4263537/4000",
    "hdl:4263537/5",
    "ark:/12148/b51",
    "urn:isbn:0451450523",
]


def hold(order: int, names: str, ended: str = "", **terms: Any) -> HeldDelegation:
    return HeldDelegation(
        identifier=parse(f"pdi://oma.eop.gov.us/2026/11/24/{order + 1}.jsonld.1"),
        delegation=make_delegation(
            read_set(names), (read_resolver(f"https://r{order}.example"),), **terms
        ),
        by="local",
        at="2026-11-24T10:00:00Z",
        order=order,
        ended=ended,
    )


def choose(name: str, *held: HeldDelegation) -> list[int]:
    return [one.order for one in DelegationIndex(held).list_covering(parse(name), DAY)]


@pytest.mark.parametrize(
    ("name", "sets", "order"),
    [
        ("pdi://oma.eop.gov.us/1993/01/20/1", SETS, [5, 4, 3, 6, 2]),
        ("hdl:4263537/4000", SETS, [8, 7]),
        ("ark:12148/b51", SETS, [10, 9]),
        ("urn:isbn:0451450523", SETS, [11]),
        ("hdl:1839/1", SETS, []),
    ],
)
def test_the_most_specific_delegation_is_first(
    name: str, sets: list[str], order: list[int]
) -> None:
    """ "most specific series, then shortest interval, then newest" """
    assert choose(name, *(hold(at, one) for at, one in enumerate(sets))) == order


def test_of_equals_the_newest_is_first() -> None:
    same = [hold(at, "pdi://oma.eop.gov.us/1993/") for at in range(3)]
    assert choose("pdi://oma.eop.gov.us/1993/01/20/1", *same) == [2, 1, 0]


def test_a_series_precedes_those_above_it_and_days_narrow_it() -> None:
    above = hold(0, "pdi://eop.gov.us/", has_subseries=True)
    here = hold(1, "pdi://oma.eop.gov.us/")
    days = hold(2, "pdi://oma.eop.gov.us/", first_day="1993-01-20", last_day="2001-01-19")
    assert choose("pdi://oma.eop.gov.us/1995/01/20/1", above, here, days) == [2, 1, 0]
    assert choose("pdi://oma.eop.gov.us/2005/01/20/1", above, here, days) == [1, 0]
    assert choose("pdi://press.oma.eop.gov.us/1995/01/20/1", above, here, days) == [0]


def test_only_delegations_in_force_are_found() -> None:
    later = hold(0, "pdi://oma.eop.gov.us/", effective="2027-01-20")
    ended = hold(1, "pdi://oma.eop.gov.us/", ended=DAY)
    assert choose("pdi://oma.eop.gov.us/1993/01/20/1", later, ended) == []


_some = st.lists(
    st.builds(
        lambda names, below: (names, below and names.startswith("pdi") and names.endswith("/")),
        st.sampled_from(SETS),
        st.booleans(),
    ),
    max_size=8,
)


@given(_some, st.sampled_from(NAMES))
def test_the_index_finds_every_delegation_that_covers_a_name(
    some: list[tuple[str, bool]], name: str
) -> None:
    """ "a delegation that covers a name is found" """
    held = [hold(at, one, has_subseries=below) for at, (one, below) in enumerate(some)]
    covering = {one.order for one in held if one.delegation.covers(parse(name))}
    assert set(choose(name, *held)) == covering


@given(_some, st.sampled_from(NAMES), st.sampled_from(SETS))
def test_a_set_that_contains_a_delegated_name_is_touched(
    some: list[tuple[str, bool]], name: str, names: str
) -> None:
    asked = read_set(names)
    if not asked.contains(parse(name)):
        return
    for at, (one, below) in enumerate(some):
        held = hold(at, one, has_subseries=below)
        if held.delegation.covers(parse(name)):
            assert may_overlap(held.delegation, asked)


def test_sets_that_share_no_name_are_not_touched() -> None:
    held = [hold(at, one) for at, one in enumerate(SETS)]
    index = DelegationIndex(held)
    touched = [one.order for one in index.list_touching(read_set("hdl:4263537/5*"), DAY)]
    assert touched == [7]
    assert not may_overlap(held[3].delegation, read_set("pdi://oma.eop.gov.us/1994/"))
    assert not may_overlap(held[3].delegation, read_set("pdi://press.oma.eop.gov.us/1993/"))
    assert may_overlap(hold(0, SETS[1], has_subseries=True).delegation, read_set(SETS[4]))


def test_readers_prefer_resolvers_and_writers_need_an_authority() -> None:
    mirror, resolver = hold(2, SETS[2], role="mirror"), hold(1, SETS[2])
    authority = hold(0, SETS[2], role="authority")
    assert choose_for_reading([mirror, resolver]) == resolver
    assert choose_for_reading([mirror]) == mirror
    assert choose_for_reading([]) is None
    assert choose_for_writing([mirror, resolver, authority]) == authority
    assert choose_for_writing([mirror, resolver]) is None


def test_only_a_successor_precedes_what_is_here() -> None:
    """ "a record that is here wins; … after a hand-over the delegation does" """
    successor, resolver = hold(0, SETS[2], role="successor"), hold(1, SETS[2])
    assert choose_hand_over([successor, resolver]) == successor
    assert choose_hand_over([resolver, successor]) is None
    assert choose_hand_over([]) is None
    assert DelegationIndex([successor]).has_hand_overs
    assert not DelegationIndex([resolver]).has_hand_overs


def test_the_newest_for_the_same_names_replaces_the_older_ones() -> None:
    """ "the newest for an interval holds" """
    old, other, new = hold(0, SETS[3]), hold(1, SETS[4]), hold(2, SETS[3])
    mirror, later = hold(3, SETS[3], role="mirror"), hold(4, SETS[3], effective="2030-01-01")
    assert list_replaced([old, other, new, mirror, later], DAY) == {old.identifier: new.identifier}
