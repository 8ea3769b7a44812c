"""Files that survive a power cut: write a temporary file, flush it, rename it, flush the directory.

What must stay true: a reader sees the old file or the complete new one; after a function here has
returned, a power cut cannot undo its work.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.errors.corruption import FileEndsEarly
from perdure.errors.importing import DirectoryObstructed
from perdure.errors.processes import InUse

WRITE_LOCK = "writer.lock"
"""The file in a registry directory that its only writer locks."""
_PIECE = 1 << 20


@contextmanager
def hold_lock(path: Path, error: InUse) -> Iterator[None]:
    """Hold the lock of a file or directory, which ends at the latest with this process.

    Raises `error` if another process holds it.
    """
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise error from None
    finally:
        os.close(fd)


def write_durably(path: Path, text: bytes) -> None:
    """Write a small file so that it is either absent or complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    replace_durably(beside, path)


def write_all(fd: int, text: bytes) -> None:
    """Write all bytes at the position of a file. Raises OSError, also if only some fit."""
    left = memoryview(text)
    while left:
        left = left[os.write(fd, left) :]


def replace_durably(source: Path, target: Path) -> None:
    """Rename a file, and flush the directory that now has the name."""
    source.replace(target)
    sync_directory(target.parent)


def copy_durably(source: Path, target: Path, *, length: int | None = None) -> None:
    """Copy a file, or its first `length` bytes. Raises Corrupt if it is shorter."""
    beside = target.with_name(f".{target.name}")
    with source.open("rb") as reading, beside.open("wb") as writing:
        left = length if length is not None else os.fstat(reading.fileno()).st_size
        while left:
            piece = reading.read(min(left, _PIECE))
            if not piece:
                raise FileEndsEarly(file=str(source), at=reading.tell(), missing=left)
            writing.write(piece)
            left -= len(piece)
        writing.flush()
        os.fsync(writing.fileno())
    replace_durably(beside, target)


def resolve_path(path: Path) -> Path:
    """Return a path without symbolic links. A link in a loop stays, so that opening it fails."""
    return Path(os.path.realpath(path))


def check_directory(path: Path, *within: str) -> None:
    """Raise DirectoryObstructed if a path, or a name in it, is not a directory and cannot become
    one.

    Each directory above is looked at, too. Another process may change them afterwards.
    """
    for place in (*reversed(path.parents), path, *(path / name for name in within)):
        try:
            is_directory = stat.S_ISDIR(place.stat().st_mode)
        except FileNotFoundError:
            if place.is_symlink():
                target = str(place.readlink())
                raise DirectoryObstructed(
                    directory=str(path), obstacle=str(place), target=target
                ) from None
        except PermissionError:
            return  # the first write says which one
        except OSError as error:
            fault = error.strerror or str(error)
            raise DirectoryObstructed(
                directory=str(path), obstacle=str(place), fault=fault
            ) from error
        else:
            if not is_directory:
                raise DirectoryObstructed(directory=str(path), obstacle=str(place))


def sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_above(path: Path, top: Path) -> None:
    """Flush every directory above a path, up to `top`, so that a power cut loses none of them."""
    for directory in path.parents:
        sync_directory(directory)
        if directory == top:
            return


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
