"""Pixels, samples and bytes at an origin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.verdicts import Verdict
from perdure.policy.quotations.units import compare_units

BYTES = st.binary(max_size=60)


@given(st.integers(1, 4), BYTES)
def test_equal_units_are_verbatim(size: int, cited: bytes) -> None:
    whole = cited * size
    found = compare_units(whole, whole, size, start=7)
    expected = Verdict.VERBATIM if cited else Verdict.ABSENT
    assert found.verdict is expected
    if cited:
        assert (found.start, found.stop) == (7, 7 + len(cited))


@given(st.integers(1, 3), BYTES, BYTES)
def test_at_least_half_of_the_units_make_it_altered(size: int, citing: bytes, cited: bytes) -> None:
    citing, cited = citing * size, cited * size
    units = [
        citing[at : at + size] == cited[at : at + size]
        for at in range(0, min(len(citing), len(cited)), size)
    ]
    total = len(cited) // size
    found = compare_units(citing, cited, size)
    if citing == cited:
        return
    if total and sum(units) * 2 >= total:
        assert (found.verdict, found.kept, found.total) == (Verdict.ALTERED, sum(units), total)
    else:
        assert found.verdict is Verdict.ABSENT


@pytest.mark.parametrize("size", [1, 3])
def test_one_unit_of_many_differs(size: int) -> None:
    cited = bytes(size) * 10_000
    citing = bytearray(cited)
    citing[size * 5000] = 1
    found = compare_units(bytes(citing), cited, size)
    assert (found.verdict, found.kept, found.total) == (Verdict.ALTERED, 9999, 10_000)
