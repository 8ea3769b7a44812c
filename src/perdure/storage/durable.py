"""Files that survive a power cut: write a temporary file, flush it, rename it, flush the directory.

What must stay true: a reader sees the old file or the complete new one; after a function here has
returned, a power cut cannot undo its work.
"""

from __future__ import annotations

import os
from pathlib import Path


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


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
