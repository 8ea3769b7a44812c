"""Comparison of decoded pictures, sound and bytes with what is at the origin of a citation.

How it works: both sides are decoded to the same form, one unit after the other: pixels row by row,
frames of samples, bytes. Equal units are verbatim. Units are counted a stretch at a time, and only
in stretches that differ, so equal sides cost one comparison of memory.

If they differ, the cited units are looked for elsewhere in the citing document: samples and bytes
as one run, a rectangle of pixels by its most varied row. The search gives up after many places that
begin as the cited part does.

Pixels without an alpha channel are opaque, so they equal opaque ones that have it.

What must stay true: sides in different forms (sizes, modes, rates) are never equal.
"""

from __future__ import annotations

from perdure.model.verdicts import Comparison, Verdict

_STRETCH = 4096  # units that are compared at once
_MOST_TRIED = 100_000  # places at which a cited part begins as it should


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
        return Comparison(verdict=Verdict.ABSENT, kept=kept, total=total)
    stop = start + min(len(citing) // size, total)
    return Comparison(verdict=Verdict.ALTERED, start=start, stop=stop, kept=kept, total=total)


def add_alpha(pixels: bytes, size: int, width: int) -> bytes:
    """Add an opaque last channel to pixels of `size` bytes. `width` is the bytes of a channel.

    >>> add_alpha(b"abcdef", 3, 1)
    b'abc\\xffdef\\xff'
    """
    found = bytearray(b"\xff") * (len(pixels) // size * (size + width))
    for channel in range(size):
        found[channel :: size + width] = pixels[channel::size]
    return bytes(found)


def find_run(citing: bytes, cited: bytes, size: int) -> int | None:
    """Return the number of units before the first copy of a run of units, or None.

    >>> find_run(b"xabcd", b"cd", 1), find_run(b"xabcd", b"cd", 2), find_run(b"xxcd", b"cd", 2)
    (3, None, 1)
    """
    at = citing.find(cited) if cited else -1
    for _ in range(_MOST_TRIED):
        if at < 0:
            return None
        if at % size == 0:
            return at // size
        at = citing.find(cited, at + 1)
    return None


def find_rectangle(
    picture: bytes, width: int, cited: bytes, across: int, size: int
) -> tuple[int, int] | None:
    """Return the upper left corner of the first copy of a rectangle of pixels, or None.

    `width` and `across` are the pixels in a row of the picture and of the rectangle, which has at
    least one.

    >>> find_rectangle(b"....ab..cd..", 4, b"abcd", 2, 1)
    (0, 1)
    """
    row, stride = across * size, width * size
    rows = [cited[at : at + row] for at in range(0, len(cited), row)]
    chosen = max(range(len(rows)), key=lambda number: len(set(rows[number])))
    at = picture.find(rows[chosen])
    for _ in range(_MOST_TRIED):
        if at < 0:
            return None
        start = at - chosen * stride
        left = at % stride
        if start >= 0 and at % size == 0 and left + row <= stride:
            there = range(start, start + len(rows) * stride, stride)
            if all(picture[at : at + row] == one for at, one in zip(there, rows, strict=True)):
                return left // size, start // stride
        at = picture.find(rows[chosen], at + 1)
    return None


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
