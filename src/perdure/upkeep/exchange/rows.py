"""Rows of tables, one by one, with their own text and the number of their first line.

How it works: lines are collected until the quotation marks of a row are balanced, and the row is
parsed alone. A mark that is never closed costs one line, not the rest of the file.

What must stay true: a row has at most `LONGEST` characters and `_MOST_LINES` lines, so that memory
is bounded.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.errors.exchanging import QuoteUnclosed, RecordMalformed, RecordTooLong
from perdure.upkeep.exchange.texts import LONGEST

DELIMITERS = ",;\t"
_MOST_LINES = 10_000


class TableRow(NamedTuple):
    """A row: its cells, or why it cannot be read."""

    number: int
    raw: str
    cells: list[str]
    fault: PerdureError | None = None


def find_delimiter(first: str) -> str:
    """Return the delimiter of which the first row has most outside of quotes."""
    bare = "".join(first.split('"')[::2])
    return max(DELIMITERS, key=bare.count)


def cut_rows(lines: Iterable[str], delimiter: str, *, number: int = 1) -> Iterator[TableRow]:
    """Yield the rows of a table that are not empty. `number` is that of the first line."""
    csv.field_size_limit(LONGEST)
    pending: list[str] = []
    source = iter(lines)
    while True:
        if pending:
            line = pending.pop()
        else:
            following = next(source, None)
            if following is None:
                return
            line = following
        taken = 1
        if line.count('"') % 2 and _is_open(line, delimiter):
            taken, line, rest = _complete_row(line, source, pending)
            if not taken:
                yield TableRow(number, line, [], QuoteUnclosed())
                number, pending = number + 1, rest
                continue
        if not line.isspace():
            yield _read_row(number, line, delimiter)
        number += taken


def _is_open(line: str, delimiter: str) -> bool:
    """Return True if a quoted cell does not end in a line. A mark inside of a cell opens none."""
    try:
        deque(csv.reader([line], delimiter=delimiter, strict=True), maxlen=0)
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _complete_row(
    line: str, source: Iterator[str], pending: list[str]
) -> tuple[int, str, list[str]]:
    """Add lines until the marks are balanced. Return their number, or 0 and the lines after the
    first, in reverse order, if they never are."""
    lines, marks, size = [line], line.count('"'), len(line)
    while marks % 2:
        following = pending.pop() if pending else next(source, None)
        if following is None or len(lines) >= _MOST_LINES or size > LONGEST:
            rest = [*lines[1:], *(() if following is None else (following,))]
            return 0, line, pending + rest[::-1]
        lines.append(following)
        marks += following.count('"')
        size += len(following)
    return len(lines), "".join(lines), []


def _read_row(number: int, text: str, delimiter: str) -> TableRow:
    if len(text) > LONGEST:
        return TableRow(number, text, [], RecordTooLong(most=LONGEST))
    try:
        (cells,) = csv.reader([text], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError) as error:
        return TableRow(number, text, [], RecordMalformed(fault=str(error)))
    return TableRow(number, text, cells)


def write_row(cells: Iterable[str], delimiter: str = ",") -> str:
    """Write a row with its line end."""
    return delimiter.join(map(_quote_cell, cells)) + "\r\n"


def _quote_cell(cell: str) -> str:
    if any(one in cell for one in '",;\t\r\n') or cell != cell.strip():
        return f'"{cell.replace(chr(34), chr(34) * 2)}"'
    return cell


def write_refused(names: Sequence[str], rows: Iterable[tuple[Sequence[str], int, str]]) -> str:
    """Write refused rows with their lines and reasons to a table that can be given back."""
    kept = [one for one in names if one not in REFUSED]
    places = [place for place, one in enumerate(names) if one not in REFUSED]
    written = [write_row((*kept, *REFUSED))]
    for cells, number, reason in rows:
        chosen = [cells[place] if place < len(cells) else "" for place in places]
        extra = list(cells[len(names) :])
        words = " ".join(reason.split())
        written.append(write_row((*chosen, str(number), words, *extra)))
    return "".join(written)


REFUSED = ("_line", "_reason")
"""Columns of rows that were refused, mended and given back."""
