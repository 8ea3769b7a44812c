"""The places in the segments that an old registry names, so that a damaged head names no other.

How it works: for each representation in the old registry, 16 bytes are kept: its offset, and a hash
of the name, version and format that it has. If the head at this place says something else, one of
its values is damaged.

What must stay true: where they contradict each other, the old registry is right, because its rows
have checksums and heads have none.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from perdure.model.records import Record


class _SegmentClaims:
    """The claims to one segment."""

    def __init__(self) -> None:
        self.offsets = array("q")
        self.marks = array("q")
        self._is_sorted = True

    def add_claim(self, offset: int, mark: int) -> None:
        self._is_sorted &= not self.offsets or self.offsets[-1] < offset
        self.offsets.append(offset)
        self.marks.append(mark)

    def find_mark(self, offset: int) -> int | None:
        if not self._is_sorted:
            pairs = sorted(zip(self.offsets, self.marks, strict=True))
            self.offsets = array("q", (one for one, _ in pairs))
            self.marks = array("q", (one for _, one in pairs))
            self._is_sorted = True
        at = bisect_left(self.offsets, offset)
        is_claimed = at < len(self.offsets) and self.offsets[at] == offset
        return self.marks[at] if is_claimed else None


class PlaceClaims:
    """The claims of an old registry to places in segments."""

    def __init__(self) -> None:
        self._segments: dict[int, _SegmentClaims] = {}

    def add_record(self, key: str, record: Record) -> None:
        """Note the places that a record names."""
        for version in record.versions:
            for one in version.representations:
                claims = self._segments.setdefault(one.segment, _SegmentClaims())
                claims.add_claim(one.offset, hash((key, version.number, one.format)))

    def contradict(self, segment: int, offset: int, key: str, version: int, format: str) -> bool:
        """Return True if the old registry has something else at this place."""
        claims = self._segments.get(segment)
        mark = claims.find_mark(offset) if claims is not None else None
        return mark is not None and mark != hash((key, version, format))
