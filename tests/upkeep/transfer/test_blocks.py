"""Cutting a file into blocks, and reading them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES

from perdure.errors import Unavailable
from perdure.model.commands import LoadRow
from perdure.upkeep.transfer import blocks
from perdure.upkeep.transfer.blocks import (
    Fault,
    LineBlock,
    count_readers,
    cut_blocks,
    fork_readers,
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
    data = b"".join(line(number) if number % 700 else b"bad\n" for number in range(1, 2000))
    here = list(read_blocks(cut_blocks(io.BytesIO(data)), terms))
    with fork_readers(2) as readers:
        monkeypatch.delattr(blocks, "_read")  # in this process, and in no other
        there = list(read_blocks(cut_blocks(io.BytesIO(data)), terms, readers))
    assert here == there
    assert len(here) > 10
    assert [fault.line for _, reading in here for fault in reading.faults] == [700, 1400]


def test_a_short_source_and_a_process_with_threads_have_no_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process with threads must not fork."""
    monkeypatch.setattr(blocks, "count_cores", lambda: 2)
    monkeypatch.setattr(blocks, "active_count", lambda: 1)
    assert [count_readers(length) for length in (0, 1 << 20, 100 << 20, None)] == [0, 0, 2, 2]
    monkeypatch.setattr(blocks, "active_count", lambda: 2)
    assert count_readers(None) == 0


def test_a_process_that_dies_is_told(terms: Terms, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for want of memory, before it has read anything."""
    monkeypatch.setattr(blocks, "_prepare", partial(os._exit, 9))
    given = [LineBlock(line(first), 0, 1, first, 1) for first in range(1, 100)]
    with (
        fork_readers(1) as readers,
        pytest.raises(Unavailable, match="a process that reads lines"),
    ):
        list(read_blocks(given, terms, readers))


READING = """
import sys, time
from perdure.upkeep.transfer import blocks

block = blocks.LineBlock(sys.argv[1].encode(), 0, 1, 1, 1)
terms = blocks.Terms("2026-11-21T12:00:00Z", "2026/11/21", "", "")
with blocks.fork_readers(2) as readers:
    ((_, reading),) = blocks.read_blocks([block], terms, readers)
    assert reading.rows
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
