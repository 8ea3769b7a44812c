"""Relations of parts: is one part of a document inside another one, or apart from it? Pure.

How it works: only parts that point in the same way are compared: ranges of the same positions,
rectangles of one frame, pages. Each is a box (`perdure.parts.boxes`). Of all other pairs it is only
known whether they are the same.

What must stay true: "inside" and "apart" are certain, for every document; if they depend on the
document, the relation is unknown.
"""

from __future__ import annotations

from perdure.parts.boxes import find_box
from perdure.parts.selectors import Selector
from perdure.policy.reading_rights import PartRelation


def relate_parts(one: Selector, other: Selector) -> PartRelation:
    """Return the relation of one part to another part of the same document.

    >>> from perdure.parts.selectors import ByteRange, CharRange, Page
    >>> relate_parts(CharRange(3, 7), CharRange(3, 9)), relate_parts(Page(1), Page(2))
    (<PartRelation.INSIDE: 'inside'>, <PartRelation.APART: 'apart'>)
    >>> relate_parts(CharRange(3, 7), ByteRange(3, 7))
    <PartRelation.UNKNOWN: 'unknown'>
    """
    if one == other:
        return PartRelation.SAME
    first, second = find_box(one), find_box(other)
    if first is None or second is None or first.kind != second.kind:
        return PartRelation.UNKNOWN
    if any(start >= end for start, end in (*first.box, *second.box)):  # empty
        return PartRelation.UNKNOWN
    pairs = list(zip(first.box, second.box, strict=True))
    if any(end <= low or high <= start for (start, end), (low, high) in pairs):
        return PartRelation.APART
    if all(low <= start and end <= high for (start, end), (low, high) in pairs):
        return PartRelation.INSIDE
    if all(start <= low and high <= end for (start, end), (low, high) in pairs):
        return PartRelation.AROUND
    return PartRelation.OVERLAPPING
