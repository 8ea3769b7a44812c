"""Rows, columns and cells of CSV (RFC 7111): `row=5-7`, `col=2-*`, `cell=4,1-6,2`.

How it works: rows are slices of the stored bytes, found in the index of the table
(`perdure.extractors.text.table_index`). Columns and cells are written as new rows: the fields as
they are stored, including quotation marks, with commas between them and a CRLF after each row (RFC
4180). If a row is shorter than the columns requested, the part has as much of it as exists, even if
that is an empty line, so that row n of the part stays row n of the selection.

Several ranges form one set, in the order of the document, and each is cut at the end of the table.
`*` is the last row, or the last column; if rows differ in length, it is the last column of the
longest of the first hundred rows. Columns beyond that do not exist.

What must stay true: a part that selects nothing is an error. Fields are never unquoted or decoded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise

from perdure.errors import PartNotFound, PartNotSupported
from perdure.errors.root import count_things
from perdure.extractors.port import Body, Extent, Indexes, Part, Source, Span, Stream, join_chunks
from perdure.extractors.text.coding import find_coding
from perdure.extractors.text.table_index import BLOCK, TableIndex, open_table
from perdure.extractors.text.table_text import TableText, read_field, read_table
from perdure.parts import Cells, Selector

_AT_ONCE = 1 << 20  # bytes that are written before the first one is sent
_SHOWN = 50  # names of columns in `list_extents`
_LONGEST_NAME = 80  # characters of a column's name

Range = tuple[int, int]
"""Half-open, counted from 0."""
_ENDLESS = sys.maxsize
_OTHER_MARKS = (";", "\t", "|")
"""Separators that RFC 4180 does not know. They never separate columns: a part that was cited must
not change its meaning."""
_TELLING = 100  # rows; the longest of them determines the number of columns


class TableExtractor:
    """Rows, columns and cells of CSV."""

    media_types = ("text/csv",)
    selectors = (Cells,)
    confined = False
    install = None
    lengthy_from = 1 << 20  # bytes; each MiB takes most of a second if quotation marks are anywhere

    def __init__(self, block: int = BLOCK) -> None:
        """`block` is the approximate number of bytes between the marks of an index."""
        self._block = block

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        """Cut the part. Raises PartNotFound if nothing is selected, PartNotSupported, Undecodable
        or OverBudget.
        """
        if not isinstance(selector, Cells):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        table = open_table(source, find_coding(source), indexes, block=self._block)
        match selector.axis:
            case "row":
                return _cut_rows(table, selector)
            case "col":
                return _cut_columns(table, selector)
        return _cut_cells(table, selector)

    def read_text(self, source: Source, indexes: Indexes) -> TableText | None:
        table = open_table(source, find_coding(source), indexes, block=self._block)
        return read_table(table, _count_columns(table))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        table = open_table(source, find_coding(source), indexes, block=self._block)
        if not table.rows:
            return ()
        names = tuple(_read_name(field, table) for field in next(table.read_fields(0, 1))[:_SHOWN])
        width = _count_columns(table)
        what = "columns"
        if len(names) == 1 and any(mark in names[0] for mark in _OTHER_MARKS):
            counted = "column" if width == 1 else "columns"
            what = f"{counted}, because only commas separate columns (RFC 4180)"
        return (
            Extent(
                syntax=f"row=1-{table.rows}", what="rows, with the header as 1", size=table.rows
            ),
            Extent(syntax=f"col=1-{width}", what=what, size=width, items=names),
            Extent(syntax="cell=1,1", what="cells, by row and column"),
        )


def _read_name(field: bytes, table: TableIndex) -> str:
    return read_field(field.strip(), table.coding.codec)[:_LONGEST_NAME]


# the three axes
# --------------


def _cut_rows(table: TableIndex, selector: Cells) -> Part:
    chosen = _merge_ranges(((first[0], last[0]) for first, last in selector.ranges), table.rows)
    if not chosen:
        raise _make_not_found(table, selector)
    spans = tuple(table.find_span(first, stop) for first, stop in chosen)
    ranges = tuple(((first + 1,), (stop,)) for first, stop in chosen)
    return _make_part(table, Cells("row", ranges), spans, spans)


def _cut_columns(table: TableIndex, selector: Cells) -> Part:
    width = _count_columns(table)
    pairs = ((first[0], last[0]) for first, last in selector.ranges)
    columns = _merge_ranges(pairs, width, open_end=_ENDLESS)
    if not any(first < width for first, _ in columns):
        raise _make_not_found(table, selector)
    return _rewrite_fields(table, selector, [((0, table.rows), columns)])


def _cut_cells(table: TableIndex, selector: Cells) -> Part:
    width = _count_columns(table)
    areas: list[tuple[Range, list[Range]]] = []
    for first, last in selector.ranges:
        rows = _merge_ranges([(first[0], last[0])], table.rows)
        columns = _merge_ranges([(first[1], last[1])], width, open_end=_ENDLESS)
        if rows and columns and columns[0][0] < width:
            areas.append((rows[0], columns))
    if not areas:
        raise _make_not_found(table, selector)
    return _rewrite_fields(table, selector, list(_split_areas(areas)))


def _count_columns(table: TableIndex) -> int:
    return max(map(len, table.read_fields(0, min(table.rows, _TELLING))), default=0)


def _merge_ranges(
    pairs: Iterable[tuple[int | None, int | None]], size: int, *, open_end: int | None = None
) -> list[Range]:
    """Return the existing parts of closed ranges from 1, in order and merged if they touch.

    `open_end` is the end of a range through `*`, if that differs from the size: some rows may be
    longer.
    """
    found: list[Range] = []
    end = open_end or size
    cut = sorted(
        (
            (size if first is None else first) - 1,
            (end if first is not None else size) if last is None else min(last, end),
        )
        for first, last in pairs
    )
    for first, stop in cut:
        if not 0 <= first < stop:
            continue
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((first, stop))
    return found


def _split_areas(areas: list[tuple[Range, list[Range]]]) -> Iterator[tuple[Range, list[Range]]]:
    """Yield groups of rows with the same columns selected, in order, from areas that
    may overlap.
    """
    borders = sorted({border for rows, _ in areas for border in rows})
    for first, stop in pairwise(borders):
        columns = [
            (one + 1, last)
            for (start, end), chosen in areas
            if start <= first and stop <= end
            for one, last in chosen
        ]
        if columns:
            yield (first, stop), _merge_ranges(columns, _ENDLESS)


# writing
# -------


def _rewrite_fields(
    table: TableIndex, selector: Cells, stretches: list[tuple[Range, list[Range]]]
) -> Part:
    spans = tuple(table.find_span(*rows) for rows, _ in stretches)
    chunks = join_chunks(_write_fields(table, stretches))
    if sum(span.length for span in spans) <= _AT_ONCE:
        return _make_part(table, selector, (b"".join(chunks),), spans)
    return _make_part(table, selector, Stream(chunks), spans)


def _write_fields(table: TableIndex, stretches: list[tuple[Range, list[Range]]]) -> Iterator[bytes]:
    how = table.coding
    comma, line_break = ",".encode(how.codec), how.cr + how.lf
    for rows, columns in stretches:
        for fields in table.read_fields(*rows, most=columns[-1][1]):
            chosen = [field for first, stop in columns for field in fields[first:stop]]
            yield comma.join(chosen) + line_break


def _make_part(table: TableIndex, selector: Cells, body: Body, slices: tuple[Span, ...]) -> Part:
    return Part(
        selector=selector,
        media_type=table.source.essence,  # the header parameter holds only for the whole
        charset=table.coding.label,
        body=body,
        slices=slices,
    )


def _make_not_found(table: TableIndex, selector: Cells) -> PartNotFound:
    return PartNotFound(
        identifier=table.source.name,
        selector=str(selector),
        extent=f"{count_things(table.rows, 'row')} of "
        f"{count_things(_count_columns(table), 'column')}",
    )


EXTRACTOR = TableExtractor()
