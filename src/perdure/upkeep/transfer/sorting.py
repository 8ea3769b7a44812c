"""Sorting rows by their keys, however many there are, in bounded memory.

How it works: rows collect in memory. When there are many, they are sorted and written to a
temporary file as a run. At the end all runs are merged. If there are too many runs to keep open,
they are merged into one on the way.

What must stay true: rows of one key come out in the order in which they went in; the files have no
name, so that nothing is left behind, whatever happens.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, Self, cast

from perdure.model.commands import LoadRow
from perdure.writing.row_files import read_rows, write_rows

_MOST_BYTES = 64 << 20  # of rows in memory
_MOST_RUNS = 64
_OVERHEAD = 350  # bytes that Python needs for a row in addition to its texts
_key = attrgetter("key")


def size_of(row: LoadRow) -> int:
    """Return roughly how many bytes of memory a row takes."""
    data = sum(len(content.data or b"") for _, content in row.contents)
    return _OVERHEAD + len(row.key) + len(row.record) + data


class Sorter:
    """Sorts rows that come in any order, by runs in `directory`. Raises OSError if it is full."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._rows: list[LoadRow] = []
        self._size = 0
        self._runs: list[BinaryIO] = []
        self._opened = ExitStack()
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add_row(self, row: LoadRow) -> None:
        self._rows.append(row)
        self.count += 1
        self._size += size_of(row)
        if self._size > _MOST_BYTES:
            self._rows.sort(key=_key)
            self._write_run(iter(self._rows))
            self._rows, self._size = [], 0
            if len(self._runs) == _MOST_RUNS:
                runs, self._runs = self._runs, []
                self._write_run(_merge_runs(runs))
                for run in runs:
                    run.close()

    def sorted_rows(self) -> Iterator[LoadRow]:
        """Return all rows in order. Call this only once."""
        self._rows.sort(key=_key)
        return _merge_runs(self._runs, self._rows)

    def _write_run(self, rows: Iterator[LoadRow]) -> None:
        file = tempfile.TemporaryFile(dir=self._directory)  # noqa: SIM115 - closed by _opened
        run = cast(BinaryIO, self._opened.enter_context(file))
        write_rows(run, rows)
        self._runs.append(run)


def _merge_runs(runs: list[BinaryIO], last: list[LoadRow] | None = None) -> Iterator[LoadRow]:
    """Merge runs. The merge is stable: rows of earlier runs come first among equal keys."""
    return heapq.merge(*map(_read_run, runs), last or (), key=_key)


def _read_run(run: BinaryIO) -> Iterator[LoadRow]:
    run.seek(0)
    for rows in read_rows(run):
        yield from rows
