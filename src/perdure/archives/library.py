"""The archive files of a registry: which there are, what is in them, and how more are added.

How it works: `captures/` in the registry directory holds the index and what was moved there; other
files stay where they lie and are registered by their place. Adding a file reads all of it once and
commits its captures together, under the index's own lock, so that a server goes on reading.

What must stay true: a file is in the index with all its captures or not at all; a name is given
once and leads to one place; what is wrong with a file is kept with it, and the rest of it is there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from perdure.archives import sqlite_index
from perdure.archives.careful import Flaw, Shared
from perdure.archives.files import RegisteredFiles
from perdure.archives.merged import MergedCaptures
from perdure.archives.port import Capture, Captures
from perdure.archives.scanning import Place, scan
from perdure.archives.sqlite_index import Adding, ArchiveFile, SqliteCaptures
from perdure.errors import StorageFailed
from perdure.settings import Settings

DIRECTORY = "captures"
FILES = "files"
_PACKINGS = ("", ".gz", ".zst", ".lz4")
SUFFIXES = (".wacz", *(f".{kind}{packing}" for kind in ("warc", "arc") for packing in _PACKINGS))
_FLAWS_KEPT = 1000
_EVERY = 1024

Watch = Callable[[int], None]
"""Told how many bytes of a file were read."""


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file that was to be added."""

    file: ArchiveFile
    outcome: str
    """`added`, `replaced` where it had changed since, or `unchanged`."""
    flaws: tuple[Flaw, ...] = ()
    """The first of them; `file.flaws` counts all."""


def archive_files(path: Path) -> list[Path]:
    """The archive files that a file or a directory is or holds, in order of name.

    A file that is named counts whatever it is called; in a directory, the name decides.
    """
    if not path.is_dir():
        return [path]
    return sorted(
        Path(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if name.lower().endswith(SUFFIXES)
    )


class Library:
    """The archive files of a registry. Safe to use from several threads."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root / DIRECTORY
        self._settings = settings
        self._index = SqliteCaptures(self._root)
        self.captures: Captures = MergedCaptures([self._index])
        self.files = RegisteredFiles(self._index)

    def registered(self) -> list[ArchiveFile]:
        """All archive files, in the order in which they were added."""
        return self._index.files()

    def flaws(self, file: ArchiveFile) -> list[Flaw]:
        """What is wrong with a file, as far as it was kept: the first thousand."""
        return [Flaw(offset, what) for offset, what in self._index.flaws(file.id)]

    def add(self, path: Path, *, move: bool = False, watch: Watch = lambda _: None) -> list[Added]:
        """Registers an archive file and indexes what is in it; a WACZ counts as several.

        With `move` the file goes to the registry directory; else it stays where it lies and must
        stay there. Raises OSError where it cannot be read, StorageFailed, Unavailable or Conflict.
        """
        sqlite_index.create(self._root)
        source = path.resolve(strict=True)
        target = self._brought(source) if move else source
        added = [
            self._add_one(place, name, path=self._kept(target), watch=watch)
            for place, name in self._stretches(target)
        ]
        if target != source:
            source.unlink()
        return added

    def _stretches(self, path: Path) -> Iterator[tuple[Place, str]]:
        yield Place(path=str(path)), path.name

    def _brought(self, source: Path) -> Path:
        """A second name for a file in the registry directory, or a copy on another disk.

        The first name goes when the file is in the index, so that it is never without one.
        """
        directory = self._root / FILES
        if source.parent == directory.resolve():
            return source
        target = directory / self._free_name(source.name, lambda name: (directory / name).exists())
        try:
            directory.mkdir(exist_ok=True)
            try:
                os.link(source, target)
            except OSError:  # another disk, or one without links
                shutil.copy2(source, target)
                with target.open("rb") as file:
                    os.fsync(file.fileno())
            _flush(directory)
        except OSError as error:
            target.unlink(missing_ok=True)
            raise StorageFailed(what=f"{source.name}", reason=error.strerror or "") from error
        return target.resolve()

    def _kept(self, path: Path) -> str:
        """How a place is written: relative where it moves along with the registry."""
        root = self._root.resolve()
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)

    def _free_name(self, name: str, taken: Callable[[str], bool]) -> str:
        """The name, or one with a number behind it."""
        free, number = name, 1
        while taken(free) or self._index.file(free):
            number += 1
            free = f"{name}~{number}"
        return free

    def _add_one(self, place: Place, name: str, *, path: str, watch: Watch) -> Added:
        state = Path(place.path).stat()
        size = state.st_size if place.size is None else place.size
        known = self._index.at(path, place.base)
        if known and (known.size, known.modified) == (size, state.st_mtime_ns):
            return Added(file=known, outcome="unchanged", flaws=tuple(self.flaws(known)))
        file = ArchiveFile(
            id=0,
            name=known.name if known else self._free_name(name, lambda _: False),
            path=path,
            base=place.base,
            size=size,
            modified=state.st_mtime_ns,
            added=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            records=0,
            captures=0,
            flaws=0,
        )
        try:
            done, flaws = self._index_file(place, file, known, watch)
        except Shared:
            place = msgspec.structs.replace(place, shared=True)
            file = msgspec.structs.replace(file, shared=True)
            done, flaws = self._index_file(place, file, known, watch)
        return Added(file=done, outcome="replaced" if known else "added", flaws=tuple(flaws))

    def _index_file(
        self, place: Place, file: ArchiveFile, known: ArchiveFile | None, watch: Watch
    ) -> tuple[ArchiveFile, list[Flaw]]:
        records = flawed = 0
        flaws: list[Flaw] = []
        with Adding(self._root) as adding:
            if known:
                adding.forget(known)
            for met in scan(place, file.name):
                if isinstance(met, Flaw):
                    flawed += 1
                    if flawed <= _FLAWS_KEPT:
                        flaws.append(met)
                    continue
                records += 1
                if isinstance(met, Capture):
                    adding.add(met)
                if not records % _EVERY:
                    watch(met.offset)
            file = msgspec.structs.replace(file, records=records, flaws=flawed)
            done = adding.finish(file, [(one.offset, one.what) for one in flaws])
        watch(file.size)
        return done, flaws

    def close(self) -> None:
        self._index.close()


def _flush(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
