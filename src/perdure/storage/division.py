"""The note that this registry and another one have both gone on from the same change.

    divided.json    the other registry, and the last change that both have

What must stay true: a registry with this note writes nothing until an operator promotes it.
# ruling: copy-fence
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from perdure.storage.checked_file import load_checked, save_checked
from perdure.storage.durable import sync_directory

FILE = "divided.json"


class Division(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two registries with one past."""

    other: str
    """The address of the other registry."""
    mark: str
    """The last change that both have."""
    at: str
    """When it was found."""
    ours: dict[str, object] | None = None
    theirs: dict[str, object] | None = None


def load_division(root: Path) -> Division | None:
    """The note in a registry directory, or None. Raises Corrupt."""
    return load_checked(root / FILE, Division)


def save_division(root: Path, division: Division) -> None:
    """Make a note durable. Raises OSError."""
    save_checked(root / FILE, division)


def clear_division(root: Path) -> None:
    """Remove the note, durably: an operator has decided. Raises OSError."""
    (root / FILE).unlink(missing_ok=True)
    sync_directory(root)
