"""What was recorded with a capture: its request, what is said about it, what was made of it.

How it works: records name each other by their ids (WARC 1.1 sections 5.7, 5.9 to 5.11, 6.5, 6.7,
7.1): a request and metadata are concurrent with a capture, metadata and conversions refer to it,
continuations have it as their origin. The index has no ids, so all that lies under the URL of a
capture is looked through, and the heads of what may belong to it are read. Older crawlers write no
ids at all; then the second and the file tell. The `warcinfo` record, which says who captured it and
how, is the first of the file.

What must stay true: what names another capture is left out; one URL costs a bounded number of
look-ups and of heads, however often it was captured, and what was not looked at is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import msgspec

from perdure.archives import ranges
from perdure.archives.heads import Fields, unbracketed
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.errors import Corrupt, NotFound

MOST_SEARCHED = 65_536
"""Captures of one URL that are looked through on either side of a capture …"""
MOST_READ = 1024
"""… and heads that are read on either side."""
_BY_NAME = ("concurrent-to", "refers-to", "segment-origin-id")
_KINDS = frozenset(("request", "metadata", "conversion", "continuation"))
_OF_ONE_SECOND = frozenset(("request", "metadata"))


class Company(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to a capture."""

    before: tuple[Capture, ...] = ()
    """The `warcinfo` record of its file."""
    after: tuple[Capture, ...] = ()
    """Its request, metadata, conversions and continuations, in order of time."""
    complete: bool = True
    """Whether all that could belong to it was looked at."""


class _Wanted(msgspec.Struct, frozen=True):
    """Whose companions are looked for."""

    capture: Capture
    ids: set[str]
    """Its own."""
    names: set[str]
    """Those that it says it is concurrent to."""


class Companions:
    """Finds what belongs to captures of a library. Remembers the `warcinfo` records of files."""

    def __init__(self, archive: Library) -> None:
        self._archive = archive
        self._openings: dict[str, tuple[Capture, str] | None] = {}

    def of(self, capture: Capture) -> Company:
        """What belongs to a capture. Raises Unavailable where another server keeps the index."""
        head = self._head(capture)
        wanted = _Wanted(capture, _ids(head, ("record-id",)), _ids(head, ("concurrent-to",)))
        here = f"{capture.key} {capture.time}"
        after, rest = self._beside(wanted, ranges.Stretch(here, f"{capture.key}!"), ())
        before, past = self._beside(wanted, ranges.Stretch(f"{capture.key} ", here), after)
        return Company(
            before=self._opening(capture, head),
            after=(*reversed(before), *after),
            complete=rest and past,
        )

    def _beside(
        self, wanted: _Wanted, within: ranges.Stretch, known: Sequence[Capture]
    ) -> tuple[list[Capture], bool]:
        """What lies in a stretch and belongs to a capture, nearest first; whether that is all.

        Of requests there is one: the others of a page that was captured often are passed over.
        """
        capture = wanted.capture
        found: list[Capture] = []
        asked = any(one.kind == "request" for one in known)
        read = 0
        backwards = not within.high.endswith("!")
        for searched, one in enumerate(
            ranges.walk(self._archive.captures, within, backwards=backwards)
        ):
            if searched == MOST_SEARCHED or read == MOST_READ:
                return found, False
            is_request = one.kind == "request"
            if one.kind not in _KINDS or one.uri != capture.uri:
                continue
            if is_request and (asked or one.file != capture.file):
                continue
            read += 1
            if self._belongs(one, wanted):
                found.append(one)
                asked = asked or is_request
        return found, True

    def _belongs(self, one: Capture, wanted: _Wanted) -> bool:
        capture = wanted.capture
        if (one.file, one.offset) == (capture.file, capture.offset):
            return False
        head = self._head(one)
        names = _ids(head, _BY_NAME)
        if names:
            return bool(names & wanted.ids)
        if wanted.names & _ids(head, ("record-id",)):
            return True  # some writers have the response name the request
        together = (one.time, one.file) == (capture.time, capture.file)
        return together and one.kind in _OF_ONE_SECOND

    def _opening(self, capture: Capture, head: Fields) -> tuple[Capture, ...]:
        """The `warcinfo` record of the file, unless the capture names another one."""
        if capture.file not in self._openings:
            self._openings[capture.file] = self._first(capture.file)
        first = self._openings[capture.file]
        wanted = _ids(head, ("warcinfo-id",))
        return () if first is None or (wanted and first[1] not in wanted) else (first[0],)

    def _first(self, file: str) -> tuple[Capture, str] | None:
        """The record that a file begins with, if that is a `warcinfo`, and its id."""
        capture = Capture(key="", time="", date="", uri="", kind="warcinfo", file=file)
        head = self._head(capture)
        if not any(name.lower() == "warc-type" and value == "warcinfo" for name, value in head):
            return None
        return capture, next(iter(_ids(head, ("record-id",))), "")

    def _head(self, capture: Capture) -> Fields:
        """The named fields of a record; none where it cannot be read, which copying it tells."""
        try:
            with closing(self._archive.files.open(capture)) as record:
                return record.fields
        except (Corrupt, NotFound):
            return []


def _ids(head: Fields, names: Sequence[str]) -> set[str]:
    """The record ids in the fields `WARC-<name>` of a head."""
    fields = {f"warc-{name}" for name in names}
    return {unbracketed(value.strip()) for name, value in head if name.lower() in fields}
