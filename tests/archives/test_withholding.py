"""The file of the takedowns: damage, and a disk that is full, lift none of them."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perdure.archives.withholding import FILE, Withholding, Withholdings
from perdure.errors.processes import FileUnusable

ONE = Withholding(
    uri="http://a.example/secret/", match="prefix", reason='"court"', at="2026-11-22", by="Ada"
)
TWO = Withholding(uri="http://b.example/", match="exact", reason="x", at="2026-11-23", by="Bob")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    withheld = Withholdings(tmp_path)
    withheld.add(ONE)
    withheld.add(TWO)
    return tmp_path / FILE


def list_there(path: Path) -> tuple[Withholding, ...]:
    return Withholdings(path.parent).list_all()


@pytest.mark.parametrize("bit", range(8))
def test_no_damaged_bit_changes_a_takedown(path: Path, bit: int) -> None:
    intact = path.read_bytes()
    for at in range(len(intact)):
        damaged = bytearray(intact)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(FileUnusable, match=FILE):
            list_there(path)


def test_a_line_that_was_cut_off_never_held(path: Path) -> None:
    intact = path.read_bytes()
    second = intact.index(b"\n") + 1
    for end in range(second, len(intact) - 1):
        for tail in (b"", bytes(5)):  # zeros: after a power cut, what was never written
            path.write_bytes(intact[:end] + tail)
            assert list_there(path) == (ONE,)
    Withholdings(path.parent).add(TWO)
    assert path.read_bytes() == intact
    path.write_bytes(intact[:-1])  # complete, but for the end of its line
    assert list_there(path) == (ONE, TWO)
    Withholdings(path.parent).add(ONE)
    assert list_there(path) == (ONE, TWO, ONE)


@pytest.mark.parametrize("uri", ["", "x.html", "?q=1", "sub/?q=1"])
def test_a_folder_is_taken_down_with_its_own_page_and_its_queries(tmp_path: Path, uri: str) -> None:
    withheld = Withholdings(tmp_path)
    withheld.add(ONE)
    at = "20140126200624"
    assert withheld.find_covering(f"{ONE.uri}{uri}", at, at) is not None
    assert withheld.find_covering("http://a.example/secrets", at, at) is None


@contextmanager
def limit_files(length: int) -> Iterator[None]:
    """No file can grow beyond a length, as on a full disk: what fits is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_takedown_that_does_not_fit_is_not_acknowledged(path: Path) -> None:
    intact = path.read_bytes()
    with limit_files(len(intact) + 20), pytest.raises(OSError, match="large"):
        Withholdings(path.parent).add(ONE)
    assert path.read_bytes() == intact


def test_lines_of_earlier_releases_are_read(path: Path) -> None:
    line = b'{"uri":"http://a.example/","match":"exact","reason":"x","at":"2026","by":"Ada"}\n'
    path.write_bytes(line)
    assert [one.uri for one in list_there(path)] == ["http://a.example/"]


def test_a_file_that_cannot_be_read_stops_the_captures(path: Path) -> None:
    path.unlink()
    path.mkdir()
    with pytest.raises(FileUnusable):
        list_there(path)
    path.rmdir()
    for target in (path.name, "nowhere"):
        path.symlink_to(target)
        with pytest.raises(FileUnusable):
            list_there(path)
        path.unlink()
