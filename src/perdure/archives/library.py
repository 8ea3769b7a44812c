"""The archive files of a registry: list them, add files, check them.

How it works: `captures/` in the registry directory holds the index and the files that were moved
there. Other files stay in place and are registered by their path. Adding a file reads all of it
once and commits its captures together, under the index's own lock, so that a server can go on
reading.

What must stay true: the index has all captures of a file or none; a name is given once and leads
to one place; the flaws of a file are recorded with it, and the rest of the file is indexed.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from perdure.archives import places
from perdure.archives.checking import RecordCheck, check_file
from perdure.archives.file_digests import FileDigests
from perdure.archives.files import wacz
from perdure.archives.files.careful import Flaw, SharedMember
from perdure.archives.files.registered import RegisteredFiles
from perdure.archives.files.scanning import ArchivePlace, scan_file
from perdure.archives.files.windows import GZIP
from perdure.archives.index import runs, sqlite_index
from perdure.archives.index.adding import FileAddition, empty_log
from perdure.archives.index.index_adding import IndexAddition
from perdure.archives.index.integrity import IndexAudit
from perdure.archives.index.merged import MergedCaptures
from perdure.archives.index.runs import LocalCaptures
from perdure.archives.index.sqlite_index import ArchiveFile, SqliteCaptures, storage_errors
from perdure.archives.index.untold import ToldCaptures
from perdure.archives.port import Capture, Captures
from perdure.archives.readable import SelectedCaptures
from perdure.archives.withholding import Withholding, Withholdings
from perdure.errors import PerdureError, StorageFailed
from perdure.errors.captures import IndexNotTaken
from perdure.settings import Settings
from perdure.storage.durable import sync_directory

DIRECTORY = places.DIRECTORY
FILES = "files"
_PACKINGS = ("", ".gz", ".zst", ".lz4")
SUFFIXES = (".wacz", *(f".{kind}{packing}" for kind in ("warc", "arc") for packing in _PACKINGS))
_FLAWS_KEPT = 1000
_EVERY = 1024
_SAMPLE = 4096  # bytes
_INDEX_START = re.compile(
    rb" CDX [A-Za-z]|![a-z]+[ \t]"
    rb"|[^\s]{1,2048} [0-9]{14}(?: \{|\t[^\t]+\t[0-9]+\t|(?: [^ \n]+){7,12}\n)"
)
"""The first line of a CDX, a CDXJ or a ZipNum index."""

Watch = Callable[[int], None]
"""Called with the number of bytes of a file that were read."""


class AddedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The result of adding a file."""

    file: ArchiveFile
    outcome: str
    """`added`, `replaced` (the file had changed since it was added), or `unchanged`."""
    flaws: tuple[Flaw, ...] = ()
    """The first flaws; `file.flaws` counts all of them."""
    notes: tuple[str, ...] = ()
    """What else there is to say, such as who signed a package."""


def archive_files(path: Path) -> list[Path]:
    """Return the archive files at a path, in order of name.

    The path of a file is always taken. In a directory, only files with a known suffix are.
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

    def __init__(
        self, root: Path, settings: Settings, *, guard: Callable[[], None] = lambda: None
    ) -> None:
        """`guard` is called before anything is written, and raises if that must not happen."""
        self.check_writable = guard
        self._root = root / DIRECTORY
        self._settings = settings
        self._index = SqliteCaptures(self._root)
        local = LocalCaptures(self._root, self._index)
        self.captures: Captures = ToldCaptures(local, self._index)
        self._own = local
        if settings.capture_index:
            from perdure.archives.index.remote import RemoteCaptures

            self.captures = MergedCaptures([self.captures, RemoteCaptures(settings.capture_index)])
        self.withheld = Withholdings(root)
        self.captures = SelectedCaptures(
            self.captures, self.withheld.select_served, is_limited=self.withheld.__bool__
        )
        self.files = RegisteredFiles(self._index)
        self.digests = FileDigests(self._root)

    def list_files(self) -> list[ArchiveFile]:
        """Return all archive files, in the order in which they were added."""
        return self._index.list_files()

    def require_served(self, identifier: str, uri: str, first: str, last: str) -> None:
        """See `perdure.archives.readable.ReadableArchive`."""
        self.withheld.require_served(identifier, uri, first, last)

    def explain_absence(self, identifier: str, uri: str, first: str, last: str) -> None:
        """Do nothing: people on the machine itself read everything."""

    def take_down(self, one: Withholding) -> None:
        """Take captures down, durably. Raises InvalidRequest, OSError, or what the guard raises."""
        self.check_writable()
        self.withheld.add(one)

    def list_flaws(self, file: ArchiveFile) -> list[Flaw]:
        """Return the flaws of a file that were recorded: the first thousand."""
        return [Flaw(offset, what) for offset, what in self._index.list_flaws(file.id)]

    def add_file(
        self, path: Path, *, move: bool = False, watch: Watch = lambda _: None
    ) -> list[AddedFile]:
        """Register an archive file and index its records; a WACZ file counts as several files.

        With `move`, the file is moved to the registry directory. Without it, the file stays where
        it is and must stay there. Raises OSError if the file cannot be read, InvalidRequest if it
        is an index, StorageFailed, Unavailable or Conflict.
        """
        self.check_writable()
        source = path.resolve(strict=True)
        if is_capture_index(source):
            raise IndexNotTaken(file=path.name)
        sqlite_index.create_index(self._root)
        target = self._bring_file(source) if move else source
        if target != source:
            self._move_entries(source, target)
        if is_package(target):
            added = self._add_package(target, watch)
        else:
            added = [self._add_one(ArchivePlace(path=str(target)), target.name, watch)]
        if target != source:
            source.unlink()
        self.settle_index()
        return added

    def begin_index(self) -> IndexAddition:
        """Begin to take over an index. Raises StorageFailed, Unavailable, or as the guard does."""
        self.check_writable()
        sqlite_index.create_index(self._root)
        return IndexAddition(self._root)

    def describe_new_file(self, path: Path) -> ArchiveFile | None:
        """Describe an archive file for the index, or return None if it is registered already.

        Raises OSError.
        """
        if self._index.find_file_at(self._format_path(path), 0) is not None:
            return None
        return self._describe_file(ArchivePlace(path=str(path)), path.name, None)

    def settle_index(self) -> None:
        """Move captures from SQLite to runs, if there are too many of them."""
        with storage_errors("the index of captures"):
            runs.settle_index(self._root, self._index, most=self._settings.captures_in_sqlite)

    def _add_package(self, path: Path, watch: Watch) -> list[AddedFile]:
        """Add the archive files of a WACZ package, and last the package itself with its flaws.

        That way a package that was added only in part, because of a power failure, is read again.
        """
        kept, state = self._format_path(path), path.stat()
        known = self._index.find_file_at(kept, 0)
        if known and (known.size, known.modified) == (state.st_size, state.st_mtime_ns):
            return [
                self._refresh_file(one, watch)
                for one in self._index.list_files()
                if one.path == kept
            ]
        package = wacz.read_package(path, SUFFIXES)
        flaws = list(package.flaws)
        notes = (package.signature,) if package.signature else ()
        added = []
        for entry in package.entries:
            name = f"{path.name}/{entry.name}"
            if entry.stored:
                place = ArchivePlace(path=str(path), base=entry.base, size=entry.size)
                added.append(self._add_one(place, name, watch))
                continue
            flaws.append(Flaw(entry.base, f"{entry.name[:120]!a} is compressed in the package"))
            try:
                inflated = self._inflate_entry(path, entry)
            except zipfile.BadZipFile as error:
                flaws.append(Flaw(entry.base, f"{entry.name[:120]!a}: {error}"))
            else:
                added.append(self._add_one(ArchivePlace(path=str(inflated)), name, watch))
        here = {(one.file.path, one.file.base) for one in added}
        with FileAddition(self._root) as adding:
            for one in self._index.list_files():
                if one.path == kept and (one.path, one.base) not in here:
                    adding.forget_file(one)
            file = self._describe_file(ArchivePlace(path=str(path)), path.name, known)
            file = msgspec.structs.replace(file, flaws=len(flaws))
            done = adding.finish_file(file, [(one.offset, one.what) for one in flaws[:_FLAWS_KEPT]])
        outcome = "replaced" if known else "added"
        kept_flaws = tuple(flaws[:_FLAWS_KEPT])
        return [*added, AddedFile(file=done, outcome=outcome, flaws=kept_flaws, notes=notes)]

    def _report_unchanged(self, file: ArchiveFile) -> AddedFile:
        return AddedFile(file=file, outcome="unchanged", flaws=tuple(self.list_flaws(file)))

    def _inflate_entry(self, path: Path, entry: wacz.PackageEntry) -> Path:
        """Inflate an entry of a package into a file in the registry directory."""
        directory = self._root / FILES
        directory.mkdir(exist_ok=True)
        name = Path(entry.name).name
        target = directory / self._find_free_name(name, lambda name: (directory / name).exists())
        try:
            with target.open("xb") as file:
                wacz.extract_entry(path, entry, file)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target.resolve()

    def _bring_file(self, source: Path) -> Path:
        """Link a file into the registry directory, or copy it if that is on another disk.

        The original name is removed once the file is in the index, so that the file always has one.
        """
        directory = self._root / FILES
        if source.parent == directory.resolve():
            return source
        own = self._index.find_file(source.name)
        if own and own.path == str(source) and not (directory / own.name).exists():
            target = directory / own.name  # registered before, at its earlier place
        else:
            target = directory / self._find_free_name(
                source.name, lambda name: (directory / name).exists()
            )
        try:
            directory.mkdir(exist_ok=True)
            try:
                os.link(source, target)
            except OSError:  # another disk, or a file system without links
                shutil.copy2(source, target)
                with target.open("rb") as file:
                    os.fsync(file.fileno())
            sync_directory(directory)
        except OSError as error:
            target.unlink(missing_ok=True)
            raise StorageFailed(what=f"{source.name}", reason=error.strerror or "") from error
        return target.resolve()

    def _move_entries(self, source: Path, target: Path) -> None:
        """Record the new place of a file that was registered at another place."""
        kept = self._format_path(source)
        known = [one for one in self._index.list_files() if one.path == kept]
        if known:
            with FileAddition(self._root) as adding:
                for one in known:
                    adding.move_file(one, self._format_path(target))

    def _format_path(self, path: Path) -> str:
        """Return a path as the index stores it: relative if it is inside the registry.

        The registry directory itself may be relative, and then so are the paths that begin with it.
        """
        for root in (self._root.resolve(), self._root):
            if path.is_relative_to(root):
                return str(path.relative_to(root))
        return str(path)

    def _find_free_name(self, name: str, taken: Callable[[str], bool]) -> str:
        """Return the name, with a number appended if it is taken."""
        free, number = name, 1
        while taken(free) or self._index.find_file(free):
            number += 1
            free = f"{name}~{number}"
        return free

    def _describe_file(
        self, place: ArchivePlace, name: str, known: ArchiveFile | None
    ) -> ArchiveFile:
        """Describe a file as far as it is known before it is read."""
        state = Path(place.path).stat()
        return ArchiveFile(
            id=0,
            # Runs refer to files by name: if there are runs, a changed file gets a new name.
            name=known.name
            if known and not self._index.list_runs(fresh=True)
            else self._find_free_name(name, lambda _: False),
            path=self._format_path(Path(place.path)),
            base=place.base,
            size=state.st_size if place.size is None else place.size,
            modified=state.st_mtime_ns,
            added=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            records=0,
            captures=0,
            flaws=0,
        )

    def _add_one(self, place: ArchivePlace, name: str, watch: Watch) -> AddedFile:
        known = self._index.find_file_at(self._format_path(Path(place.path)), place.base)
        file = self._describe_file(place, name, known)
        if known and (known.size, known.modified) == (file.size, file.modified):
            return self._refresh_file(known, watch)
        return self._read_file(place, file, known, watch)

    def refresh_file(self, file: ArchiveFile, watch: Watch) -> AddedFile:
        """Read a file again if a release with an older index added it. Raises OSError."""
        self.check_writable()
        return self._refresh_file(file, watch)

    def _refresh_file(self, file: ArchiveFile, watch: Watch) -> AddedFile:
        """Read an unchanged file again if its entry in the index is outdated."""
        if not file.is_outdated:
            return self._report_unchanged(file)
        place = sqlite_index.resolve_place(file, self._root)
        if not place.base and is_package(Path(place.path)):  # its archive files have own entries
            with FileAddition(self._root) as adding:
                adding.mark_current(file)
            return AddedFile(file=msgspec.structs.replace(file, methods=0), outcome="replaced")
        return self._read_file(place, self._describe_file(place, file.name, file), file, watch)

    def _read_file(
        self, place: ArchivePlace, file: ArchiveFile, known: ArchiveFile | None, watch: Watch
    ) -> AddedFile:
        try:
            done, flaws = self._index_file(place, file, known, watch)
        except SharedMember:
            place = msgspec.structs.replace(place, shared=True)
            file = msgspec.structs.replace(file, shared=True)
            done, flaws = self._index_file(place, file, known, watch)
        return AddedFile(file=done, outcome="replaced" if known else "added", flaws=tuple(flaws))

    def _index_file(
        self, place: ArchivePlace, file: ArchiveFile, known: ArchiveFile | None, watch: Watch
    ) -> tuple[ArchiveFile, list[Flaw]]:
        records = flawed = 0
        flaws: list[Flaw] = []
        with FileAddition(self._root) as adding:
            if known:
                adding.forget_file(known)
            for met in scan_file(place, file.name):
                if isinstance(met, Capture):
                    adding.add_capture(met)
                elif isinstance(met, Flaw):
                    flawed += 1
                    if flawed <= _FLAWS_KEPT:
                        flaws.append(met)
                    continue
                records += 1
                if not records % _EVERY:
                    watch(met.offset)
            file = msgspec.structs.replace(file, records=records, flaws=flawed)
            done = adding.finish_file(file, [(one.offset, one.what) for one in flaws])
        watch(file.size)
        return done, flaws

    # What was erased
    # ---------------

    @property
    def own_captures(self) -> Captures:
        """The captures of the archive files here, also those that were taken down."""
        return self._own

    def find_place(self, name: str) -> tuple[ArchiveFile, ArchivePlace] | None:
        """Return an archive file and its place, or None if it is not registered."""
        file = self._index.find_file(name)
        return None if file is None else (file, sqlite_index.resolve_place(file, self._root))

    def index_again(self, paths: Collection[str]) -> bool:
        """Index files again that were changed here, and leave nothing of their earlier entries.

        `paths`: as the index names them. Return False if others still read an earlier state of
        the index. Raises OSError, StorageFailed or Unavailable; then repeat it.
        """
        self.check_writable()
        for file in self._index.list_files():
            if file.path in paths:
                self._renew_file(file)
        with storage_errors("the index of captures"):
            runs.rewrite_runs(self._root, self._index)
        return empty_log(self._root)

    def _renew_file(self, file: ArchiveFile) -> None:
        place = sqlite_index.resolve_place(file, self._root)
        described = self._describe_file(place, file.name, file)
        if place.base or not is_package(Path(place.path)):
            self._read_file(place, described, file, lambda _: None)
            return
        flaws = wacz.read_package(Path(place.path), SUFFIXES).flaws
        with FileAddition(self._root) as adding:  # its archive files have entries of their own
            adding.forget_file(file)
            adding.finish_file(
                msgspec.structs.replace(described, flaws=len(flaws)),
                [(one.offset, one.what) for one in flaws[:_FLAWS_KEPT]],
            )

    def check_index(self) -> Iterator[PerdureError]:
        """Check the index, and that its entries lead to their records. Yields the problems."""
        return IndexAudit(self._root, self._index, self._own, self.files).find_problems()

    def check_file(self, file: ArchiveFile) -> Iterator[RecordCheck]:
        """Read a file again and check each record. Raises OSError."""
        place = sqlite_index.resolve_place(file, self._root)
        if place.base or not is_package(Path(place.path)):
            yield from check_file(file, place, self.files, self._own)
            return
        package = wacz.read_package(Path(place.path), SUFFIXES)
        for flaw in package.flaws:
            yield RecordCheck(
                file=file.name,
                offset=flaw.offset,
                problem=flaw.what,
                fault="flaw",
                is_record=False,
            )
        if package.signature:
            yield RecordCheck(file=file.name, offset=0, note=package.signature, is_record=False)

    def close(self) -> None:
        self._index.close()


def is_capture_index(path: Path) -> bool:
    """Return whether a file is a CDX or CDXJ index, compressed or not, or the index of one."""
    with path.open("rb") as file:
        start = file.read(_SAMPLE)
    if start.startswith(GZIP):
        try:
            start = zlib.decompressobj(31).decompress(start, _SAMPLE)
        except zlib.error:  # adding the file reports the flaw
            return False
    return _INDEX_START.match(start) is not None


def is_package(path: Path) -> bool:
    """Return whether a file is a ZIP file, and so a WACZ package. Raises OSError."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"
