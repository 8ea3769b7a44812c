"""The plain text of a table: a tab between cells, a line feed after each row.

How it works: fields are unquoted as RFC 4180 says. A passage within one row is selected as its
cells, any other as its rows; a cell cannot be cut.

What must stay true: the plain text of the part, which is itself a table, contains the passage.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import NamedTuple

from perdure.extractors.plain_text import TextPassage, check_size, list_sliced, locate_slices
from perdure.extractors.port import Part, Span
from perdure.extractors.text.table_index import TableIndex
from perdure.parts import Cells

_LINE_BREAK = re.compile("\r\n?")


class TableText(NamedTuple):
    """The cells of a table, counted from 0 through all rows."""

    table: TableIndex
    text: str
    cells: array[int]
    """The place of each cell in the text, and last the end of the text."""
    rows: array[int]
    """The first cell of each row, and last the number of cells."""
    width: int
    """The number of columns that can be selected."""

    def find_span(self, start: int, stop: int) -> Span:
        """Return the stored fields of the cells, or the rows, that contain [start, stop)."""
        row, first, last = self._find_cells(start, stop)
        whole = self.table.find_span(row, self._find_row(last) + 1)
        if self._find_row(last) != row:
            return whole
        comma = len(",".encode(self.table.coding.codec))
        column = first - self.rows[row]
        lengths = [len(field) for field in next(self.table.read_fields(row, row + 1))]
        begin = whole.start + sum(lengths[:column]) + comma * column
        chosen = lengths[column : column + last - first + 1]
        return Span(begin, begin + sum(chosen) + comma * (len(chosen) - 1))

    def select_part(self, start: int, stop: int) -> Cells:
        """Return a selector for cells of one row, or for complete rows (RFC 7111)."""
        row, first, last = self._find_cells(start, stop)
        final, column = self._find_row(last), first - self.rows[row]
        if final != row or column >= self.width:
            return Cells("row", (((row + 1,), (final + 1,)),))
        until = last - self.rows[row]
        return Cells("cell", (((row + 1, column + 1), (row + 1, until + 1)),))

    def list_passages(
        self, start: int, stop: int, *, finest: bool = False
    ) -> tuple[TextPassage, ...]:
        return list_sliced(self, start, stop)

    def locate_part(self, part: Part) -> TextPassage | None:
        return locate_slices(self, part)

    def _find_cells(self, start: int, stop: int) -> tuple[int, int, int]:
        """Return the row of the first cell, the first cell and the last one."""
        first = bisect_right(self.cells, start) - 1
        last = bisect_right(self.cells, stop - 1) - 1
        if self.cells[last + 1] == stop and self.text[stop - 1] == "\t":
            last += 1  # the tab is between two cells
        return self._find_row(first), first, last

    def _find_row(self, cell: int) -> int:
        return bisect_right(self.rows, cell) - 1


def read_table(table: TableIndex, width: int) -> TableText:
    """Return the text of a table of which `width` columns can be selected. Raises OverBudget."""
    check_size(table.source)
    cells, rows = array("Q", [0]), array("Q", [0])
    written: list[str] = []
    at = 0
    for fields in table.read_fields(0, table.rows):
        for field in fields:
            text = read_field(field, table.coding.codec)
            written += text, "\t"
            at += len(text) + 1
            cells.append(at)
        written[-1] = "\n"
        rows.append(len(cells) - 1)
    return TableText(table, "".join(written), cells, rows, width)


def read_field(field: bytes, codec: str) -> str:
    """Return the text of a field, without its quotation marks."""
    text = field.decode(codec, "replace")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return _LINE_BREAK.sub("\n", text)
