"""Boxes: parts that are ranges of positions, so that they can be compared and found. Pure.

How it works: a part that is a range of characters, bytes, tags or rows, a rectangle, an interval of
time or a page is a box: one half-open range for each dimension, and the kind of its positions.
`place_part` writes the box of the part that an identifier names as one range of whole numbers. A
range is in one bin, the smallest that contains it; `list_bins` lists the bins that can contain
something that overlaps a range. Bins are 64 positions wide, or 8 times as wide as the next smaller
ones.

What must stay true: two parts with boxes of one kind that overlap have places that overlap. The
place and the bin of a part never change, because they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, inf
from typing import NamedTuple

from perdure import formats
from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.parts import select_part
from perdure.parts.selectors import (
    ByteRange,
    CharRange,
    Crop,
    Interval,
    Media,
    Octets,
    Page,
    Rect,
    Selector,
    TagRange,
    TextRange,
)

Number = int | float | Fraction
Box = Sequence[tuple[Number, Number]]
ALWAYS = (-inf, inf)
FURTHEST = 2**62
"""No place reaches further."""
_FINEST, _STEP, _COARSEST = 6, 3, 63
MOST_BINS = 200
"""The most bins that are worth looking up one by one."""


class PartBox(NamedTuple):
    """A part as a box. Only boxes of the same kind can be compared."""

    kind: str
    box: Box


class PartPlace(NamedTuple):
    """The positions [start, end) of a part in its first dimension; times are in milliseconds."""

    kind: str
    start: int
    end: int


def find_box(part: Selector) -> PartBox | None:
    """Return the box of a part, or None if it has none."""
    kind = part.reading
    match part:
        case CharRange(start, end) | ByteRange(start, end):
            return PartBox(kind, ((start, end),))
        case Octets(start, end):
            return PartBox(kind, ((start, inf if end is None else end),))
        case TextRange(_, start, end, ()):  # the unit is in the kind
            return PartBox(kind, ((start or 0, inf if end is None else end),))
        case TagRange(first, last):
            return PartBox(kind, ((first, last + 1),))
        case Page(number, None):
            return PartBox(kind, ((number, number + 1),))
        case Rect(left, top, right, bottom, frame):
            return PartBox(kind, ((left, right), (top, bottom), (frame, frame + 1)))
        case Interval(start, end):
            return PartBox(kind, ((start, end),))
        case Crop(time, rect):
            area = (ALWAYS, ALWAYS)
            if rect is not None:
                area = ((rect.left, rect.right), (rect.top, rect.bottom))
            return PartBox(kind, ((time.start, time.end), *area))
        case Media(None, area, (), None) if area is not None and area.unit == "pixel":
            sides = ((area.x, area.x + area.width), (area.y, area.y + area.height))
            return PartBox(f"{kind}-pixels", sides)
        case Media(time, None, (), None) if time is not None:
            until: Number = inf if time.end is None else time.end
            return PartBox(f"{kind}-time", ((time.start or Fraction(0), until),))
    return None


def place_part(name: Identifier) -> PartPlace | None:
    """Return the place of the part that an identifier names, or None if it has no box."""
    if name.fragment is None:
        return None
    known = formats.find_media_type(name.format) if name.format else None
    try:
        part = select_part(name, known.essence if known else "")
    except PerdureError:
        return None
    found = None if part is None else find_box(part)
    if found is None:
        return None
    scale = 1000 if isinstance(found.box[0][0], Fraction) else 1
    low, high = found.box[0]
    start = min(FURTHEST, floor(low * scale))
    end = FURTHEST if high == inf else min(FURTHEST, ceil(high * scale))
    return PartPlace(found.kind, start, max(end, start + 1))


def find_bin(place: PartPlace) -> str:
    """Return the smallest bin that contains a place.

    >>> find_bin(PartPlace("pdi-char", 3, 60)), find_bin(PartPlace("pdi-char", 60, 70))
    ('pdi-char:6:0', 'pdi-char:9:0')
    """
    width = _FINEST
    while place.start >> width != place.end - 1 >> width and width < _COARSEST:
        width += _STEP
    return f"{place.kind}:{width}:{place.start >> width}"


def list_bins(place: PartPlace) -> list[str] | None:
    """Return the bins of all places that may overlap a place; None if there are too many."""
    found: list[str] = []
    for width in range(_FINEST, _COARSEST + 1, _STEP):
        first, last = place.start >> width, place.end - 1 >> width
        if last - first >= MOST_BINS:
            return None
        found += (f"{place.kind}:{width}:{number}" for number in range(first, last + 1))
    return found if len(found) <= MOST_BINS else None
