"""The keys of the objects of segments, and which of them has a byte.

    segments/000007/000000000000000.warc    one part: the records of one batch, from this offset
    segments/000007/000000000131072.warc    the next part
    archive/9f2/…/urn%3aperdure%3asegment%3a000007/…    a sealed segment: an OCFL object
    claims/000007                           the node that writes this segment
    locks/000007                            the node that seals it or erases something in it
    aside/…                                 parts that no committed batch names
    probes/…                                what `perdure doctor` tries
    registry                                the registry whose bytes were moved here

How it works: a segment is the sequence of its parts, each complete in itself, none of which changes
but for an erasure. A sealed segment is one object in an OCFL storage root; its declaration is
written last, and its parts are deleted after that.

What must stay true: no two parts of a segment overlap; a segment with a declaration is complete.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from perdure.storage.ocfl_layout import find_object_path
from perdure.storage.segments import ocfl
from perdure.storage.segments.objects.client import ObjectClient

SEGMENTS, CLAIMS, LOCKS, ASIDE, PROBES = "segments", "claims", "locks", "aside", "probes"
DECLARATION = "0=ocfl_object_1.1"
_SEALED = re.compile(r"urn%3aperdure%3asegment%3a(\d{6,})/0=ocfl_object_1\.1$")


class SegmentPart(NamedTuple):
    """Some bytes of a segment that are one object."""

    start: int
    length: int
    key: str

    @property
    def end(self) -> int:
        """The offset of the first byte behind it."""
        return self.start + self.length


class Layout(NamedTuple):
    """The parts of a segment, in order."""

    parts: tuple[SegmentPart, ...]
    is_sealed: bool

    @property
    def length(self) -> int:
        """The length of the segment in bytes."""
        return self.parts[-1].end if self.parts else 0

    def find_part(self, offset: int) -> SegmentPart | None:
        """The part that has the byte at an offset."""
        place = bisect_right(self.parts, offset, key=itemgetter(0)) - 1
        if place < 0 or offset > self.parts[place].end:
            return None
        return self.parts[place]


def make_part_key(number: int, start: int) -> str:
    """The key of the part of a segment that begins at an offset."""
    return f"{SEGMENTS}/{number:06d}/{start:015d}.warc"


def make_archive_key(number: int, file: str) -> str:
    """The key of a file of a sealed segment."""
    return f"{ocfl.ARCHIVE}/{find_object_path(ocfl.object_id(number))}/{file}"


def make_content_key(number: int) -> str:
    """The key of the segment file of a sealed segment."""
    return make_archive_key(number, f"v1/content/{number:06d}.warc")


def list_parts(client: ObjectClient, number: int) -> Iterator[SegmentPart]:
    """The parts of a segment that are not sealed, in order."""
    for key, size in client.list_objects(f"{SEGMENTS}/{number:06d}").items():
        name = key.rpartition("/")[2].removesuffix(".warc")
        yield SegmentPart(int(name), size, key)


def find_layout(client: ObjectClient, number: int) -> Layout | None:
    """The parts of a segment, or None if there is no such segment."""
    if is_sealed(client, number):
        key = make_content_key(number)
        size = client.find_size(key)
        whole = () if size is None else (SegmentPart(0, size, key),)
        return Layout(whole, is_sealed=True)
    parts = tuple(list_parts(client, number))
    if not parts and is_sealed(client, number):  # a moment ago
        return find_layout(client, number)
    return Layout(parts, is_sealed=False) if parts else None


def is_sealed(client: ObjectClient, number: int) -> bool:
    """Return True if a segment is an object of the archive."""
    return client.find_size(make_archive_key(number, DECLARATION)) is not None


def list_sealed(client: ObjectClient) -> list[int]:
    """The numbers of the sealed segments, in order."""
    keys = client.list_objects(ocfl.ARCHIVE)
    return sorted(int(found[1]) for key in keys if (found := _SEALED.search(key)))


def list_loose(client: ObjectClient) -> list[int]:
    """The numbers of the segments that have parts, in order."""
    return sorted(int(name) for name in client.list_folders(SEGMENTS) if name.isdecimal())


def list_numbers(client: ObjectClient) -> list[int]:
    """The numbers of all segments, in order."""
    return sorted({*list_loose(client), *list_sealed(client)})
