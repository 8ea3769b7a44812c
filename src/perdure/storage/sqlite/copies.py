"""Copies of an embedded registry that are made while it is in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from perdure.storage.sqlite.opening import FILE, open_file, storage_errors

_GONE = """
SELECT 1 FROM main.records AS one
  WHERE NOT EXISTS (SELECT 1 FROM later.records WHERE key=one.key) LIMIT 1
"""


def is_past(earlier: Path, later: Path) -> bool:
    """Whether one registry file may be an earlier state of another: all that it names is there.

    Raises StorageFailed, or Unavailable where the earlier one cannot be read.
    """
    with storage_errors("the earlier backup"):
        connection = open_file(str(earlier), apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("ATTACH ? AS later", (str(later),))
            return connection.execute(_GONE).get is None
        finally:
            connection.close()


def backup(root: Path, target: Path, *, pages: int = 4096) -> Iterator[float]:
    """Copies the registry while it is in use, so many pages at a time.

    Yields the share done, 0 to 1. Raises StorageFailed or Unavailable.
    """
    with storage_errors("the backup"):
        source = open_file(str(root / FILE), apsw.SQLITE_OPEN_READWRITE)
        copy = apsw.Connection(str(target))
    try:
        # Held to the end: a copy starts again from the beginning when what it reads is changed.
        source.execute("BEGIN; SELECT count(*) FROM meta")
        with storage_errors("the backup"), copy.backup("main", source, "main") as work:
            while not work.done:
                work.step(pages)
                yield 1 - work.remaining / max(work.page_count, 1)
        copy.execute("PRAGMA journal_mode=WAL")  # as wherever it is served; closing ends the log
    finally:
        copy.close()
        source.close()
