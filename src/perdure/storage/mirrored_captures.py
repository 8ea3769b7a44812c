"""The file of a mirror that says how far it has the captures of its origin, and who may read them.

    captures.json    {"archive":"…","access":"open","files":3,"announced":4,…}

What must stay true: as soon as the file says that the archive is closed, no reader gets a capture;
the file is durable before the first capture is there.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.storage.checked_file import load_checked, save_checked

FILE = "captures.json"
CLOSED = "closed"


class MirroredCaptures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The captures of an origin, as far as its mirror has them."""

    archive: str
    access: str
    """That of the origin; `closed` also if its archive has another name than this one."""
    files: int = 0
    """Archive files that are served here."""
    announced: int = 0
    """Archive files that the origin told of."""
    is_complete: bool = False
    """True if the mirror has all archive files of its origin."""
    fault: str = ""
    """Why it does not go on."""
    at: str = ""


def load_captures(root: Path) -> MirroredCaptures | None:
    """Return how far a mirror has captures, or None if it has none. Raises Corrupt."""
    return load_checked(root / FILE, MirroredCaptures)


def save_captures(root: Path, captures: MirroredCaptures) -> None:
    """Make durable how far a mirror has captures. Raises OSError."""
    save_checked(root / FILE, captures)


class MirroredAccess:
    """The access to the captures of a mirror. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: tuple[tuple[int, int] | None, bool] = None, False

    @property
    def is_closed(self) -> bool:
        """True if the origin has closed its archive. Raises Corrupt if that cannot be read."""
        try:
            state = (self._root / FILE).stat()
        except FileNotFoundError:
            return False
        stamp = state.st_mtime_ns, state.st_ino
        if stamp != self._read[0]:
            found = load_captures(self._root)
            self._read = stamp, found is not None and found.access == CLOSED
        return self._read[1]
