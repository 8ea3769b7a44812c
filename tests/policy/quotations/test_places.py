"""Runs of units and rectangles of pixels that are looked for, judged by brute force."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.model.verdicts import Verdict
from perdure.policy.quotations.units import compare_units, find_rectangle, find_run

SIZES = st.sampled_from((1, 2, 3))


@given(st.binary(max_size=40), st.binary(max_size=4), SIZES, st.integers(0, 20))
def test_the_first_copy_of_a_run_is_found(citing: bytes, cited: bytes, size: int, at: int) -> None:
    cited = cited[: len(cited) // size * size]
    citing = citing[: at * size] + cited + citing[at * size :]
    places = (
        place
        for place in range(len(citing) // size)
        if cited and citing[place * size :].startswith(cited)
    )
    assert find_run(citing, cited, size) == next(places, None)


@given(st.data())
def test_the_first_copy_of_a_rectangle_is_found(data: st.DataObject) -> None:
    size = data.draw(SIZES)
    width, height = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    across, down = data.draw(st.integers(1, width)), data.draw(st.integers(1, height))
    pixel = st.sampled_from([bytes([shade] * size) for shade in range(3)])
    picture = [[data.draw(pixel) for _ in range(width)] for _ in range(height)]
    left, top = data.draw(st.integers(0, width - across)), data.draw(st.integers(0, height - down))
    cut = [row[left : left + across] for row in picture[top : top + down]]
    places = {
        (x, y)
        for y in range(height - down + 1)
        for x in range(width - across + 1)
        if [row[x : x + across] for row in picture[y : y + down]] == cut
    }
    whole, cited = (b"".join(b"".join(row) for row in rows) for rows in (picture, cut))
    found = find_rectangle(whole, width, cited, across, size)
    assert found in places
    other = bytes([9]) * len(cited)
    assert find_rectangle(whole, width, other, across, size) is None


def test_places_between_units_do_not_count() -> None:
    assert find_run(b"xabcd", b"ab", 2) is None
    assert find_run(b"xxab", b"ab", 2) == 1
    assert find_run(b"x", b"", 1) is None
    assert find_run(b"ab" * 150_000 + b"b", b"b", 2) is None  # it gives up
    assert find_rectangle(b"abab", 2, b"ba", 2, 1) is None  # it would cross the edge
    assert find_rectangle(b"aabbaa", 3, b"aa", 1, 2) == (0, 0)
    assert find_rectangle(b"xabbab", 3, b"ab", 1, 2) == (2, 0)
    assert find_rectangle(b"bbab", 2, b"aabb", 2, 1) is None
    assert find_rectangle(b"ab" * 150_000, 300_000, b"abba", 2, 1) is None


def test_a_rectangle_at_the_upper_edge_is_not_found_above_it() -> None:
    assert find_rectangle(b"ababcc", 2, b"ccab", 2, 1) is None


def test_verdicts_on_units() -> None:
    assert compare_units(b"abcd", b"abcd", 2).verdict is Verdict.VERBATIM
    assert compare_units(b"abxx", b"abcd", 2).verdict is Verdict.ALTERED
    assert compare_units(b"xbxd", b"abcd", 2).verdict is Verdict.ABSENT
    assert compare_units(b"", b"").verdict is Verdict.ABSENT
