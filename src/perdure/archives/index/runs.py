"""Move captures that are too many for SQLite to sorted runs, and merge these (an LSM tree).

How it works: captures are always added to SQLite. When there are more of them than the setting
`captures_in_sqlite`, they move to a run of ZipNum blocks, and SQLite starts empty again; only the
few answers to other methods than GET stay there, because lists have them in another order. As soon
as a level has eight runs, they are merged into one run of the next level, so each capture is
rewritten once for each power of eight. The table `runs` lists the valid runs.

What must stay true: a run is complete and durable before a transaction names it, and is deleted
only after the transaction that removes its name; a reader sees each capture at least once at any
moment, and `merged` returns it once.
"""

from __future__ import annotations

import heapq
import secrets
from collections.abc import Iterator
from pathlib import Path

from perdure.archives.index import cdxj, zipnum
from perdure.archives.index.adding import Compaction
from perdure.archives.index.merged import merge_captures
from perdure.archives.index.sqlite_index import RunRow, SqliteCaptures
from perdure.archives.port import Capture

DIRECTORY = "runs"
FAN = 8
"""Runs of a level that are merged into one."""
_ATTEMPTS = 5


class LocalCaptures:
    """Searches SQLite and the runs of a directory; implements `perdure.archives.port.Captures`."""

    def __init__(self, root: Path, index: SqliteCaptures) -> None:
        self._directory = root / DIRECTORY
        self._index = index
        self._open: dict[str, zipnum.Run] = {}

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`. Raises Corrupt if a run is damaged."""
        # SQLite first: a capture that moves to a run meanwhile is then seen twice, not missed.
        found = self._index.scan_range(low, high, backwards=backwards, limit=limit)
        if not self._index.list_runs():
            return found
        is_registered = self._index.list_names().__contains__
        parts = [
            run.scan_range(low, high, backwards=backwards, limit=limit, keep=is_registered)
            for run in self._open_runs()
        ]
        return merge_captures([found, *parts], backwards=backwards, limit=limit)

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`. None of them is in a run."""
        return self._index.scan_by_request(low, high, backwards=backwards, limit=limit)

    def _open_runs(self) -> list[zipnum.Run]:
        for attempt in range(_ATTEMPTS):
            names = [row.name for row in self._index.list_runs(fresh=attempt > 0)]
            try:
                runs = [self._open.get(name) or zipnum.Run(self._directory, name) for name in names]
            except FileNotFoundError:  # merged into another run in the meantime
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            if self._open.keys() != set(names):
                self._open = {run.name: run for run in runs}
            return runs
        return []

    def count_captures(self) -> int:
        return self._index.count_captures()


def settle_index(root: Path, index: SqliteCaptures, *, most: int) -> None:
    """Move captures out of SQLite if it has more than `most`, and merge levels that are full.

    Raises StorageFailed if the disk is full, and then leaves the index unchanged.
    """
    directory = root / DIRECTORY
    in_runs = sum(run.lines for run in index.list_runs(fresh=True))
    if index.count_captures() - in_runs - index.count_by_request() > most:
        with Compaction(root) as compaction:
            name = f"0-{secrets.token_hex(8)}"
            lines = (cdxj.format_line(capture) for capture in compaction.read_captures(index))
            written = zipnum.write_run(directory, name, lines)
            compaction.commit_spill(
                RunRow(name=name, level=0, lines=written.lines, size=written.size)
            )
    while level := _find_full_level(index):
        _merge_runs(root, level)
    _sweep_runs(directory, index)


def rewrite_runs(root: Path, index: SqliteCaptures) -> None:
    """Merge all runs into one, without the captures of files that are no longer registered.

    Raises StorageFailed if the disk is full, and then leaves the runs unchanged.
    """
    rows = index.list_runs(fresh=True)
    if rows:
        _merge_runs(root, sorted(rows, key=lambda row: row.level, reverse=True))
    _sweep_runs(root / DIRECTORY, index)


def _find_full_level(index: SqliteCaptures) -> list[RunRow]:
    """Return the runs of the lowest level with enough runs to merge; empty if there is none."""
    levels: dict[int, list[RunRow]] = {}
    for run in index.list_runs(fresh=True):
        levels.setdefault(run.level, []).append(run)
    return next((levels[level] for level in sorted(levels) if len(levels[level]) >= FAN), [])


def _merge_runs(root: Path, rows: list[RunRow]) -> None:
    directory = root / DIRECTORY
    with Compaction(root) as compaction:
        registered = compaction.read_file_names()
        runs = [zipnum.Run(directory, row.name) for row in rows]
        level = rows[0].level + 1
        name = f"{level}-{secrets.token_hex(8)}"
        lines = _keep_registered(heapq.merge(*runs, key=zipnum.read_position), registered)
        written = zipnum.write_run(directory, name, lines)
        compaction.commit_merge(
            rows, RunRow(name=name, level=level, lines=written.lines, size=written.size)
        )
    for row in rows:
        zipnum.remove_run(directory, row.name)


def _keep_registered(lines: Iterator[bytes], registered: set[str]) -> Iterator[bytes]:
    """Drop the captures of files that are no longer registered."""
    return (line for line in lines if cdxj.parse_line(line).file in registered)


def _sweep_runs(directory: Path, index: SqliteCaptures) -> None:
    """Delete the runs that a crash left behind, which no transaction names."""
    if not directory.is_dir():
        return
    named = {row.name for row in index.list_runs(fresh=True)}
    for path in directory.iterdir():
        if path.name.partition(".")[0] not in named:
            path.unlink(missing_ok=True)
