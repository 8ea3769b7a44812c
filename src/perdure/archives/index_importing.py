"""Take over an index that another program made, without reading the archive files that it names.

How it works: an archive file is found by its path below the directory of archives, or by its name
if only one file there has it. Its size and time are recorded, so that `archive add` knows it later.
The rest is in `index_files` (which reads) and `index_adding` (which writes).

What must stay true: a capture whose archive file is missing, or is shorter than its offset, is not
taken; a file that is registered already is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perdure.archives.index.index_adding import IndexAddition
from perdure.archives.index.index_files import IndexLine, read_index
from perdure.errors import PerdureError
from perdure.errors.captures import ArchiveAmbiguous, ArchiveMissing, OffsetBeyondArchive

if TYPE_CHECKING:
    from perdure.archives.library import Library


class RefusedLine(msgspec.Struct, frozen=True):
    """A line of an index that was not taken."""

    path: Path
    number: int
    text: bytes
    fault: PerdureError


class IndexImport:
    """The import of indexes. Iterate over it to the end: it yields the refused lines."""

    def __init__(self, library: Library, indexes: tuple[Path, ...], archives: Path) -> None:
        self._library = library
        self._indexes = indexes
        self._archives = archives.resolve()
        self._found: dict[str, int | PerdureError | None] = {}
        self._sizes: dict[int, int] = {}
        self._places: dict[str, list[Path]] | None = None
        self.files = 0
        """Archive files that are new in the index."""
        self.captures = 0
        self.known = 0
        """Captures of files that were registered before."""

    def __iter__(self) -> Iterator[RefusedLine]:
        """Yield the refused lines. Raises OSError, StorageFailed or Unavailable."""
        with self._library.begin_index() as adding:
            for path in self._indexes:
                for line in read_index(path):
                    fault = self._take_line(adding, line)
                    if fault is not None:
                        yield RefusedLine(path, line.number, line.text, fault)
            adding.finish()
        self._library.settle_index()

    def _take_line(self, adding: IndexAddition, line: IndexLine) -> PerdureError | None:
        """Add the capture of a line, or return why it is refused."""
        capture = line.capture
        if capture is None:
            return line.fault
        if capture.file not in self._found:
            self._found[capture.file] = self._find_file(adding, capture.file)
        file = self._found[capture.file]
        if isinstance(file, PerdureError):
            return file
        if file is None:
            self.known += 1
            return None
        if capture.offset >= self._sizes[file]:
            return OffsetBeyondArchive(file=capture.file, offset=capture.offset)
        adding.add_capture(file, capture)
        self.captures += 1
        return None

    def _find_file(self, adding: IndexAddition, name: str) -> int | PerdureError | None:
        """Return the number of a new archive file, None if it is registered, or a fault."""
        path = self._find_path(name)
        if isinstance(path, PerdureError):
            return path
        described = self._library.describe_new_file(path)
        if described is None:
            return None
        number = adding.add_file(described)
        self._sizes[number] = described.size
        self.files += 1
        return number

    def _find_path(self, name: str) -> Path | PerdureError:
        direct = Path(os.path.normpath(self._archives / name))
        if direct.is_relative_to(self._archives) and direct.is_file():
            return direct
        if self._places is None:
            self._places = {}
            for folder, _, names in os.walk(self._archives):
                for one in names:
                    self._places.setdefault(one, []).append(Path(folder, one))
        found = self._places.get(name.replace("\\", "/").rpartition("/")[2], [])
        if not found:
            return ArchiveMissing(file=name, directory=str(self._archives))
        return found[0] if len(found) == 1 else ArchiveAmbiguous(file=name)
