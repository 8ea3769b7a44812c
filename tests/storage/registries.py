"""Registries that earlier releases wrote, one for each format (`data/README.md`)."""

from __future__ import annotations

import tarfile
from pathlib import Path

DATA = Path(__file__).parent / "data"


def unpack_registry(format: int, place: Path) -> Path:
    """The directory of a registry of this format, as its release left it."""
    with tarfile.open(DATA / f"registry-{format}.tar.gz") as packed:
        how = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4
        packed.extractall(place, **how)  # type: ignore[arg-type]  # of a literal type
    root = place / f"registry-{format}"
    for name in ("segments", "incoming", "aside"):
        (root / name).mkdir(exist_ok=True)
    return root
