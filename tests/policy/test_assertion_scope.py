"""How an assertion about one name is about another one: examples of each relation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier
from perdure.ids import parse
from perdure.policy.assertion_scope import (
    find_scope,
    find_scope_of_alias,
    find_scope_of_parts,
    make_relation_test,
)
from perdure.policy.reading_rights import PartRelation

SERIES = "pdi://oma.eop.gov.us/"
DAY = f"{SERIES}1994/03/21/"


@pytest.mark.parametrize(
    ("about", "asked", "scope"),
    [
        ("1.text.1", "1.text.1", "same"),
        ("1.text.1#char=3,5", "1.text.1#char=3,5", "same"),
        ("1.text.1", "1", "part"),
        ("1.text.1#char=3,5", "1", "part"),
        ("1.text.1#char=3,5", "1.text.1", "part"),
        ("1.text.1#char=3,5", "1.text.1#char=0,9", "part"),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,2", "1.text.1", "part"),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5", "1.text.1#char=7,11", "same"),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5", "1.text.1#char=5,90", "part"),
        (
            "1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5",
            "1.text.1#char=0,8",
            "overlapping",
        ),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5", "1.text.1#char=8,9", "whole"),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5", "1.text.1#char=0,7", None),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5", "1.text.1#char=11,20", None),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1", "1.text.1#char=0,9", "part"),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1", "1.text.1#char=8,9", None),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1", "1.text.2#char=0,9", None),
        ("1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1", "1.text.1#byte=0,9", None),
        (
            "1.text.1@7=pdi://a.us/1994/03/21/2.text.1@9=pdi://a.us/1994/03/21/3.text.1#char=0,4",
            "1.text.1#char=0,11",
            "part",
        ),
        ("1.text.1#char=0,90", "1.text.1@7=pdi://a.b.us/1994/03/21/2.text.1#char=1,5", "whole"),
        (
            "1.png.1@(5,6)=pdi://a.us/1994/03/21/2.png.1#rect=(0,0),(4,4)",
            "1.png.1#rect=(0,0),(9,10)",
            "part",
        ),
        ("1.png.1@(5,6)=pdi://a.us/1994/03/21/2.png.1", "1.png.1#rect=(0,0),(5,5)", None),
        ("1.png.1@(5,6,2)=pdi://a.us/1994/03/21/2.png.1", "1.png.1#rect=(0,0),(9,9)", None),
        ("1.basic.1@3=pdi://a.us/1994/03/21/2.basic.1#sec=10,12", "1.basic.1#sec=0,5", "part"),
        ("1.basic.1@3=pdi://a.us/1994/03/21/2.basic.1", "1.basic.1#msec=3500,5000", "overlapping"),
        ("1.pdf.1@3=pdi://a.us/1994/03/21/2.text.1#char=1,2", "1.pdf.1#page=3", "same"),
        ("1.pdf.1@3=pdi://a.us/1994/03/21/2.text.1#char=1,2", "1.pdf.1#page=4", None),
        ("1.text.1#char=3,5", "1.text.1#char=4,9", "overlapping"),
        ("1.text.1#char=0,9", "1.text.1#char=4,6", "whole"),
        ("1.text.1", "1.text.1#char=4,6", "whole"),
        ("1", "1.text.1#char=4,6", "whole"),
        ("1.text#char=0,9", "1.text.1#char=4,6", "whole"),
        ("1.mpeg.1#sec=2,5", "1.mpeg.1#msec=2000,5000", "same"),
        ("1.text.1#char=3,5", "1.text.1#char=5,9", None),
        ("1.text.1#char=3,5", "1.text.2#char=3,5", None),
        ("1.text.1", "1.text.2", None),
        ("1.text.1", "1.html.1", None),
        ("1.text.1#char=3,5", "1.text.1#byte=3,5", None),
        ("1.html.1#name=a,b", "1.html.1#name=a,c", None),
        ("1.text.1#page=3", "1.text.1#char=3,4", None),
        ("1.pdf.1#page=a", "1.pdf.1#page=3", None),
        ("2", "1", None),
    ],
)
def test_scopes(about: str, asked: str, scope: str | None) -> None:
    assert find_scope(parse(DAY + about), parse(DAY + asked)) == scope


@pytest.mark.parametrize(
    ("about", "asked", "scope"),
    [
        ("7", "1", "same"),
        ("7", "1.text.1", "whole"),
        ("7", "1.text.1#char=3,5", "whole"),
        ("7.text.1#char=3,5", "1", "part"),
        ("7.text.1#char=3,5", "1.text.1", None),
        ("7.text.1#char=3,5", "1.text.1#char=3,5", None),
        ("8", "1", None),
    ],
)
def test_scopes_of_an_alias(about: str, asked: str, scope: str | None) -> None:
    alias = parse(f"{DAY}7")
    assert find_scope_of_alias(parse(DAY + about), parse(DAY + asked), alias) == scope


def test_a_set_that_an_alias_belongs_to_is_one_of_each_version() -> None:
    alias, series = parse("pdi://a.us/1994/03/21/7"), parse("pdi://a.us/")
    assert find_scope_of_alias(series, parse(f"{DAY}1.text.1"), alias) == "set"


@pytest.mark.parametrize(
    "about", ["", "1994/", "1994/03/", "1994/03/21/", "1994/*/21/1", "*/03/21/*"]
)
def test_a_set_is_about_its_members(about: str) -> None:
    member, pattern = parse(f"{DAY}1"), parse(SERIES + about)
    assert find_scope(pattern, member) == "set"
    assert find_scope(pattern, pattern) == "same"
    assert pattern.key in member.list_pattern_keys()


def test_the_keys_of_patterns_are_those_that_match() -> None:
    """ "the keys of all patterns that name this resource and others"."""
    keys = parse(f"{DAY}1").list_pattern_keys()
    assert len(keys) == len(set(keys)) == 4 + 15  # left prefixes, and each component or a wildcard
    assert parse(f"{SERIES}1994/").list_pattern_keys() == (parse(SERIES).key,)
    assert parse("hdl:1839/x").list_pattern_keys() == ()


_PARTS = st.builds("#{}={},{}".format, st.sampled_from(("char", "byte")), *[st.integers(0, 12)] * 2)
_NAMES = st.builds(
    "{}{}".format,
    st.sampled_from(("1.text.1", "1.text.2", "1.html.1", "1.text", "1.text.1@7=pdi://a.b.us/1")),
    st.one_of(st.just(""), _PARTS),
)


@given(_NAMES, _NAMES)
def test_a_relation_that_is_known_at_once_is_that_of_the_identifiers(
    about: str, asked: str
) -> None:
    """The test that reads no identifier finds the scope of those that are read."""
    try:
        target, requested = parse(DAY + about), parse(DAY + asked)
    except MalformedIdentifier:
        return
    relate = make_relation_test(requested)
    relation = PartRelation.UNKNOWN if relate is None else relate(str(target))
    if relation is not PartRelation.UNKNOWN:
        assert find_scope_of_parts(relation) == find_scope(target, requested)


@given(*[st.integers(0, 9)] * 2, *[st.integers(1, 9)] * 2)
def test_relations_of_ranges_of_one_document_are_known(
    first: int, second: int, length: int, other: int
) -> None:
    about = f"{DAY}1.text.1#char={first},{first + length}"
    asked = parse(f"{DAY}1.text.1#char={second},{second + other}")
    relate = make_relation_test(asked)
    assert relate is not None
    assert relate(about) is not PartRelation.UNKNOWN
    assert find_scope_of_parts(relate(about)) == find_scope(parse(about), asked)


@pytest.mark.parametrize("asked", ["1.text#char=3,9", "1.text.1#byte=3,9", "1.text.1"])
def test_only_ranges_of_characters_are_related_at_once(asked: str) -> None:
    assert make_relation_test(parse(DAY + asked)) is None
