"""An earlier copy of a registry is brought up to date, or stays what it was."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import Desk

from perdure.storage.sqlite import patching
from perdure.storage.sqlite.copies import SqliteCopy
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords


class Copies:
    """A registry, and the directory of its backup."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.source = desk.root / FILE
        self.work, self.target = desk.root.parent / "work", desk.root.parent / "target"
        self.file = self.target / FILE
        for directory in (self.work, self.target):
            directory.mkdir()

    def fill(self, begin: int, end: int) -> None:
        for number in range(begin, end):
            self.desk.mint(metadata={"abstract": f"{number} " * 500})

    def begin_copy(self) -> SqliteCopy:
        return SqliteCopy(self.desk.root, self.work / FILE, self.file)

    def copy(self) -> list[float]:
        with closing(self.begin_copy()) as copy:
            shares = list(copy.copy())
            copy.install()
        assert not any(self.work.iterdir())
        return shares

    def read_copy(self) -> list[Any]:
        """The records of the copy, as anybody finds them who opens it."""
        with closing(apsw.Connection(str(self.file))) as connection:
            assert connection.execute("PRAGMA integrity_check").get == "ok"
            return connection.execute("SELECT key, record FROM records ORDER BY key").fetchall()

    @property
    def inode(self) -> int:
        return self.file.stat().st_ino


@pytest.fixture
def copies(desk: Desk) -> Copies:
    made = Copies(desk)
    made.fill(0, 120)
    made.copy()
    return made


def test_only_what_differs_is_written(copies: Copies) -> None:
    inode = copies.inode
    copies.fill(120, 125)
    shares = copies.copy()
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert copies.inode == inode
    assert copies.file.read_bytes() == copies.source.read_bytes()
    assert len(copies.read_copy()) == 125
    assert sorted(one.name for one in copies.target.iterdir()) == [FILE]


def test_a_copy_of_the_same_state(copies: Copies) -> None:
    before = copies.file.read_bytes()
    copies.copy()
    assert copies.file.read_bytes() == before


def test_a_damaged_copy_is_mended(copies: Copies) -> None:
    """All pages are compared, not only those that a change concerns."""
    whole = copies.file.read_bytes()
    with copies.file.open("r+b") as file:
        file.seek(len(whole) // 2)
        file.write(b"rot")
    copies.copy()
    assert copies.file.read_bytes() == whole


def hard_link(copies: Copies) -> None:
    os.link(copies.file, copies.target / "yesterday.sqlite")


def link_elsewhere(copies: Copies) -> None:
    copies.file.rename(copies.target / "elsewhere.sqlite")
    copies.file.symlink_to(copies.target / "elsewhere.sqlite")


def leave_journal(copies: Copies) -> None:
    copies.file.with_name(f"{FILE}-journal").write_bytes(bytes(512))  # it says that it has no pages


def cut_off(copies: Copies) -> None:
    os.truncate(copies.file, copies.file.stat().st_size - 100)


def change_much(copies: Copies) -> None:
    copies.fill(120, 300)


@pytest.mark.parametrize(
    "disturb", [hard_link, link_elsewhere, leave_journal, cut_off, change_much]
)
def test_a_new_file_is_made_where_that_is_safer(copies: Copies, disturb: object) -> None:
    assert callable(disturb)
    disturb(copies)
    inode, before = copies.file.stat().st_ino, copies.file.read_bytes()
    with copies.file.open("rb") as earlier:
        copies.copy()
        assert earlier.read() == before  # so a hard link to it has the earlier state
    assert copies.inode != inode
    assert copies.file.read_bytes() == copies.source.read_bytes()


def test_a_reader_of_the_earlier_copy_keeps_it(copies: Copies) -> None:
    """It began to read before the copy, or while the segments were copied."""
    copies.fill(120, 122)
    with closing(copies.begin_copy()) as copy:
        list(copy.copy())
        with closing(SqliteRecords(copies.target)) as reader:
            assert reader.count_records() == 120
            copy.install()
            assert reader.count_records() == 120
    assert len(copies.read_copy()) == 122
    with closing(SqliteRecords(copies.target)) as reader:
        assert reader.count_records() == 122
        copies.fill(122, 124)
        copies.copy()
        assert reader.count_records() == 122
    assert len(copies.read_copy()) == 124


class PowerCutError(Exception):
    pass


class FailingFile:
    """The file of a copy, of which only so many pages can be written before the power is cut."""

    def __init__(self, file: apsw.VFSFile, left: int) -> None:
        self._file, self._left = file, left

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  (SQLite's name)
        self._left -= 1
        if self._left < 0:
            self._file.xWrite(data[: len(data) // 2], offset)
            raise PowerCutError
        self._file.xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        raise PowerCutError


def test_a_copy_that_is_cut_off_is_the_earlier_one(copies: Copies) -> None:
    """However many runs were written: SQLite finds the journal, and rolls them back."""
    earlier = copies.read_copy()
    size = copies.file.stat().st_size
    copies.fill(120, 126)
    for left in range(6):
        with closing(copies.begin_copy()) as copy:
            list(copy.copy())
            assert copy._earlier is not None
            copy._earlier.file = FailingFile(copy._earlier.file, left)  # type: ignore[assignment]
            with pytest.raises(PowerCutError):
                copy.install()
        assert copies.file.with_name(f"{FILE}-journal").exists()
        assert copies.read_copy() == earlier
        assert copies.file.stat().st_size == size
    copies.copy()
    assert len(copies.read_copy()) == 126


def test_a_journal_that_is_cut_off_changes_nothing(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its head is written last, so SQLite ignores it before."""
    earlier = copies.read_copy()
    copies.fill(120, 122)

    def read_some(runs: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
        yield next(iter(reading(runs)))
        raise PowerCutError

    reading = patching.read_runs
    monkeypatch.setattr(patching, "read_runs", read_some)
    with closing(copies.begin_copy()) as copy:
        list(copy.copy())
        with pytest.raises(PowerCutError):
            copy.install()
    monkeypatch.undo()
    assert copies.read_copy() == earlier
    copies.copy()
    assert len(copies.read_copy()) == 122


def test_the_page_of_the_lock_is_never_written() -> None:
    """SQLite's own journals never have it: a reader of one would stop there."""
    page, lock = 4096, 1 << 30
    ours, theirs = b"a" * 3 * page, b"b" * 3 * page
    assert list(patching._find_runs(ours, theirs, page, 0)) == [(0, 3 * page)]
    runs = list(patching._find_runs(ours, theirs, page, lock - page))
    assert runs == [(0, page), (2 * page, 3 * page)]


def test_runs_are_those_that_differ(tmp_path: Path) -> None:
    page = 512
    ours = b"".join(bytes([one]) * page for one in b"abcdef")
    theirs = b"".join(bytes([one]) * page for one in b"aXcdX")
    runs = list(patching._find_runs(ours, theirs, page, 0))
    assert runs == [(page, 2 * page), (4 * page, 6 * page)]
