"""Registrars without a door before them, as the tests of the write path use them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Clock

from perdure.settings import load_settings
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.writing.registrar import Registrar


def open_registrar(
    root: Path, clock: Clock, *, check: Callable[[], None] = lambda: None
) -> Registrar:
    """Open the registrar of a registry, which keeps no indexes."""
    return Registrar(
        root,
        load_settings(root, {}),
        SqliteJournal,
        Segments(root),
        clock=clock,
        delete_indexes=lambda _key, _digests: None,
        check=check,
    )
