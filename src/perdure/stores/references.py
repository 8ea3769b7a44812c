"""Which records name a location, a digest or an alias: found by the hash of it.

How it works: hashes come in no order, so that each new one would change another page of a large
tree. New references are therefore written down in the order in which they come (`recent_refers`).
When there are many they are merged into the tree (`refers`) in the order of their hashes: a slice
of all hashes with each batch, so that no batch waits for all of them. The writer remembers what it
wrote down until then. A reader remembers the recent ones as far as it has read them, looks at those
that came since, and then at the tree.

What must stay true: what is merged between two looks is seen twice, not never: recent ones are
looked at before the tree, and taken away only when all slices are in it. Writer and readers hold no
more than what is not merged yet.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw
import blake3

MOST_RECENT = 32_768
"""References that make a merge begin. The more there are, the less often each page of the tree is
written; who remembers them needs ten megabytes."""
_SLICES = 64
_TOO_MANY = 4  # times as many: those of a rebuild come thousands at a time, and nobody waits
SCHEMA = """
CREATE TABLE IF NOT EXISTS recent_refers (
  number INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL
);
"""
_MERGES = "SELECT value FROM meta WHERE name='merges of references'"
_RECENT = "SELECT number, hash, key FROM recent_refers WHERE number>? ORDER BY number"
_FIRST = "SELECT hash, key FROM recent_refers ORDER BY number LIMIT ?"
_FORGET = "DELETE FROM recent_refers WHERE number<=?"
_MERGED = """
INSERT INTO meta VALUES('merges of references', '1')
  ON CONFLICT(name) DO UPDATE SET value=value+1
"""
_MERGE_ALL = """
INSERT OR IGNORE INTO refers SELECT hash, key FROM recent_refers ORDER BY hash, key;
DELETE FROM recent_refers
"""
_ALL = -1
_HALF = 1 << 63

_signed = struct.Struct(">q").unpack
Row = tuple[int, str]
"""The hash of a reference, and the key of a record that has it."""
Ask = Callable[[str, tuple[str | int, ...]], list[Any]]


def reference_hash(reference: str) -> int:
    """Eight bytes of BLAKE3 as a signed integer, which SQLite stores in eight bytes."""
    found: int = _signed(blake3.blake3(reference.encode()).digest(8))[0]
    return found


def _slices() -> list[list[Row]]:
    return [[] for _ in range(_SLICES)]


class Merging:
    """Moves recent references to the tree. Belongs to the one writer, and works in its batches.

    `insert` adds rows to the tree.
    """

    def __init__(
        self, connection: apsw.Connection, insert: Callable[[Sequence[Row]], None]
    ) -> None:
        self._connection = connection
        self._insert = insert
        self._unread: int = connection.execute("SELECT count(*) FROM recent_refers").get
        self._recent = _slices()  # written down since, and durable
        self._count = 0  # of them
        self._batch: list[Row] = []  # written down in this batch
        self._slices: list[list[Row]] = []  # what is being merged, the next slice at the end
        self._last = 0  # number of the last reference in them
        self._merged = 0  # slices, in this batch; all that there is: `_ALL`

    def note(self, rows: list[Row]) -> None:
        """These have been written down."""
        self._batch += rows

    def step(self) -> None:
        """Merges a slice, where there is one to merge. Raises apsw.Error."""
        waiting = self._unread + self._count
        if waiting + len(self._batch) >= _TOO_MANY * MOST_RECENT:
            self._connection.execute(_MERGE_ALL).fetchall()
            self._connection.execute(_MERGED)
            self._merged = _ALL
            return
        if not self._slices and waiting >= MOST_RECENT:
            self._begin()
        if self._slices:
            self._insert(sorted(self._slices[-1]))
            self._merged = 1
            if len(self._slices) == 1:
                self._connection.execute(_FORGET, (self._last,))
                self._connection.execute(_MERGED)

    def _begin(self) -> None:
        """What is durable by now is to be merged."""
        last: int = self._connection.execute("SELECT max(number) FROM recent_refers").get
        self._last = last - len(self._batch)
        if self._unread:
            self._remember(self._connection.execute(_FIRST, (self._unread,)))
            self._unread = 0
        self._slices, self._recent, self._count = self._recent, _slices(), 0

    def _remember(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._recent[(row[0] + _HALF) * _SLICES >> 64].append(row)

    def committed(self) -> None:
        """The batch holds."""
        if self._merged == _ALL:
            self._unread, self._recent, self._count, self._slices = 0, _slices(), 0, []
        else:
            self._remember(self._batch)
            self._count += len(self._batch)
            del self._slices[len(self._slices) - self._merged :]
        self._batch, self._merged = [], 0

    def undone(self) -> None:
        """The batch does not hold, nor do any references that it brought."""
        self._batch, self._merged = [], 0


class References:
    """What a process remembers of the recent references. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._merges: str | None = None
        self._last = 0
        self._keys: dict[int, list[str]] = {}

    def keys(self, reference: str, ask: Ask) -> list[str]:
        """Keys of the records that may have a reference, in order. `ask` queries the registry."""
        hash = reference_hash(reference)
        found = set(self._recent(hash, ask))
        found.update(key for (key,) in ask("SELECT key FROM refers WHERE hash=?", (hash,)))
        return sorted(found)

    def _recent(self, hash: int, ask: Ask) -> list[str]:
        with self._lock:
            try:
                self._catch_up(ask)
            except apsw.SQLError as error:
                if "no such table" not in str(error):  # no writer of this release was here yet
                    raise
            return self._keys.get(hash, [])

    def _catch_up(self, ask: Ask) -> None:
        """Reads what came since it was last read, or all where some was merged meanwhile."""
        merges = next((value for (value,) in ask(_MERGES, ())), None)
        if merges != self._merges:
            self._merges, self._last, self._keys = merges, 0, {}
        for number, one, key in ask(_RECENT, (self._last,)):
            self._last = number
            self._keys.setdefault(one, []).append(key)
