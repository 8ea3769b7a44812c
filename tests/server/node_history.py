"""A history of what clients of several nodes wrote and read, and what is wrong with it.

How it works: each name has one writer, which writes growing numbers and waits for each answer. Any
number of clients read, from any node. All note when they sent a request, and when they had its
answer, on one clock.

What is checked is that each name is an atomic register (Lamport 1986, for one writer): a read gives
at least the last number that was acknowledged before it began, none that was not being written
before it ended, and at least what any read gave that ended before it began.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple


class Act(NamedTuple):
    """A write or a read of one name, with its time on the clock of all clients."""

    start: float
    end: float
    number: int
    node: int


def find_contradictions(writes: Iterable[Act], reads: Iterable[Act]) -> list[str]:
    """Describe each read of a name that no atomic register gives. The writes are in their order."""
    written, found = list(writes), []
    ends = [one.end for one in written]
    started = {one.number: one.start for one in written}
    by_end = sorted(reads, key=lambda one: one.end)
    read_ends = [one.end for one in by_end]
    highest = list(accumulate((one.number for one in by_end), max))
    for read in by_end:
        acknowledged = bisect_left(ends, read.start)
        if acknowledged and read.number < written[acknowledged - 1].number:
            found.append(f"{read} is older than {written[acknowledged - 1]}")
        if read.number not in started or started[read.number] > read.end:
            found.append(f"{read} was not written before")
        earlier = bisect_left(read_ends, read.start)
        if earlier and read.number < highest[earlier - 1]:
            found.append(f"{read} is older than an earlier read, of {highest[earlier - 1]}")
    return found
