"""What holds for the identifiers of every scheme."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import MalformedIdentifier, PerdureError, UnknownScheme
from perdure.ids import Identifier, are_equivalent, load_schemes, parse

over_every_scheme = pytest.mark.parametrize("scheme", testing.list_schemes())


def outcome(read: Callable[[str], Identifier], text: str) -> Identifier | PerdureError:
    try:
        return read(text)
    except PerdureError as error:
        return error


def test_every_scheme_has_strategies_in_a_module_of_its_name() -> None:
    assert set(load_schemes()) == set(testing.list_schemes())


@over_every_scheme
@given(data=st.data())
def test_parse_raises_nothing_but_our_errors(scheme: str, data: st.DataObject) -> None:
    prefixes = load_schemes()[scheme].prefixes
    text = data.draw(testing.spoil_texts(testing.texts(scheme)) | testing.noisy_texts(*prefixes))
    read = outcome(parse, text)
    if not isinstance(read, PerdureError):
        assert read.written == text
        return
    assert isinstance(read, MalformedIdentifier | UnknownScheme)
    assert read.text == text
    assert str(read).isprintable()
    if isinstance(read, MalformedIdentifier):
        assert 0 <= read.at <= len(text)
        assert read.expected
        assert read.rule


@over_every_scheme
@given(data=st.data())
def test_a_scheme_raises_nothing_but_malformed_identifier(scheme: str, data: st.DataObject) -> None:
    text = data.draw(testing.spoil_texts(testing.texts()) | testing.noisy_texts())
    read = outcome(load_schemes()[scheme].parse, text)
    if isinstance(read, PerdureError):
        assert type(read) is MalformedIdentifier
        assert read.text == text
    else:
        assert read.kind == scheme


@over_every_scheme
@given(data=st.data())
def test_the_canonical_text_is_the_identifier(scheme: str, data: st.DataObject) -> None:
    identifier = parse(data.draw(testing.texts(scheme)))
    again = parse(str(identifier))
    assert again == identifier
    assert str(again) == str(identifier)
    assert type(again) is type(identifier)
    assert again.kind == scheme


@over_every_scheme
@given(data=st.data())
def test_the_urn_is_the_identifier(scheme: str, data: st.DataObject) -> None:
    identifier = data.draw(testing.values(scheme))
    assert parse(identifier.urn) == identifier
    assert parse(identifier.urn).urn == identifier.urn


@over_every_scheme
@given(data=st.data())
def test_equality_implies_equivalence_and_equal_keys_and_hashes(
    scheme: str, data: st.DataObject
) -> None:
    text = data.draw(testing.texts(scheme))
    identifier = parse(text)
    for other in (parse(str(identifier)), parse(identifier.urn), parse(text)):
        assert other == identifier
        differs = other != identifier
        assert not differs
        assert are_equivalent(other, identifier)
        assert are_equivalent(identifier, other)
        assert load_schemes()[scheme].equivalent(identifier, other)
        assert other.key == identifier.key
        assert hash(other) == hash(identifier)


@given(testing.values(), testing.values())
def test_equivalence_is_symmetric(one: Identifier, other: Identifier) -> None:
    assert are_equivalent(one, other) == are_equivalent(other, one)
    if one.kind != other.kind:
        assert not are_equivalent(one, other)


@over_every_scheme
@given(data=st.data())
def test_the_whole_has_the_same_record(scheme: str, data: st.DataObject) -> None:
    whole = data.draw(testing.values(scheme)).whole
    assert whole.whole == whole
    assert parse(str(whole)) == whole


@over_every_scheme
@given(data=st.data())
def test_a_part_shares_the_record_of_the_whole(scheme: str, data: st.DataObject) -> None:
    identifier = data.draw(testing.values(scheme))
    assert identifier.whole.key == identifier.key


@over_every_scheme
@settings(max_examples=40)
@given(data=st.data())
def test_order_is_total_and_that_of_the_keys(scheme: str, data: st.DataObject) -> None:
    several: list[Any] = data.draw(st.lists(testing.values(scheme), max_size=4))
    ascending = sorted(several)
    keys = [identifier.key for identifier in ascending]
    assert keys == sorted(keys)
    for one, other in pairwise(ascending):
        assert (one < other) is (one != other)
        assert (other > one) is (one != other)
        assert one <= other
        assert other >= one


@given(testing.values(), testing.values())
def test_keys_of_different_schemes_differ(one: Identifier, other: Identifier) -> None:
    assert one.key.isascii()
    assert " " not in one.key
    if one.key == other.key:
        assert one.kind == other.kind


@given(testing.values())
def test_values_go_from_process_to_process(identifier: Identifier) -> None:
    assert pickle.loads(pickle.dumps(identifier)) == identifier


@given(testing.values())
def test_values_have_the_interface(identifier: Identifier) -> None:
    assert isinstance(identifier, Identifier)
    with pytest.raises(AttributeError):
        identifier.written = "other"  # type: ignore[misc]  # that is what is tested
