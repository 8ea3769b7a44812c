"""Files that survive a power cut: write a temporary file, flush it, rename it, flush the directory.

What must stay true: a reader sees the old file or the complete new one; after a function here has
returned, a power cut cannot undo its work.
"""

from __future__ import annotations

import os
from pathlib import Path

from perdure.errors import Corrupt

_PIECE = 1 << 20


def write_durably(path: Path, text: bytes) -> None:
    """Write a small file so that it is either absent or complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    replace_durably(beside, path)


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
                raise Corrupt(
                    identifier=source.name,
                    where=str(source.parent),
                    promised=f"{left} more bytes",
                    found="the end of the file",
                )
            writing.write(piece)
            left -= len(piece)
        writing.flush()
        os.fsync(writing.fileno())
    replace_durably(beside, target)


def sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
