"""Extents in time, for sound and video.

What must stay true: no extent offers a time beyond the end.
"""

from __future__ import annotations

import math
from fractions import Fraction

from perdure.extractors.port import Extent
from perdure.parts import Interval


def select_first_second(duration: Fraction) -> Interval:
    """Return the first second, or the first milliseconds of something shorter than a second."""
    return Interval(Fraction(0), min(Fraction(math.floor(duration * 1000), 1000), Fraction(1)))


def list_time_extents(duration: Fraction | None, about: str = "") -> tuple[Extent, ...]:
    """Return the extents of a duration in seconds, or an open one if the duration is unknown
    (None).
    """
    if duration is None:
        return (Extent(syntax="sec=0,1", what=f"seconds{about}"),)
    first, milliseconds = select_first_second(duration), math.floor(duration * 1000)
    unit, size = (
        ("seconds", math.floor(duration)) if duration >= 1 else ("milliseconds", milliseconds)
    )
    if not milliseconds:
        return ()
    what, seconds = f"{unit}{about}", float(duration)
    return (Extent(syntax=str(first), what=what, size=size, seconds=seconds),)
