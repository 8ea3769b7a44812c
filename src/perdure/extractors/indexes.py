"""Indexes that extractors compute, kept as files beside the registry; plain files have no indexes.

How it works: an index is a function of the bytes alone, so it is named by their SHA-512 and by its
kind, at `<kind>/<first two digits>/<digest>`. It is written to a temporary file and renamed. The
directory is only a cache: you can delete it at any time, and it fills again.

A large index is written at the second request for it. The first request leaves an empty file,
`<digest>.asked`. The second renames it to `<digest>.making`, which only one process can do, and
fills it. If that process is killed because the index takes too much, `.making` stays and no later
request tries again, except for `make_large_index`.

What must stay true: a half-written index is never visible. If an index cannot be written (a full
disk, a directory without write permission), the part is still served, from an index in memory or
without one. Large indexes leave most of the free disk space to others.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path

from perdure.errors import PerdureError
from perdure.errors.limits import IndexTooLarge
from perdure.errors.unavailable import IndexNotStored
from perdure.extractors.port import Source

_SHARE = 20  # a large index takes at most this fraction (1/20) of the free space
_GIVEN_UP = 3600  # seconds after which no process is still writing
_LEFT = 60  # seconds without a change after which `make_large_index` assumes the same


class DirectoryIndexes:
    """Indexes in a directory, which is created when it is needed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get_index(
        self, source: Source, kind: str, build: Callable[[Source], bytes]
    ) -> memoryview | bytes:
        if source.sha512 is None:
            return build(source)
        path = self._locate_index(kind, source.sha512)
        kept = _map_index(path)
        if kept is not None:
            return kept
        made = build(source)
        with contextlib.suppress(OSError):  # if it fails, the next request builds it again
            _write_index(path, made)
        return made

    def get_large_index(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> memoryview | None:
        if source.sha512 is None:
            return None
        path = self._locate_index(kind, source.sha512)
        kept = _map_index(path)
        if kept is not None:
            return kept
        with contextlib.suppress(OSError, PerdureError):
            making = _take_turn(path, size)
            if making is not None:
                _fill_index(making, path, write)
                return _map_index(path)
        return None

    def make_large_index(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> None:
        if source.sha512 is None:
            return
        path = self._locate_index(kind, source.sha512)
        try:
            making = _take_turn_now(path)
            if making is None:
                return
            if not _has_room(path, size):
                making.unlink()
                raise IndexTooLarge(source=source.name, size=size, share=_SHARE)
            _fill_index(making, path, write)
        except OSError as error:
            raise IndexNotStored(document=source.name, reason=str(error)) from None

    def _locate_index(self, kind: str, digest: str) -> Path:
        return self._root / kind / digest[:2] / digest


def delete_indexes(root: Path, digests: Collection[str]) -> None:
    """Delete everything that was computed from the bytes with these SHA-512s.

    Maps that readers still have open keep the old content until they are closed. Raises OSError.
    """
    for kind in _list_kinds(root):
        for digest in digests:
            for suffix in ("", ".asked", ".making"):
                (kind / digest[:2] / f"{digest}{suffix}").unlink(missing_ok=True)


def _list_kinds(root: Path) -> list[Path]:
    """The directories of all kinds of indexes."""
    try:
        return [one for one in root.iterdir() if one.is_dir()]
    except FileNotFoundError:
        return []


class NoIndexes:
    """Indexes that are never kept, for files outside a registry."""

    def get_index(
        self,
        source: Source,
        kind: str,
        build: Callable[[Source], bytes],
    ) -> memoryview | bytes:
        return build(source)

    def get_large_index(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> memoryview | None:
        return None

    def make_large_index(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> None:
        pass


def _take_turn(path: Path, size: int) -> Path | None:
    """Return the file to write a large index to, or None if it is not this caller's turn. Raises
    OSError.
    """
    asked, making = path.with_suffix(".asked"), path.with_suffix(".making")
    if making.exists():
        if time.time() - making.stat().st_mtime > _GIVEN_UP:
            os.truncate(making, 0)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    if not _has_room(path, size):
        return None
    try:
        asked.rename(making)
    except FileNotFoundError:
        asked.touch()
        return None
    return making


def _take_turn_now(path: Path) -> Path | None:
    """Return the file to write to without waiting for a second request. None if the index exists,
    or if another process is writing it.
    """
    making = path.with_suffix(".making")
    if path.exists():
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if time.time() - making.stat().st_mtime < _LEFT:
            return None
        making.unlink()
    except FileNotFoundError:
        pass
    making.touch(exist_ok=False)
    return making


def _has_room(path: Path, size: int) -> bool:
    return size <= shutil.disk_usage(path.parent).free // _SHARE


def _fill_index(making: Path, path: Path, write: Callable[[Path], None]) -> None:
    """Write an index and rename it. Raises what `write` raises, after it has discarded the written
    bytes.
    """
    try:
        write(making)
        with making.open("rb") as file:
            os.fsync(file.fileno())  # or a power cut could leave a named but empty file
    except BaseException:
        os.truncate(making, 0)
        raise
    making.rename(path)


def _map_index(path: Path) -> memoryview | None:
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError:
        return None


def _write_index(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).rename(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
