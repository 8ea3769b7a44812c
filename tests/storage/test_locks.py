"""A process keeps its locks on the file of a registry, whatever it reads of it.

If a process closes any descriptor of a file, all its record locks on this file are released
(fcntl(2)). SQLite knows its own descriptors, so the file is read only through SQLite.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.cli import perdure
from perdure.storage.sqlite import copies
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords
from perdure.storage.sqlite.salvaging import SqliteSalvage

_OPEN_ALONE = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
try:
    connection.execute("PRAGMA locking_mode=EXCLUSIVE; SELECT count(*) FROM meta").fetchall()
    print("opened")
except apsw.BusyError:
    print("busy")
"""


def is_locked(root: Path) -> bool:
    """Whether another process is kept from opening the registry alone."""
    words = [sys.executable, "-c", _OPEN_ALONE, str(root / FILE)]
    tried = subprocess.run(words, capture_output=True, text=True, check=True)
    assert tried.stdout in ("busy\n", "opened\n")
    return tried.stdout == "busy\n"


def damage_leaf(root: Path, table: str = "records") -> None:
    """Damage the pointer to a row, so that the rows are sought in the pages of the file."""
    path = root / FILE
    connection = apsw.Connection(str(path))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    page: int = connection.execute(
        "SELECT max(pageno) FROM dbstat WHERE name=? AND pagetype='leaf'", (table,)
    ).get
    connection.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 + 8] ^= 0xFF
    path.write_bytes(data)


@pytest.fixture
def filled(desk: Desk) -> Desk:
    for number in range(20):
        desk.bind(f"hdl:10.9999/{number}", "https://a.example/" + "x" * 200, register=True)
    desk.mint(text("one"))
    return desk


def test_a_registry_that_is_open_is_locked(filled: Desk) -> None:
    assert is_locked(filled.root)
    filled.registry.close()
    assert not is_locked(filled.root)


def test_a_backup_keeps_them(filled: Desk) -> None:
    list(copies.SqliteCopy(filled.root, filled.root.parent / "copy.sqlite").copy())
    assert is_locked(filled.root)


def test_reading_ahead_keeps_them(filled: Desk) -> None:
    filled.registry.close()
    records = SqliteRecords(filled.root)
    assert records.count_records() == 21
    records.read_ahead(lambda: True)
    assert is_locked(filled.root)
    records.close()


def test_a_salvage_keeps_them(filled: Desk) -> None:
    filled.registry.close()
    damage_leaf(filled.root)
    with SqliteSalvage(filled.root) as old:
        assert len({one.key for page in old.read_pages() for one in page}) == 20
        assert any("records:" in problem for problem in old.problems)
        assert is_locked(filled.root)
    assert not is_locked(filled.root)


# no other reader
# ---------------


class OpenedFiles:
    """Notes the registry files that Python opens; SQLite opens its own."""

    def __init__(self) -> None:
        self.root: Path | None = None
        self.paths: list[str] = []

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.root is not None and isinstance(arguments[0], str | Path):
            path = Path(arguments[0])
            if path.name.startswith(FILE) and path.parent == self.root:
                self.paths.append(str(path))


_OPENED = OpenedFiles()
sys.addaudithook(_OPENED)  # it cannot be removed; without a root it does nothing


@pytest.fixture
def opened(filled: Desk) -> Iterator[OpenedFiles]:
    filled.registry.close()
    damage_leaf(filled.root)
    _OPENED.paths.clear()
    _OPENED.root = filled.root
    yield _OPENED
    _OPENED.root = None


def test_no_command_opens_the_file_otherwise(opened: OpenedFiles, filled: Desk) -> None:
    copy = str(filled.root.parent / "copy")
    for words in (
        ("status",),
        ("get", f"{TODAY}/1"),
        ("list", f"{TODAY}/"),
        ("export",),
        ("verify", "--all"),
        ("check-links",),
        ("rebuild",),
        ("mint", "--series", SERIES, "--location", "https://b.example/"),
        ("backup", copy),
        ("backup", copy),
        ("verify", "--all"),
        ("promote",),
        ("rebuild",),
    ):
        result = CliRunner(env={"PERDURE_REGISTRY": str(filled.root)}).invoke(perdure, words)
        assert result.exception is None or isinstance(result.exception, SystemExit), words
        assert result.exit_code != 2, (words, result.stderr)
        assert opened.paths == [], words
    (filled.root / FILE).read_bytes()
    assert opened.paths  # it would have been noticed
