"""Stores are found by entry points and chosen by a setting."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from perdure.errors import BadSettings
from perdure.registry import BYTES, STORES, Registry, load_bytes, load_store
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.testing.stores import MemoryStore


def test_the_embedded_store_is_the_one_that_is_chosen_if_nothing_is_said(root: Path) -> None:
    with Registry(root, environment={}) as registry:
        assert isinstance(registry.store, SqliteStore)
        assert isinstance(registry.bytes, Segments)


def test_a_store_of_another_package_is_chosen_by_its_name() -> None:
    points = [EntryPoint("memory", "perdure.testing.stores:MemoryStore", STORES)]
    assert isinstance(load_store("memory", points), MemoryStore)
    points = [EntryPoint("other", "perdure.storage.segments.store:Segments", BYTES)]
    assert load_bytes("other", points) is Segments


def test_a_store_that_is_not_installed_is_told(root: Path) -> None:
    with pytest.raises(BadSettings, match=r"no store has this name; installed: sqlite"):
        Registry(root, environment={"PERDURE_STORE": "postgresql"})
    with pytest.raises(BadSettings, match=r"no store has this name; installed: segments"):
        Registry(root, environment={"PERDURE_BYTES": "objects"})


def test_a_reader_loads_nothing_of_the_writer(root: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom perdure.registry import Registry\n"
        "with Registry(Path(sys.argv[1])) as registry:\n    registry.records.count_records()\n"
        "print(*sorted({'asyncio', 'perdure.writing.committer', 'perdure.reading.resolve'}"
        " & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], check=True, capture_output=True, text=True
    )
    assert done.stdout == "\n"


def test_threads_share_one_door(root: Path) -> None:
    with Registry(root, environment={}) as registry, ThreadPoolExecutor(8) as pool:
        doors = list(pool.map(lambda _: registry.door, range(64)))
        assert {id(door) for door in doors} == {id(registry.door)}
