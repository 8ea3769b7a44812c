"""Documents of the bucket on this machine, for all that needs a file: parts, media, `sendfile`.

How it works: a file in `cache/` has the bytes of one representation; its name is made of the place
and the digest. A document is fetched into a file without a name, its digest is compared, and only
then does it get its name. When the files exceed the limit, those that were used longest ago go. A
reader that has one open keeps it. What is older than a day is fetched again, so that bytes that
another node has erased do not stay here.

What must stay true: a file of the cache has the digest of its representation.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from perdure.errors.corruption import RepresentationCutOff
from perdure.errors.object_stores import ObjectAltered
from perdure.model.records import Representation

DIRECTORY = "cache"
_MOST_OPEN = 16
_LONGEST_KEPT = 86_400
"""Seconds."""

Fetch = Callable[[Representation], Iterator[bytes]]


class CachedFile:
    """An open file of the cache. It closes itself when the last reader drops it."""

    def __init__(self, path: Path, refetch: Callable[[], CachedFile]) -> None:
        """Raises FileNotFoundError if it is not in the cache."""
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._path = path
        self._refetch = refetch

    @property
    def is_kept(self) -> bool:
        """True while the cache has it."""
        return os.path.exists(self._path)  # noqa: PTH110  (each part asks; half the time of a Path)

    @property
    def path(self) -> Path:
        """The file; it is fetched again if the cache has dropped it."""
        if self.is_kept:
            return self._path
        return self._refetch()._path

    def read(self, length: int, offset: int) -> bytes:
        """At most `length` bytes from `offset`."""
        return os.pread(self.fd, length, offset)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)


class DocumentCache:
    """The cache of one directory. Safe to use from several threads and processes."""

    def __init__(self, root: Path, most_bytes: int, fetch: Fetch) -> None:
        self._directory = root / DIRECTORY
        self._most_bytes = most_bytes
        self._fetch = fetch
        self._open: OrderedDict[str, CachedFile] = OrderedDict()
        self._lock = threading.Lock()

    def find_file(self, held: Representation) -> CachedFile:
        """A file with the bytes of a representation, fetched if it is not here. Raises Corrupt."""
        name = _name_file(held)
        with self._lock:
            opened = self._open.pop(name, None)
            if opened is not None and opened.is_kept:
                self._open[name] = opened
                return opened
        return self._keep_open(name, self._find_kept(held) or self._fetch_file(held))

    def has_file(self, held: Representation) -> bool:
        """Return True if a file is here already."""
        return (self._directory / _name_file(held)).exists()

    def forget_place(self, segment: int, offset: int) -> None:
        """Drop the files with the bytes of a place, whatever their digest."""
        beginning = f"{segment}-{offset}-"
        with self._lock:
            for name in [one for one in self._open if one.startswith(beginning)]:
                del self._open[name]
        for path in self._directory.glob(f"{beginning}*"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close what no reader has open."""
        with self._lock:
            self._open.clear()

    def _keep_open(self, name: str, file: CachedFile) -> CachedFile:
        with self._lock:
            self._open[name] = file
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
        return file

    def _find_kept(self, held: Representation) -> CachedFile | None:
        path = self._directory / _name_file(held)
        try:
            if path.stat().st_ctime < time.time() - _LONGEST_KEPT:
                path.unlink(missing_ok=True)
                return None
            file = CachedFile(path, lambda: self._fetch_file(held))
            os.utime(path, (time.time(), path.stat().st_mtime))
        except FileNotFoundError:
            return None
        return file

    def _fetch_file(self, held: Representation) -> CachedFile:
        self._directory.mkdir(exist_ok=True)
        self._make_room(held.length)
        path = self._directory / _name_file(held)
        beside = self._directory / f".{secrets.token_hex(8)}"
        try:
            with beside.open("wb") as file:
                digest, length = hashlib.sha512(), 0
                for piece in self._fetch(held):
                    digest.update(piece)
                    length += len(piece)
                    file.write(piece)
            _check_digest(held, digest.hexdigest(), length)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        return CachedFile(path, lambda: self._fetch_file(held))

    def _make_room(self, needed: int) -> None:
        """Drop what was used longest ago, until a new file fits."""
        found = []
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):
                state = path.stat()
                found.append((state.st_atime, state.st_size, state.st_mtime, path))
        left = sum(size for _, size, _, _ in found) + needed
        limit = time.time() - _LONGEST_KEPT
        for _, size, written, path in sorted(found):
            if left <= self._most_bytes and written > limit:
                continue
            if not path.name.startswith(".") or written < limit:
                path.unlink(missing_ok=True)
                left -= size
                with self._lock:
                    self._open.pop(path.name, None)


def _name_file(held: Representation) -> str:
    return f"{held.segment}-{held.offset}-{held.sha512[:64]}"


def _check_digest(held: Representation, found: str, length: int) -> None:
    if length != held.length:
        raise RepresentationCutOff(
            segment=held.segment, at=held.offset + length, length=held.length, sha512=held.sha512
        )
    if found != held.sha512:
        raise ObjectAltered(
            segment=held.segment, offset=held.offset, sha512=held.sha512, other=found
        )
