"""Tables as people have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.errors import InvalidRequest
from perdure.errors.depositing import (
    TableColumnTwice,
    TableNotText,
    TableTooWide,
    TableUnreadable,
    TableWithoutNames,
)
from perdure.upkeep.deposit.tables import RefusedRows, Row, RowFault, Table

GERMAN = "Datei;Titel\nStraße.txt;Größe und Übermaß\n"


def read(path: Path, data: bytes) -> tuple[str, list[Row | RowFault]]:
    path.write_bytes(data)
    with Table(path) as table:
        return table.remark, list(table)


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (GERMAN.encode("cp1252"), "read as iso-8859-1, with semicolons"),
        (GERMAN.encode(), "read as utf-8, with semicolons"),
        (GERMAN.encode("utf-8-sig"), "read as utf-8, with semicolons"),
        (GERMAN.encode("utf-16"), "read as utf-16, with semicolons"),
        (GERMAN.replace(";", "\t").encode(), "read as utf-8, with tabs"),
        (GERMAN.replace(";", ",").encode(), ""),
        (GERMAN.replace("\n", "\r\n").encode(), "read as utf-8, with semicolons"),
        (b"sep=;\r\n" + GERMAN.encode(), "read as utf-8, with semicolons"),
    ],
)
def test_charset_and_delimiter_are_detected_and_told(
    tmp_path: Path, data: bytes, remark: str
) -> None:
    told, rows = read(tmp_path / "t.csv", data)
    line = 3 if data.startswith(b"sep") else 2
    cells = {"Datei": "Straße.txt", "Titel": "Größe und Übermaß"}
    assert (told, rows) == (remark, [Row(line, cells)])


def test_quotes_line_breaks_and_lines(tmp_path: Path) -> None:
    data = b'"file","a,b"\n"x\ny","1"\n\nz,"say ""no"""\n'
    _, rows = read(tmp_path / "t.csv", data)
    assert rows == [
        Row(2, {"file": "x\ny", "a,b": "1"}),
        Row(5, {"file": "z", "a,b": 'say "no"'}),
    ]


def test_a_bad_row_does_not_affect_the_others(tmp_path: Path) -> None:
    _, rows = read(tmp_path / "t.csv", b'file,b\na,1,2,3\nb,"x"y\nc,2\n')
    assert [row.line for row in rows] == [2, 3, 4]
    wide, quoted, good = rows
    assert isinstance(wide, RowFault)
    assert "4 cells" in wide.error.problem()
    assert isinstance(quoted, RowFault)
    assert isinstance(quoted.error, InvalidRequest)
    assert good == Row(4, {"file": "c", "b": "2"})


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (",".join(map(str, range(10**6))).encode() + b"\n", TableWithoutNames),
        (",".join(map(str, range(5000))).encode() + b"\n", TableTooWide),
        (b"file,a,a\n", TableColumnTwice),
        (bytes(range(256)) * 300, TableNotText),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", TableNotText),
        (b'"file,a\nb,c\n', TableUnreadable),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(tmp_path / "t.csv", data)


def test_refused_rows_can_be_given_back(tmp_path: Path) -> None:
    path = tmp_path / "refused.csv"
    with RefusedRows(path, ("file", "title")) as refused:
        refused.add_row(7, {"file": "ä", "title": "a,b\nc"}, TableNotText(path="x"))
    with Table(path) as table:
        assert list(table) == [Row(2, {"file": "ä", "title": "a,b\nc"})]
        assert table.columns == ("file", "title", "_line", "_reason")
