"""Rows, columns or cells of a table: `row=5-7`, `col=2-*`, `cell=4,1-6,2`, `row=3;7-9`.

Specification: RFC 7111. Positions count from 1; the header is row 1 and `*` is the last position.

>>> str(read_cells("cell=4,1-6,*;9,2-9,2"))
'cell=4,1-6,*;9,2'
>>> read_cells("row=3;0-2")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... at 6; expected a number from 1, or '*' (RFC 7111 section 2)
"""

from __future__ import annotations

import re

from perdure.parts.grammar import MOST, PartText, decode_text, read_number
from perdure.parts.port import Syntax
from perdure.parts.selectors import CSV, Cells

# rowsel     = "row=" singlespec 0*( ";" singlespec )
# colsel     = "col=" singlespec 0*( ";" singlespec )
# cellsel    = "cell=" cellspec 0*( ";" cellspec )
# singlespec = position [ "-" position ]
# cellspec   = cellrow "," cellcol [ "-" cellrow "," cellcol ]
# position   = number / "*"
_RULE = "RFC 7111 section 3"
_COUNT_RULE = "RFC 7111 section 2"
_AXIS = re.compile("(row|col|cell)=", re.ASCII | re.IGNORECASE)  # RFC 5234 section 2.3
_POSITION = re.compile(r"[0-9]++|\*", re.ASCII)

Place = tuple[int | None, ...]


def read_cells(text: str) -> Cells:
    """Read the rows, columns or cells that a text names. Raises MalformedPart."""
    whole = decode_text(text, _RULE)
    head = _AXIS.match(whole.plain)
    if head is None:
        raise whole.make_fault(0, "'row=', 'col=' or 'cell='", _RULE)
    axis, at = head[1].lower(), head.end()
    ranges: list[tuple[Place, Place]] = []
    while True:
        first, at = _read_place(whole, at, axis)
        last = first
        if whole.plain.startswith("-", at):
            last, at = _read_place(whole, at + 1, axis)
        ranges.append((first, last))
        if at == len(whole.plain):
            return Cells(axis, tuple(ranges))
        if whole.plain[at] != ";":
            raise whole.make_fault(at, "'-', ';' or the end", _RULE)
        if len(ranges) == MOST:
            raise whole.make_fault(at, f"the end: a part has at most {MOST} ranges", _RULE)
        at += 1


def _read_place(whole: PartText, at: int, axis: str) -> tuple[Place, int]:
    """Read a row, a column, or both separated by a comma; return them and the end index."""
    row, at = _read_position(whole, at)
    if axis != "cell":
        return (row,), at
    if not whole.plain.startswith(",", at):
        raise whole.make_fault(at, "',' and a column", _RULE)
    column, at = _read_position(whole, at + 1)
    return (row, column), at


def _read_position(whole: PartText, at: int) -> tuple[int | None, int]:
    found = _POSITION.match(whole.plain, at)
    if found is None:
        raise whole.make_fault(at, "a number from 1, or '*'", _RULE)
    if found[0] == "*":
        return None, found.end()
    value = read_number(whole, at, found[0], _RULE)
    if not value:
        raise whole.make_fault(at, "a number from 1, or '*'", _COUNT_RULE)
    return value, found.end()


SYNTAX = Syntax(
    name="row=, col= and cell= (RFC 7111)",
    media_types=("text/csv",),
    mark=re.compile("^(?:row|col|cell)=", re.ASCII | re.IGNORECASE),
    read=read_cells,
    forms={Cells: ("row=", "col=", "cell=")},
    specifications=(CSV,),
    schemes=("row", "col", "cell"),
    turn=30,
)
