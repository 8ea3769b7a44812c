"""Boxes and bins: parts that overlap are found, whatever their size."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.ids import parse
from perdure.parts import CharRange, ElementById, Media, Selector, parse_part
from perdure.parts.boxes import (
    FURTHEST,
    MOST_BINS,
    PartBox,
    PartPlace,
    find_bin,
    find_box,
    list_bins,
    place_part,
)

DAY = "pdi://oma.eop.gov.us/1994/03/21"


@pytest.mark.parametrize(
    ("part", "media_type", "box"),
    [
        ("xywh=5,6,10,20", "image/gif", PartBox("media-fragment-pixels", ((5, 15), (6, 26)))),
        ("xywh=percent:5,5,9,9", "image/gif", None),
        ("t=2,3", "video/mp4", PartBox("media-fragment-time", ((2, 3),))),
        ("t=2", "video/mp4", PartBox("media-fragment-time", ((2, inf),))),
        ("t=,2", "video/mp4", PartBox("media-fragment-time", ((0, 2),))),
        ("t=1,2&xywh=0,0,1,1", "video/mp4", None),
        ("line=3,5", "text/plain", PartBox("rfc5147-line", ((3, 5),))),
        ("line=3,", "text/plain", PartBox("rfc5147-line", ((3, inf),))),
        ("page=3", "application/pdf", PartBox("rfc8118-page", ((3, 4),))),
    ],
)
def test_the_box_of_a_part(part: str, media_type: str, box: PartBox | None) -> None:
    assert find_box(parse_part(part, media_type)) == box


@pytest.mark.parametrize("part", [ElementById("a"), Media(tracks=("1",))])
def test_parts_without_positions_have_no_box(part: Selector) -> None:
    assert find_box(part) is None


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("1.text.1#char=3,5", PartPlace("pdi-char", 3, 5)),
        ("1.mpeg.1#sec=3,5", PartPlace("pdi-time", 3000, 5000)),
        ("1.mpeg.1#msec=3,5", PartPlace("pdi-time", 3, 5)),
        ("1.gif.1#rect=(1,2),(30,40)", PartPlace("pdi-rect", 1, 30)),
        ("1.text.1#line=3,5", PartPlace("rfc5147-line", 3, 5)),
        ("1.mpeg.1#t=3", PartPlace("media-fragment-time", 3000, FURTHEST)),
        ("1.html.1#name=a,b", None),
        ("1.text.1", None),
        ("1.mpeg.1#madeup=1", None),
        ("1.pdf.1#page=a", None),
    ],
)
def test_the_place_of_the_part_that_an_identifier_names(name: str, place: PartPlace | None) -> None:
    assert place_part(parse(f"{DAY}/{name}")) == place


def test_a_part_of_a_name_without_a_format_has_a_place_if_its_scheme_has() -> None:
    assert place_part(parse(f"{DAY}/1")) is None


def test_too_many_bins_are_not_listed() -> None:
    assert list_bins(PartPlace("x", 0, 64 * (MOST_BINS + 2))) is None
    assert list_bins(PartPlace("x", 0, 64 * (MOST_BINS - 10))) is None  # all widths together
    assert list_bins(PartPlace("x", 0, FURTHEST)) is None


spans = st.integers(0, 10_000).flatmap(
    lambda start: st.integers(1, 9000).map(lambda length: (start, start + length))
)


@given(spans, spans)
def test_law_overlapping_places_share_a_bin(one: tuple[int, int], other: tuple[int, int]) -> None:
    """ "the bins that can contain something that overlaps a range"."""
    bins = list_bins(PartPlace("x", *one))
    overlap = one[0] < other[1] and other[0] < one[1]
    if bins is not None and overlap:
        assert find_bin(PartPlace("x", *other)) in bins
    assert find_bin(PartPlace("x", *one)) != find_bin(PartPlace("y", *one))


def test_the_furthest_place_has_a_bin() -> None:
    assert find_bin(PartPlace("x", 0, FURTHEST)) == "x:63:0"
    assert find_box(CharRange(3, 5)) == PartBox("pdi-char", ((3, 5),))
