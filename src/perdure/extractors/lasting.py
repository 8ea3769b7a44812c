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
    if duration >= 1:
        return (Extent(syntax=str(first), what=f"seconds{about}", size=math.floor(duration)),)
    if milliseconds:
        return (Extent(syntax=str(first), what=f"milliseconds{about}", size=milliseconds),)
    return ()
