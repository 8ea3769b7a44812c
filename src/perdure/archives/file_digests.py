"""The SHA-512 of archive files: computed once, and again when a file has changed.

How it works: `captures/digests.json` has the digest of each file with its length and time. Hashing
terabytes takes hours, so a caller may set a deadline, after which the next call goes on.

What must stay true: the digest of a file that changed while it was hashed is not used; the file of
digests can be deleted.
"""

from __future__ import annotations

import hashlib
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.errors import Corrupt
from perdure.storage.checked_file import load_checked, save_checked

FILE = "digests.json"
"""In the directory of captures."""
_PIECE = 1 << 20


class _KnownDigest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int
    modified: int
    sha512: str


class FileDigests:
    """The SHA-512 of archive files. Safe to use from several threads and processes."""

    def __init__(self, root: Path) -> None:
        """`root` is the directory of captures."""
        self._path = root / FILE
        self._lock = threading.Lock()
        self._known: dict[str, _KnownDigest] | None = None
        self._is_changed = False
        self._begun: tuple[str, tuple[int, int], int, hashlib._Hash] | None = None
        """The file that is being hashed, its stamp, the bytes hashed so far, and their hash."""

    def find_digest(self, path: Path, deadline: float | None = None) -> str | None:
        """Return the SHA-512 of a file, or None if it is not known at the deadline.

        `deadline` is a time of `time.monotonic`. Raises OSError.
        """
        with self._lock:
            known = self._load().get(str(path))
            stamp = stamp_file(path)
            if known is not None and (known.size, known.modified) == stamp:
                return known.sha512
            digest = self._hash_file(path, stamp, deadline)
            if digest is not None:
                self._note(path, stamp, digest)
            return digest

    def note_digest(self, path: Path, sha512: str) -> None:
        """Note the digest of a file that was just written. Raises OSError."""
        with self._lock:
            self._note(path, stamp_file(path), sha512)

    def forget_digest(self, path: Path) -> None:
        """Let a file be hashed again."""
        with self._lock:
            self._is_changed |= self._load().pop(str(path), None) is not None

    def save(self) -> None:
        """Write the digests to the disk. Raises OSError."""
        with self._lock:
            if self._is_changed:
                save_checked(self._path, self._load())
                self._is_changed = False

    def _note(self, path: Path, stamp: tuple[int, int], digest: str) -> None:
        self._load()[str(path)] = _KnownDigest(*stamp, digest)
        self._is_changed = True

    def _load(self) -> dict[str, _KnownDigest]:
        if self._known is None:
            with suppress(Corrupt):  # then all files are hashed again
                self._known = load_checked(self._path, dict[str, _KnownDigest])
            if self._known is None:
                self._known = {}
        return self._known

    def _hash_file(self, path: Path, stamp: tuple[int, int], deadline: float | None) -> str | None:
        at, digest = 0, hashlib.sha512()
        if self._begun is not None and self._begun[:2] == (str(path), stamp):
            at, digest = self._begun[2:]
        with path.open("rb") as file:
            file.seek(at)
            while piece := file.read(_PIECE):
                digest.update(piece)
                at += len(piece)
                if deadline is not None and time.monotonic() > deadline:
                    self._begun = (str(path), stamp, at, digest)
                    return None
        self._begun = None
        is_same = at == stamp[0] and stamp_file(path) == stamp
        return digest.hexdigest() if is_same else None


def stamp_file(path: Path) -> tuple[int, int]:
    """Return a value that differs after each change of a file. Raises OSError."""
    state = path.stat()
    return state.st_size, state.st_mtime_ns
