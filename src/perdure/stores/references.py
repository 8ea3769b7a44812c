"""Which records name a location, a digest or an alias: found by the hash of it.

How it works: hashes come in no order, so that each new one would change another page of a large
tree. New references are therefore written down in the order in which they come (`recent_refers`).
When there are many they are merged into the tree (`refers`) in the order of their hashes: a slice
of all hashes with each batch, so that no batch waits for all of them. A reader remembers the recent
ones as far as it has read them, looks at those that came since, and then at the tree.

What must stay true: what is merged between two looks is seen twice, not never: recent ones are
looked at before the tree, and taken away only when all slices are in it. A reader holds no more
than the writer leaves unmerged.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Any

import apsw
import blake3

MOST_RECENT = 16_384
"""References that make a merge begin; a reader remembers them in a few megabytes."""
_SLICES = 32
_WIDTH = (1 << 64) // _SLICES  # of a slice, in hashes
_TOO_MANY = 4  # times as many: those of a rebuild come thousands at a time, and nobody waits
SCHEMA = """
CREATE TABLE IF NOT EXISTS recent_refers (
  number INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL
);
"""
_MERGES = "SELECT value FROM meta WHERE name='merges of references'"
_RECENT = "SELECT number, hash, key FROM recent_refers WHERE number>? ORDER BY number"
_MERGE = """
INSERT OR IGNORE INTO refers SELECT hash, key FROM recent_refers
  WHERE number<=? AND hash BETWEEN ? AND ? ORDER BY hash, key
"""
_MERGED = """
INSERT INTO meta VALUES('merges of references', '1')
  ON CONFLICT(name) DO UPDATE SET value=value+1
"""

_signed = struct.Struct(">q").unpack
Ask = Callable[[str, tuple[str | int, ...]], list[Any]]


def reference_hash(reference: str) -> int:
    """Eight bytes of BLAKE3 as a signed integer, which SQLite stores in eight bytes."""
    found: int = _signed(blake3.blake3(reference.encode()).digest(8))[0]
    return found


class Merging:
    """Moves recent references to the tree. Belongs to the one writer, and works in its batches."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._recent: int = connection.execute("SELECT count(*) FROM recent_refers").get
        self._last = 0  # number of the last one that is being merged
        self._slice = 0  # the next one to merge; 0: a merge has not begun
        self._next = 0  # the same, once the batch is durable
        self._ended = False  # in this batch

    def note(self, count: int) -> None:
        """So many more have been written down."""
        self._recent += count

    def step(self) -> None:
        """Merges a slice, where there is one to merge. Raises apsw.Error."""
        if not self._slice:
            if self._recent < MOST_RECENT:
                return
            self._last = self._connection.execute("SELECT max(number) FROM recent_refers").get
        slices = _SLICES if self._recent >= _TOO_MANY * MOST_RECENT else 1
        first = self._slice
        after = min(first + slices, _SLICES)
        low = first * _WIDTH - (1 << 63)
        self._connection.execute(
            _MERGE, (self._last, low, low + (after - first) * _WIDTH - 1)
        ).fetchall()
        self._next, self._ended = after % _SLICES, after == _SLICES
        if self._ended:
            self._connection.execute("DELETE FROM recent_refers WHERE number<=?", (self._last,))
            self._connection.execute(_MERGED)

    def committed(self) -> None:
        """The batch holds."""
        if self._ended:
            self._recent = self._connection.execute("SELECT count(*) FROM recent_refers").get
        self._slice, self._ended = self._next, False

    def undone(self) -> None:
        """The batch does not hold, nor do any references that it brought."""
        self._next, self._ended = self._slice, False


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
