"""How long something lasts, as it is offered and as it is told.

What must stay true: no time is offered that is not there.
"""

from __future__ import annotations

import math
from fractions import Fraction

from perdure.extractors.port import Extent
from perdure.parts import Interval


def first_second(duration: Fraction) -> Interval:
    """The first second of what lasts so many, or its milliseconds where it is shorter."""
    return Interval(Fraction(0), min(Fraction(math.floor(duration * 1000), 1000), Fraction(1)))


def extents(duration: Fraction | None, about: str = "") -> tuple[Extent, ...]:
    """The time of something; None where nobody knows how long it lasts."""
    if duration is None:
        return (Extent(syntax="sec=0,1", what=f"seconds{about}"),)
    first, milliseconds = first_second(duration), math.floor(duration * 1000)
    if duration >= 1:
        return (Extent(syntax=str(first), what=f"seconds{about}", size=math.floor(duration)),)
    if milliseconds:
        return (Extent(syntax=str(first), what=f"milliseconds{about}", size=milliseconds),)
    return ()
