"""What several tests of upkeep share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upkeep.harvested import Repository

from perdure.registry import initialise


@pytest.fixture
def repository() -> Iterator[Repository]:
    made = Repository()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def local_registry(tmp_path: Path) -> Path:
    """A registry that may ask servers on this machine."""
    root = tmp_path / "registry"
    initialise(root, series=("a.example.us",))
    file = root / "perdure.toml"
    file.write_text(file.read_text() + '\nprivate_networks = ["127.0.0.0/8"]\n')
    return root
