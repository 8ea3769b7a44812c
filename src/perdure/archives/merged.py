"""Several indexes that answer as one.

How it works: each gives its part of a range in order, and the parts are merged. Captures that two
of them hold are given once.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from perdure.archives.port import Capture, Captures


class MergedCaptures:
    """Implements `perdure.archives.port.Captures`."""

    def __init__(self, sources: Sequence[Captures]) -> None:
        self._first, *self._others = sources

    def scan(self, low: str, high: str, *, backwards: bool = False, limit: int) -> list[Capture]:
        """See `Captures`. Raises Unavailable where one of the indexes is."""
        parts = [self._first.scan(low, high, backwards=backwards, limit=limit)]
        for source in self._others:
            found = source.scan(low, high, backwards=backwards, limit=limit)
            if found:
                parts.append(found)
        if len(parts) == 1:
            return parts[0]
        merged: dict[tuple[str, str, int], Capture] = {}
        for one in heapq.merge(*parts, key=_order, reverse=backwards):
            merged.setdefault((one.uri, one.file, one.offset), one)
            if len(merged) == limit:
                break
        return list(merged.values())

    def count(self) -> int:
        return sum(one.count() for one in (self._first, *self._others))


def _order(capture: Capture) -> tuple[str, str, str]:
    return capture.key, capture.time, capture.date
