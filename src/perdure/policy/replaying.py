"""The rules that every change of an origin must keep, as its mirror checks them again. Pure.

How it works: an origin promises that no name is bound twice, that serial numbers follow each other,
and that bytes never leave their record. Its mirror knows all changes before, so it can check each
promise, instead of trusting the server that answers at the address of the origin. `ReplayRules`
checks a change and what it wrote; functions tell it what the mirror has.

A gap between serial numbers is declared by a new epoch: after a promotion or a rebuild, numbers of
the days up to its beginning may have been given out unseen.

What must stay true: an honest origin never breaks a rule here, whatever its history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from perdure.ids.keys import spell_key
from perdure.ids.pdi_key import encode_number
from perdure.model.changes import Change, Epoch, Line
from perdure.model.mirroring import BrokenRule
from perdure.model.records import Record, Representation, Version

REBOUND, REVISION, PROMISE, SERIAL, DAY, CLOSED, DIGEST, CHAIN, FORK, UNREADABLE, MISSING = (
    "rebound",
    "revision",
    "promise",
    "serial",
    "day",
    "closed-day",
    "digest",
    "chain",
    "fork",
    "unreadable",
    "missing",
)
"""The rules; docs/reference/mirrors.md lists them."""
_MINT, _RESERVE, _RETROSPECT, _ERASE = "mint", "reserve", "retrospect", "erase"
NUMBERING = frozenset((_MINT, _RESERVE, _RETROSPECT))
"""Acts that give out serial numbers."""
_UNBROKEN = frozenset(("created", "reconstructed", "numbered"))
"""Reasons of epochs that declare no gap."""
_DATE_DIGITS = 8
LastSerial = Callable[[str], int]
"""From the key of a day to its highest serial number, or 0."""


class ReplayRules:
    """Checks the changes of one origin, in order."""

    def __init__(self) -> None:
        self._serials: dict[str, int] = {}
        self._gaps_until = ""
        """The time, such as `2026-11-24T12:00:00Z`, up to whose day numbers may be missing."""

    def forget_serials(self) -> None:
        """Forget the counters, after changes that were not kept."""
        self._serials.clear()

    def begin_epoch(self, epoch: Epoch, at: str) -> None:
        """Note an epoch, which may declare gaps up to the day of its beginning."""
        self._gaps_until = "" if epoch.reason in _UNBROKEN else at
        self._serials.clear()

    def check_new(self, change: Change, lines: Sequence[Line], last_serial: LastSerial) -> None:
        """Check the order and the serial numbers of new records. Raises BrokenRule."""
        if change.revision != 1:
            raise BrokenRule(REVISION, f"revision {change.revision} of a new name", change=change)
        for (one, _), (other, _) in pairwise(lines):
            if one >= other:
                raise BrokenRule(UNREADABLE, "its records are not in order", change=change)
        is_numbering = change.act in NUMBERING
        for key, _ in lines:
            place = read_dated_key(key)
            if place is not None:
                if is_numbering:
                    self._check_place(change, key, place, last_serial)
                elif place.day in self._serials:
                    self._serials[place.day] = max(self._serials[place.day], place.serial)

    def _check_place(
        self, change: Change, key: str, place: DatedKey, last_serial: LastSerial
    ) -> None:
        """Check the day and the number of a PDI that was given out."""
        day, date, serial = place
        is_past = change.act == _RETROSPECT or date <= self._gaps_until
        today = change.at[:10]
        if date != today and (date > today or not is_past):
            fault = f"{spell_key(key)} was given out at {change.at}, under another day"
            raise BrokenRule(DAY, fault, change=change)
        if not serial:
            return
        last = self._serials.get(day)
        if last is None:
            last = last_serial(day)
        if serial <= last:
            fault = f"{spell_key(key)} was given out after number {last} of its day"
            raise BrokenRule(SERIAL, fault, change=change)
        if serial != last + 1 and date > self._gaps_until:
            fault = (
                f"{spell_key(key)} was given out after number {last} of its day, and no change "
                "declares the gap"
            )
            raise BrokenRule(SERIAL, fault, change=change)
        self._serials[day] = serial


class DatedKey(NamedTuple):
    """The parts of the key of a PDI."""

    day: str
    """The key of its day."""
    date: str
    """The day, such as `2026-11-24`."""
    serial: int
    """Its serial number, or 0."""


def read_dated_key(key: str) -> DatedKey | None:
    """Split the key of a PDI; None for other keys, and for days that no clock shows.

    >>> read_dated_key("oma.eop.gov.us/19970901/b12")
    DatedKey(day='oma.eop.gov.us/19970901', date='1997-09-01', serial=12)
    >>> read_dated_key("oma.eop.gov.us/19970901/~b12").serial, read_dated_key("hdl:1/19970901/a1")
    (0, None)
    """
    day, _, uid = key.rpartition("/")
    series, _, date = day.partition("/")
    if ":" in series or len(date) != _DATE_DIGITS or not (date.isascii() and date.isdigit()):
        return None
    digits = uid[1:]
    is_serial = digits.isascii() and digits.isdigit() and encode_number(digits) == uid
    serial = int(digits) if is_serial else 0
    return DatedKey(day, f"{date[:4]}-{date[4:6]}-{date[6:]}", serial)


def check_succession(change: Change, before: Record | None, after: Record) -> None:
    """Check that a revision keeps the promises of the one before it. Raises BrokenRule."""
    if before is None:
        fault = f"revision {change.revision} of a name that was never given out"
        raise BrokenRule(REVISION, fault, change=change)
    if (after.revision, before.revision + 1) != (change.revision, change.revision):
        fault = f"revision {change.revision} follows revision {before.revision}"
        raise BrokenRule(REVISION, fault, change=change)
    if after.name != before.name:
        raise BrokenRule(REBOUND, "a record got another name", change=change)
    if before.tombstone is not None and after.tombstone is None:
        raise BrokenRule(PROMISE, "what was withdrawn is there again", change=change)
    for version in before.versions:
        _check_version(change, version, after.version(version.number))


def _check_version(change: Change, before: Version, after: Version | None) -> None:
    if after is None:
        fault = f"version {before.number} is no longer there"
        raise BrokenRule(PROMISE, fault, change=change)
    if before.tombstone is not None and after.tombstone is None:
        fault = f"version {before.number}, which was withdrawn, is there again"
        raise BrokenRule(PROMISE, fault, change=change)
    for held in before.representations:
        if not _is_same(held, after.find_representation(held.format), change.act):
            fault = f"version {before.number} in format {held.format} was bound to other bytes"
            raise BrokenRule(REBOUND, fault, change=change)


def _is_same(before: Representation, after: Representation | None, act: str) -> bool:
    """Return whether a representation still promises the same bytes, or was erased."""
    if after is None or after.length != before.length:
        return False
    return after.sha512 == before.sha512 or (act == _ERASE and bool(after.erased))
