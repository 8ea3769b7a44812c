"""The memory of a planner: a small database in a file, about all files of a directory.

How it works: SQLite holds the rows of the inventory by path, the names of files, the digests of
documents, and sketches of texts. Each plan creates it, and deletes it at its end.

What must stay true: memory is bounded by the cache of SQLite, whatever the number of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import apsw
import msgspec

_TABLES = """
CREATE TABLE rows(
  path BLOB PRIMARY KEY, line INTEGER, family TEXT, cells BLOB, problem TEXT
) WITHOUT ROWID;
CREATE INDEX families ON rows(family, line) WHERE family <> '';
CREATE TABLE files(base BLOB, path BLOB, PRIMARY KEY(base, path)) WITHOUT ROWID;
CREATE TABLE digests(digest BLOB PRIMARY KEY, name TEXT) WITHOUT ROWID;
CREATE TABLE sketches(print INTEGER, text INTEGER, PRIMARY KEY(print, text)) WITHOUT ROWID;
CREATE TABLE texts(text INTEGER PRIMARY KEY, name TEXT, prints INTEGER);
"""
_PRAGMAS = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-32768; BEGIN;"
_FIND_NEAR = """
SELECT texts.name, count(*) AS shared, texts.prints FROM sketches JOIN texts USING(text)
WHERE print IN (SELECT value FROM json_each(?1))
  AND (SELECT count(*) FROM
       (SELECT 1 FROM sketches AS o WHERE o.print=sketches.print LIMIT ?2)) < ?2
GROUP BY text ORDER BY shared DESC, text LIMIT 1
"""
_COMMON = 200
"""Texts that share a print beyond which it tells nothing."""


class KnownRow(NamedTuple):
    """A row of the inventory."""

    path: bytes
    line: int
    family: str
    """Files with the same one are one document; empty: by their names."""
    cells: dict[str, str]
    problem: str = ""
    """Why the row cannot be used; empty if it can."""


class Workbook:
    """The database. Use it as a context manager, which deletes the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.unlink(missing_ok=True)
        self._base = apsw.Connection(str(path))
        list(self._base.execute(_PRAGMAS + _TABLES))
        self.has_rows = False
        self._texts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()
        self._path.unlink(missing_ok=True)

    def _fetch(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = next(iter(self._base.execute(statement, values)), None)
        return found

    # The inventory
    # -------------

    def add_files(self, paths: Iterable[bytes]) -> None:
        """Note files that exist."""
        self._base.executemany(
            "INSERT OR IGNORE INTO files VALUES(?,?)",
            ((path.rpartition(b"/")[2], path) for path in paths),
        )

    def has_file(self, path: bytes) -> bool:
        base = path.rpartition(b"/")[2]
        return self._fetch("SELECT 1 FROM files WHERE base=? AND path=?", base, path) is not None

    def find_files(self, base: bytes) -> list[bytes]:
        """At most two files with this name, in whichever directory."""
        found = self._base.execute("SELECT path FROM files WHERE base=? LIMIT 2", (base,))
        return [path for (path,) in found]

    def add_row(self, row: KnownRow) -> int:
        """Add a row, and return 0; or the line of the row that is about the same file.

        A row with a problem gives way to one without.
        """
        held = self._fetch("SELECT line FROM rows WHERE path=? AND problem=''", row.path)
        if held is not None:
            return int(held[0])
        cells = msgspec.json.encode(row.cells)
        values = (row.path, row.line, row.family, cells, row.problem)
        self._base.execute("INSERT OR REPLACE INTO rows VALUES(?,?,?,?,?)", values)
        self.has_rows = True
        return 0

    def find_row(self, path: bytes) -> KnownRow | None:
        if not self.has_rows:
            return None
        found = self._fetch("SELECT * FROM rows WHERE path=?", path)
        return None if found is None else _read_known(found)

    def list_family(self, family: str) -> Iterator[KnownRow]:
        """The rows of one document, in the order of their lines."""
        statement = "SELECT * FROM rows WHERE family=? ORDER BY line"
        return map(_read_known, list(self._base.execute(statement, (family,))))

    # Documents with the same bytes
    # -----------------------------

    def note_digest(self, digest: bytes, name: str) -> str:
        """Note the digest of a document, and return the name of an earlier one with the same."""
        held = self._fetch("SELECT name FROM digests WHERE digest=?", digest)
        if held is not None:
            return str(held[0])
        self._base.execute("INSERT INTO digests VALUES(?,?)", (digest, name))
        return ""

    # Documents with nearly the same text
    # -----------------------------------

    def note_sketch(self, prints: list[int], name: str) -> tuple[str, float] | None:
        """Note the sketch of a text. Return the earlier text that shares most prints, and the share
        of them, from 0 to 1; None if no text shares any."""
        best = self._fetch(_FIND_NEAR, msgspec.json.encode(prints).decode(), _COMMON)
        self._texts += 1
        self._base.execute("INSERT INTO texts VALUES(?,?,?)", (self._texts, name, len(prints)))
        self._base.executemany(
            "INSERT OR IGNORE INTO sketches VALUES(?,?)", ((one, self._texts) for one in prints)
        )
        return None if best is None else (str(best[0]), best[1] / max(best[2], len(prints)))


def _read_known(row: tuple[Any, ...]) -> KnownRow:
    path, line, family, cells, problem = row
    return KnownRow(path, line, family, msgspec.json.decode(cells, type=dict[str, str]), problem)
