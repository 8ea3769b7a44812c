"""A move that was begun: where it goes, and how far it is.

    moving.json    in the registry directory, until the move has ended

What must stay true: the phase `leaving` is durable before the old place is closed; no password is
in the file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.storage.checked_file import load_checked, save_checked
from perdure.storage.durable import sync_directory

FILE = "moving.json"
LOCK = "moving.lock"
COPYING, LEAVING = "copying", "leaving"


class BegunMove(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A move from one place to another. Addresses are without their passwords."""

    id: str
    """Random, so that each side knows the other one."""
    from_store: str
    from_bytes: str
    to_store: str
    to_bytes: str
    begun: str
    phase: str = COPYING
    """`copying`, or `leaving` once the old place may be closed."""

    @property
    def moves_records(self) -> bool:
        return self.from_store != self.to_store

    @property
    def moves_bytes(self) -> bool:
        return self.from_bytes != self.to_bytes

    @property
    def destination(self) -> str:
        """The new place, as the old one names it."""
        parts = []
        if self.moves_records:
            parts.append(self.to_store)
        if self.moves_bytes:
            parts.append(self.to_bytes)
        return ", ".join(parts)


def load_move(root: Path) -> BegunMove | None:
    """The move that was begun in a directory, or None. Raises Corrupt."""
    return load_checked(root / FILE, BegunMove)


def save_move(root: Path, move: BegunMove) -> None:
    """Make a move durable. Raises OSError."""
    save_checked(root / FILE, move)


def forget_move(root: Path) -> None:
    """Note that a move has ended. Raises OSError."""
    (root / FILE).unlink(missing_ok=True)
    sync_directory(root)
