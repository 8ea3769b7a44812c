"""The state of each harvest of a registry, and the records that it brought.

How it works: `harvests.sqlite` has a row for each harvest (a repository, a format, a set) and one
for each record that it brought. A page is written here in one transaction, after its records are
durable in the registry. So a harvest that was killed takes its last page once more, and the records
that are there already change nothing.

What must stay true: a token or a date is written only after everything before it is in the
registry. If the file is lost, it is made again: the records say where they came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from perdure.reading.scanning import ScannedRecord, scan_readable
from perdure.registry import Registry
from perdure.upkeep.harvesting.lines import NAME_THERE, SOURCE

FILE = "harvests.sqlite"
_BUSY_MS = 10_000
_SOME = 1000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS harvest (
    url TEXT NOT NULL, prefix TEXT NOT NULL, names TEXT NOT NULL, taking TEXT NOT NULL,
    since TEXT NOT NULL DEFAULT '', begun TEXT NOT NULL DEFAULT '',
    token TEXT NOT NULL DEFAULT '', finished TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (url, prefix, names)
);
CREATE TABLE IF NOT EXISTS known (
    url TEXT NOT NULL, there TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (url, there)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS known_key ON known (key);
"""


class HarvestState(msgspec.Struct, frozen=True, kw_only=True):
    """A harvest, and how far it came."""

    url: str
    prefix: str = ""
    names: str = ""
    """The set of the repository that is harvested; empty for all."""
    taking: str = "records"
    since: str = ""
    """The earliest date that was asked for in the list that is under way, or in the last one."""
    begun: str = ""
    """The repository's time when the list that is under way began."""
    token: str = ""
    """Asks for the next page of the list that is under way; empty if none is."""
    finished: str = ""
    """The repository's time when the last complete list began: the next one begins there."""


class KnownRecord(NamedTuple):
    """A record of a repository that is here."""

    there: str
    """Its identifier in the repository."""
    key: str
    """Its key here."""


class Harvests:
    """The harvests of the registry in a directory. For one thread. Close it after use."""

    def __init__(self, root: Path) -> None:
        self._connection = apsw.Connection(str(root / FILE))
        self._connection.set_busy_timeout(_BUSY_MS)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "full")
        self._connection.execute(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def list_harvests(self) -> list[HarvestState]:
        """List all harvests, by their addresses."""
        fields = HarvestState.__struct_fields__
        rows = self._connection.execute(
            f"SELECT {','.join(fields)} FROM harvest ORDER BY url, prefix, names"  # noqa: S608
        )
        return [HarvestState(**dict(zip(fields, row, strict=True))) for row in rows]

    def find_harvest(self, url: str, prefix: str, names: str) -> HarvestState | None:
        """Find a harvest, or None."""
        wanted = (url, prefix, names)
        found = self.list_harvests()
        return next((one for one in found if (one.url, one.prefix, one.names) == wanted), None)

    def is_empty(self, url: str) -> bool:
        """Return True if no record of a repository is known."""
        rows = self._connection.execute("SELECT 1 FROM known WHERE url = ? LIMIT 1", (url,))
        return next(iter(rows), None) is None

    def find_key(self, url: str, there: str) -> str | None:
        """Find the key of a record of a repository."""
        rows = self._connection.execute(
            "SELECT key FROM known WHERE url = ? AND there = ?", (url, there)
        )
        row = next(iter(rows), None)
        return None if row is None else str(row[0])

    def find_names_there(self, url: str, key: str) -> list[str]:
        """Find the identifiers in a repository of a record here."""
        rows = self._connection.execute(
            "SELECT there FROM known WHERE key = ? AND url = ?", (key, url)
        )
        return [str(row[0]) for row in rows]

    def save_page(
        self, state: HarvestState, brought: Iterable[KnownRecord] = (), gone: Iterable[str] = ()
    ) -> None:
        """Record that a page is in the registry: its records, those that are gone, the state."""
        fields = HarvestState.__struct_fields__
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO known VALUES (?, ?, ?)",
                [(state.url, one.there, one.key) for one in brought],
            )
            self._connection.executemany(
                "DELETE FROM known WHERE url = ? AND there = ?", [(state.url, one) for one in gone]
            )
            marks = ",".join("?" * len(fields))
            self._connection.execute(
                f"INSERT OR REPLACE INTO harvest ({','.join(fields)}) VALUES ({marks})",  # noqa: S608
                msgspec.structs.astuple(state),
            )

    def forget_harvest(self, state: HarvestState) -> None:
        """Forget how far a harvest came; its records stay known."""
        self._connection.execute(
            "DELETE FROM harvest WHERE url = ? AND prefix = ? AND names = ?",
            (state.url, state.prefix, state.names),
        )

    def recall_records(self, registry: Registry, state: HarvestState) -> None:
        """Find the records of a repository in the registry if none is known. Raises Unavailable."""
        if not self.is_empty(state.url):
            return
        with self._connection:
            self._connection.executemany(
                "INSERT OR IGNORE INTO known VALUES (?, ?, ?)",
                ((state.url, one.there, one.key) for one in _scan_brought(registry, state.url)),
            )


def _scan_brought(registry: Registry, url: str) -> Iterator[KnownRecord]:
    low: str | None = ""
    while low is not None:
        rows, low = scan_readable(registry.records, low, None, limit=_SOME)
        for row in rows:
            if isinstance(row, ScannedRecord):
                pairs = row.record.metadata
                if pairs.get(SOURCE) == url and NAME_THERE in pairs and not row.record.tombstone:
                    yield KnownRecord(pairs[NAME_THERE], row.key)
