"""Comparison of decoded pictures, sound and bytes with what is at the origin of a citation.

How it works: both sides are decoded to the same form, one unit after the other: pixels row by row,
frames of samples, bytes. Equal units are verbatim. Units are counted a stretch at a time, and only
in stretches that differ, so equal sides cost one comparison of memory.

What must stay true: sides in different forms (sizes, modes, rates) are never equal.
"""

from __future__ import annotations

from perdure.model.verdicts import Comparison, Verdict

_STRETCH = 4096  # units that are compared at once


def compare_units(citing: bytes, cited: bytes, size: int = 1, start: int = 0) -> Comparison:
    """Compare the units of a cited part with those at an origin.

    `size` is the number of bytes of a unit, `start` the number of units before the origin, for the
    result. The citing side may be shorter, if its document ends before. A part of which at least
    half the units are equal is altered.

    >>> compare_units(b"abcx", b"abcd").kept
    3
    """
    total = len(cited) // size
    if total and citing == cited:
        return Comparison(verdict=Verdict.VERBATIM, start=start, stop=start + total)
    kept = _count_equal(memoryview(citing), memoryview(cited), size)
    if not total or kept * 2 < total:
        return Comparison(verdict=Verdict.ABSENT)
    stop = start + min(len(citing) // size, total)
    return Comparison(verdict=Verdict.ALTERED, start=start, stop=stop, kept=kept, total=total)


def _count_equal(one: memoryview, other: memoryview, size: int) -> int:
    length = min(len(one), len(other)) // size * size
    step = _STRETCH * size
    kept = 0
    for at in range(0, length, step):
        stop = min(at + step, length)
        if one[at:stop] == other[at:stop]:
            kept += (stop - at) // size
        else:
            kept += sum(
                one[place : place + size] == other[place : place + size]
                for place in range(at, stop, size)
            )
    return kept
