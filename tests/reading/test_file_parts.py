"""A file outside a registry: its parts are read as in a PDI, or as in a URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.reading.file_parts import FileParts


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(b"name,year\r\nReagan,1981\r\nBush,1989\r\n")
    return path


@pytest.mark.parametrize(
    ("spec", "web", "cut"),
    [
        ("char=0,4", False, b"name"),  # as in a PDI
        ("#char=0,4", False, b"name"),
        ("row=2", False, b"Reagan,1981\r\n"),  # a PDI has no rows: RFC 7111
        ("row=2", True, b"Reagan,1981\r\n"),
    ],
)
def test_a_part_is_read_as_in_a_pdi_or_as_its_type_defines(
    table: Path, spec: str, *, web: bool, cut: bytes
) -> None:
    with FileParts(table) as local:
        assert b"".join(local.read_part(local.cut_part(spec, web=web))) == cut


def test_on_the_web_a_part_is_never_read_as_in_a_pdi(tmp_path: Path) -> None:
    """A line ending counts as one character in RFC 5147, and as two in a PDI (parts.md)."""
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear\nJohn\n")
    with FileParts(path) as local:
        assert b"".join(local.read_part(local.cut_part("char=0,6"))) == b"Dear\r\n"
        assert b"".join(local.read_part(local.cut_part("char=0,6", web=True))) == b"Dear\nJ"


def test_the_type_is_the_given_one_or_is_detected(table: Path) -> None:
    with FileParts(table) as local:
        assert local.source.media_type == "text/csv"
    with FileParts(table, media_type="text/plain", charset="us-ascii") as local:
        assert (local.source.media_type, local.source.charset) == ("text/plain", "us-ascii")
        assert "char=0,35" in [one.syntax for one in local.list_extents()]
