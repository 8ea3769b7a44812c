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

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from perdure.ids.pdi import Pdi
from perdure.model.changes import WITHOUT_RECORDS, Change
from perdure.storage.ports import Records
from perdure.upkeep.changes.change_table import ChangeTable
from perdure.upkeep.changes.counts import authority_of
from perdure.upkeep.changes.record_index import list_keys

FILE = Path("followers", "names.sqlite")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS interval (
    parent TEXT NOT NULL, member TEXT NOT NULL, names INTEGER NOT NULL,
    PRIMARY KEY (parent, member)
) WITHOUT ROWID;
"""


class NameCounts(ChangeTable):
    """The counts of one registry. For one thread."""

    file = FILE
    format = 1
    schema = _SCHEMA
    tables = ("interval",)

    def add_changes(self, changes: Sequence[Change], records: Records) -> None:
        self._add_counts(_count_names(changes, records))

    def _add_counts(self, counted: Counter[str]) -> None:
        """Add the numbers of new names, by the key of their day or by their authority."""
        rows: Counter[tuple[str, str]] = Counter()
        for place, names in counted.items():
            for row in _list_rows(place):
                rows[row] += names
        self.connection.executemany(
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
        rows: list[Any] = self.connection.execute(query, (interval,)).fetchall()
        return dict(rows)

    def count_authority(self, authority: str) -> int:
        """Return the number of names of a series, or of an authority such as `hdl:4263537`."""
        query = "SELECT names FROM interval WHERE parent = '' AND member = ?"
        row: Any = self.connection.execute(query, (authority,)).fetchone()
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
