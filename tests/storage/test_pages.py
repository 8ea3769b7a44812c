"""Rows read from the pages of a file: those that SQLite reads, and more if it is damaged."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.storage.sqlite.pages import scan_rows

COUNT = 400
SCHEMA = "CREATE TABLE t (key TEXT PRIMARY KEY, record TEXT, position INTEGER) WITHOUT ROWID"
Row = tuple[Any, ...]


def make_file(path: Path, rows: list[Row], size: int = 4096) -> list[Row]:
    """Write rows to a table, and return them as SQLite reads them, with texts as bytes."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA page_size={size}").fetchall()
    connection.execute(SCHEMA)
    with connection:
        connection.executemany("INSERT OR REPLACE INTO t VALUES(?,?,?)", rows)
    select = "SELECT CAST(key AS BLOB), CAST(record AS BLOB), position FROM t ORDER BY key"
    found = connection.execute(select).fetchall()
    connection.close()
    return found


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    return make_file(
        tmp_path / "file", [(f"{number:05}", "x" * 90, number) for number in range(COUNT)]
    )


def scan(data: bytes, root: int = 2) -> list[Row]:
    """The rows of the table in a file of this content."""
    return list(scan_rows(lambda amount, at: data[at : at + amount], len(data), root))


def find_leaf(data: bytearray) -> int:
    """Where a leaf of the tree begins whose neighbours are leaves, too."""
    return next(at for at in range(3 * 4096, len(data), 4096) if data[at] == 10)


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30),
            st.none()
            | st.builds(lambda one, times: one * times, st.text("aé"), st.integers(0, 900)),
            st.none() | st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-300, 300),
        ),
        max_size=40,
    ),
    st.sampled_from((512, 1024, 4096, 65536)),
)
def test_every_row_of_a_sound_file_is_read_as_by_sqlite(rows: list[Row], size: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        expected = make_file(path, rows, size)
        assert sorted(scan(path.read_bytes())) == expected


def test_rows_come_in_the_order_of_keys(rows: list[Row], tmp_path: Path) -> None:
    assert scan((tmp_path / "file").read_bytes()) == rows


def test_a_damaged_pointer_costs_no_row_but_its_own(rows: list[Row], tmp_path: Path) -> None:
    data = bytearray((tmp_path / "file").read_bytes())
    leaf = find_leaf(data)
    before = set(scan(bytes(data)))
    data[leaf + 14 : leaf + 18] = b"\xff" * 4  # the pointers to the fourth and the fifth row
    lost = before - set(scan(bytes(data)))
    assert len(lost) == 2
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", bytes(data))
    with pytest.raises(apsw.CorruptError):
        connection.execute("SELECT * FROM t ORDER BY key").fetchall()


def test_a_tree_that_leads_back_to_itself_is_read_once(rows: list[Row], tmp_path: Path) -> None:
    data = bytearray((tmp_path / "file").read_bytes())
    data[4096 + 8 : 4096 + 12] = (2).to_bytes(4)  # the last page below the root is the root
    found = scan(bytes(data))
    assert len(set(found)) == len(found)
    assert set(found) < set(rows)


@cache
def make_small_file() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        make_file(path, [(f"{number}", "x" * number * 7, number) for number in range(120)], 512)
        return path.read_bytes()


@given(st.data())
def test_reading_ends_without_an_error_whatever_is_damaged(data: st.DataObject) -> None:
    content = bytearray(make_small_file())
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    assert all(isinstance(row, tuple) for row in scan(bytes(content)))
