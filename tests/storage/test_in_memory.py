"""A registry with neither database nor files: the ports are all that writers and readers use.

The stores in memory are chosen as those of any package are: by entry points and settings.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES, TODAY, Clock, Desk, large, text

from perdure.model.queries import Fetch, Gone
from perdure.registry import initialise
from perdure.upkeep.transfer.backup import back_up
from perdure.upkeep.transfer.renewal import rebuild_registry

PACKAGE = """
from perdure.testing.memory_bytes import MemoryByteStore
from perdure.testing.stores import MemoryStore

_records, _bytes = MemoryStore(), MemoryByteStore()
open_bytes = _bytes.open_bytes


def make_store():
    return _records
"""
ENTRY_POINTS = """
[perdure.stores]
memory = kept_in_memory:make_store
[perdure.bytes]
memory = kept_in_memory:open_bytes
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry whose settings name the stores of an installed package."""
    package = tmp_path / "installed"
    described = package / "kept_in_memory-1.dist-info"
    described.mkdir(parents=True)
    (package / "kept_in_memory.py").write_text(PACKAGE)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: kept-in-memory\nVersion: 1\n")
    (described / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(package)
    monkeypatch.delitem(sys.modules, "kept_in_memory", raising=False)
    made = tmp_path / "registry"
    made.mkdir()
    (made / "perdure.toml").write_text('[perdure]\nstore = "memory"\nbytes = "memory"\n')
    initialise(made, series=(SERIES,))
    return made


@pytest.fixture
def desk(root: Path, clock: Clock) -> Desk:
    return Desk(root, clock)


def test_the_directory_has_neither_database_nor_segments(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    names = {path.name for path in desk.root.iterdir()}
    assert not names & {"registry.sqlite", "segments", "archive"}


def test_minting_reading_withdrawing_and_verifying(desk: Desk) -> None:
    data = b"x" * (9 << 20)
    desk.mint(text("one"))
    desk.mint(large(desk.registry, data))
    desk.commit(f"{TODAY}/1", text("two"))
    desk.mint(text("gone"))
    desk.withdraw(f"{TODAY}/3")
    assert [desk.served(f"{TODAY}/1", number) for number in (1, 2)] == [b"one", b"two"]
    assert desk.served(f"{TODAY}/2", 1, "octet-stream") == data
    assert isinstance(desk.resolve(f"{TODAY}/3"), Gone)
    assert desk.problems() == []
    assert list((desk.root / "incoming").iterdir()) == []
    desk.registry.close()


def test_a_registry_is_rebuilt_from_its_bytes(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.mint(text("gone"))
    desk.withdraw(f"{TODAY}/2")
    kept, store, open_bytes = (
        desk.record(f"{TODAY}/1"),
        desk.registry.store,
        desk.registry.open_bytes,
    )
    desk.registry.close()
    steps = list(rebuild_registry(desk.root, store, open_bytes, now="2026-11-22T00:00:00Z"))
    assert all(step.problem is None for step in steps)
    desk.reopen()
    assert desk.record(f"{TODAY}/1") == kept
    assert isinstance(desk.resolve(f"{TODAY}/1"), Fetch)
    assert isinstance(desk.resolve(f"{TODAY}/2"), Gone)
    desk.mint(text("after"))
    assert desk.problems() == []
    desk.registry.close()


def test_a_backup_is_a_registry(desk: Desk, tmp_path: Path, clock: Clock) -> None:
    desk.mint(text("one"))
    desk.clock.advance(days=1)
    desk.mint(text("two"))
    assert desk.registry.seal() == [1]
    target = tmp_path / "copy"
    for _ in range(2):
        list(back_up(desk.root, target, desk.registry.store, desk.registry.open_bytes))
    copy = Desk(target, clock)
    assert copy.served(f"{TODAY}/1") == b"one"
    assert copy.problems() == []
    copy.registry.close()
    desk.registry.close()


def test_the_commands_work_on_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Shell(root)
    name = shell.lines(
        "mint", "--series", SERIES, "-", "--type", "text/plain", stdin="Dear Sir,\nyours\n"
    )[0]
    assert shell.run("get", name).stdout == "Dear Sir,\nyours\n"
    assert shell.run("get", name, "--part", "char=0,4").stdout == "Dear"
    assert shell.json("verify")["problems"] == 0
    before = shell.lines("export")
    done = shell.json("rebuild")
    assert (done["segments"], done["records"], done["problems"]) == (1, 1, [])
    assert shell.lines("export") == before
    target = root.parent / "copy"
    shell.run("backup", str(target))
    assert Shell(target).run("get", name).stdout == "Dear Sir,\nyours\n"
