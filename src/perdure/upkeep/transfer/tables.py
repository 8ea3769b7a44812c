"""Import from a table (CSV): each row becomes a line of an import.

How it works: the names of the columns say what they contain: `id`, or the scheme of the identifiers
(`handle`, `doi`, `ark`, `pdi`); `url` or `location`, which may occur several times; any other name
is that of a name-value pair of the metadata. Empty cells are left out, and so are columns without a
name. The names are in the first row, unless they are given. The delimiter is the comma, the
semicolon or the tab, whichever the first row has most of. `detect_charset` says its charset.

What must stay true: row *n* of a table is line *n* of the import, so that faults name the right one
(a cell with line breaks in it is one row).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from perdure.errors.depositing import TableNotText, TableUnreadable
from perdure.errors.importing import TableWithoutIds
from perdure.formats import find_python_codec
from perdure.formats.detect import Sampler, detect_type
from perdure.ids import find_scheme

_DELIMITERS = ",;\t"
_PIECE = 1 << 20  # bytes
_LABELS = {
    "id": "",
    "identifier": "",
    "pdi": "pdi:",
    "handle": "hdl:",
    "doi": "doi:",
    "ark": "ark:",
}
_REFUSED = ("_line", "_reason")
"""Columns of rows that were refused, mended and given back."""
_LOCATIONS = ("url", "uri", "location")


def read_table(table: IO[str], columns: Sequence[str] = ()) -> Iterator[bytes]:
    """Yield the lines of an import. `columns` are the names, if the first row has none.

    Raises TableWithoutIds if no column has identifiers.
    """
    first = table.readline()
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader(_put_back(first, table), delimiter=delimiter)
    names = [one.strip() for one in columns or next(rows, [])]
    at = next((place for place, name in enumerate(names) if name.lower() in _LABELS), None)
    if at is None:
        raise TableWithoutIds(columns=tuple(names), known=tuple(_LABELS))
    if not columns:
        yield b"\n"  # in the place of the names
    for row in rows:
        yield msgspec.json.encode(_make_line(names, at, row)) + b"\n" if any(row) else b"\n"


def _put_back(first: str, table: IO[str]) -> Iterator[str]:
    yield first
    yield from table


def _make_line(names: Sequence[str], at: int, row: Sequence[str]) -> dict[str, object]:
    """Make the line of a row; `at` is the place of the identifier."""
    locations: list[str] = []
    metadata: dict[str, str] = {}
    text = row[at].strip() if at < len(row) else ""
    label = _LABELS[names[at].lower()]
    line: dict[str, object] = {"id": text if find_scheme(text) is not None else f"{label}{text}"}
    for place, (name, cell) in enumerate(zip(names, row, strict=False)):
        value = cell.strip()
        if place == at or not value or not name or name in _REFUSED:
            continue
        if name.lower() in _LOCATIONS:
            locations.append(value)
        else:
            metadata[name] = value
    if locations:
        line["locations"] = locations
    if metadata:
        line["metadata"] = metadata
    return line


# Charsets, and rows that were refused
# ------------------------------------


def detect_charset(path: Path) -> tuple[str, str]:
    """Return the charset of a table and Python's name for it. Raises TableUnreadable."""
    sampler = Sampler()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                sampler.feed(piece)
    except OSError as error:
        raise TableUnreadable(path=path.name, fault=error.strerror or str(error)) from None
    sample = sampler.take_sample()
    charset = detect_type(sample, name="table.csv").charset
    codec = find_python_codec(charset) if charset else None
    if charset is None or codec is None:
        raise TableNotText(path=path.name)
    marked = charset == "utf-8" and sample.head.startswith(b"\xef\xbb\xbf")
    usual = {"us-ascii": "utf-8", "iso-8859-1": "cp1252"}  # of programs on Windows
    return charset, "utf-8-sig" if marked else usual.get(charset.lower(), codec)


def write_refused_rows(
    table: IO[str], target: Path, columns: Sequence[str], reasons: Mapping[int, str]
) -> None:
    """Write rows of a table, by their numbers, to a table that can be mended and given back.

    `columns` are the names, if the first row has none.
    """
    first = table.readline()
    delimiter = max(_DELIMITERS, key=first.count)
    rows = csv.reader(_put_back(first, table), delimiter=delimiter)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        names = [one for one in columns or next(rows, []) if one not in _REFUSED]
        writer.writerow((*names, *_REFUSED))
        for number, row in enumerate(rows, 1 if columns else 2):
            if number in reasons:
                cells = [*row, *[""] * len(names)][: len(names)]
                writer.writerow((*cells, str(number), " ".join(reasons[number].split())))
