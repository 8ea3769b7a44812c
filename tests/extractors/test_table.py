"""Rows, columns and cells of CSV: rows as they are stored, fields as they are written.

Which row and which field a thing is in is said by Python's `csv`.
"""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.extractors.cutting import content, cut, source

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, Undecodable
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.port import CHUNK, Span, Stream
from perdure.extractors.text.coding import find_coding
from perdure.extractors.text.table import EXTRACTOR, TableExtractor
from perdure.extractors.text.table_index import (
    TableIndex,
    _find_ends_by_parity,
    _find_ends_one_by_one,
    build_marks,
    open_table,
)
from perdure.parts import CharRange, TextRange
from perdure.parts.table import read_cells
from perdure.reading.extraction import PartExtraction

RFC_7111 = (  # the table of its section 1.2
    b"date,temperature,place\r\n"
    b"2011-01-01,1,Galway\r\n"
    b"2011-01-02,-1,Galway\r\n"
    b"2011-01-03,0,Galway\r\n"
    b"2011-01-01,6,Berkeley\r\n"
    b"2011-01-02,8,Berkeley\r\n"
    b"2011-01-03,5,Berkeley\r\n"
)
LINES = RFC_7111.splitlines(keepends=True)

VALUES = st.text("ab é,\r\n\"'", max_size=6)
ENDS = st.sampled_from(["\r\n", "\n", "\r"])
laws = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], list[str]]:
    """Rows of fields as they are written, and what ends each row."""

    def written(value: str) -> str:
        needed = value.startswith('"') or any(one in value for one in ",\r\n")
        if needed or draw(st.booleans()):
            return '"' + value.replace('"', '""') + '"'
        return value

    rows = draw(st.lists(st.lists(VALUES.map(written), min_size=1, max_size=4), min_size=1))
    ends = [draw(ENDS) for _ in rows]
    if rows[-1] != [""] and draw(st.booleans()):
        ends[-1] = ""
    # A CR, then an empty line that ends with LF: written, they are one CRLF.
    following = zip(ends, rows[1:], ends[1:], strict=False)
    assume(("\r", [""], "\n") not in following)
    return rows, ends


def joined(rows: list[list[str]], ends: list[str]) -> str:
    return "".join(",".join(row) + end for row, end in zip(rows, ends, strict=True))


# laws
# ----


@laws
@given(tables(), st.data(), st.sampled_from([1, 4, 16, 64]), st.sampled_from(["utf-8", "utf-16"]))
def test_rows_are_slices_and_cells_their_fields(
    tmp_path: Path,
    table: tuple[list[list[str]], list[str]],
    data: st.DataObject,
    block: int,
    charset: str,
) -> None:
    rows, ends = table
    it = source(tmp_path, joined(rows, ends).encode(charset), "text/csv", charset)
    extractor = TableExtractor(block)
    codec = "utf-16-le" if charset == "utf-16" else charset

    first = data.draw(st.integers(1, len(rows)))
    last = data.draw(st.integers(first, len(rows) + 2))
    part = extractor.extract_part(it, read_cells(f"row={first}-{last}"), NoIndexes())
    selected = slice(first - 1, last)
    assert content(part, it).decode(codec) == joined(rows[selected], ends[selected])
    assert part.body == part.slices

    width = max(map(len, rows))
    left = data.draw(st.integers(1, width))
    right = data.draw(st.integers(left, width + 2))
    part = extractor.extract_part(
        it, read_cells(f"cell={first},{left}-{last},{right}"), NoIndexes()
    )
    expected = [row[left - 1 : right] for row in rows[selected]]
    assert content(part, it).decode(codec) == joined(expected, ["\r\n"] * len(expected))


@laws
@given(tables())
def test_rows_are_those_of_csv(tmp_path: Path, table: tuple[list[list[str]], list[str]]) -> None:
    whole = joined(*table)
    it = source(tmp_path, whole.encode(), "text/csv", "utf-8")
    theirs = list(csv.reader(io.StringIO(whole, newline="")))
    index = open_table(it, find_coding(it), NoIndexes(), block=16)
    ours = [",".join(one.decode() for one in row) for row in index.read_fields(0, index.rows)]
    assert [next(csv.reader(io.StringIO(row, newline="")), []) for row in ours] == theirs


@laws
@given(tables(), st.integers(1, 40), st.integers(1, 40))
def test_rows_do_not_depend_on_how_they_are_read(
    tmp_path: Path, table: tuple[list[list[str]], list[str]], block: int, chunk: int
) -> None:
    rows, ends = table
    it = source(tmp_path, joined(rows, ends).encode(), "text/csv", "utf-8")
    index = TableIndex(it, find_coding(it), build_marks(it, find_coding(it), block, chunk))
    assert index.rows == len(rows)
    for row in range(len(rows)):
        found = index.find_span(row, row + 1)
        assert it.read_bytes(found.start, found.stop).decode() == joined([rows[row]], [ends[row]])


@laws
@given(st.text('a,"\r\n', max_size=40).map(str.encode), st.booleans())
def test_all_at_once_is_one_by_one(data: bytes, whole: bool) -> None:
    pytest.importorskip("numpy")
    ends = _find_ends_by_parity(data)
    if ends is None:  # a quotation mark where none should be
        return
    slow = _find_ends_one_by_one(data, whole=False)
    if data.count(b'"') % 2 == 0:
        assert ends == slow
    else:
        assert ends[: len(slow)] == slow


@pytest.mark.parametrize("row", [b"a,b\r\n", b"a\rb\n", b'a,"b\r\n"\r\n'])
def test_without_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: bytes) -> None:
    it = source(tmp_path, row * 100, "text/csv", "utf-8")
    found = build_marks(it, find_coding(it), 64)
    monkeypatch.setitem(sys.modules, "numpy", None)  # as where it is not installed
    assert build_marks(it, find_coding(it), 64) == found


# RFC 7111
# --------


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("row=4", LINES[3]),  # the examples of its section 2
        ("row=5-7", b"".join(LINES[4:7])),
        ("row=5-*", b"".join(LINES[4:])),
        ("row=*", LINES[6]),
        ("col=2", b"temperature\r\n1\r\n-1\r\n0\r\n6\r\n8\r\n5\r\n"),
        ("cell=4,1", b"2011-01-03\r\n"),
        ("cell=4,1-6,2", b"2011-01-03,0\r\n2011-01-01,6\r\n2011-01-02,8\r\n"),
        ("cell=4,2-*,2", b"0\r\n6\r\n8\r\n5\r\n"),
        ("cell=*,*", b"Berkeley\r\n"),
        ("row=3;5-6", LINES[2] + LINES[4] + LINES[5]),
        ("row=5-6;3;4-5", b"".join(LINES[2:6])),  # one set, in the order of the document
        ("col=3;1", b"".join(b"%b,%b\r\n" % tuple(r.split(b",")[::2]) for r in RFC_7111.split())),
        ("cell=2,1;2,1-3,1", b"2011-01-01\r\n2011-01-02\r\n"),
        ("cell=2,1-3,1;3,3-4,3", b"2011-01-01\r\n2011-01-02,Galway\r\nGalway\r\n"),
        ("row=6-99", b"".join(LINES[5:])),  # what there is of it
        ("row=1;99", LINES[0]),
        ("row=1-6;2-3", b"".join(LINES[:6])),
        ("row=1;7-5", LINES[0]),
        ("cell=7,3-9,9", b"Berkeley\r\n"),
    ],
)
def test_selections(tmp_path: Path, part: str, expected: bytes) -> None:
    it = source(tmp_path, RFC_7111, "text/csv", "us-ascii")
    found = PartExtraction().cut_part(it, read_cells(part))
    assert content(found, it) == expected
    assert found.media_type == "text/csv"


@pytest.mark.parametrize(
    "part",
    ["row=8", "row=8-*", "row=5-4", "col=4", "col=3-2", "cell=8,1", "cell=1,4", "cell=2,2-1,1"],
)
def test_selections_of_nothing(tmp_path: Path, part: str) -> None:
    it = source(tmp_path, RFC_7111, "text/csv", "us-ascii")
    with pytest.raises(PartNotFound, match="7 rows of 3 columns"):
        EXTRACTOR.extract_part(it, read_cells(part), NoIndexes())


def test_canonical_text_of_rows_is_what_there_is(tmp_path: Path) -> None:
    it = source(tmp_path, RFC_7111, "text/csv", "us-ascii")
    part = EXTRACTOR.extract_part(it, read_cells("row=6-*;2;3-99"), NoIndexes())
    assert str(part.selector) == "row=2-7"
    assert part.slices == (Span(len(LINES[0]), len(RFC_7111)),)


# fields
# ------


def test_quoted_line_breaks_are_within_a_row(tmp_path: Path) -> None:
    stored = b'a,"b\r\nc\n""d"",",e\r\n"1\n2",3,4'
    it = source(tmp_path, stored, "text/csv", "us-ascii")
    assert cut(PartExtraction(), it, read_cells("row=1")) == b'a,"b\r\nc\n""d"",",e\r\n'
    assert cut(PartExtraction(), it, read_cells("row=2")) == b'"1\n2",3,4'
    part = EXTRACTOR.extract_part(it, read_cells("col=1-2"), NoIndexes())
    assert content(part, it) == b'a,"b\r\nc\n""d"","\r\n"1\n2",3\r\n'


def test_a_quotation_mark_within_a_field_is_a_character(tmp_path: Path) -> None:
    it = source(tmp_path, b'6" x 9",a\r\n5",b\r\n', "text/csv", "us-ascii")
    assert cut(PartExtraction(), it, read_cells("row=2")) == b'5",b\r\n'


def test_rows_of_different_length(tmp_path: Path) -> None:
    it = source(tmp_path, b"title\r\na,b,c\r\n\r\n1,2,3\r\n", "text/csv", "us-ascii")
    part = EXTRACTOR.extract_part(it, read_cells("col=2-*"), NoIndexes())
    assert content(part, it) == b"\r\nb,c\r\n\r\n2,3\r\n"


def test_many_rows_are_streamed(tmp_path: Path) -> None:
    it = source(tmp_path, RFC_7111 * 10_000, "text/csv", "us-ascii")
    part = EXTRACTOR.extract_part(it, read_cells("col=1"), NoIndexes())
    assert isinstance(part.body, Stream)
    column = b"".join(line.partition(b",")[0] + b"\r\n" for line in LINES)
    chunks = [*part.body.chunks]
    assert b"".join(chunks) == column * 10_000
    assert {len(one) // 1000 for one in chunks[:-1]} == {CHUNK // 1000}
    assert chunks[-1]


def test_japanese_table(tmp_path: Path) -> None:
    for charset in ("shift_jis", "iso-2022-jp", "utf-16-be", "utf-32"):
        it = source(tmp_path, "名,表\r\n日,ソ\r\n".encode(charset), "text/csv", charset)
        part = EXTRACTOR.extract_part(it, read_cells("cell=2,2"), NoIndexes())
        assert part.charset
        assert content(part, it).decode(part.charset) == "ソ\r\n"


def test_characters_and_lines_of_a_table(tmp_path: Path) -> None:
    it = source(tmp_path, RFC_7111, "text/csv", "us-ascii")
    assert cut(PartExtraction(), it, CharRange(0, 4)) == b"date"
    assert cut(PartExtraction(), it, TextRange("line", 1, 2)) == LINES[1]


def test_what_can_be_addressed(tmp_path: Path) -> None:
    it = source(tmp_path, b'"a ""b""", c\r\n1,2\r\n', "text/csv", "us-ascii")
    rows, columns, _ = EXTRACTOR.list_extents(it, NoIndexes())
    assert (rows.syntax, rows.size) == ("row=1-2", 2)
    assert (columns.syntax, columns.size, columns.items) == ("col=1-2", 2, ('a "b"', "c"))
    assert EXTRACTOR.list_extents(source(tmp_path, b"", "text/csv", None), NoIndexes()) == ()


# errors
# ------


def test_a_quoted_field_that_never_ends(tmp_path: Path) -> None:
    it = source(tmp_path, b'a,b\r\n1,"2\r\n3,4\r\n', "text/csv", "us-ascii")
    with pytest.raises(Undecodable, match="row 2, at byte 5"):
        EXTRACTOR.extract_part(it, read_cells("row=1"), NoIndexes())


def test_a_row_without_end(tmp_path: Path) -> None:
    it = source(tmp_path, b'"' + b"a" * (40 << 20), "text/csv", "us-ascii")
    with pytest.raises(OverBudget):
        EXTRACTOR.extract_part(it, read_cells("row=1"), NoIndexes())


def test_utf_7(tmp_path: Path) -> None:
    it = source(tmp_path, b"a,b", "text/csv", "utf-7")
    with pytest.raises(PartNotSupported):
        EXTRACTOR.extract_part(it, read_cells("row=1"), NoIndexes())


@pytest.mark.parametrize("mark", [b";", b"\t", b"|"])
def test_only_commas_separate_columns(tmp_path: Path, mark: bytes) -> None:
    """ "Within the header and each record, there may be one or more fields, separated by commas"
    (RFC 4180 section 2)."""
    it = source(tmp_path, b"a" + mark + b"b\r\n1" + mark + b"2\r\n", "text/csv", "us-ascii")
    _, columns, _ = EXTRACTOR.list_extents(it, NoIndexes())
    assert (columns.syntax, columns.size) == ("col=1-1", 1)
    assert columns.what == "column, because only commas separate columns (RFC 4180)"


def test_a_decimal_comma_separates_columns_too(tmp_path: Path) -> None:
    """Where a semicolon separates fields, numbers often have commas: the reader must be told."""
    it = source(tmp_path, b"Jahr;Betrag\r\n1994;3,5\r\n", "text/csv", "us-ascii")
    _, columns, _ = EXTRACTOR.list_extents(it, NoIndexes())
    assert (columns.syntax, columns.size, columns.items) == ("col=1-2", 2, ("Jahr;Betrag",))
    assert columns.what == "columns, because only commas separate columns (RFC 4180)"
