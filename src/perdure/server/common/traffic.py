"""The traffic of the last day: how many requests were answered, and how long they took.

How it works: every minute each worker notes the counters of all workers (`perdure.server.common.
metrics`) and keeps the notes of a day. The difference of two notes is the traffic between them.
Times are estimated from the buckets of the histogram as Prometheus does it (`histogram_quantile`).

What must stay true: the notes are in memory, their number is bounded, and they end with the
process. If a counter went back, because a worker restarted, the time between is left out.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

import msgspec

EVERY = 60  # seconds
_MOST = 24 * 60
_STEPS = (60, 300, 900, 1800)  # seconds
_MOST_STEPS = 48


class TrafficNote(msgspec.Struct, frozen=True):
    """The counters at a moment, since the server started."""

    at: float
    """Seconds since 1970."""
    slow: int
    """Requests answered through ASGI."""
    fast: int
    """Requests answered without ASGI."""
    failed: int
    """Those of the first that failed in the server (5xx)."""
    buckets: tuple[int, ...]
    """How many of the first took at most each time in `bounds`, without those of shorter ones."""
    bounds: tuple[float, ...]
    """Seconds; the last is infinite."""


class TrafficStep(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic between two notes."""

    begins: float
    ends: float
    """Seconds since 1970."""
    requests: int
    failed: int
    median: float | None
    """Seconds that half of the requests through ASGI took at most; None if there were none."""
    slowest: float | None
    """Seconds that 95 per cent of them took at most."""

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / max(self.ends - self.begins, 1)


class Traffic:
    """The notes of one worker."""

    def __init__(self) -> None:
        self._notes: deque[TrafficNote] = deque(maxlen=_MOST)

    def take_note(self, note: TrafficNote) -> None:
        """Keep a note, unless the last one is as young."""
        if not self._notes or note.at - self._notes[-1].at >= EVERY / 2:
            self._notes.append(note)

    def list_steps(self, now: TrafficNote) -> list[TrafficStep]:
        """Return the traffic until now in equal steps, the oldest first, at most 48."""
        notes = [*self._notes, now]
        return list_steps(notes)


def list_steps(notes: Sequence[TrafficNote]) -> list[TrafficStep]:
    """Return the traffic between notes, in the shortest steps of which 48 are enough."""
    span = notes[-1].at - notes[0].at
    step = next((one for one in _STEPS if span <= one * _MOST_STEPS), _STEPS[-1])
    chosen = [notes[0]]
    for note in notes[1:]:
        if note.at - chosen[-1].at >= step or note is notes[-1]:
            chosen.append(note)
    return [_compare_notes(one, two) for one, two in pairwise(chosen) if _is_later(one, two)]


def _is_later(before: TrafficNote, after: TrafficNote) -> bool:
    return (
        after.at > before.at
        and after.slow >= before.slow
        and after.fast >= before.fast
        and all(b >= a for a, b in zip(before.buckets, after.buckets, strict=True))
    )


def _compare_notes(before: TrafficNote, after: TrafficNote) -> TrafficStep:
    taken = [b - a for a, b in zip(before.buckets, after.buckets, strict=True)]
    return TrafficStep(
        begins=before.at,
        ends=after.at,
        requests=after.slow - before.slow + after.fast - before.fast,
        failed=max(after.failed - before.failed, 0),
        median=estimate_quantile(0.5, after.bounds, taken),
        slowest=estimate_quantile(0.95, after.bounds, taken),
    )


def estimate_quantile(share: float, bounds: Sequence[float], counts: Sequence[int]) -> float | None:
    """Estimate the value that a share of all values do not exceed, from the counts of buckets.

    As Prometheus does: values of a bucket are spread evenly in it, the first begins at 0, and a
    value above the last finite bound is estimated as that bound. Returns None without values.

    >>> estimate_quantile(0.9, (1, 2, 4, math.inf), (0, 10, 10, 0))
    3.6
    """
    total = sum(counts)
    if not total:
        return None
    rank = share * total
    reached = 0
    ends = [reached := reached + count for count in counts]
    at = bisect_left(ends, rank)
    if math.isinf(bounds[at]):
        return bounds[at - 1]
    low = bounds[at - 1] if at else 0.0
    return low + (bounds[at] - low) * (rank - (ends[at] - counts[at])) / counts[at]
