"""Reading segments: exactly what was asked for, or an alarm; few files are open at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from perdure.errors import Corrupt
from perdure.model.records import Representation
from perdure.storage.byte_ports import CHUNK
from perdure.storage.segments import directory as segment
from perdure.storage.segments.directory import segment_path
from perdure.storage.segments.store import Segments


def place(number: int, offset: int, length: int) -> Representation:
    """A representation whose bytes are there."""
    return Representation(
        format="text",
        media_type="text/plain",
        length=length,
        sha512="",
        segment=number,
        offset=offset,
    )


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Segments]:
    (tmp_path / "segments").mkdir()
    (tmp_path / "archive").mkdir()
    for number in range(1, 301):
        segment_path(tmp_path, number).write_bytes(b"%06d" % number + bytes(1 << 10))
    segment_path(tmp_path, 301).write_bytes(bytes(range(256)) * 4096)
    with closing(Segments(tmp_path)) as opened:
        yield opened


def test_exactly_what_was_asked_for(held: Segments) -> None:
    assert held.read_bytes(place(7, 0, 6)) == b"000007"
    assert held.read_bytes(place(301, 256 * 1000 + 3, 4)) == bytes([3, 4, 5, 6])
    assert held.read_bytes(place(7, 3, 0)) == b""


def test_large_reads_come_in_pieces(held: Segments) -> None:
    pieces = list(held.read_chunks(place(301, 5, (1 << 20) - 10)))
    assert max(map(len, pieces)) == CHUNK
    assert b"".join(pieces) == (bytes(range(256)) * 4096)[5:-5]


@pytest.mark.parametrize(("offset", "length"), [(1025, 10), (1030, 1), (5000, 1)])
def test_the_end_of_the_file_is_an_alarm(held: Segments, offset: int, length: int) -> None:
    with pytest.raises(Corrupt, match="the end of the file"):
        held.read_bytes(place(7, offset, length))


def test_a_segment_that_is_not_there_is_an_alarm(held: Segments) -> None:
    with pytest.raises(Corrupt):
        held.read_bytes(place(999, 0, 1))
    with pytest.raises(Corrupt):
        held.find_local(place(999, 0, 1))


def test_the_number_of_open_files_is_bounded(held: Segments) -> None:
    for number in range(1, 301):
        assert held.read_bytes(place(number, 0, 6)) == b"%06d" % number
    assert len(os.listdir("/proc/self/fd")) < 200  # noqa: PTH208 - it asks for names, not for paths


def test_a_file_that_is_being_read_is_not_closed(held: Segments) -> None:
    pieces = held.read_chunks(place(301, 0, 1 << 20))
    first = next(pieces)
    for number in range(1, 301):
        held.read_bytes(place(number, 0, 6))
    held.close()
    assert len(first) + sum(map(len, pieces)) == 1 << 20


def test_all_numbers_in_order(held: Segments, tmp_path: Path) -> None:
    (tmp_path / "segments" / "notes.txt").write_text("not a segment")
    assert segment.list_segments(tmp_path) == list(range(1, 302))
