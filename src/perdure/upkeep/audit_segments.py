"""The first pass of the full audit: the records of one segment, by their heads.

How it works: the segment is read once from beginning to end. Each record with an intact head leaves
its offset and a hash of what the head says; what is damaged gives a finding.

What must stay true: memory grows by 17 bytes for each representation; the hashes mean something
only in this process and in those that it forks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from perdure.errors import Corrupt
from perdure.model.queries import IntegrityFinding
from perdure.storage.byte_ports import Bytes, HeadFacts, IntactBytes, KeptRecord
from perdure.upkeep.audit import make_finding


class SegmentHeads:
    """The records with intact heads in one segment."""

    def __init__(self, number: int, end: int) -> None:
        self.number = number
        self.end = end
        """Bytes up to which it was read."""
        self.offsets = array("q")
        self.marks = array("q")
        self.is_named = bytearray()
        self.metadata: list[KeptRecord] = []
        """Withdrawals and corrections."""
        self.damaged: dict[int, KeptRecord] = {}
        """Records with an intact head whose bytes do not have their digest, by their offset."""
        self._next = 0  # index of the record that is probably sought next

    def add_bytes(self, offset: int, facts: HeadFacts) -> None:
        self.offsets.append(offset)
        self.marks.append(hash(facts))
        self.is_named.append(0)

    def find_mark(self, offset: int) -> int | None:
        """Return the hash of the head before an offset, and note that a record names it."""
        at, count = self._next, len(self.offsets)
        if at >= count or self.offsets[at] != offset:
            at = bisect_left(self.offsets, offset)
            if at == count or self.offsets[at] != offset:
                return None
        self._next = at + 1
        self.is_named[at] = 1
        return self.marks[at]

    def note_named(self, is_named: bytes) -> None:
        """Note which heads another process found named, from a copy of this object."""
        both = int.from_bytes(self.is_named) | int.from_bytes(is_named)
        self.is_named = bytearray(both.to_bytes(len(self.is_named)))


def read_segment(
    held: Bytes, number: int, length: int
) -> Iterator[list[IntegrityFinding] | SegmentHeads]:
    """Read a segment up to a length. Yields findings, and finally its heads."""
    heads = SegmentHeads(number, length)
    try:
        for checked in held.check_records(number, length):
            if isinstance(checked, IntactBytes):
                heads.add_bytes(checked.offset, checked.facts)
            elif isinstance(checked, Corrupt):
                yield [make_place_finding(number, checked)]
            elif checked.kept.representation is not None:
                heads.damaged[checked.kept.representation.offset] = checked.kept
            else:
                heads.metadata.append(checked.kept)
                if not checked.is_intact:
                    problem = f"its withdrawal in segment {number} is damaged"
                    yield [make_finding(checked.kept.name, problem)]
    except OSError as error:
        yield [make_place_finding(number, error)]
    yield heads


def make_place_finding(number: int, error: Exception) -> IntegrityFinding:
    """A problem with a segment."""
    return IntegrityFinding(
        identifier=f"segment {number}", segment=number, offset=0, length=0, problem=str(error)
    )
