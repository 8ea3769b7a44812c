"""The files of a directory and of all directories in it, in a stable order.

How it works: each directory is read at once and sorted by the bytes of its names; its files come
before its directories. What cannot be a document as it is (links, pipes, devices, sockets, files
and directories that cannot be read, files that systems leave behind) is passed over, with the
reason.

What must stay true: no link is followed; nothing is passed over silently; memory is bounded by the
largest directory and the depth.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

_LEFT_BEHIND = frozenset(
    (b".DS_Store", b"Thumbs.db", b"ehthumbs.db", b"desktop.ini", b".directory")
)
_OF_SYSTEMS = frozenset(
    b".git .svn .hg __MACOSX .Trash .Trashes $RECYCLE.BIN .Spotlight-V100 .fseventsd "
    b"lost+found".split()
)
_DEEPEST = 500  # directories


class FoundFile(NamedTuple):
    """A file below the directory, which `lstat` has seen."""

    path: bytes
    """Below the directory."""
    size: int
    changed: int
    """Nanoseconds since 1970."""


class PassedOver(NamedTuple):
    """Something that is not taken, and why."""

    path: bytes
    reason: str


class FoundDirectory(NamedTuple):
    """The files of one directory, sorted by name."""

    path: bytes
    """Below the directory; empty for the directory itself."""
    files: list[FoundFile]
    passed: list[PassedOver]


def walk_tree(root: bytes) -> Iterator[FoundDirectory]:
    """Yield all directories, each before those in it. Raises OSError if `root` cannot be read."""
    pending = [b""]
    while pending:
        path = pending.pop()
        try:
            entries = list(os.scandir(os.path.join(root, path)))
        except OSError as error:
            if not path:
                raise
            yield FoundDirectory(path, [], [PassedOver(path, _quote_system(error))])
            continue
        entries.sort(key=lambda entry: entry.name)
        found = FoundDirectory(path, [], [])
        below: list[bytes] = []
        for entry in entries:
            _sort_entry(entry, os.path.join(path, entry.name), found, below)
        yield found
        pending += reversed(below)


def _sort_entry(
    entry: os.DirEntry[bytes], path: bytes, found: FoundDirectory, below: list[bytes]
) -> None:
    """Put an entry of a directory where it belongs."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:  # it was removed meanwhile
        found.passed.append(PassedOver(path, _quote_system(error)))
        return
    kind = status.st_mode
    if stat.S_ISDIR(kind):
        if entry.name in _OF_SYSTEMS:
            found.passed.append(PassedOver(path, "a directory of the system or of a program"))
        elif path.count(b"/") >= _DEEPEST:
            found.passed.append(PassedOver(path, f"more than {_DEEPEST} directories deep"))
        else:
            below.append(path)
    elif not stat.S_ISREG(kind):
        found.passed.append(PassedOver(path, _name_kind(kind)))
    elif entry.name in _LEFT_BEHIND or entry.name.startswith(b"._"):
        found.passed.append(PassedOver(path, "a file of the system"))
    else:
        found.files.append(FoundFile(path, status.st_size, status.st_mtime_ns))


def _name_kind(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def _quote_system(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"
