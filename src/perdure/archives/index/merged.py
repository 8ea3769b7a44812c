"""Search several indexes as one.

How it works: each index returns its part of a range in order, and the parts are merged. A capture
that is in two indexes is returned once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from perdure.archives.index.cdxj import make_exchanged_key
from perdure.archives.port import Capture, Captures


class MergedCaptures:
    """Implements `perdure.archives.port.Captures`."""

    def __init__(self, sources: Sequence[Captures]) -> None:
        self._sources = sources

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`. Raises Unavailable if one of the indexes is unavailable."""
        parts = [
            one.scan_range(low, high, backwards=backwards, limit=limit) for one in self._sources
        ]
        return merge_captures(parts, backwards=backwards, limit=limit)

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`."""
        parts = [
            one.scan_by_request(low, high, backwards=backwards, limit=limit)
            for one in self._sources
        ]
        return merge_captures(parts, backwards=backwards, limit=limit, order=_sort_listed)

    def count_captures(self) -> int:
        return sum(one.count_captures() for one in self._sources)


def _sort_key(capture: Capture) -> tuple[str, str, str]:
    return capture.key, capture.time, capture.date


def _sort_listed(capture: Capture) -> tuple[str, str, str]:
    return make_exchanged_key(capture), capture.time, capture.date


def merge_captures(
    parts: Sequence[list[Capture]],
    *,
    backwards: bool = False,
    limit: int,
    order: Callable[[Capture], tuple[str, str, str]] = _sort_key,
) -> list[Capture]:
    """Return the first `limit` captures of several answers to the same question, each once."""
    found: dict[tuple[str, str, int], Capture] = {}
    for one in heapq.merge(*parts, key=order, reverse=backwards):
        found.setdefault((one.uri, one.file, one.offset), one)
        if len(found) == limit:
            break
    return list(found.values())
