"""Companions of a capture: the records of its request, its metadata and its conversions.

How it works: records name each other by their ids (WARC 1.1 sections 5.7, 5.9 to 5.11, 6.5, 6.7,
7.1): a request and metadata are concurrent with a capture, metadata and conversions refer to it,
continuations have it as their origin. The index has no ids, so the heads of all such records of a
URL are read once, and kept until another URL is queried. Older crawlers write no ids at all; then
the second and the file decide. The `warcinfo` record, which says who captured it and how, is the
first of the file.

What must stay true: a record that names another capture is left out; no head is read twice for
captures of one URL; one URL costs a bounded number of heads, and the result says if there were
more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing

import msgspec

from perdure.archives.files.heads import Fields, strip_brackets
from perdure.archives.index import ranges
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.errors import Corrupt, NotFound

MOST_READ = 1 << 18
"""Heads to read for one URL, at most."""
_BY_NAME = ("concurrent-to", "refers-to", "segment-origin-id")
_KINDS = frozenset(("request", "metadata", "conversion", "continuation"))
_OF_ONE_SECOND = frozenset(("request", "metadata"))


class Company(msgspec.Struct, frozen=True, kw_only=True):
    """The records that belong to a capture."""

    before: tuple[Capture, ...] = ()
    """The `warcinfo` record of its file."""
    after: tuple[Capture, ...] = ()
    """Its request, metadata, conversions and continuations, in order of time."""
    complete: bool = True
    """Whether all records that could belong to it were read."""


class _OfUrl(msgspec.Struct):
    """The records about captures of one URL."""

    key: str = ""
    naming: defaultdict[str, list[Capture]] = msgspec.field(
        default_factory=lambda: defaultdict(list)
    )
    """Records by the ids that they name."""
    called: dict[str, Capture] = {}
    """Records that name no other, by their own ids."""
    silent: defaultdict[tuple[str, str, str], list[Capture]] = msgspec.field(
        default_factory=lambda: defaultdict(list)
    )
    """The same records, by time, file and URI."""
    complete: bool = True


class Companions:
    """Finds the records that belong to captures of a library."""

    def __init__(self, archive: Library) -> None:
        self._archive = archive
        self._openings: dict[str, tuple[Capture, str] | None] = {}
        self._last = _OfUrl()

    def find_company(self, capture: Capture) -> Company:
        """Return the companions of a capture. Raises Unavailable if a server keeps the index."""
        if capture.key != self._last.key:
            self._last = self._index_url(capture.key)
        near, head = self._last, self._read_head(capture)
        found = list(near.silent.get((capture.time, capture.file, capture.uri), ()))
        for identity in _record_ids(head, ("record-id",)):
            found += near.naming.get(identity, ())
        for identity in _record_ids(
            head, ("concurrent-to",)
        ):  # in some files, the response names it
            if identity in near.called:
                found.append(near.called[identity])
        places = {(one.time, one.file, one.offset): one for one in found}
        places.pop((capture.time, capture.file, capture.offset), None)
        return Company(
            before=self._opening_of(capture, head),
            after=tuple(places[place] for place in sorted(places)),
            complete=near.complete,
        )

    def _index_url(self, key: str) -> _OfUrl:
        found = _OfUrl(key=key)
        read = 0
        for one in ranges.walk_range(
            self._archive.captures, ranges.IndexRange(f"{key} ", f"{key}!")
        ):
            if one.kind not in _KINDS:
                continue
            if read == MOST_READ:
                found.complete = False
                break
            read += 1
            head = self._read_head(one)
            names = _record_ids(head, _BY_NAME)
            for name in names:
                found.naming[name].append(one)
            if not names:
                found.called |= dict.fromkeys(_record_ids(head, ("record-id",)), one)
                if one.kind in _OF_ONE_SECOND:
                    found.silent[one.time, one.file, one.uri].append(one)
        return found

    def _opening_of(self, capture: Capture, head: Fields) -> tuple[Capture, ...]:
        """Return the `warcinfo` record of the file, unless the capture names another one."""
        if capture.file not in self._openings:
            self._openings[capture.file] = self._read_opening(capture.file)
        first = self._openings[capture.file]
        wanted = _record_ids(head, ("warcinfo-id",))
        return () if first is None or (wanted and first[1] not in wanted) else (first[0],)

    def _read_opening(self, file: str) -> tuple[Capture, str] | None:
        """Return the first record of a file and its id, if that record is a `warcinfo`."""
        capture = Capture(key="", time="", date="", uri="", kind="warcinfo", file=file)
        head = self._read_head(capture)
        if not any(name.lower() == "warc-type" and value == "warcinfo" for name, value in head):
            return None
        return capture, next(iter(_record_ids(head, ("record-id",))), "")

    def _read_head(self, capture: Capture) -> Fields:
        """Return the named fields of a record. Empty if it is damaged; copying reports that."""
        try:
            with closing(self._archive.files.open_record(capture)) as record:
                return record.fields
        except (Corrupt, NotFound):
            return []


def _record_ids(head: Fields, names: Sequence[str]) -> set[str]:
    """Return the record ids in the fields `WARC-<name>` of a head."""
    fields = {f"warc-{name}" for name in names}
    return {strip_brackets(value.strip()) for name, value in head if name.lower() in fields}
