"""The end of the last backup and of the last verification, for `status` and the metrics.

How it works: `milestones.json` in the registry directory has one entry for each kind of work. It is
not part of the registry: a backup does not copy it, and nothing depends on it.

What must stay true: work never fails because its end cannot be noted; a copy is not written to.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.storage.durable import write_durably

FILE = "milestones.json"


class Milestone(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a piece of work."""

    at: str
    problems: int = 0
    target: str | None = None
    """The directory of a backup."""


class Milestones(msgspec.Struct, frozen=True, kw_only=True):
    """The last work of each kind; None if it was never done."""

    backup: Milestone | None = None
    verification: Milestone | None = None


def load_milestones(root: Path) -> Milestones:
    """The last work on a registry directory."""
    try:
        return msgspec.json.decode((root / FILE).read_bytes(), type=Milestones)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Milestones()


def note_backup(root: Path, done: Milestone) -> None:
    """Note that a backup was finished."""
    _save_milestones(root, msgspec.structs.replace(load_milestones(root), backup=done))


def note_verification(root: Path, done: Milestone) -> None:
    """Note that the complete registry was verified."""
    _save_milestones(root, msgspec.structs.replace(load_milestones(root), verification=done))


def _save_milestones(root: Path, milestones: Milestones) -> None:
    with suppress(OSError):  # perhaps this user may only read
        write_durably(root / FILE, msgspec.json.encode(milestones))
