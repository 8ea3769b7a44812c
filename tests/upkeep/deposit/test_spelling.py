"""Paths as text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.errors.depositing import PathUnreadable
from perdure.upkeep.deposit.spelling import is_odd, leads_outside, read_path, spell_path


@given(st.binary())
@example(b"a\nb\\c\xe9\x00\r\x85")
@example("\u2028\u202e".encode())
@example(b"\\x41")
def test_every_path_is_read_back(path: bytes) -> None:
    """spelling.py: "`read_path(spell_path(path)) == path` for all bytes; the text has no line
    break, no control character and no lone surrogate"."""
    text = spell_path(path)
    assert read_path(text) == path
    assert text.isprintable()
    text.encode()
    file = io.StringIO()
    csv.writer(file).writerow([text, "x"])
    assert next(csv.reader([file.getvalue()])) == [text, "x"]


def test_usual_names_are_written_as_they_are() -> None:
    for name in ("a b.txt", "Straße/Größe (1).txt", "日本語.txt", "100%.txt"):
        assert spell_path(name.encode()) == name
        assert not is_odd(name.encode())
    assert is_odd(b"a\xe9")
    assert is_odd(b"a\n")
    assert is_odd(b"a\\b")


@pytest.mark.parametrize("text", ["a\\b", "\\x4", "\\xZZ", "a\\", "\\n", "ok\\\\x\\"])
def test_a_backslash_begins_an_escape(text: str) -> None:
    with pytest.raises(PathUnreadable):
        read_path(text)


def test_paths_that_lead_outside() -> None:
    for path in (b"..", b"../a", b"a/..", b"a/../../b", b"/etc/passwd", b"a\0b"):
        assert leads_outside(path)
    for path in (b"a", b"..a/b..", b"a/...", b"a//b"):
        assert not leads_outside(path)
