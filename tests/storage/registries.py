"""Registries that earlier releases wrote, one for each format (`data/README.md`)."""

from __future__ import annotations

import tarfile
from pathlib import Path

DATA = Path(__file__).parent / "data"


def unpack_registry(format: int, place: Path) -> Path:
    """The directory of a registry of this format, as its release left it."""
    with tarfile.open(DATA / f"registry-{format}.tar.gz") as packed:
        packed.extractall(place, filter="data")
    root = place / f"registry-{format}"
    for name in ("segments", "incoming", "aside"):
        (root / name).mkdir(exist_ok=True)
    return root
