"""Counts by series and day: a follower of the changes.

How it works: every change adds one to the number of changes of its series on its day; a change that
brings new identifiers adds their number too. Identifiers that are not PDIs count for their
authority (`hdl:4263537`). All counts are in `followers/counts.json`, together with the last change
that was counted. The file is always replaced in one step.

What must stay true: you may delete the file at any time; the next count is the same.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from perdure.model.changes import WITHOUT_RECORDS, ChainHead, Change
from perdure.storage.durable import write_durably
from perdure.storage.ports import Records

FILE = Path("followers", "counts.json")


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """The number of new names and of changes in a series on a day."""

    day: str
    series: str
    names: int
    """New identifiers."""
    changes: int


class _StoredCounts(msgspec.Struct, kw_only=True):
    state: ChainHead | None = None
    names: dict[str, dict[str, int]] = {}
    """Counts by day, then by series."""
    changes: dict[str, dict[str, int]] = {}


class Counts:
    """Counts of a registry directory. Kept only in memory if the directory is not writable."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._writable = os.access(root, os.W_OK)
        try:
            self._kept = msgspec.json.decode(self._path.read_bytes(), type=_StoredCounts)
        except (OSError, msgspec.MsgspecError):
            self._kept = _StoredCounts()

    def last_head(self) -> ChainHead | None:
        return self._kept.state

    def take_changes(self, changes: Sequence[Change], records: Records) -> None:
        for change in changes:
            self._count_change(change, records)
        self._kept.state = changes[-1].head
        self._save_counts()

    def reset(self) -> None:
        self._kept = _StoredCounts()

    def _count_change(self, change: Change, records: Records) -> None:
        if change.act in WITHOUT_RECORDS:
            return
        day = change.at[:10]
        changed = self._kept.changes.setdefault(day, {})
        added = self._kept.names.setdefault(day, {})
        for series, count in _count_by_series(change, records).items():
            changed[series] = changed.get(series, 0) + 1
            if change.revision == 1:
                added[series] = added.get(series, 0) + count

    def _save_counts(self) -> None:
        if self._writable:
            self._path.parent.mkdir(exist_ok=True)
            write_durably(self._path, msgspec.json.encode(self._kept))

    def list_counts(self) -> Iterator[Count]:
        """Yield the counts by day, then series."""
        for day, series in sorted(self._kept.changes.items()):
            names = self._kept.names.get(day, {})
            for one, changes in sorted(series.items()):
                yield Count(day=day, series=one, names=names.get(one, 0), changes=changes)


def _count_by_series(change: Change, records: Records) -> Counter[str]:
    """Return the number of records of each series in a change."""
    first = authority_of(change.first)
    if change.count == 1 or first == authority_of(change.last):
        return Counter({first: change.count})
    return Counter(authority_of(key) for key, _ in records.find_lines(change))


def authority_of(key: str) -> str:
    """Return the series of a key, or the text before the first slash or the second colon.

    >>> authority_of("oma.eop.gov.us/19970901/a1"), authority_of("hdl:4263537/4000")
    ('oma.eop.gov.us', 'hdl:4263537')
    >>> authority_of("urn:isbn:9780306406157")
    'urn:isbn'
    """
    return ":".join(key.partition("/")[0].split(":", 2)[:2])
