"""Counts of names by authority, year, month and day: a follower of the changes.

How it works: `followers/names.sqlite` has a row for each authority, and for each year, month and
day of a series, with the number of its names. They are counted by the day that a name states, and
not by the day of the change (`perdure.upkeep.changes.counts`), since a name may be given for a past
day. A page of changes adds to few rows, so one pass over the changes counts a registry of any size,
and a reader counts nothing. `perdure index` takes all changes. A server that finds a few unseen
ones takes them itself (`take_few`).

What must stay true: you may delete the file at any time; the next run counts the same. Each
transaction begins with the head that it goes on from, so two processes never count a change twice.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw

from perdure.ids.pdi import Pdi
from perdure.model.changes import WITHOUT_RECORDS, ChainHead, Change
from perdure.storage.ports import Records
from perdure.upkeep.changes.counts import authority_of
from perdure.upkeep.changes.following import count_behind, is_on_chain
from perdure.upkeep.changes.record_index import list_keys

FILE = Path("followers", "names.sqlite")
_FORMAT = 1
_PAGE = 1000  # changes
_BUSY_MS = 10_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS head (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER, number INTEGER, chain TEXT
);
CREATE TABLE IF NOT EXISTS interval (
    parent TEXT NOT NULL, member TEXT NOT NULL, names INTEGER NOT NULL,
    PRIMARY KEY (parent, member)
) WITHOUT ROWID;
"""


class NameCounts:
    """The counts of one registry. For one thread."""

    def __init__(self, root: Path) -> None:
        """Open the counts. They are kept only in memory if the directory is not writable."""
        path = root / FILE
        self.is_kept = os.access(root, os.W_OK)
        if self.is_kept:
            path.parent.mkdir(exist_ok=True)
        self._connection = apsw.Connection(str(path) if self.is_kept else ":memory:")
        self._connection.set_busy_timeout(_BUSY_MS)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "NORMAL")
        if self._connection.pragma("user_version") != _FORMAT:
            with self._writing():
                self._connection.execute(_SCHEMA)
                self._connection.pragma("user_version", _FORMAT)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    # following
    # ---------

    def last_head(self) -> ChainHead | None:
        """Return the last change that was counted."""
        row = self._connection.execute("SELECT epoch, number, chain FROM head").fetchone()
        return ChainHead(epoch=row[0], number=row[1], chain=row[2]) if row else None

    def reset(self) -> None:
        """Forget everything."""
        with self._writing():
            self._connection.execute("DELETE FROM interval; DELETE FROM head")

    def take_all(self, records: Records) -> Iterator[int]:
        """Take all unseen changes, page by page. Yield the number of those taken so far."""
        taken = 0
        while page := self._take_page(records):
            taken += page
            yield taken

    def take_few(self, records: Records) -> int | None:
        """Take one page of unseen changes.

        Return the number of changes that remain uncounted, or None if it is not known.
        """
        seen, now = self.last_head(), records.find_head()
        if now is not None and (seen is None or seen.mark != now.mark):
            self._take_page(records)
            seen = self.last_head()
        if now is None:
            return 0
        return None if seen is None else count_behind(records, seen.mark)

    def _take_page(self, records: Records) -> int:
        """Take the next changes in one transaction. Return their number."""
        with self._writing():
            seen = self.last_head()
            if not is_on_chain(records, seen):
                self._connection.execute("DELETE FROM interval; DELETE FROM head")
                seen = None
            changes = records.list_changes(seen.mark if seen else None, limit=_PAGE)
            if changes:
                self._add_counts(_count_names(changes, records))
                last = changes[-1].head
                self._connection.execute(
                    "INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)",
                    (last.epoch, last.number, last.chain),
                )
        return len(changes)

    def _add_counts(self, counted: Counter[str]) -> None:
        """Add the numbers of new names, by the key of their day or by their authority."""
        rows: Counter[tuple[str, str]] = Counter()
        for place, names in counted.items():
            for row in _list_rows(place):
                rows[row] += names
        self._connection.executemany(
            "INSERT INTO interval VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET names = names + excluded.names",
            [(*row, names) for row, names in rows.items()],
        )

    # reading
    # -------

    def list_members(self, interval: str) -> dict[str, int]:
        """Return the numbers of names of the members of an interval, by their keys, in order.

        `interval` is the key of a series, a year or a month; an empty text lists all authorities.
        """
        query = "SELECT member, names FROM interval WHERE parent = ? ORDER BY member"
        rows: list[Any] = self._connection.execute(query, (interval,)).fetchall()
        return dict(rows)

    def count_authority(self, authority: str) -> int:
        """Return the number of names of a series, or of an authority such as `hdl:4263537`."""
        query = "SELECT names FROM interval WHERE parent = '' AND member = ?"
        row: Any = self._connection.execute(query, (authority,)).fetchone()
        return row[0] if row else 0


def _count_names(changes: Sequence[Change], records: Records) -> Counter[str]:
    """Return the numbers of new names, by the key of their day or by their authority."""
    found: Counter[str] = Counter()
    for change in changes:
        if change.act in WITHOUT_RECORDS or change.revision != 1:
            continue
        first = _find_place(change.first)
        if change.count == 1 or first == _find_place(change.last):
            found[first] += change.count
        else:
            found.update(map(_find_place, list_keys(change, records)))
    return found


def _find_place(key: str) -> str:
    """Return the key of the day of a PDI, or the authority of another name.

    >>> _find_place("oma.eop.gov.us/19970901/a1"), _find_place("hdl:4263537/4000")
    ('oma.eop.gov.us/19970901', 'hdl:4263537')
    """
    authority = authority_of(key)
    return authority if ":" in authority else key[: key.find("/", len(authority) + 1)]


@lru_cache(maxsize=4096)
def _list_rows(place: str) -> tuple[tuple[str, str], ...]:
    """Return each interval that contains a place, with the member that does.

    >>> _list_rows("hdl:4263537")
    (('', 'hdl:4263537'),)
    >>> _list_rows("a.us/19970901")  # doctest: +NORMALIZE_WHITESPACE
    (('', 'a.us'), ('a.us/', 'a.us/1997'), ('a.us/1997', 'a.us/199709'),
     ('a.us/199709', 'a.us/19970901'))
    >>> _list_rows("a.us/e123450102")[1:3]
    (('a.us/', 'a.us/e12345'), ('a.us/e12345', 'a.us/e1234501'))
    """
    authority, _, day = place.partition("/")
    if not day:
        return (("", authority),)
    keys = (*Pdi.from_key(place).list_pattern_keys(), place)
    return (("", authority), *pairwise(keys))
