"""Captures that were taken down: which they are, since when and why.

    {"uri":"http://a.example/private/","match":"prefix","first":"20140101000000",…,"sum":"…"}

How it works: the file `withheld.jsonl` in the registry directory has one line for each takedown:
a URI, how captures match it, and a span of time. The index of the library
(`perdure.archives.library`) leaves out what is withheld, so that no PWID, replay, listing, Memento,
revisit or extraction finds it. The archive files themselves stay as they are, until an erasure
(`perdure.archives.erasing`). Every process reads the file again when it has grown. A line with
`lifts` ends an earlier takedown of the same captures, and says who did that, when and why.
Withdrawing a PWID of one's own archive adds a line, too (`perdure.writing.withdrawing`). With a
page go the texts and pictures that a crawler made of it (`perdure.archives.derivatives`).

What must stay true: a takedown holds from the moment its line is durable, also for archive files
that are added later; a line is never changed; a line that cannot be read, or does not have its
checksum, stops the service of captures, rather than be ignored.  # ruling: tombstone-silence
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal

import msgspec

from perdure.archives import places
from perdure.archives.derivatives import find_page, is_made_by
from perdure.archives.index.ranges import IndexRange, make_range
from perdure.archives.port import Capture
from perdure.archives.pwid.scopes import find_scope
from perdure.archives.pwid.verdict import WantedCapture, interpret_pwid, is_same_uri
from perdure.errors import CaptureWithdrawn
from perdure.errors.processes import FileUnusable
from perdure.ids.pwid import Pwid
from perdure.ids.urlkey import make_url_key
from perdure.model.records import Tombstone
from perdure.storage.checked_file import sum_bytes
from perdure.storage.durable import sync_directory, write_all

FILE = places.WITHHELD
SCOPES = ("subsite", "site")
"""Coverages of PWIDs that name more than one URL."""
_FIRST, _LAST = "0" * 14, "9" * 14

Match = Literal["capture", "exact", "prefix", "host", "domain", "subsite", "site"]


class Withholding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    lifts: bool = False
    """This line ends the earlier takedowns of the same URI, match and span."""
    sum: str = ""
    """The checksum of the line without it. Empty in memory, and in lines of earlier releases."""

    @property
    def scope(self) -> tuple[str, str, str, str]:
        """The captures that it is about."""
        return self.uri, self.match, self.first, self.last

    @property
    def tombstone(self) -> Tombstone:
        return Tombstone(reason=self.reason, at=self.at, by=self.by)

    def list_ranges(self) -> tuple[IndexRange, ...]:
        """Return the stretches of an index that it is about. Raises InvalidRequest."""
        if self.match in SCOPES:
            return find_scope(interpret_scope(self.uri, self.match))
        found = make_range(self.uri, "exact" if self.match == "capture" else self.match)
        if self.match != "prefix" or not self.uri.endswith("/"):
            return (found,)
        key = make_url_key(self.uri)  # of the folder itself: keys have no slash at the end
        if key[-1] == "/":
            return (found,)
        return IndexRange(f"{key} ", f"{key}!"), found, IndexRange(f"{key}?", f"{key}@")

    def covers(self, uri: str, first: str, last: str) -> bool:
        """Return whether it is about all of a span of time of a URI within its ranges."""
        return self._names(uri) and self.first <= first and last <= self.last

    def covers_derivatives(self, page: str, first: str, last: str) -> bool:
        """Return whether it is about the captures from which records of a page were made.

        `first` and `last` are the span of time of these records.
        """
        return self._names(page) and self.first <= first and is_made_by(self.last, last)

    def _names(self, uri: str) -> bool:
        return self.match != "capture" or is_same_uri(self.uri, uri)


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
        self._file = str(self._path)
        """For every look-up: `os` takes half the time of `pathlib`."""
        self._read: _ReadFile = _ReadFile((0, 0))

    def add(self, one: Withholding) -> None:
        """Add a takedown durably. Raises OSError."""
        one.list_ranges()
        is_new = not self._path.exists()
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            text = os.pread(fd, os.fstat(fd).st_size, 0)
            end = len(text) - len(_find_cut_off(text))
            os.ftruncate(fd, end)  # a line that a crash cut off was never acknowledged
            try:
                write_all(
                    fd, (b"" if text[:end][-1:] in (b"", b"\n") else b"\n") + _encode_line(one)
                )
                os.fsync(fd)
            except OSError:
                os.ftruncate(fd, end)  # a complete line holds, and this one is not acknowledged
                raise
        finally:
            os.close(fd)
        if is_new:
            sync_directory(self._path.parent)

    def list_all(self) -> tuple[Withholding, ...]:
        """Return all takedowns in force, the first one first. Raises Unavailable."""
        return self._refresh().rules

    def list_lines(self) -> tuple[Withholding, ...]:
        """Return all lines, also lifted takedowns and what lifted them. Raises Unavailable."""
        return self._refresh().lines

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
            state = os.lstat(self._file)
        except FileNotFoundError:
            return self._read
        except OSError as error:
            raise FileUnusable(file=FILE, fault=str(error)) from error
        if stat.S_ISLNK(state.st_mode):
            state = self._follow_link()
        mark = (state.st_ino, state.st_size)
        if mark != self._read.mark:
            self._read = _ReadFile(mark, _read_lines(self._path))
        return self._read

    def _follow_link(self) -> os.stat_result:
        """Return the state of the file that a link leads to. Raises Unavailable if it is none."""
        try:
            return self._path.stat()
        except OSError as error:
            raise FileUnusable(file=FILE, fault=str(error)) from error


class _ReadFile:
    """The takedowns as read, prepared for look-ups."""

    def __init__(self, mark: tuple[int, int], lines: tuple[Withholding, ...] = ()) -> None:
        self.mark = mark
        self.lines = lines
        self.rules = _select_in_force(lines)
        self._of_keys: dict[str, list[Withholding]] = {}
        self._of_ranges: list[tuple[IndexRange, Withholding]] = []
        for one in self.rules:
            if one.match in ("capture", "exact"):
                self._of_keys.setdefault(make_url_key(one.uri), []).append(one)
            else:
                self._of_ranges += ((stretch, one) for stretch in one.list_ranges())

    def find_rule(self, key: str, uri: str, first: str, last: str) -> Withholding | None:
        rules = self._list_rules(key, first)
        found = next((one for one in rules if one.covers(uri, first, last)), None)
        if found is not None or (page := find_page(uri)) is None:
            return found
        rules = self._list_rules(make_url_key(page), first)
        return next((one for one in rules if one.covers_derivatives(page, first, last)), None)

    def _list_rules(self, key: str, first: str) -> Iterator[Withholding]:
        """Yield the takedowns of a key, whatever their spans of time."""
        place = f"{key} {first}"
        ranged = (one for (low, high), one in self._of_ranges if low <= place < high)
        return chain(self._of_keys.get(key, ()), ranged)


def _select_in_force(lines: Iterable[Withholding]) -> tuple[Withholding, ...]:
    found: list[Withholding] = []
    for line in lines:
        if line.lifts:
            found = [one for one in found if one.scope != line.scope]
        else:
            found.append(line)
    return tuple(found)


def _encode_line(one: Withholding) -> bytes:
    sum = sum_bytes(msgspec.json.encode(one))
    return msgspec.json.encode(msgspec.structs.replace(one, sum=sum)) + b"\n"


def _decode_line(line: bytes) -> Withholding:
    """Read a line. Raises ValueError if it is damaged."""
    found = msgspec.json.decode(line, type=Withholding)
    bare = msgspec.structs.replace(found, sum="")
    if found.sum not in ("", sum_bytes(msgspec.json.encode(bare))):
        raise ValueError("another checksum")
    return bare


def _find_cut_off(text: bytes) -> bytes:
    """The line at the end of a file that is being written, or that a crash cut off.

    A line with its last member is complete, whatever became of its end. After a power cut, blocks
    that were never written read as zeros.
    """
    rest = text[text.rfind(b"\n") + 1 :]
    beginning = rest.rstrip(b"\0")
    is_beginning = beginning[: len(_FIRST_MEMBER)] == _FIRST_MEMBER[: len(beginning)]
    return rest if is_beginning and not _LAST_MEMBER.search(rest) else b""


_FIRST_MEMBER = b'{"uri":"'
_LAST_MEMBER = re.compile(rb'("lifts":(true|false)|"sum":"[0-9a-f]{16}")}')


def _read_lines(path: Path) -> tuple[Withholding, ...]:
    """Read the complete lines."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileUnusable(file=FILE, fault=str(error)) from error
    found = []
    lines = text[: len(text) - len(_find_cut_off(text))].removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines if lines != [b""] else (), 1):
        try:
            found.append(_decode_line(line))
        except ValueError as error:
            raise FileUnusable(file=f"{FILE} line {number}", fault=str(error)) from error
    return tuple(found)
