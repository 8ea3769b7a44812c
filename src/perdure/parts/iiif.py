"""Pictures in the syntax of the IIIF Image API: `region/size/rotation/quality.format`.

Specifications: IIIF Image API 2.1 and 3.0, section 4 of both.

How it works: `read_picture` makes a selector from the text, by the rules of one version. When the
size of the image is known, `settle_picture` computes the pixels and the size of the picture, and
returns the selector in the canonical form of its version (2.1 section 4.7, 3.0 section 4.8).

>>> picture = read_picture("pct:10,10,80,80/!200,200/!90/gray.png", version=3)
>>> settled = settle_picture(picture, 1000, 500)
>>> settled.box, settled.size
((100, 50, 900, 450), (200, 100))
>>> str(settled.selector)
'100,50,800,400/200,100/!90/gray.png'
>>> picture = read_picture("0,0,9999,9999/1000,/360/color.jpg", version=2)
>>> str(settle_picture(picture, 1000, 500).selector)
'full/full/0/default.jpg'

Sizes are rounded to the nearest pixel, and are at least 1. In version 3, `!w,h` without `^` is an
error if the box is wider and higher than the region: the validator of IIIF requires that, although
section 4.2 also allows the reading that the region is returned unscaled (ruling: iiif-size).

What must stay true: everything is pure; `read_picture` raises only MalformedPart; settling a
settled selector does not change it, so that the canonical form of a canonical URI is the URI
itself.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

from perdure.errors import PartNotFound, PartOutOfRange
from perdure.parts.grammar import PartText, decode_text
from perdure.parts.selectors import Information, Region, Rendering, Size

QUALITIES = ("color", "gray", "bitonal", "default")
FORMATS = {
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "tif": "image/tiff",
    "gif": "image/gif",
}
"""Formats of pictures, with their media types."""

LARGEST_AREA = 1 << 24
"""Largest area of a picture before rotation, in pixels."""
LONGEST_SIDE = 16_000
"""Longest side of a picture, in pixels; rotated, it still fits every format (WebP: 16,383)."""

_INTEGER = "[0-9]{1,9}"
_NUMBER = r"(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})"
_PIXELS = re.compile(",".join(4 * [f"({_INTEGER})"]), re.ASCII)
_PERCENT = re.compile("pct:" + ",".join(4 * [f"({_NUMBER})"]), re.ASCII)
_SIZE = re.compile(
    rf"(\^?)(?:(max|full)|pct:({_NUMBER})|(!?)({_INTEGER})?,({_INTEGER})?)", re.ASCII
)
_TURN = re.compile(rf"(!?)({_NUMBER})", re.ASCII)
_SECTION = {"region": "4.1", "size": "4.2", "rotation": "4.3", "quality": "4.4", "format": "4.5"}
_INFORMATION = "info.json"


class SettledPicture(NamedTuple):
    """The picture that a selector makes of an image of known size."""

    box: tuple[int, int, int, int]
    """Left, top, right and bottom, in pixels of the image; right and bottom are exclusive."""
    size: tuple[int, int]
    """Width and height after scaling, before rotation."""
    selector: Rendering
    """In the canonical form."""


def read_picture(text: str, version: int) -> Rendering | Information:
    """Read a text by version 2 or 3 of the API. Raises MalformedPart.

    >>> read_picture("full/max/0/default.jpg", version=3).quality
    'default'
    >>> read_picture("full/full/0/default.jpg", version=3)
    Traceback (most recent call last):
    perdure.errors.texts.MalformedPart: malformed part 'full/full/0/default.jpg' at 5; \
expected max, w, ,h w,h !w,h or pct:n, with ^ in front to enlarge (IIIF Image API 3 section 4.2)
    """
    written = decode_text(text, f"IIIF Image API {version} section 2.1")
    if written.plain == _INFORMATION:
        return Information()
    pieces = written.plain.split("/")
    if len(pieces) != 4 or text.count("/") != 3:  # "separators which MUST NOT be encoded"
        raise written.make_fault(
            0,
            "region/size/rotation/quality.format or info.json",
            f"IIIF Image API {version} section 2",
        )
    starts = [0]
    for piece in pieces:
        starts.append(starts[-1] + len(piece) + 1)
    reader = _Reader(written, version)
    quality, _, extension = pieces[3].partition(".")
    mirrored, degrees = reader.read_rotation(starts[2], pieces[2])
    return Rendering(
        version=version,
        region=reader.read_region(starts[0], pieces[0]),
        size=reader.read_size(starts[1], pieces[1]),
        mirrored=mirrored,
        degrees=degrees,
        quality=reader.read_choice("quality", starts[3], quality, QUALITIES),
        format=reader.read_choice("format", starts[3] + len(quality), extension, tuple(FORMATS)),
    )


class _Reader(NamedTuple):
    """Reads the parameters of one text; every method raises MalformedPart with the position."""

    text: PartText
    version: int

    def read_region(self, at: int, piece: str) -> Region:
        if piece in ("full", "square"):
            return Region(piece)
        if found := _PIXELS.fullmatch(piece):
            return Region("pixel", tuple(map(Fraction, found.groups())))
        if found := _PERCENT.fullmatch(piece):
            return Region("percent", tuple(map(_read_fraction, found.groups())))
        raise self._make_fault("region", at, "full, square, x,y,w,h or pct:x,y,w,h")

    def read_size(self, at: int, piece: str) -> Size:
        found = _SIZE.fullmatch(piece)
        known = "full, max, w, ,h w,h !w,h or pct:n"
        if self.version > 2:
            known = "max, w, ,h w,h !w,h or pct:n, with ^ in front to enlarge"
        if found is None:
            raise self._make_fault("size", at, known)
        mark, word, percent, bang, width, height = found.groups()
        if (mark and self.version == 2) or (word == "full" and self.version > 2):
            raise self._make_fault("size", at, known)
        if word:
            return Size(word, upscaled=bool(mark))
        upscaled = bool(mark) or self.version == 2
        if percent:
            return Size("percent", percent=_read_fraction(percent), upscaled=upscaled)
        wide, high = (None if side is None else int(side) for side in (width, height))
        if (bang and (wide is None or high is None)) or (wide is None and high is None):
            raise self._make_fault("size", at, known)
        return Size("confined" if bang else "exact", wide, high, upscaled=upscaled)

    def read_rotation(self, at: int, piece: str) -> tuple[bool, Fraction]:
        found = _TURN.fullmatch(piece)
        if found is None or _read_fraction(found[2]) > 360:
            raise self._make_fault(
                "rotation", at, "degrees from 0 to 360, with ! in front to mirror"
            )
        return bool(found[1]), _read_fraction(found[2])

    def read_choice(self, name: str, at: int, piece: str, known: tuple[str, ...]) -> str:
        if piece not in known:
            raise self._make_fault(name, at, f"a {name}: {', '.join(known)}")
        return piece

    def _make_fault(self, name: str, at: int, expected: str) -> Exception:
        rule = f"IIIF Image API {self.version} section {_SECTION[name]}"
        return self.text.make_fault(at, expected, rule)


def _read_fraction(digits: str) -> Fraction:
    return Fraction(f"0{digits}" if digits.startswith(".") else digits.removesuffix("."))


# of an image
# -----------


def settle_picture(picture: Rendering, width: int, height: int, name: str = "") -> SettledPicture:
    """Compute the picture of an image of this width and height, in pixels. Errors use `name`.

    Raises PartOutOfRange if the region has no pixels of the image, or the size is 0 or too large;
    PartNotFound if version 2.1 allows the size but perdure does not (section 7.2).
    """
    box = _find_box(picture.region, width, height)
    region = box[2] - box[0], box[3] - box[1]
    if min(region) < 1:
        raise PartOutOfRange(
            identifier=name, selector=str(picture), extent=f"{width} x {height} pixels"
        )
    size = _find_size(picture.size, *region)
    if min(size) < 1 or (not picture.size.upscaled and _is_larger(size, region)):
        raise PartOutOfRange(
            identifier=name,
            selector=str(picture),
            extent=f"1 x 1 to {region[0]} x {region[1]} pixels",
        )
    if not _is_allowed(*size):
        limit = f"at most {LARGEST_AREA} pixels, {LONGEST_SIDE} on a side"
        refused = PartNotFound if picture.version == 2 else PartOutOfRange
        raise refused(identifier=name, selector=str(picture), extent=limit)
    whole = region == (width, height)
    x, y = box[:2]
    canonical = Rendering(
        version=picture.version,
        region=Region("full") if whole else Region("pixel", tuple(map(Fraction, (x, y, *region)))),
        size=(_make_size_2 if picture.version == 2 else _make_size_3)(region, size),
        mirrored=picture.mirrored,
        degrees=picture.degrees % 360,
        quality="default" if picture.quality == "color" else picture.quality,
        format=picture.format,
    )
    return SettledPicture(box, size, canonical)


def _find_box(region: Region, width: int, height: int) -> tuple[int, int, int, int]:
    if region.unit == "square":
        side = min(width, height)
        left, top = (width - side) // 2, (height - side) // 2
        return left, top, left + side, top + side
    if region.unit == "full":
        return 0, 0, width, height
    across, down = Fraction(1), Fraction(1)
    if region.unit == "percent":
        across, down = Fraction(width, 100), Fraction(height, 100)
    x, y, wide, high = region.box
    left, right = _round_edges(x * across, min((x + wide) * across, Fraction(width)))
    top, bottom = _round_edges(y * down, min((y + high) * down, Fraction(height)))
    return left, top, right, bottom


def _round_edges(start: Fraction, stop: Fraction) -> tuple[int, int]:
    """Round to the nearest pixels; an interval that is not empty keeps at least one pixel."""
    first, last = _round_nearest(start), _round_nearest(stop)
    return (int(start), int(start) + 1) if first == last and start < stop else (first, last)


def _find_size(size: Size, width: int, height: int) -> tuple[int, int]:
    """Compute the size of a region after scaling; 0 by 0 if the text asks for an empty picture."""
    if size.form == "full":
        return width, height
    if size.form == "max":
        larger = size.upscaled or not _is_allowed(width, height)
        return _find_largest(width, height) if larger else (width, height)
    if size.percent is not None:
        share = size.percent / 100
        return (_round_side(width * share), _round_side(height * share)) if share else (0, 0)
    wide, high = size.width, size.height
    if wide == 0 or high == 0:
        return 0, 0
    if size.form == "confined" and wide is not None and high is not None:
        if wide * height < high * width:
            high = None
        else:
            wide = None
    if wide is None:
        wide = _round_side(Fraction(width * (high or 0), height))
    if high is None:
        high = _round_side(Fraction(height * wide, width))
    if size.form == "confined" and not _is_allowed(wide, high):
        return _find_largest(width, height)
    return wide, high


def _find_largest(width: int, height: int) -> tuple[int, int]:
    """Return the largest allowed size with this aspect ratio."""
    most = isqrt(LARGEST_AREA * width // height), isqrt(LARGEST_AREA * height // width)
    if max(most) <= LONGEST_SIDE:
        fits = _is_allowed(width, height) and _is_larger((width, height), most)
        return (width, height) if fits else most  # the square roots are rounded down
    longest = max(width, height)
    return max(LONGEST_SIDE * width // longest, 1), max(LONGEST_SIDE * height // longest, 1)


def _is_allowed(width: int, height: int) -> bool:
    return width * height <= LARGEST_AREA and max(width, height) <= LONGEST_SIDE


def _is_larger(size: tuple[int, int], other: tuple[int, int]) -> bool:
    return size[0] > other[0] or size[1] > other[1]


def _make_size_2(region: tuple[int, int], size: tuple[int, int]) -> Size:
    if size == region:
        return Size("full")
    by_width = Size("exact", size[0], upscaled=True)
    return (
        by_width if _find_size(by_width, *region) == size else Size("exact", *size, upscaled=True)
    )


def _make_size_3(region: tuple[int, int], size: tuple[int, int]) -> Size:
    for upscaled in (False, True):
        most = Size("max", upscaled=upscaled)
        if size == _find_size(most, *region):
            return most
    return Size("exact", *size, upscaled=_is_larger(size, region))


def _round_nearest(value: Fraction) -> int:
    return int(value + Fraction(1, 2))


def _round_side(value: Fraction) -> int:
    return max(_round_nearest(value), 1)
