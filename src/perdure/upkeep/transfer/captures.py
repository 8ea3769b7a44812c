"""A copy of the web archive of a registry: its index, and the archive files that were moved there.

How it works: SQLite copies the index as it is at one moment. Then the ZipNum runs and the files
that it names are copied; these never change, except for the files in which captures were erased:
they are copied each time. If a run was merged into another meanwhile, it is gone, and the index is
copied again. Files outside the registry are not copied.

What must stay true: every file that the copied index names is beside it, or at its earlier place;
nothing that was erased here is left in a backup that is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from perdure.archives import erasing, library
from perdure.archives.index import runs, zipnum
from perdure.archives.index.sqlite_index import FILE, SqliteCaptures, storage_errors
from perdure.errors.processes import ChangedMeanwhile
from perdure.storage.byte_ports import INCOMING
from perdure.storage.durable import replace_durably

_ATTEMPTS = 10

Copy = Callable[[Path, Path], None]
"""Makes a durable copy of a file."""


def back_up_captures(root: Path, target: Path, copy: Copy) -> None:
    """Copy the web archive of the registry in `root`, if it has one, into that in `target`.

    Raises OSError, StorageFailed if the disk refuses to copy the index, and Unavailable if the
    index is damaged or in use, or runs are merged faster than they are copied.
    """
    source = root / library.DIRECTORY
    if not (source / FILE).exists():
        return
    work = target / INCOMING / library.DIRECTORY
    for directory in (work, target / library.DIRECTORY / library.FILES):
        directory.mkdir(parents=True, exist_ok=True)
    for _ in range(_ATTEMPTS):
        fresh = work / FILE
        fresh.unlink(missing_ok=True)
        with storage_errors("the index of captures"):
            _copy_index(source / FILE, fresh)
        places = _named_files(work)
        erased = erasing.list_erased(root)
        try:
            for place in places:
                beside = target / library.DIRECTORY / place
                _copy_once(source / place, beside, copy, again=place in erased)
        except FileNotFoundError:
            continue
        replace_durably(fresh, target / library.DIRECTORY / FILE)
        _delete_old_runs(target / library.DIRECTORY, places)
        return
    raise ChangedMeanwhile()


def _copy_index(source: Path, target: Path) -> None:
    reading = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)
    writing = apsw.Connection(str(target))
    try:
        with writing.backup("main", reading, "main") as work:
            while not work.done:
                work.step(4096)
        writing.execute("PRAGMA journal_mode=DELETE").fetchall()  # all data in one file
    finally:
        writing.close()
        reading.close()


def _named_files(work: Path) -> list[str]:
    """Return the files in the registry directory that a copied index names, as relative paths."""
    index = SqliteCaptures(work)
    try:
        kept = {one.path for one in index.list_files() if not Path(one.path).is_absolute()}
        found = (zipnum.run_paths(Path(runs.DIRECTORY), one.name) for one in index.list_runs())
        return [*(str(path) for paths in found for path in paths), *sorted(kept)]
    finally:
        index.close()


def _delete_old_runs(target: Path, places: list[str]) -> None:
    """Delete the runs of earlier backups, which may have captures that were erased."""
    for path in (target / runs.DIRECTORY).glob("*"):
        if str(path.relative_to(target)) not in places:
            path.unlink()


def _copy_once(source: Path, target: Path, copy: Copy, *, again: bool) -> None:
    """Copy a file unless an earlier backup has copied it, or copy it `again`."""
    size = source.stat().st_size
    if again or not target.exists() or target.stat().st_size != size:
        target.parent.mkdir(parents=True, exist_ok=True)
        copy(source, target)
