"""Files that survive a power cut: written beside their place, flushed, renamed, directory flushed.

What must stay true: a reader sees the old file or the whole new one; when a function here returns,
a power cut cannot undo what it did.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_durably(path: Path, text: bytes) -> None:
    """Writes a small file so that it is either absent or whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    replace_durably(beside, path)


def replace_durably(source: Path, target: Path) -> None:
    """Renames and flushes the directory that now holds the name."""
    source.replace(target)
    sync_directory(target.parent)


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
