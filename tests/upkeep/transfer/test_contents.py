"""Bytes on their way in: what they are, and line ends."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.model.commands import Content
from perdure.storage.spool import IN_MEMORY, Spool
from perdure.upkeep.transfer.contents import DeclaredKind, convert_line_ends, take_in


def taken(place: Path, data: bytes, name: str | None = None, **said: str) -> Content:
    with Spool(place) as spool:
        return take_in(io.BytesIO(data), spool, name=name, said=DeclaredKind(**said))


def test_what_is_not_said_is_found_out(place: Path) -> None:
    found = taken(place, b"<!DOCTYPE html><p>\xc3\xa4", "index.html")
    assert (found.format, found.media_type, found.charset) == ("html", "text/html", "utf-8")


def test_what_is_said_goes_before_what_is_found(place: Path) -> None:
    found = taken(place, b"<!DOCTYPE html>", "index.html", media_type="text/plain; charset=UTF-8")
    assert (found.format, found.media_type, found.charset) == ("utf-8", "text/plain", "utf-8")
    found = taken(place, b"plain", format="HTML", charset="Latin1", language="de-AT")
    assert (found.format, found.media_type, found.charset) == ("html", "text/html", "iso-8859-1")
    assert found.language == "de-AT"


@pytest.mark.parametrize(
    "said",
    [
        {"language": "en\r\nX: 1"},
        {"language": "e n"},
        {"charset": "utf 8"},
        {"charset": "x\r\n"},
        {"media_type": "html"},
    ],
)
def test_nothing_is_said_that_could_break_a_header(place: Path, said: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        taken(place, b"x", **said)


def test_a_format_that_no_pdi_can_have(place: Path) -> None:
    with pytest.raises(MalformedIdentifier):
        taken(place, b"x", format="a/b")


def test_long_content_waits_in_a_file(place: Path) -> None:
    found = taken(place, b"x" * (IN_MEMORY + 1))
    assert found.data is None
    assert (place / str(found.spooled)).exists()


pieces = st.lists(st.text("a\r\n", max_size=6).map(str.encode), max_size=6)


@given(pieces)
def test_every_line_end_becomes_one_crlf(cut: list[bytes]) -> None:
    """Ruling text-positions: "every CRLF, lone LF or lone CR is one line break"."""
    text = b"".join(cut).decode()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert b"".join(convert_line_ends(cut)).decode() == "\r\n".join(lines)


@given(pieces)
def test_converting_twice_is_converting_once(cut: list[bytes]) -> None:
    once = b"".join(convert_line_ends(cut))
    assert b"".join(convert_line_ends([once])) == once
