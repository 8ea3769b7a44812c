"""Cutting a file into blocks, and reading them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES

from perdure.errors import Unavailable
from perdure.model.commands import LoadRow
from perdure.upkeep.transfer import blocks
from perdure.upkeep.transfer.blocks import (
    BlockReading,
    Fault,
    LineBlock,
    cut_blocks,
    read_blocks,
    read_rows_of,
)
from perdure.upkeep.transfer.line_contents import Terms


@pytest.fixture
def terms(place: Path) -> Terms:
    return Terms("2026-11-21T12:00:00Z", "2026/11/21", str(place), str(place))


def line(number: int) -> bytes:
    return b'{"id":"pdi://%s/1997/09/01/%d"}\n' % (SERIES.encode(), number)


@given(st.binary(max_size=80), st.integers(1, 9), st.integers(2, 20))
def test_blocks_are_the_file(data: bytes, size: int, longest: int) -> None:
    """Whatever the size of blocks: each byte once, lines whole, offsets and numbers true."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", size)
        patch.setattr(blocks, "LONGEST_LINE", longest)
        found = list(cut_blocks(io.BytesIO(data)))
    offset, number = 0, 1
    for block in found:
        assert (block.start, block.first) == (offset, number)
        text = data[block.start : block.end]
        if block.too_long:
            assert len(text) > longest
            assert text.count(b"\n") == text.endswith(b"\n")
        else:
            assert block.text == text
        assert text.endswith(b"\n") or block.end == len(data)
        assert block.lines == text.count(b"\n") + (not text.endswith(b"\n"))
        offset, number = block.end, number + block.lines
    assert offset == len(data)


def test_a_cut_may_begin_in_the_middle() -> None:
    data = b"".join(map(line, range(4)))
    half = len(line(0)) * 2
    file = io.BytesIO(data)
    file.seek(half)
    (block,) = cut_blocks(file, start=half, first=3)
    assert (block.start, block.end, block.first, block.lines) == (half, len(data), 3, 2)


def test_blank_lines_and_a_byte_order_mark_do_not_matter(terms: Terms) -> None:
    data = b"\xef\xbb\xbf" + line(1) + b"\n \r\n" + line(2).strip()
    found = [row for block in cut_blocks(io.BytesIO(data)) for row in read_rows_of(block, terms)]
    assert [(type(row), row.line) for row in found] == [(LoadRow, 1), (LoadRow, 4)]
    for empty in (b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"):
        assert [
            row for block in cut_blocks(io.BytesIO(empty)) for row in read_rows_of(block, terms)
        ] == []


def test_a_line_that_is_too_long_is_one_bad_line(
    terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(blocks, "LONGEST_LINE", 100)
    data = line(1) + b"x" * 1000 + b"\n" + line(3)
    found = [one for block in cut_blocks(io.BytesIO(data)) for one in read_rows_of(block, terms)]
    assert [one.line for one in found] == [1, 2, 3]
    assert isinstance(found[1], Fault)
    assert found[1].error["code"] == "too-large"


def test_other_processes_read_the_same(terms: Terms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 4096)
    read_here: list[int] = []

    def read(block: LineBlock, terms: Terms) -> BlockReading:  # in this process, and in no other
        read_here.append(block.first)
        return reading_of(block, terms)

    def slowly(some: Iterable[LineBlock]) -> Iterator[LineBlock]:
        for block in some:
            time.sleep(0.1)  # while the others start
            yield block

    reading_of = blocks._read
    monkeypatch.setattr(blocks, "_read", read)
    data = b"".join(line(number) if number % 700 else b"bad\n" for number in range(1, 2000))
    here, there = (
        [
            (block.first, reading)
            for block, reading in read_blocks(given, terms, processes=processes)
        ]
        for given, processes in (
            (cut_blocks(io.BytesIO(data)), 0),
            (slowly(cut_blocks(io.BytesIO(data))), 2),
        )
    )
    assert here == there
    assert len(here) > 10
    assert len(read_here) < 2 * len(here)
    assert [fault.line for _, reading in here for fault in reading.faults] == [700, 1400]


def test_a_process_that_dies_is_told(terms: Terms, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for want of memory, before it has read anything."""

    def endless() -> Iterator[LineBlock]:
        for first in range(1, 10_000):
            time.sleep(0.01)
            yield LineBlock(line(first), 0, 1, first, 1)

    monkeypatch.setattr(blocks, "_prepare", os.abort)
    with pytest.raises(Unavailable, match="a process that reads lines"):
        list(read_blocks(endless(), terms, processes=1))


READING = """
import sys, time
from perdure.upkeep.transfer import blocks

def endless():
    for first in range(1, 10_000):
        time.sleep(0.01)
        yield blocks.LineBlock(sys.argv[1].encode(), 0, 1, first, 1)

blocks._read = lambda block, terms: blocks.BlockReading(())  # in this process, and in no other
terms = blocks.Terms("2026-11-21T12:00:00Z", "2026/11/21", "", "")
for _, reading in blocks.read_blocks(endless(), terms, processes=2):
    if reading.rows:
        print("read elsewhere", flush=True)
        time.sleep(60)
"""


def test_who_reads_ends_with_the_process_that_asked() -> None:
    """However that ends: nobody else would stop them, and each takes some ten megabytes."""
    command = [sys.executable, "-c", READING, line(1).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == b"read elsewhere\n"
        asking.kill()
        asking.communicate(timeout=10)  # whoever still runs holds the other end open


def test_a_block_that_names_files_is_left_to_the_caller(terms: Terms) -> None:
    data = line(1) + b'{"id":"hdl:1/2","content":{"path":"x"}}\n'
    ((_, reading),) = read_blocks(cut_blocks(io.BytesIO(data)), terms)
    assert reading.has_paths
    assert reading.rows == ()


def test_order_is_told(terms: Terms) -> None:
    for numbers, ascending in (((1, 2, 10), True), ((1, 1), False), ((2, 1), False)):
        ((_, reading),) = read_blocks(cut_blocks(io.BytesIO(b"".join(map(line, numbers)))), terms)
        assert reading.ascending is ascending
