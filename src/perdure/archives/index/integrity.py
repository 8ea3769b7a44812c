"""Check the index of captures: its database, its runs, and that each entry leads to its record.

How it works: SQLite checks its file. Then the whole index is read in order, in batches, and each
batch in the order of the archive files: the head of the record at each offset must be that of the
capture. If a file is compressed as one stream, only the first record is read, because each costs
everything before it. At the end, the number of entries of each file is compared with the number
that was noted when the file was added.

What must stay true: files that are added, changed or erased during the check are never called
damaged; memory does not grow with the index; a damaged entry or file hides no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import apsw

from perdure.archives.files.registered import RegisteredFiles
from perdure.archives.index import ranges
from perdure.archives.index.runs import LocalCaptures
from perdure.archives.index.sqlite_index import FILE, ArchiveFile, SqliteCaptures, resolve_place
from perdure.archives.port import Capture
from perdure.errors import Corrupt, PerdureError
from perdure.errors.archive_corruption import ArchiveFileCutOff, EntriesLost
from perdure.errors.corruption import DatabaseUnsound
from perdure.errors.processes import FileUnusable

_MOST_FAULTS = 100
_BATCH = 10_000
_EVERYTHING = ranges.IndexRange("", "\U0010ffff")


class IndexAudit:
    """One check of an index."""

    def __init__(
        self, root: Path, index: SqliteCaptures, captures: LocalCaptures, files: RegisteredFiles
    ) -> None:
        """`root` is the directory of the index, and `captures` all its captures, runs included."""
        self._root = root
        self._index = index
        self._captures = captures
        self._files = files
        self._registered: dict[str, ArchiveFile] = {}
        self._unusable: dict[str, PerdureError] = {}
        self._counts: Counter[str] = Counter()

    def find_problems(self) -> Iterator[PerdureError]:
        """Yield an error for each problem."""
        if not (self._root / FILE).exists():
            return
        damage = list(self._check_database())
        if damage:
            yield from damage
            return  # whatever else is found would follow from this
        self._registered = {file.name: file for file in self._index.list_files()}
        for file in self._registered.values():
            problem = self._check_file(file)
            if problem:
                self._unusable[file.name] = problem
        try:
            yield from self._check_entries()
        except PerdureError as error:  # a run cannot be read, and so neither what follows it
            yield error
            return
        for name, file in self._registered.items():
            if self._is_as_before(name):
                problem = self._unusable.get(name) or self._compare_count(file)
                if problem:
                    yield problem

    def _check_database(self) -> Iterator[Corrupt]:
        name = f"captures/{FILE}"
        try:
            path, flags = str(self._root / FILE), apsw.SQLITE_OPEN_READWRITE
            with closing(apsw.Connection(path, flags=flags)) as connection:
                for (line,) in connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})"):
                    if line != "ok":
                        yield DatabaseUnsound(file=name, fault=line)
        except (apsw.Error, UnicodeDecodeError) as error:
            yield DatabaseUnsound(file=name, fault=str(error))

    def _check_file(self, file: ArchiveFile) -> PerdureError | None:
        try:
            size = Path(resolve_place(file, self._root).path).stat().st_size
        except OSError as error:
            fault = error.strerror or type(error).__name__
            return FileUnusable(file=f"archive file {file.name}", fault=fault)
        if size < file.base + file.size:
            return ArchiveFileCutOff(file=file.name, size=file.base + file.size, left=size)
        return None

    def _check_entries(self) -> Iterator[PerdureError]:
        entries = ranges.walk_range(self._captures, _EVERYTHING)
        while batch := list(islice(entries, _BATCH)):
            for one in sorted(batch, key=lambda one: (one.file, one.offset)):
                self._counts[one.file] += 1
                problem = self._check_entry(one)
                if problem and self._is_as_before(one.file):
                    yield problem

    def _check_entry(self, capture: Capture) -> PerdureError | None:
        file = self._registered.get(capture.file)
        if file is None or file.name in self._unusable:
            return None
        if file.shared and self._counts[file.name] > 1:
            return None
        try:
            self._files.open_record(capture).close()
        except PerdureError as error:
            # a flaw that was recorded when the file was added is not new
            return None if self._files.is_damaged(capture) else error
        return None

    def _compare_count(self, file: ArchiveFile) -> PerdureError | None:
        entries = self._counts[file.name]
        if entries == file.lines:
            return None
        return EntriesLost(file=file.name, noted=file.lines, entries=entries)

    def _is_as_before(self, name: str) -> bool:
        """Return whether a file was neither added again nor changed since the check began."""
        return self._index.find_file(name) == self._registered.get(name)
