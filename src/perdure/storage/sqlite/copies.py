"""Copies of an embedded registry, made while it is in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from perdure.storage.sqlite.opening import FILE, open_file, storage_errors

_GONE = """
SELECT 1 FROM main.records AS one WHERE
  NOT EXISTS (SELECT 1 FROM later.records WHERE key=one.key) LIMIT 1
"""


def is_past(earlier: Path, later: Path) -> bool:
    """Return True if one registry file may be an earlier state of another.

    This is so if all its identifiers are in the other. Raises StorageFailed, or Unavailable if the
    earlier file cannot be read.
    """
    with storage_errors("the earlier backup"):
        connection = open_file(str(earlier), apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("ATTACH ? AS later", (str(later),))
            return connection.execute(_GONE).get is None
        finally:
            connection.close()


def copy_registry(root: Path, target: Path, *, pages: int = 4096) -> Iterator[float]:
    """Copy the registry while it is in use, `pages` at a time, and yield the share done (0 to 1).

    Raises StorageFailed or Unavailable.
    """
    with storage_errors("the backup"):
        source = open_file(str(root / FILE), apsw.SQLITE_OPEN_READWRITE)
        copy = apsw.Connection(str(target))
    try:
        # Held to the end: if another process changed the source, the copy would start over.
        source.execute("BEGIN; SELECT count(*) FROM meta")
        with storage_errors("the backup"), copy.backup("main", source, "main") as work:
            while not work.done:
                work.step(pages)
                yield 1 - work.remaining / max(work.page_count, 1)
        copy.execute("PRAGMA journal_mode=WAL")  # as a served registry has; closing ends the log
    finally:
        copy.close()
        source.close()
