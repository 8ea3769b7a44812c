"""Which records name a location, a digest or an alias: found by the hash of it.

How it works: hashes come in no order, so that each new one would change another page of a large
tree. New references are therefore written down in the order in which they come (`recent_refers`),
and merged into the tree (`refers`) in order of their hashes when there are many. A reader remembers
the recent ones as far as it has read them, looks at those that came since, and then at the tree.

What must stay true: what is merged between two looks is seen twice, not never: recent ones are
looked at before the tree. A reader holds no more than the writer leaves unmerged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import apsw
import blake3

MOST_RECENT = 16_384
"""References that are not merged yet; a reader remembers them in a few megabytes."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS recent_refers (
  number INTEGER PRIMARY KEY, hash INTEGER NOT NULL, key TEXT NOT NULL
);
"""
_MERGES = "SELECT value FROM meta WHERE name='merges of references'"
_RECENT = "SELECT number, hash, key FROM recent_refers WHERE number>? ORDER BY number"
_MERGE = """
INSERT OR IGNORE INTO refers SELECT hash, key FROM recent_refers ORDER BY hash, key;
DELETE FROM recent_refers;
INSERT INTO meta VALUES('merges of references', '1')
  ON CONFLICT(name) DO UPDATE SET value=value+1;
"""

Ask = Callable[[str, tuple[str | int, ...]], list[Any]]


def reference_hash(reference: str) -> int:
    """Eight bytes of BLAKE3 as a signed integer, which SQLite stores in eight bytes."""
    digest = blake3.blake3(reference.encode()).digest(length=8)
    return int.from_bytes(digest, "big", signed=True)


def count_recent(connection: apsw.Connection) -> int:
    """How many references are not merged yet."""
    # Numbers begin at 1 again after each merge.
    return connection.execute("SELECT max(number) FROM recent_refers").get or 0


def merge_recent(connection: apsw.Connection) -> None:
    """In a transaction of its own. Raises apsw.Error, and then nothing has changed."""
    with connection:
        connection.execute(_MERGE).fetchall()


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
        with self._lock, suppress(apsw.SQLError):  # no such table: no writer of this release yet
            merges = next((value for (value,) in ask(_MERGES, ())), None)
            if merges != self._merges:
                self._merges, self._last, self._keys = merges, 0, {}
            for number, one, key in ask(_RECENT, (self._last,)):
                self._last = number
                self._keys.setdefault(one, []).append(key)
        return self._keys.get(hash, [])
