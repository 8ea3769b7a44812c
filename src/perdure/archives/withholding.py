"""Captures that were taken down: which they are, since when and why.

    {"uri":"http://a.example/private/","match":"prefix","first":"20140101000000",…,"reason":"…"}

How it works: the file `withheld.jsonl` in the registry directory has one line for each takedown:
a URI, how captures match it, and a span of time. `PermittedCaptures` wraps every index of captures
and leaves out what is withheld, so that no PWID, replay, listing, Memento, revisit or extraction
finds it. The archive files themselves stay as they are. Every process reads the file again when it
has grown. Withdrawing a PWID of one's own archive adds a line, too (`perdure.writing.registrar`).

What must stay true: a takedown holds from the moment its line is durable, also for archive files
that are added later; a line is never changed; a line that cannot be read stops the service of
captures, rather than be ignored.  # ruling: tombstone-silence
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import msgspec

from perdure.archives.index.ranges import IndexRange, make_range, walk_range
from perdure.archives.port import Capture, Captures
from perdure.archives.pwid.scopes import find_scope
from perdure.archives.pwid.verdict import WantedCapture, interpret_pwid, is_same_uri
from perdure.archives.urlkey import make_url_key
from perdure.errors import CaptureWithdrawn
from perdure.errors.processes import FileUnusable
from perdure.ids.pwid import Pwid
from perdure.model.records import Tombstone
from perdure.storage.durable import sync_directory

FILE = "withheld.jsonl"
SCOPES = ("subsite", "site")
"""Coverages of PWIDs that name more than one URL."""
_FIRST, _LAST = "0" * 14, "9" * 14

Match = Literal["capture", "exact", "prefix", "host", "domain", "subsite", "site"]


class Withholding(msgspec.Struct, frozen=True, kw_only=True):
    """One takedown."""

    uri: str
    match: Match
    """`capture`: this spelling of the URI; `subsite` and `site` as in PWIDs; the others as in
    `perdure.archives.index.ranges`."""
    first: str = _FIRST
    """The first second, in 14 digits."""
    last: str = _LAST
    reason: str
    at: str
    by: str

    @property
    def tombstone(self) -> Tombstone:
        return Tombstone(reason=self.reason, at=self.at, by=self.by)

    def list_ranges(self) -> tuple[IndexRange, ...]:
        """Return the stretches of an index that it is about. Raises InvalidRequest."""
        if self.match in SCOPES:
            return find_scope(interpret_scope(self.uri, self.match))
        return (make_range(self.uri, "exact" if self.match == "capture" else self.match),)

    def covers(self, uri: str, first: str, last: str) -> bool:
        """Return whether it is about all of a span of time of a URI within its ranges."""
        same = self.match != "capture" or is_same_uri(self.uri, uri)
        return same and self.first <= first and last <= self.last


def interpret_scope(uri: str, coverage: str) -> WantedCapture:
    return WantedCapture(uri=uri, first=_FIRST, last=_LAST, date="", coverage=coverage)


def withhold_pwid(pwid: Pwid, tombstone: Tombstone) -> Withholding:
    """Return the takedown of the captures that a PWID names."""
    wanted = interpret_pwid(pwid)
    scopes: dict[str | None, Match] = {"subsite": "subsite", "site": "site"}
    return Withholding(
        uri=pwid.item,
        match=scopes.get(pwid.coverage, "capture"),
        first=wanted.first,
        last=wanted.last,
        reason=tombstone.reason,
        at=tombstone.at,
        by=tombstone.by,
    )


class Withholdings:
    """The takedowns of a registry. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._read: _ReadFile = _ReadFile((0, 0))

    def add(self, one: Withholding) -> None:
        """Add a takedown durably. Raises OSError."""
        one.list_ranges()
        is_new = not self._path.exists()
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            size = os.fstat(fd).st_size
            end = os.pread(fd, size, 0).rfind(b"\n") + 1
            os.ftruncate(fd, end)  # a line that a crash cut off was never acknowledged
            os.write(fd, msgspec.json.encode(one) + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        if is_new:
            sync_directory(self._path.parent)

    def list_all(self) -> tuple[Withholding, ...]:
        """Return all takedowns, the first one first. Raises Unavailable."""
        return self._refresh().rules

    def find_covering(self, uri: str, first: str, last: str) -> Withholding | None:
        """Return the takedown of a URI that covers all of a span of time, or None."""
        rules = self._refresh()
        return rules.find_rule(make_url_key(uri), uri, first, last) if rules.rules else None

    def require_served(self, identifier: str, uri: str, first: str, last: str) -> None:
        """Raise CaptureWithdrawn if the captures of a URI in a span of time were taken down."""
        found = self.find_covering(uri, first, last)
        if found is not None:
            raise CaptureWithdrawn(
                identifier=identifier, reason=found.reason, at=found.at, by=found.by
            )

    def select_served(self, found: Iterable[Capture]) -> Iterator[Capture]:
        """Yield the captures that were not taken down."""
        find_rule = self._refresh().find_rule
        return (one for one in found if find_rule(one.key, one.uri, one.time, one.time) is None)

    def __bool__(self) -> bool:
        return bool(self._refresh().rules)

    def _refresh(self) -> _ReadFile:
        try:
            state = self._path.stat()
        except FileNotFoundError:
            return self._read
        mark = (state.st_ino, state.st_size)
        if mark != self._read.mark:
            self._read = _ReadFile(mark, _read_lines(self._path))
        return self._read


class _ReadFile:
    """The takedowns as read, prepared for look-ups."""

    def __init__(self, mark: tuple[int, int], rules: tuple[Withholding, ...] = ()) -> None:
        self.mark = mark
        self.rules = rules
        self._of_keys: dict[str, list[Withholding]] = {}
        self._of_ranges: list[tuple[IndexRange, Withholding]] = []
        for one in rules:
            if one.match in ("capture", "exact"):
                self._of_keys.setdefault(make_url_key(one.uri), []).append(one)
            else:
                self._of_ranges += ((stretch, one) for stretch in one.list_ranges())

    def find_rule(self, key: str, uri: str, first: str, last: str) -> Withholding | None:
        place = f"{key} {first}"
        ranged = (one for (low, high), one in self._of_ranges if low <= place < high)
        named = self._of_keys.get(key, ())
        return next((one for one in chain(named, ranged) if one.covers(uri, first, last)), None)


def _read_lines(path: Path) -> tuple[Withholding, ...]:
    """Read the complete lines; one without its end is being written, or was cut off."""
    found = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            found.append(msgspec.json.decode(line, type=Withholding))
        except msgspec.MsgspecError as error:
            raise FileUnusable(file=f"{FILE} line {number}", fault=str(error)) from error
    return tuple(found)


class PermittedCaptures:
    """An index without the captures that were taken down; implements `Captures`."""

    def __init__(self, captures: Captures, withheld: Withholdings) -> None:
        self._captures = captures
        self._withheld = withheld

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`."""
        if not self._withheld:
            return self._captures.scan_range(low, high, backwards=backwards, limit=limit)
        found = walk_range(self._captures, IndexRange(low, high), backwards=backwards, batch=limit)
        return list(islice(self._withheld.select_served(found), limit))

    def count_captures(self) -> int:
        return self._captures.count_captures()
