"""A table of one's own (CSV, TSV): each row is an identifier, and a mapping says what columns mean.

How it works: the names of the columns are in the first row, unless they are given. One column has
the identifier; columns of locations and aliases may occur several times; any other column is a
name-value pair of the metadata (`perdure.upkeep.exchange.mapping`). Empty cells are left out. The
delimiter is the comma, the semicolon or the tab, whichever the first row has most of.

What must stay true: a row is known by the number of its first line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordWithoutName, RowOverfull
from perdure.errors.importing import TableWithoutIds
from perdure.ids import find_scheme
from perdure.model.plain_words import read_pairs, write_pairs
from perdure.model.records import Record
from perdure.policy.handles import addresses
from perdure.upkeep.exchange import mapping, rows
from perdure.upkeep.exchange.ezid_csv import describe_table, refuse_rows
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)
from perdure.upkeep.exchange.texts import open_text


def read_rows(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the rows of a table.

    Raises TableWithoutIds if no column has identifiers, MappingColumnMissing.
    """
    text = open_text(file, terms)
    first = text.readline()
    delimiter = rows.find_delimiter(first)
    found = rows.cut_rows(itertools.chain((first,), text), delimiter)
    columns = terms.columns or tuple(next(found, rows.TableRow(1, "", [])).cells)
    plan = _Plan(tuple(one.strip() for one in columns), terms.mapping)
    for row in found:
        fault = row.fault
        if fault is None and len(row.cells) > plan.width and any(row.cells[plan.width :]):
            fault = RowOverfull(cells=len(row.cells), columns=plan.width)
        if fault is not None:
            yield ReadRecord(row.number, row.raw, fault=fault)
        elif any(row.cells):
            try:
                yield ReadRecord(row.number, row.raw, plan.make_line(row.cells))
            except PerdureError as error:
                yield ReadRecord(row.number, row.raw, fault=error)


class _Plan:
    """The meanings of the columns of a table."""

    def __init__(self, columns: tuple[str, ...], given: Sequence[tuple[str, str]]) -> None:
        self.width = len(columns)
        meanings = [
            (at, meaning)
            for at, meaning in mapping.find_meanings(columns, given)
            if meaning not in rows.REFUSED
        ]
        at = next((at for at, one in meanings if one.lower() in mapping.IDENTIFIER), None)
        if at is None:
            raise TableWithoutIds(columns=columns, known=tuple(mapping.IDENTIFIER))
        self._at = at
        self._label = mapping.IDENTIFIER[dict(meanings)[at].lower()]
        others = [(one, meaning) for one, meaning in meanings if one != at]
        self._locations = [one for one, meaning in others if meaning.lower() in mapping.LOCATION]
        self._aliases = [one for one, meaning in others if meaning.lower() == mapping.ALIAS]
        special = {*self._locations, *self._aliases}
        self._pairs = [(one, meaning) for one, meaning in others if one not in special]

    def make_line(self, cells: Sequence[str]) -> dict[str, Any]:
        """Make the line of a row. Raises RecordWithoutName."""
        count = len(cells)
        text = cells[self._at].strip() if self._at < count else ""
        if not text:
            raise RecordWithoutName(places=tuple(mapping.IDENTIFIER))
        line: dict[str, Any] = {"id": text if find_scheme(text) else f"{self._label}{text}"}
        for name, places in (("locations", self._locations), ("aliases", self._aliases)):
            listed = [cells[at].strip() for at in places if at < count and cells[at].strip()]
            if name == "locations":
                listed = [addresses.read_address(one) or one for one in listed]
            if listed:
                line[name] = listed
        pairs: dict[str, str] = {}
        for at, name in self._pairs:
            value = cells[at].strip() if at < count else ""
            if value:
                pairs[name] = f"{pairs[name]}; {value}" if name in pairs else value
        if pairs:
            line["metadata"] = pairs
        return line


class TableWriting(Writing):
    """Writes a row for each identifier: name, locations, aliases, pairs, and its description as
    words of Dublin Core."""

    def __init__(self) -> None:
        self._columns: Sequence[str] = ()

    def begin(self, columns: Sequence[str]) -> str:
        count = max(columns.count("url"), 1)
        others = sorted({one for one in columns if one not in ("id", "url", mapping.ALIAS)})
        aliases = [mapping.ALIAS] * columns.count(mapping.ALIAS)
        self._columns = ("id", *["url"] * count, *aliases, *others)
        return rows.write_row(self._columns)

    def list_columns(self, exported: ExportedRecord) -> Sequence[str]:
        record = exported.record
        many = (*["url"] * len(record.locations), *[mapping.ALIAS] * len(record.aliases))
        return (*many, *(one for one in _list_pairs(record) if _is_column(one)))

    def write(self, exported: ExportedRecord) -> str:
        record = exported.record
        locations = iter(one.uri for one in record.locations)
        aliases = iter(record.aliases)
        pairs = _list_pairs(record)
        cells = []
        for column in self._columns:
            if column == "id":
                cells.append(str(exported.identifier.resource))
            elif column == "url":
                cells.append(next(locations, ""))
            elif column == mapping.ALIAS:
                cells.append(next(aliases, ""))
            else:
                cells.append(pairs.get(column, ""))
        return rows.write_row(cells)


def _list_pairs(record: Record) -> dict[str, str]:
    """List the pairs of a record, and what its description says beyond them in plain words."""
    if record.about is None:
        return dict(record.metadata)
    said = write_pairs(read_pairs(record.metadata))
    words = write_pairs(record.about)
    return {name: value for name, value in words.items() if name not in said} | record.metadata


def _is_column(name: str) -> bool:
    """Return True if a pair can have a column: its name has no other meaning there."""
    lower = name.lower()
    reserved = {*mapping.IDENTIFIER, *mapping.LOCATION, mapping.ALIAS, mapping.OMIT, *rows.REFUSED}
    return lower not in reserved and name == name.strip()


FORM = ExchangeForm(
    name="csv",
    title="table (CSV, TSV)",
    suffixes=(".csv", ".tsv"),
    recognise=lambda head: len(rows.find_delimiter(head)) > 0,
    read=read_rows,
    describe_table=describe_table,
    refuse=refuse_rows,
    make_writing=TableWriting,
)
