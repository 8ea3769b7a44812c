"""Relations of parts: certain for every document, or unknown."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.parts import (
    ByteRange,
    CharRange,
    Crop,
    ElementById,
    Interval,
    Octets,
    Page,
    Rect,
    Selector,
    TagRange,
    TextRange,
)
from perdure.policy.part_relations import relate_parts
from perdure.policy.reading_rights import PartRelation

SAME, INSIDE, AROUND, APART, OVERLAPPING, UNKNOWN = PartRelation


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        (CharRange(3, 7), CharRange(3, 7), SAME),
        (CharRange(3, 7), CharRange(7, 9), APART),
        (CharRange(3, 8), CharRange(7, 9), OVERLAPPING),
        (CharRange(3, 3), CharRange(1, 9), UNKNOWN),
        (CharRange(3, 7), ByteRange(8, 9), UNKNOWN),
        (Octets(3, None), Octets(5, 9), AROUND),
        (Octets(3, 5), Octets(5, None), APART),
        (TextRange("line", None, 3), TextRange("line", 3, None), APART),
        (TextRange("line", None, 3), TextRange("char", 3, None), UNKNOWN),
        (TagRange(1, 2), TagRange(2, 3), OVERLAPPING),
        (TagRange(1, 2), TagRange(3, 3), APART),
        (Page(1), Page(1), SAME),
        (Page(1), Page(2), APART),
        (Rect(0, 0, 9, 9), Rect(3, 3, 5, 5), AROUND),
        (Rect(0, 0, 9, 9, 1), Rect(3, 3, 5, 5, 2), APART),
        (Rect(0, 0, 9, 9), Rect(0, 9, 9, 12), APART),
        (Interval(Fraction(1), Fraction(2)), Interval(Fraction(2), Fraction(3)), APART),
        (
            Crop(Interval(Fraction(1), Fraction(2)), Rect(0, 0, 5, 5)),
            Crop(Interval(Fraction(0), Fraction(3))),
            INSIDE,
        ),
        (ElementById("a"), ElementById("a"), SAME),
        (ElementById("a"), ElementById("b"), UNKNOWN),
    ],
)
def test_relations(one: Selector, other: Selector, relation: PartRelation) -> None:
    assert relate_parts(one, other) is relation
    swapped = {INSIDE: AROUND, AROUND: INSIDE}.get(relation, relation)
    assert relate_parts(other, one) is swapped


spans = st.tuples(st.integers(0, 12), st.integers(0, 12))


@given(spans, spans)
def test_law_relations_are_those_of_the_sets_of_positions(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    """ " "inside" and "apart" are certain, for every document"."""
    mine, theirs = set(range(*one)), set(range(*other))
    relation = relate_parts(CharRange(*one), CharRange(*other))
    if relation is APART:
        assert not mine & theirs
    elif relation is INSIDE:
        assert mine < theirs
    elif relation is AROUND:
        assert mine > theirs
    elif relation is SAME:
        assert mine == theirs
    elif mine and theirs:
        assert mine & theirs
