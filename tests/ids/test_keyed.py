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


def test_a_name_of_another_scheme_names_one_whole_thing() -> None:
    """What a scheme does not say otherwise: no version, no part, no pattern, no date."""
    name = parse("urn:isbn:9780141036144")
    assert (name.whole, name.resource, name.at(format="text", version=3)) == (name,) * 3
    assert (name.format, name.version, name.part, name.fragment, name.cited) == (None,) * 5
    assert (name.assigned_on, name.archived, name.equal_key) == (None, None, None)
    assert not any((name.is_pattern, name.is_interval, name.is_divided, name.is_citation))
    assert name.written == name.urn == name.handle == name.file_stem == str(name)
    assert name.path == name.uri == "urn:isbn:9780141036144"
    assert name.key_range() == (name.key, f"{name.key}\0")
    assert name.matches(parse("URN:ISBN:9780141036144"))
    assert not name.matches(parse("urn:isbn:9780306406157"))
    assert name.next_key(name) is None
    assert name.member_of(name.key) is name
    assert name.assigned_under == name.key


@pytest.mark.parametrize("text", [first for first, _ in PAIRS])
def test_names_of_two_schemes_have_no_order(text: str) -> None:
    one, other = parse(text), parse("hdl:1839/x" if not text.startswith("hdl") else "ark:99999/a")
    for comparing in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
        assert getattr(one, comparing)(other) is NotImplemented
