"""Stores are found by entry points and chosen by a setting."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

import pytest
from tests.storage import stores

from perdure.errors import BadSettings
from perdure.plugins import select_points
from perdure.plugins.points import PluginPoint
from perdure.registry import BYTES, STORES, Registry, load_bytes, load_store
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.testing.stores import MemoryStore


def test_the_embedded_store_is_the_one_that_is_chosen_if_nothing_is_said(root: Path) -> None:
    with Registry(root, environment={}) as registry:
        assert isinstance(registry.store, SqliteStore)
        assert isinstance(registry.bytes, Segments)


def test_a_store_of_another_package_is_chosen_by_its_name() -> None:
    points = [PluginPoint("memory", "perdure.testing.stores:MemoryStore", STORES)]
    assert isinstance(load_store("memory", points), MemoryStore)
    points = [PluginPoint("other", "perdure.storage.segments.store:Segments", BYTES)]
    assert load_bytes("other", points) is Segments


@pytest.mark.parametrize(
    ("setting", "group", "own"), [("STORE", STORES, "sqlite"), ("BYTES", BYTES, "segments")]
)
def test_a_store_that_is_not_installed_is_told(
    root: Path, setting: str, group: str, own: str
) -> None:
    installed = sorted(point.name for point in entry_points(group=group))
    assert own in installed
    with pytest.raises(
        BadSettings, match=f"no store has this name; installed: {', '.join(installed)}"
    ):
        Registry(root, environment={f"PERDURE_{setting}": "oracle"})


def list_packages(value: object) -> set[str]:
    """The packages of a class and of those from which it derives."""
    kind = value if isinstance(value, type) else type(value)
    return {one.__module__.rpartition(".")[0] for one in kind.__mro__}


def test_every_store_is_under_its_contract(tmp_path: Path) -> None:
    """A store with an entry point has its line in `tests/storage/stores.py`."""
    ours = {*chain.from_iterable(list_packages(one) for one in stores.STORES)}
    for make in stores.BYTE_STORES:
        ours |= list_packages(make().open_bytes(tmp_path))
    found = [point for group in (STORES, BYTES) for point in entry_points(group=group)]
    assert {point.module.rpartition(".")[0] for point in found} <= ours


OTHER = PluginPoint("sqlite", "perdure.testing.stores:MemoryStore", STORES)
"""Like that of a package that has no better name for its store."""
BROKEN = """
raise RuntimeError("no licence")
"""


def test_a_store_that_cannot_be_loaded_is_one_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error is one line, never a traceback."""
    (tmp_path / "broken_store.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    points = [PluginPoint("broken", "broken_store:make_store", STORES)]
    for load in (load_store, load_bytes):
        with pytest.raises(BadSettings, match=r"broken_store:make_store.*RuntimeError: no licence"):
            load("broken", points)
    missing = [PluginPoint("missing", "perdure.testing.stores:Nothing", STORES)]
    with pytest.raises(BadSettings, match="Nothing"):
        load_store("missing", missing)
    uncallable = [PluginPoint("text", "perdure.registry:STORES", STORES)]
    with pytest.raises(BadSettings, match="TypeError"):
        load_store("text", uncallable)


def test_no_other_package_takes_the_place_of_a_store_of_perdure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The records of a registry do not depend on the order in which packages were installed."""
    own = next(point for point in select_points(STORES) if point.name == "sqlite")
    for points in ([own, OTHER], [OTHER, own]):
        assert isinstance(load_store("sqlite", points), SqliteStore)
        (line,) = (one.getMessage() for one in caplog.records)
        assert "perdure.testing.stores:MemoryStore" in line
        assert "is not used" in line
        caplog.clear()


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
