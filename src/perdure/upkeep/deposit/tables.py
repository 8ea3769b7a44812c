"""Tables as people have them: CSV in any charset, with commas, semicolons or tabs.

How it works: charset and byte-order mark are detected from the bytes, as those of a deposited text
are, and the delimiter from the first row (or from Excel's line `sep=;`). `Table` says what was
detected, so that commands can report it. Rows are read one at a time, each with its line. Cells
that a spreadsheet would take for formulas are written with an apostrophe in front, which is removed
when they are read.

What must stay true: a row that cannot be read is a `RowFault` with its line, and the rows after it
are read; memory is bounded by the longest row.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Self

from perdure.errors import InvalidRequest, PerdureError
from perdure.errors.depositing import (
    RowTooWide,
    TableColumnTwice,
    TableTooWide,
    TableUnreadable,
    TableWithoutNames,
)
from perdure.errors.importing import LineMalformed
from perdure.upkeep.exchange.opening import detect_charset

MOST_COLUMNS = 1000
_LONGEST_FIRST = 1 << 22  # characters of the first row
_DELIMITERS = ",;\t|"
_DECLARED = re.compile(r"sep=(.)\r?\n?")
_QUOTED = re.compile('"[^"]*"?')
_FORMULAS = ("=", "+", "-", "@")
_APOSTROPHES = (*_FORMULAS, "'")
IGNORED = "_"
"""The beginning of the names of columns that are not read, such as those of refused rows."""
LINE, REASON = "_line", "_reason"
"""The columns in which refused rows say where they were, and why they were refused."""


class Row(NamedTuple):
    """A row of a table: its line, and its cells that are not empty, by the names of columns."""

    line: int
    cells: dict[str, str]


class RowFault(NamedTuple):
    """A row that cannot be used, and the reason."""

    line: int
    cells: dict[str, str]
    error: PerdureError


class Table:
    """An open table. Use it as a context manager, and iterate over its rows once."""

    def __init__(self, path: Path) -> None:
        """Raises TableUnreadable, TableTooWide or TableColumnTwice."""
        self.path = path
        self.charset, codec = detect_charset(path)
        self._file: IO[str] = path.open(
            encoding="utf-8-sig" if codec == "utf-8" else codec, newline="", errors="strict"
        )
        try:
            self.delimiter, self.columns = self._read_head()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def remark(self) -> str:
        """Charset and delimiter in words; empty for UTF-8 with commas."""
        names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
        usual = self.charset in ("us-ascii", "utf-8") and self.delimiter == ","
        return "" if usual else f"read as {self.charset}, with {names[self.delimiter]}"

    def __iter__(self) -> Iterator[Row | RowFault]:
        while True:
            line = self._first + self._reader.line_num
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield RowFault(line, {}, LineMalformed(fault=str(error)))
                continue
            except UnicodeDecodeError as error:
                raise TableUnreadable(path=self.path.name, fault=str(error)) from None
            named = {
                name: bare_cell(cell.strip())
                for name, cell in zip(self.columns, cells, strict=False)
                if name and not name.startswith(IGNORED) and cell and not cell.isspace()
            }
            if len(cells) > len(self.columns) and any(cells[len(self.columns) :]):
                wide = RowTooWide(cells=len(cells), columns=len(self.columns))
                yield RowFault(line, named, wide)
            elif named:
                yield Row(line, named)

    def _read_head(self) -> tuple[str, tuple[str, ...]]:
        """Read the first row. Return the delimiter and the names of the columns."""
        try:
            first = self._file.readline(_LONGEST_FIRST)
            self._first = 1
            declared = _DECLARED.fullmatch(first)
            if declared is not None and declared[1] in _DELIMITERS:
                first, self._first = self._file.readline(_LONGEST_FIRST), 2
        except UnicodeError as error:
            raise TableUnreadable(path=self.path.name, fault=str(error)) from None
        if len(first) == _LONGEST_FIRST or "\0" in first:
            raise TableWithoutNames(path=self.path.name)
        bare = _QUOTED.sub("", first)
        delimiter = declared[1] if declared else max(_DELIMITERS, key=bare.count)
        self._reader = csv.reader(self._list_lines(first), delimiter=delimiter, strict=True)
        try:
            names = next(self._reader, [])
        except csv.Error as error:
            raise TableUnreadable(path=self.path.name, fault=str(error)) from None
        if len(names) > MOST_COLUMNS:
            raise TableTooWide(path=self.path.name, columns=len(names), most=MOST_COLUMNS)
        columns = tuple(name.strip() for name in names)
        check_columns(self.path.name, columns)
        return delimiter, columns

    def _list_lines(self, first: str) -> Iterator[str]:
        yield first
        yield from self._file


def check_columns(path: str, columns: Sequence[str]) -> None:
    """Raise TableColumnTwice if two columns have one name."""
    known: set[str] = set()
    for name in columns:
        if name and name in known:
            raise TableColumnTwice(path=path, column=name)
        known.add(name)


def protect_cell(text: str) -> str:
    """Return a cell that no spreadsheet reads as a formula: it gets an apostrophe in front.

    >>> protect_cell("=1+1"), protect_cell("a=b"), bare_cell(protect_cell("'=1"))
    ("'=1+1", 'a=b', "'=1")
    """
    begins = text[:1] in _FORMULAS or (text[:1] == "'" and text[1:2] in _APOSTROPHES)
    return f"'{text}" if text and begins else text


def bare_cell(text: str) -> str:
    """Return a cell without the apostrophe of `protect_cell`."""
    return text[1:] if len(text) > 1 and text[0] == "'" and text[1] in _APOSTROPHES else text


class RefusedRows:
    """Writes refused rows to a table that can be mended and given back.

    The file appears with the first refused row.
    """

    def __init__(self, path: Path, columns: Sequence[str], before: Sequence[str] = ()) -> None:
        """`before`: the cells of a row that precedes all others."""
        self.path = path
        self.count = 0
        self._columns = [name for name in columns if not name.startswith(IGNORED)]
        self._before = before
        path.unlink(missing_ok=True)  # of an earlier run
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add_row(self, line: int, cells: dict[str, str], error: PerdureError) -> None:
        """Add a row with the error for which it was refused."""
        self.add_reason(line, cells, explain_error(error))

    def add_reason(self, line: int, cells: dict[str, str], reason: str) -> None:
        """Add a row with the reason for which it was refused."""
        self.count += 1
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8", newline="")
            self._writer = csv.writer(self._file)
            self._writer.writerow((*self._columns, LINE, REASON))
            if self._before:
                self._writer.writerow(self._before)
        texts = [protect_cell(cells.get(name, "")) for name in self._columns]
        self._writer.writerow((*texts, str(line), reason))
        self._file.flush()


def explain_error(error: PerdureError) -> str:
    """The reason for which a row was refused, without its subject, which the row shows."""
    return error.reason if isinstance(error, InvalidRequest) else str(error)
