"""From a time to samples: which of them sound in an interval, exactly.

How it works: sample n is taken at n/rate. An interval selects the samples with
`start <= n/rate < end` (ruling: time-range), a moment the one that sounds then. Times are
fractions, so no rounding moves a border by a sample.

What must stay true: a PDI's interval lies within the recording or is an error; a media fragment's
is cut at its end.
"""

from __future__ import annotations

import math
from fractions import Fraction

import msgspec

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.extractors.port import Source
from perdure.parts import Instant, Interval, Media, Selector
from perdure.parts.selectors import Time

SELECTORS = (Interval, Media, Instant)


class Samples(msgspec.Struct, frozen=True):
    """Samples [first, last) of a recording, and the part that they are."""

    first: int
    last: int
    selector: Selector


def select(source: Source, selector: Selector, rate: int, count: int) -> Samples:
    """The samples that a selector means, of `count` at `rate` a second.

    Raises PartOutOfRange or PartNotSupported.
    """
    match selector:
        case Interval(start=start, end=end):
            if end * rate > count:  # ruling: part-range
                raise _beyond(source, selector, rate, count)
        case Instant(at=at):
            if at * rate >= count:
                raise _beyond(source, selector, rate, count)
            first = math.floor(at * rate)
            return Samples(first, first + 1, selector)
        case Media(time=Time() as time, area=None, tracks=(), id=None):
            duration = Fraction(count, rate)
            start = time.start or Fraction(0)
            end = duration if time.end is None else min(time.end, duration)
            selector = Media(time=Time(start, end))
        case _:
            raise PartNotSupported(
                media_type=source.media_type,
                selector=str(selector),
                offered=("intervals of time",),
            )
    first, last = math.ceil(start * rate), math.ceil(end * rate)
    if first >= last:
        raise _beyond(source, selector, rate, count)
    return Samples(first, last, selector)


def _beyond(source: Source, selector: Selector, rate: int, count: int) -> PartOutOfRange:
    return PartOutOfRange(
        identifier=source.name,
        selector=str(selector),
        extent=f"{float(Fraction(count, rate)):g} seconds, {count} samples at {rate} a second",
    )
