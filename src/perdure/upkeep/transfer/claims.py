"""The places in the segments that an old registry names, so that a damaged head names no other.

How it works: for each representation in the old registry, 25 bytes are kept: its offset, a hash of
its key, version and format, a hash of all that its head must say, and whether that was confirmed.
If the head at this place says something else, one of its values is damaged. If it says the same,
the old record has all that the head could tell, and nothing is written for the head.

What must stay true: where they contradict each other, the old registry is right, because its rows
have checksums and heads have none. A confirmed place must be claimed again by a record that was
kept (`note_kept`); otherwise the head still has to be read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

from perdure.errors import PerdureError
from perdure.model.records import Record, Representation
from perdure.model.stored import DocumentLine
from perdure.policy.naming import spell_full_name

_UNNAMED = Record()  # a record whose key spells its name


class _SegmentClaims:
    """The claims to one segment."""

    def __init__(self) -> None:
        self.offsets = array("q")
        self.marks = array("q")
        self.heads = array("q")
        self.is_open = bytearray()
        """For each claim, 1 after it was confirmed and before its record was kept."""
        self._is_sorted = True
        self._next = 0  # index of the claim that is probably sought next

    def add_claim(self, offset: int, mark: int, head: int) -> None:
        self._is_sorted &= not self.offsets or self.offsets[-1] < offset
        self.offsets.append(offset)
        self.marks.append(mark)
        self.heads.append(head)
        self.is_open.append(0)

    def find_claim(self, offset: int) -> int | None:
        """The index of the claim to an offset, or None."""
        at, count = self._next, len(self.offsets)
        if at < count and self._is_sorted and self.offsets[at] == offset:
            self._next += 1
            return at
        if not self._is_sorted:
            rows = sorted(zip(self.offsets, self.marks, self.heads, strict=True))
            self.offsets = array("q", (row[0] for row in rows))
            self.marks = array("q", (row[1] for row in rows))
            self.heads = array("q", (row[2] for row in rows))
            self._is_sorted = True
        at = bisect_left(self.offsets, offset)
        self._next = at + 1
        return at if at < count and self.offsets[at] == offset else None


class PlaceClaims:
    """The claims of an old registry to places in segments."""

    def __init__(self) -> None:
        self._segments: dict[int, _SegmentClaims] = {}

    def add_record(self, key: str, record: Record) -> None:
        """Note the places that a record names. All records come before the first question."""
        for version in record.versions:
            for one in version.representations:
                facts = (version.number, one.format, one.sha512)
                self._add_claim(one.segment, one.offset, key, record, facts)

    def add_document(self, key: str, one: DocumentLine) -> None:
        """Note the place that a record of the short form names."""
        facts = (1, one.format, one.sha512)
        self._add_claim(int(one.segment), int(one.offset), key, _UNNAMED, facts)

    def _add_claim(
        self, segment: int, offset: int, key: str, record: Record, facts: tuple[int, str, str]
    ) -> None:
        number, format, _ = facts
        try:
            head = hash((spell_full_name(key, record, number, format), *facts))
        except (PerdureError, ValueError):  # such a record is not kept, so it confirms nothing
            head = 0
        claims = self._segments.setdefault(segment, _SegmentClaims())
        claims.add_claim(offset, hash((key, number, format)), head)

    def _find_claim(self, segment: int, offset: int) -> tuple[_SegmentClaims, int] | None:
        claims = self._segments.get(segment)
        at = claims.find_claim(offset) if claims is not None else None
        return None if claims is None or at is None else (claims, at)

    def contradict(self, held: Representation, key: str, version: int) -> bool:
        """Return True if the old registry has something else at this place."""
        found = self._find_claim(held.segment, held.offset)
        return found is not None and found[0].marks[found[1]] != hash((key, version, held.format))

    def confirm(self, held: Representation, name: str, version: int) -> bool:
        """Return True if the old registry has the same full name and digest at this place."""
        found = self._find_claim(held.segment, held.offset)
        if found is None:
            return False
        claims, at = found
        is_same = claims.heads[at] == hash((name, version, held.format, held.sha512))
        claims.is_open[at] = is_same
        return is_same

    def note_kept(self, record: Record) -> None:
        """Note that the new registry has the representations of a record."""
        for version in record.versions:
            for one in version.representations:
                self._close_claim(one.segment, one.offset)

    def note_kept_document(self, key: str, one: DocumentLine) -> None:
        """Do the same for a record of the short form. Raises PerdureError if its key is damaged."""
        found = self._find_claim(int(one.segment), int(one.offset))
        if found is None:
            spell_full_name(key, _UNNAMED, 1, one.format)
            return
        claims, at = found
        if not claims.heads[at] or claims.marks[at] != hash((key, 1, one.format)):
            spell_full_name(key, _UNNAMED, 1, one.format)  # it was not spelled for the claim
        claims.is_open[at] = 0

    def _close_claim(self, segment: int, offset: int) -> None:
        found = self._find_claim(segment, offset)
        if found is not None:
            found[0].is_open[found[1]] = 0

    def has_open(self) -> bool:
        """Return True if a confirmed place was claimed by no record that was kept."""
        return any(1 in claims.is_open for claims in self._segments.values())

    def is_open(self, held: Representation) -> bool:
        """Return True if this place was confirmed, and claimed by no record that was kept."""
        found = self._find_claim(held.segment, held.offset)
        return found is not None and found[0].is_open[found[1]] == 1
