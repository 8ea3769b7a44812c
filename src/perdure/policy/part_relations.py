"""Relations of parts: is one part of a document inside another one, or apart from it? Pure.

How it works: only parts that point in the same way are compared: ranges of the same positions,
rectangles of one frame, rows of a table, pages. Each is a box: one half-open range for each
dimension. Of all other pairs it is only known whether they are the same.

What must stay true: "inside" and "apart" are certain, for every document; if they depend on the
document, the relation is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

from perdure.parts import (
    ByteRange,
    CharRange,
    Crop,
    Interval,
    Octets,
    Page,
    Rect,
    Selector,
    TagRange,
    TextRange,
)
from perdure.policy.reading_rights import PartRelation

_Number = int | float | Fraction
_Box = Sequence[tuple[_Number, _Number]]
_ALWAYS = (-inf, inf)


def relate_parts(one: Selector, other: Selector) -> PartRelation:
    """Return the relation of one part to another part of the same document.

    >>> relate_parts(CharRange(3, 7), CharRange(3, 9)), relate_parts(Page(1), Page(2))
    (<PartRelation.INSIDE: 'inside'>, <PartRelation.APART: 'apart'>)
    >>> relate_parts(CharRange(3, 7), ByteRange(3, 7))
    <PartRelation.UNKNOWN: 'unknown'>
    """
    if one == other:
        return PartRelation.SAME
    (kind, box), (other_kind, other_box) = _find_box(one), _find_box(other)
    if kind is None or kind != other_kind:
        return PartRelation.UNKNOWN
    if any(_is_empty(span) for span in (*box, *other_box)):
        return PartRelation.UNKNOWN
    pairs = list(zip(box, other_box, strict=True))
    if any(end <= low or high <= start for (start, end), (low, high) in pairs):
        return PartRelation.APART
    if all(low <= start and end <= high for (start, end), (low, high) in pairs):
        return PartRelation.INSIDE
    if all(start <= low and high <= end for (start, end), (low, high) in pairs):
        return PartRelation.AROUND
    return PartRelation.UNKNOWN


def _is_empty(span: tuple[_Number, _Number]) -> bool:
    return span[0] >= span[1]


def _find_box(part: Selector) -> tuple[object, _Box]:
    """The kind of the positions of a part, and the part as a box; None if it is none."""
    match part:
        case CharRange(start, end) | ByteRange(start, end):
            return part.reading, ((start, end),)
        case Octets(start, end):
            return part.reading, ((start, inf if end is None else end),)
        case TextRange(unit, start, end, ()):
            return (part.reading, unit), ((start or 0, inf if end is None else end),)
        case TagRange(first, last):
            return part.reading, ((first, last + 1),)
        case Page(number, None):
            return part.reading, ((number, number + 1),)
        case Rect(left, top, right, bottom, frame):
            return part.reading, ((frame, frame + 1), (left, right), (top, bottom))
        case Interval(start, end):
            return part.reading, ((start, end),)
        case Crop(time, rect):
            area = (_ALWAYS, _ALWAYS)
            if rect is not None:
                area = ((rect.left, rect.right), (rect.top, rect.bottom))
            return part.reading, ((time.start, time.end), *area)
    return None, ()
