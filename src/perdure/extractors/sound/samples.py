"""Samples of an interval of time, exactly.

How it works: sample n is taken at n/rate. An interval selects the samples with `start <= n/rate <
end` (ruling: time-range); a moment selects the sample that sounds then. Times are fractions, so no
rounding moves a border by a sample.

What must stay true: a PDI's interval is within the recording or is an error. A media fragment's
interval is cut at the end of the recording.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import msgspec

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.root import count_seconds, count_things
from perdure.extractors import lasting
from perdure.extractors.port import Extent, Part, Source, Span
from perdure.parts import Instant, Interval, Media, Selector
from perdure.parts.selectors import Time

SELECTORS = (Interval, Media, Instant)


class Samples(msgspec.Struct, frozen=True):
    """Samples [first, last) of a recording, and the selector of exactly this part."""

    first: int
    last: int
    selector: Selector


class StoredSound(Protocol):
    """Consecutive samples in a source."""

    @property
    def channels(self) -> int: ...

    @property
    def rate(self) -> int: ...

    @property
    def block(self) -> int:
        """Bytes of one sample of all channels."""

    @property
    def data(self) -> Span:
        """All samples."""


def cut_samples(
    source: Source,
    selector: Selector,
    sound: StoredSound,
    head: Callable[[int], bytes],
    *,
    even: bool,
) -> Part:
    """Cut a part of a sound: the output of `head` for its number of bytes, and a span of the
    source.

    `even`: an odd number of bytes is padded with one more. Raises what `select_samples` raises.
    """
    found = select_samples(source, selector, sound.rate, sound.data.length // sound.block)
    start = sound.data.start
    span = Span(start + found.first * sound.block, start + found.last * sound.block)
    padding = bytes(span.length % 2) if even else b""
    return Part(
        selector=found.selector,
        media_type=source.essence,
        body=(head(span.length), span, padding),
        slices=(span,),
    )


def list_extents(sound: StoredSound) -> tuple[Extent, ...]:
    """Return the extents of a sound."""
    count = sound.data.length // sound.block
    about = (
        f", {count_things(sound.channels, 'channel')} of {count_things(count, 'sample')} at "
        f"{sound.rate} Hz"
    )
    return lasting.list_time_extents(Fraction(count, sound.rate), about)


def select_samples(source: Source, selector: Selector, rate: int, count: int) -> Samples:
    """Return the samples that a selector addresses, of `count` samples at `rate` per second.

    Raises PartOutOfRange or PartNotSupported.
    """
    match selector:
        case Interval(start=start, end=end):
            if end * rate > count:  # ruling: part-range
                raise _make_out_of_range(source, selector, rate, count)
        case Instant(at=at):
            if at * rate >= count:
                raise _make_out_of_range(source, selector, rate, count)
            first = math.floor(at * rate)
            return Samples(first, first + 1, selector)
        case Media(time=Time() as time, area=None, tracks=(), id=None):
            duration = Fraction(count, rate)
            start = time.start or Fraction(0)
            end = duration if time.end is None else min(time.end, duration)
        case _:
            raise PartNotSupported(
                media_type=source.media_type,
                selector=str(selector),
                offered=("time intervals",),
            )
    first, last = math.ceil(start * rate), math.ceil(end * rate)
    if first >= last:
        raise _make_out_of_range(source, selector, rate, count)
    if isinstance(selector, Media):
        selector = Media(time=Time(start, end))
    return Samples(first, last, selector)


def _make_out_of_range(source: Source, selector: Selector, rate: int, count: int) -> PartOutOfRange:
    return PartOutOfRange(
        identifier=source.name,
        selector=str(selector),
        extent=f"{count_seconds(float(Fraction(count, rate)))}, {count_things(count, 'sample')} at "
        f"{rate} per second",
    )
