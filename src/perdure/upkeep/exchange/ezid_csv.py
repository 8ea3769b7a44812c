"""CSV of EZID's batch download: one row for each identifier, one column for each element.

How it works: the column `_id` has the identifier. Empty cells are elements that the identifier does
not have. EZID turns line breaks into blanks before it writes a cell, and so does this module.

Specification: EZID API, version 2, "Batch download".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordWithoutName, RowOverfull
from perdure.upkeep.exchange import ezid, rows
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)
from perdure.upkeep.exchange.texts import open_text

_FIRST = (ezid.ID, "_owner", "_created", "_updated", "_status", "_target")
"""Columns that come first if they are there."""


def read_rows(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the records of a download."""
    text = open_text(file, terms)
    first = text.readline()
    delimiter = rows.find_delimiter(first)
    found = rows.cut_rows(itertools.chain((first,), text), delimiter)
    names = [one.strip() for one in next(found, rows.TableRow(1, "", [])).cells]
    if ezid.ID not in names:
        yield ReadRecord(1, first, fault=RecordWithoutName(places=(ezid.ID,)))
        return
    at = names.index(ezid.ID)
    named = {place: name for place, name in enumerate(names) if place != at and name}
    for name in rows.REFUSED:
        named = {place: one for place, one in named.items() if one != name}
    for row in found:
        fault = row.fault
        if fault is None and len(row.cells) > len(names):
            fault = RowOverfull(cells=len(row.cells), columns=len(names))
        if fault is not None:
            yield ReadRecord(row.number, row.raw, fault=fault)
            continue
        cells = row.cells
        count = len(cells)
        elements = {name: cells[at] for at, name in named.items() if at < count}
        try:
            line = ezid.make_line(cells[at] if at < count else "", elements)
        except PerdureError as error:
            yield ReadRecord(row.number, row.raw, fault=error)
        else:
            yield ReadRecord(row.number, row.raw, line)


def describe_table(file: BinaryIO, terms: ReadingTerms) -> ReadingTerms:
    """Add the columns and the delimiter of a table to the terms."""
    text = open_text(file, terms)
    first = text.readline()
    delimiter = rows.find_delimiter(first)
    found = rows.cut_rows(itertools.chain((first,), text), delimiter)
    columns = terms.columns or tuple(next(found, rows.TableRow(1, "", [])).cells)
    return msgspec.structs.replace(terms, columns=columns, delimiter=delimiter)


def refuse_rows(refused: Sequence[tuple[ReadRecord, str]], terms: ReadingTerms) -> str:
    """Write refused rows under the names of the columns of their file."""
    written = []
    for record, reason in refused:
        row = next(rows.cut_rows([record.raw], terms.delimiter), None)
        cells = [record.raw.rstrip()] if row is None or row.fault is not None else row.cells
        written.append((cells, record.number, reason))
    return rows.write_refused(terms.columns, written)


class CsvWriting(Writing):
    """Writes a row for each identifier. All columns are known before the first row."""

    def __init__(self) -> None:
        self._columns: Sequence[str] = ()

    def begin(self, columns: Sequence[str]) -> str:
        known = [one for one in _FIRST if one in columns or one == ezid.ID]
        self._columns = (*known, *sorted(set(columns).difference(_FIRST)))
        return rows.write_row(self._columns)

    def list_columns(self, exported: ExportedRecord) -> Sequence[str]:
        return tuple(ezid.list_elements(exported))

    def write(self, exported: ExportedRecord) -> str:
        elements = ezid.list_elements(exported)
        elements[ezid.ID] = ezid.spell_identifier(str(exported.identifier))
        return rows.write_row(" ".join(elements.get(one, "").split()) for one in self._columns)


FORM = ExchangeForm(
    name="ezid-csv",
    title="CSV of EZID",
    suffixes=(".csv", ".tsv"),
    recognise=lambda head: ezid.ID in head.partition("\n")[0].replace('"', "").split(","),
    read=read_rows,
    describe_table=describe_table,
    refuse=refuse_rows,
    make_writing=CsvWriting,
)
