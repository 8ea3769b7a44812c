"""Requests of the IIIF Image API: what the specifications say of them, and what always holds."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import MalformedPart, PartNotFound, PartOutOfRange
from perdure.parts import Information, Rendering, iiif

# the picture of the examples in section 4 of both versions
WIDTH, HEIGHT = 300, 200


def settled(
    text: str, version: int = 3, size: tuple[int, int] = (WIDTH, HEIGHT)
) -> iiif.SettledPicture:
    picture = iiif.read_picture(text, version)
    assert isinstance(picture, Rendering)
    return iiif.settle_picture(picture, *size)


@pytest.mark.parametrize(
    ("region", "size"),
    [
        ("full", (300, 200)),
        ("square", (200, 200)),
        ("125,15,120,140", (120, 140)),
        ("pct:41.6,7.5,40,70", (120, 140)),
        ("125,15,200,200", (175, 185)),
        ("pct:41.6,7.5,66.6,100", (175, 185)),
    ],
)
@pytest.mark.parametrize(("version", "whole"), [(2, "full"), (3, "max")])
def test_regions_of_the_examples(
    region: str, size: tuple[int, int], version: int, whole: str
) -> None:
    """ "N.B. Returned image is 175,185 px" (section 4.1)"""
    assert settled(f"{region}/{whole}/0/default.jpg", version).size == size


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("150,", (150, 100)),
        (",150", (225, 150)),
        ("pct:50", (150, 100)),
        ("225,100", (225, 100)),
        ("!225,100", (150, 100)),
    ],
)
@pytest.mark.parametrize("version", [2, 3])
def test_sizes_of_the_examples(size: str, expected: tuple[int, int], version: int) -> None:
    """ "N.B. Returned image is 150,100 px" (section 4.2)"""
    assert settled(f"full/{size}/0/default.jpg", version).size == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("^360,", (360, 240)),
        ("^,240", (360, 240)),
        ("^pct:120", (360, 240)),
        ("^360,360", (360, 360)),
        ("^!360,360", (360, 240)),
    ],
)
def test_version_3_enlarges_where_it_is_told_to(size: str, expected: tuple[int, int]) -> None:
    """ "Requests for sizes not prefixed with ^ that result in a scaled region with pixel dimensions
    greater than the pixel dimensions of the extracted region are errors" (3.0 section 4.2)"""
    assert settled(f"full/{size}/0/default.jpg").size == expected
    assert settled(f"full/{size[1:]}/0/default.jpg", version=2).size == expected
    with pytest.raises(PartOutOfRange):
        settled(f"full/{size[1:]}/0/default.jpg")


@pytest.mark.parametrize(
    ("version", "text", "canonical"),
    [
        (2, "0,0,300,200/300,200/0/color.png", "full/full/0/default.png"),
        (2, "square/,100/22.50/gray.jpg", "50,0,200,200/100,/22.5/gray.jpg"),
        (2, "full/150,99/!0.50/default.jpg", "full/150,99/!0.5/default.jpg"),
        (2, "full/max/360/bitonal.jpg", "full/full/0/bitonal.jpg"),
        (3, "pct:0,0,100,100/!300,200/0/color.png", "full/max/0/default.png"),
        (3, "full/150,/!90.0/default.jpg", "full/150,100/!90/default.jpg"),
        (3, "full/^150,/0/default.jpg", "full/150,100/0/default.jpg"),
        (3, "full/^600,/0/default.jpg", "full/^600,400/0/default.jpg"),
        (3, "full/^max/.5/default.jpg", "full/^max/0.5/default.jpg"),
    ],
)
def test_the_canonical_form(version: int, text: str, canonical: str) -> None:
    """Sections 4.7 of 2.1 and 4.8 of 3.0."""
    assert unquote(str(settled(text, version).selector)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *("", "full", "full/max/0", "full/max/0/default", "full/max/0/default.jpg/x"),
        *("Full/max/0/default.jpg", "1,2,3/max/0/default.jpg", "-1,0,2,2/max/0/default.jpg"),
        *("0.5,0,2,2/max/0/default.jpg", "pct:1,2,3,x/max/0/default.jpg"),
        *("full/full/0/default.jpg", "full/^full/0/default.jpg", "full/,/0/default.jpg"),
        *("full/!1,/0/default.jpg", "full/+1,/0/default.jpg", "full/^/0/default.jpg"),
        *("full/max/-1/default.jpg", "full/max/360.1/default.jpg", "full/max/!/default.jpg"),
        *("full/max/0/grey.jpg", "full/max/0/default.jpeg", "full%2Fmax/0/default.jpg"),
        "٣,0,2,2/max/0/default.jpg",
    ],
)
def test_what_is_no_request(text: str) -> None:
    with pytest.raises(MalformedPart):
        iiif.read_picture(text, 3)


@pytest.mark.parametrize("size", ["^max", "^full", "^100,", "^!100,100"])
def test_version_2_knows_no_circumflex(size: str) -> None:
    with pytest.raises(MalformedPart):
        iiif.read_picture(f"full/{size}/0/default.jpg", 2)


@pytest.mark.parametrize(
    "text",
    [
        *("300,0,1,1/max/0/default.jpg", "0,200,1,1/max/0/default.jpg"),
        *("0,0,0,5/max/0/default.jpg", "pct:0,0,5,0/max/0/default.jpg"),
        *("pct:100,0,5,5/max/0/default.jpg", "full/0,/0/default.jpg"),
        *("full/pct:0/0/default.jpg", "full/^16001,1/0/default.jpg", "full/^5000,5000/0/gray.png"),
    ],
)
def test_what_an_image_does_not_have(text: str) -> None:
    """ "If the requested region's height or width is zero, or if the region is entirely outside the
    bounds of the reported dimensions, then the server SHOULD return a 400" (section 4.1)"""
    with pytest.raises(PartOutOfRange):
        settled(text)


def test_an_image_beyond_the_limits() -> None:
    """ "The resulting image will have the pixel dimensions of the extracted region, unless it is
    constrained to a smaller size" (3.0 section 4.2); "404 […] the requested size is greater than
    the limits specified" (2.1 section 7.2)"""
    large = (20_000, 5_000)
    width, height = settled("full/max/0/default.jpg", 3, large).size
    assert width * height <= iiif.LARGEST_AREA < (width + 4) * (height + 1)
    assert width / height == pytest.approx(4, abs=0.01)
    assert settled("full/max/0/default.jpg", 2, large).size == (width, height)
    with pytest.raises(PartNotFound) as refused:
        settled("full/full/0/default.jpg", 2, large)
    assert refused.type is PartNotFound
    with pytest.raises(PartOutOfRange):
        settled("full/20000,5000/0/default.jpg", 3, large)


def test_the_largest_is_not_smaller_than_what_there_is() -> None:
    """ "scaled to the maximum size permitted" (3.0 section 4.2)"""
    assert iiif.LARGEST_AREA - 1 == 4095 * 4097
    assert settled("full/^max/0/default.jpg", 3, (4095, 4097)).size == (4095, 4097)


def test_the_description_is_asked_for_by_its_name() -> None:
    assert iiif.read_picture("info.json", 2) == iiif.read_picture("info.json", 3) == Information()


# laws
# ----

_numbers = st.integers(0, 3000).map(str)
_percents = st.decimals(0, 120, places=2).map(str)
_boxes = st.tuples(_numbers, _numbers, _numbers, _numbers).map(",".join)
_shares = st.tuples(_percents, _percents, _percents, _percents).map(",".join).map("pct:".__add__)
_sides = st.one_of(
    _numbers.map("{},".format),
    _numbers.map(",{}".format),
    st.tuples(_numbers, _numbers).map(",".join),
    st.tuples(_numbers, _numbers).map(",".join).map("!".__add__),
    _percents.map("pct:{}".format),
)
_turns = st.tuples(st.sampled_from(("", "!")), st.decimals(0, 360, places=3).map(str)).map("".join)
_ends = st.tuples(st.sampled_from(iiif.QUALITIES), st.sampled_from(list(iiif.FORMATS)))


def requests(version: int) -> st.SearchStrategy[str]:
    regions = st.just("full") | st.just("square") | _boxes | _shares
    if version == 2:
        sizes = st.just("full") | st.just("max") | _sides
    else:
        marks = st.sampled_from(("", "^", "%5E"))
        sizes = st.tuples(marks, st.just("max") | _sides).map("".join)
    return st.tuples(regions, sizes, _turns, _ends.map(".".join)).map("/".join)


_any = st.sampled_from((2, 3)).flatmap(lambda one: st.tuples(st.just(one), requests(one)))
_images = st.tuples(st.integers(1, 30_000), st.integers(1, 30_000))


@given(_any)
def test_what_is_written_is_what_was_read(asked: tuple[int, str]) -> None:
    version, text = asked
    picture = iiif.read_picture(text, version)
    assert iiif.read_picture(str(picture), version) == picture


@given(_any, _images)
def test_the_canonical_request_is_its_own(asked: tuple[int, str], size: tuple[int, int]) -> None:
    version, text = asked
    try:
        found = settled(text, version, size)
    except (PartOutOfRange, PartNotFound):
        return
    left, top, right, bottom = found.box
    assert 0 <= left < right <= size[0]
    assert 0 <= top < bottom <= size[1]
    assert found.size[0] * found.size[1] <= iiif.LARGEST_AREA
    assert 1 <= min(found.size) <= max(found.size) <= iiif.LONGEST_SIDE
    again = iiif.settle_picture(found.selector, *size)
    assert again == found


@given(st.text(max_size=60), st.sampled_from((2, 3)))
def test_any_text_is_read_or_refused(text: str, version: int) -> None:
    with suppress(MalformedPart):
        iiif.read_picture(text, version)
