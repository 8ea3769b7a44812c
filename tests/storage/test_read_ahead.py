"""The file of a registry is read into memory if there is room, and as long as that is wanted."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from perdure.storage.sqlite import records as sqlite_records
from perdure.storage.sqlite.opening import FILE, create_registry
from perdure.storage.sqlite.records import SqliteRecords

Span = tuple[int, int]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """The spans that the system is asked to read, in pieces of 4096 bytes."""
    spans: list[Span] = []
    monkeypatch.setattr(sqlite_records, "_AHEAD", 4096)

    class NotedFile(apsw.VFSFile):
        def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
            spans.append((offset, offset + amount))
            return super().xRead(amount, offset)

    monkeypatch.setattr(apsw, "VFSFile", NotedFile)
    return spans


def test_the_whole_file_is_read(tmp_path: Path, asked: list[Span]) -> None:
    create_registry(tmp_path)
    SqliteRecords(tmp_path).read_ahead(lambda: True)
    size = (tmp_path / FILE).stat().st_size
    assert asked == [(start, start + 4096) for start in range(0, size, 4096)]
    assert len(asked) > 3


def test_it_stops_when_it_is_not_wanted(tmp_path: Path, asked: list[Span]) -> None:
    create_registry(tmp_path)
    SqliteRecords(tmp_path).read_ahead(lambda: len(asked) < 3)
    assert len(asked) == 3


def test_a_file_that_would_fill_the_memory_is_not_read(
    tmp_path: Path, asked: list[Span], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_registry(tmp_path)
    size = (tmp_path / FILE).stat().st_size
    memory = {"SC_PAGE_SIZE": 1, "SC_AVPHYS_PAGES": 2 * size - 1}
    monkeypatch.setattr(os, "sysconf", memory.__getitem__)
    SqliteRecords(tmp_path).read_ahead(lambda: True)
    assert asked == []
    memory["SC_AVPHYS_PAGES"] += 1
    SqliteRecords(tmp_path).read_ahead(lambda: True)
    assert asked
