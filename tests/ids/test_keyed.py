"""Equality, hash and order of identifiers are those of their keys, in every scheme."""

from __future__ import annotations

import pytest

from perdure.ids import parse

PAIRS = [
    ("pdi://a.example.us/2026/11/21/2", "pdi://a.example.us/2026/11/21/10"),
    ("ark:/99999/a", "ark:/99999/b"),
    ("hdl:1/a", "hdl:1/b"),
    ("urn:isbn:9780141036144", "urn:isbn:9780306406157"),
    ("URN:IANA:42117::a:::", "URN:IANA:42117::b:::"),
    ("pwid:a.org:2016-01-22T11.20.29Z:page:http://a.dk", "pwid:b.org:2016:page:http://a.dk"),
]

EACH = pytest.mark.parametrize(
    "text", [first for first, _ in PAIRS], ids=lambda text: text.partition(":")[0]
)


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda text: text.partition(":")[0])
def test_identifiers_sort_as_their_keys_do(first: str, second: str) -> None:
    one, two = parse(first), parse(second)
    assert one == parse(first)
    assert hash(one) == hash(parse(first))
    assert one != two
    assert (one < two) is (one.key < two.key) is (two > one)  # type: ignore[operator]
    assert (one <= two) is (one.key <= two.key) is (two >= one)  # type: ignore[operator]
    assert one <= parse(first)  # type: ignore[operator]
    assert one >= parse(first)  # type: ignore[operator]
    assert not one < parse(first)  # type: ignore[operator]
    assert not one > parse(first)  # type: ignore[operator]


@pytest.mark.parametrize(
    "text", [first for first, _ in PAIRS], ids=lambda one: one.partition(":")[0]
)
def test_an_identifier_equals_nothing_of_another_kind(text: str) -> None:
    one = parse(text)
    other = next(parse(first) for first, _ in PAIRS if type(parse(first)) is not type(one))
    assert one != other
    for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
        assert getattr(one, compare)(text) is NotImplemented


@pytest.mark.parametrize(
    "text", [first for first, _ in PAIRS], ids=lambda one: one.partition(":")[0]
)
def test_an_identifier_is_made_again_of_its_key(text: str) -> None:
    one = parse(text)
    assert type(one).from_key(one.key) == one
    assert one.whole == one
    assert one.urn
