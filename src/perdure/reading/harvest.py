"""The records of a registry in the order of their last change, for harvesters.

How it works: a harvester asks for what changed since its last visit. The numbered changes are
already in that order, so nothing is kept for harvesting: a binary search in each epoch finds the
first change of a time, and from there on every change names its records. A record is listed at its
last change only. Its date is that of this change.

A feed asks for the latest changes instead, and reads them backwards.

Being taken into a collection counts as a change of the member, if `Joins` are given: it is listed
again at the change of the collection. So who harvests a collection learns of new members by date.

A record is harvested if the public may read it, and if it leads to something: bytes, a location,
values or a description. A withdrawn one is listed as deleted. A closed one is not listed.

What must stay true: a harvester that repeats its question from the date of its last visit misses
nothing, since a change never gets an earlier date than the one before it in its epoch; a page costs
its own length, and one look at each change in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Annotated, NamedTuple, Protocol

import msgspec

from perdure.errors import Corrupt, Forbidden, LegallyUnavailable, NotFound, Unauthenticated
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.changes import WITHOUT_RECORDS, Change, ChangeMark
from perdure.model.queries import PUBLIC_READER, Query, Reader
from perdure.model.records import Record
from perdure.policy.naming import identify_record
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved
from perdure.reading.scanning import ScannedRecord, scan_readable
from perdure.storage.ports import Records

_KEPT = 600.0  # seconds
_SEVERAL = 2
_AT_ONCE = 256  # changes, or records of one change, read together
MOST_CHANGES = 200_000
"""Changes looked at for one page, so that a set without new records cannot take long."""
_LAST_KEY = "\U0010ffff"
_CLOSED = (Forbidden, Unauthenticated, LegallyUnavailable)
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
KeyRange = tuple[str, str]
"""The first key of a range, and its end (exclusive)."""


class HarvestedRecord(NamedTuple):
    """A record as a harvester gets it."""

    identifier: Identifier
    at: str
    """When it last changed: `2026-11-21T05:13:46Z`."""
    resolved: Resolved | None
    """The record as the public may see it, or None if it was withdrawn."""
    shown: Record = Record()
    """The same record, also if it was withdrawn: then the names of its documents are in it."""


class HarvestPlace(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A place between two records: after a change, or within one after the record with a key."""

    epoch: _Count
    number: _Count
    key: str = ""
    """If it is not empty, the change with the next number has further records after this key."""


class Joins(Protocol):
    """The changes by which records became members of collections."""

    def find_join(self, key: str) -> ChangeMark | None:
        """Return the last change by which a collection got a record as a member, or None."""

    def list_joined(self, mark: ChangeMark, after: str) -> list[str]:
        """Return the keys of the members that came by a change, after a key, in order."""


class HarvestPage(NamedTuple):
    """Records in the order of their last change, and the place after them; None at the end."""

    records: list[HarvestedRecord]
    following: HarvestPlace | None
    end: HarvestPlace | None = None
    """At the end: the place after the last change, from which to go on when there are others."""


class Harvest:
    """Lists the records of one registry for harvesters. Safe to use from several threads."""

    def __init__(self, records: Records, reading: ReadDoor) -> None:
        self._records = records
        self._reading = reading
        self._runs: tuple[float, tuple[str, ...]] = (0.0, ())
        self.progress: dict[object, HarvestPlace | None] = {}
        """For searches of sparse sets that one request did not finish: the place reached."""

    def find_earliest(self) -> str | None:
        """Return the time of the first change, or None if nothing was ever written."""
        first = self._records.list_changes(limit=1)
        return first[0].at if first else None

    def find_harvested(
        self,
        identifier: Identifier,
        reader: Reader = PUBLIC_READER,
        *,
        joins: Joins | None = None,
    ) -> HarvestedRecord | None:
        """Return a record by its name, or None if it is not harvested. Raises Corrupt."""
        key = identifier.resource.key
        with self._records.hold_snapshot():
            record = self._records.find_record(key)
            change = None if record is None else self._find_last(key, record, joins)
            if record is None or change is None:
                return None
            return self._show_record(identifier, record, change, reader)

    def list_keys(
        self,
        keys: Iterable[str],
        *,
        since: str = "",
        until: str = "",
        joins: Joins | None = None,
        reader: Reader = PUBLIC_READER,
    ) -> Iterator[tuple[str, HarvestedRecord | None]]:
        """Yield the record with each key, or None if it is not harvested or of another time.

        Raises Corrupt.
        """
        for key in keys:
            yield key, self._find_key(key, since, until, joins, reader)

    def _find_key(
        self, key: str, since: str, until: str, joins: Joins | None, reader: Reader
    ) -> HarvestedRecord | None:
        with self._records.hold_snapshot():
            record = self._records.find_record(key)
            change = None if record is None else self._find_last(key, record, joins)
            if record is None or change is None or not since <= change.at <= (until or change.at):
                return None
            return self._show_record(identify_record(key, record), record, change, reader)

    def _find_last(self, key: str, record: Record, joins: Joins | None) -> Change | None:
        """Return the change at which a record is listed."""
        change = self._records.find_change(key, record.revision)
        joined = None if joins is None else joins.find_join(key)
        if change is None or joined is None or joined <= change.mark:
            return change
        (last,) = self._records.list_changes(ChangeMark(joined.epoch, joined.number - 1), limit=1)
        return last

    def list_page(
        self,
        place: HarvestPlace | None,
        *,
        since: str = "",
        until: str = "",
        ranges: tuple[KeyRange, ...] | None = None,
        wanted: Callable[[Identifier], bool] | None = None,
        joins: Joins | None = None,
        limit: int,
        reader: Reader = PUBLIC_READER,
    ) -> HarvestPage:
        """List at most `limit` records after a place, or from the first change on.

        `since` and `until` are times, both included. `ranges` are those of the wanted keys, None
        for all; `wanted` chooses further. A page with fewer records, even with none, has a place to
        go on from if there may be others. Raises Conflict if no change has the mark of the place.
        """
        found: list[HarvestedRecord] = []
        looked = 0
        with self._records.hold_snapshot():
            start = place or self._find_start(since)
            for change, after in self._walk_changes(start):
                if until and change.at > until:
                    return HarvestPage(found, None)
                before = HarvestPlace(change.epoch, change.number - 1, after)
                if len(found) >= limit or looked == MOST_CHANGES:
                    return HarvestPage(found, before)
                looked += 1
                start = HarvestPlace(change.epoch, change.number)
                if change.at < since or change.act in WITHOUT_RECORDS:
                    continue
                for key, name, record in self._list_records(change, after, ranges, joins):
                    if len(found) == limit:
                        return HarvestPage(found, before)
                    before = HarvestPlace(change.epoch, change.number - 1, key)
                    if wanted is not None and not wanted(name):
                        continue
                    shown = self._show_record(name, record, change, reader)
                    if shown is not None:
                        found.append(shown)
            return HarvestPage(found, None, start)

    def list_latest(
        self,
        names: NameSet | None,
        *,
        limit: int,
        most_changes: int = MOST_CHANGES,
        reader: Reader = PUBLIC_READER,
    ) -> list[HarvestedRecord]:
        """List the records of a set that changed last, the latest change first.

        Of a change with many records, the first ones are listed. At most `most_changes` changes are
        looked at.
        """
        found: list[HarvestedRecord] = []
        ranges = None if names is None else ((names.low, names.end),)
        with self._records.hold_snapshot():
            for change in islice(self._walk_back(), most_changes):
                if change.act in WITHOUT_RECORDS:
                    continue
                for _, name, record in self._list_records(change, "", ranges):
                    if len(found) == limit:
                        return found
                    if names is None or names.covers_resource(name):
                        shown = self._show_record(name, record, change, reader)
                        found += [] if shown is None else [shown]
        return found

    def list_range(
        self, low: str, end: str | None, *, limit: int, reader: Reader = PUBLIC_READER
    ) -> list[HarvestedRecord]:
        """List the records with low <= key < end that the reader may read, in the order of keys.

        At most `limit` records are looked at. Withdrawn ones are left out; the date is that of the
        last revision.
        """
        found: list[HarvestedRecord] = []
        with self._records.hold_snapshot():
            rows, _ = scan_readable(self._records, low, end, limit=limit)
            for row in rows:
                if not isinstance(row, ScannedRecord) or row.record.tombstone is not None:
                    continue
                with suppress(*_CLOSED, NotFound):
                    resolved = self._resolve_row(row.name, row.record, reader)
                    if row.record.versions or row.record.locations or row.record.about:
                        shown = resolved.record or Record()
                        found.append(HarvestedRecord(row.name, row.record.at, resolved, shown))
        return found

    def has_more(self, low: str, end: str, *, than: int) -> bool:
        """Return True if there are more records with low <= key < end than a number."""
        lines = self._records.scan_lines(low, end, limit=than + 1)
        rows = self._records.scan_records(low, end, limit=than + 1) if lines is None else lines
        return len(rows) > than

    def list_runs(self, size: int, most: int) -> tuple[str, ...]:
        """Return the first key of each run of about `size` records, in order; at most `most`.

        They are kept for a while if there are several: new records make a run longer.
        """
        until, known = self._runs
        if time.monotonic() >= until or len(known) < _SEVERAL:
            known = tuple(self._walk_runs(size, most))
            self._runs = time.monotonic() + _KEPT, known
        return known

    def _walk_runs(self, size: int, most: int) -> list[str]:
        found: list[str] = []
        low: str | None = self._records.find_first_key("", _LAST_KEY)
        while low is not None and len(found) < most:
            found.append(low)
            lines = self._records.scan_lines(low, None, limit=size + 1)
            rows = self._records.scan_records(low, None, limit=size + 1) if lines is None else lines
            following = rows[size][0] if len(rows) > size else None
            low = following if following is not None and following > low else None
        return found

    # changes
    # -------

    def _walk_back(self) -> Iterator[Change]:
        """Yield all changes, the last one first."""
        for low, last in reversed(list(self._list_epochs())):
            while last:
                count = min(last, _AT_ONCE)
                last -= count
                mark = ChangeMark(low.epoch, last)
                yield from reversed(self._records.list_changes(mark, limit=count))

    def _walk_changes(self, place: HarvestPlace | None) -> Iterator[tuple[Change, str]]:
        """Yield the changes after a place, each with the key after which its records begin."""
        mark = None if place is None else ChangeMark(place.epoch, place.number)
        key = "" if place is None else place.key
        while some := self._records.list_changes(mark, limit=_AT_ONCE):
            for change in some:
                yield change, key
                key = ""
            mark = some[-1].mark

    def _find_start(self, since: str) -> HarvestPlace | None:
        """Find a place with nothing of a time or later before it; None for the beginning.

        In each epoch, the dates of changes only grow.
        """
        if not since:
            return None
        before: HarvestPlace | None = None
        for low, high in self._list_epochs():
            number = self._count_before(low, high, since)
            before = HarvestPlace(low.epoch, low.number + number)
            if low.number + number < high:
                break
        return before

    def _list_epochs(self) -> Iterator[tuple[ChangeMark, int]]:
        """Yield the place before each epoch, and the last number in it."""
        head = self._records.find_head()
        if head is None:
            return
        epochs = self._records.list_epochs()
        lasts = [one.previous for one in epochs[1:]]
        for epoch, last in zip(epochs, [*lasts, head], strict=True):
            if last is not None and last.epoch == epoch.epoch:
                yield ChangeMark(epoch.epoch, 0), last.number

    def _count_before(self, low: ChangeMark, last: int, since: str) -> int:
        """Count the changes of an epoch that are older than a time."""
        least, most = 0, last
        while least < most:
            middle = (least + most) // 2
            mark = ChangeMark(low.epoch, middle)
            (change,) = self._records.list_changes(mark, limit=1)
            if change.at < since:
                least = middle + 1
            else:
                most = middle
        return least

    # records
    # -------

    def _list_records(
        self,
        change: Change,
        after: str,
        ranges: tuple[KeyRange, ...] | None,
        joins: Joins | None = None,
    ) -> Iterator[tuple[str, Identifier, Record]]:
        """Yield the records that a change was the last to write or to collect, from a key on."""
        written = self._list_written(change, after, ranges)
        if joins is None:
            yield from written
            return
        joined = self._list_joined(change, joins.list_joined(change.mark, after), ranges)
        for row in merge(written, joined, key=itemgetter(0)):
            last = joins.find_join(row[0])
            if last is None or last <= change.mark:
                yield row

    def _list_joined(
        self, change: Change, keys: list[str], ranges: tuple[KeyRange, ...] | None
    ) -> Iterator[tuple[str, Identifier, Record]]:
        """Yield those records with some keys that were written before a change."""
        for key in keys:
            record = self._records.find_record(key)
            if record is None or not (ranges is None or any(a <= key < b for a, b in ranges)):
                continue
            written = self._records.find_change(key, record.revision)
            if written is not None and written.mark < change.mark:
                yield key, identify_record(key, record), record

    def _list_written(
        self, change: Change, after: str, ranges: tuple[KeyRange, ...] | None
    ) -> Iterator[tuple[str, Identifier, Record]]:
        """Yield the records that a change was the last to write, from a key on."""
        everything: tuple[KeyRange, ...] = ((change.first, change.last + "\0"),)
        for start, stop in everything if ranges is None else ranges:
            low: str | None = max(start, change.first, after and after + "\0")
            end = min(stop, change.last + "\0")
            while low is not None and low < end:
                limit = min(change.count, _AT_ONCE)
                rows, low = scan_readable(self._records, low, end, limit=limit)
                for row in rows:
                    if isinstance(row, ScannedRecord) and self._is_last(change, row):
                        yield row.key, row.name, row.record

    def _is_last(self, change: Change, row: ScannedRecord) -> bool:
        """Return True if a change was the last to write a record."""
        if row.record.revision != change.revision:
            return False
        if change.count == 1:
            return row.key == change.first
        try:
            written = self._records.find_change(row.key, row.record.revision)
        except Corrupt:
            return False
        return written is not None and written.mark == change.mark

    def _show_record(
        self,
        name: Identifier,
        record: Record,
        change: Change,
        reader: Reader,
    ) -> HarvestedRecord | None:
        """Return a record as a harvester may see it, or None if it may not see it.

        The record is that of the name, read in the snapshot that is held.
        """
        try:
            resolved = self._resolve_row(name, record, reader)
        except (*_CLOSED, NotFound):
            return None
        if record.tombstone is not None:
            return HarvestedRecord(name, change.at, None, resolved.record or Record())
        if not (record.versions or record.locations or record.values or record.about):
            return None
        return HarvestedRecord(name, change.at, resolved, resolved.record or Record())

    def _resolve_row(self, name: Identifier, record: Record, reader: Reader) -> Resolved:
        known = {name.resource.key: record}
        return self._reading.resolve(Query(identifier=name, reader=reader), known)


def make_ranges(sets: list[NameSet]) -> tuple[KeyRange, ...]:
    """Return the ranges of keys of sets without patterns, in order."""
    return tuple(sorted((one.low, one.end) for one in sets))
