"""The first rows of a table, or those around a part of it, as a page shows them.

How it works: the first rows are cut from the beginning of the bytes. Others are found by the index
of the table, which another process makes if the table is large.
"""

from __future__ import annotations

from typing import NamedTuple

from perdure.extractors.port import Source
from perdure.extractors.text.coding import find_coding
from perdure.extractors.text.table import EXTRACTOR
from perdure.extractors.text.table_index import open_table
from perdure.extractors.text.table_text import read_field
from perdure.reading.extraction import PartExtraction

_MOST_FIELDS = 50
_LONGEST_FIELD = 200  # characters


class TableWindow(NamedTuple):
    """Rows of a table, counted from 1, with the names of its columns."""

    names: list[str]
    first: int
    rows: list[list[str]]
    length: int
    """All rows."""


def read_rows(parts: PartExtraction, source: Source, first: int, most: int) -> TableWindow:
    """Read the rows from `first` on, counted from 1; row 1 has the names of the columns.

    Raises Undecodable, OverBudget or PartNotSupported.
    """
    if source.length >= EXTRACTOR.lengthy_from:
        parts.list_extents(source)  # makes the index
    table = open_table(source, find_coding(source), parts.indexes)
    first = min(max(first, 1), max(table.rows, 1))

    def read(start: int, stop: int) -> list[list[str]]:
        return [
            [read_field(one, table.coding.codec)[:_LONGEST_FIELD] for one in fields]
            for fields in table.read_fields(start, min(stop, table.rows), most=_MOST_FIELDS)
        ]

    return TableWindow(
        (read(0, 1) or [[]])[0], first, read(first - 1, first - 1 + most), table.rows
    )
