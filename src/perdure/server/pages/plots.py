"""Plots of numbers over time, as values for the template `plots.html`. Pure.

How it works: a plot is an SVG of 100 by 100 units that its page stretches; labels are text beside
it. Columns stand for counts of a day or month, and lines for rates and times. The scale begins at
zero and ends at a round number, so that plots of different days compare.

What must stay true: every number of a plot is in the table beside it, as a text; two lines differ
by more than their colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

_GAP = 0.2  # of the width of a column
_ROUND = (1, 2, 5, 10)


class PlottedColumn(msgspec.Struct, frozen=True):
    """A column, in units of the plot."""

    x: float
    y: float
    width: float
    height: float


class PlottedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line, in pieces: it is interrupted where a value is missing."""

    name: str
    """What it shows, in English."""
    pieces: tuple[str, ...]
    """The points of each piece as SVG writes them."""


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """A plot with its table."""

    columns: tuple[PlottedColumn, ...] = ()
    lines: tuple[PlottedLine, ...] = ()
    rows: tuple[tuple[str, ...], ...]
    """The label and the numbers of each row of the table, as texts."""
    top: str
    """The number at the upper end of the scale."""
    first: str
    last: str
    """The labels of both ends of the time."""


def plot_columns(rows: Sequence[tuple[str, int]]) -> Plot:
    """Plot a count for each label.

    >>> plot = plot_columns([("1997-09", 0), ("1997-10", 50), ("1997-11", 90)])
    >>> plot.top, [column.height for column in plot.columns], plot.columns[1].x
    ('100', [0.0, 50.0, 90.0], 36.667)
    """
    top = round_up(max((count for _, count in rows), default=0))
    width = 100 / max(len(rows), 1)
    return Plot(
        columns=tuple(
            PlottedColumn(
                round(at * width + width * _GAP / 2, 3),
                round(100 - 100 * count / top, 3),
                round(width * (1 - _GAP), 3),
                round(100 * count / top, 3),
            )
            for at, (_, count) in enumerate(rows)
        ),
        rows=tuple((label, f"{count:,}".replace(",", "\u202f")) for label, count in rows),
        top=f"{top:,.0f}".replace(",", "\u202f"),
        first=rows[0][0] if rows else "",
        last=rows[-1][0] if rows else "",
    )


def plot_lines(labels: Sequence[str], values: Sequence[tuple[str, Sequence[float | None]]]) -> Plot:
    """Plot lines, each with its name and a value for each label.

    >>> plot = plot_lines(["10:00", "10:01", "10:02"], [("median", [1.0, None, 3.0])])
    >>> plot.top, plot.lines[0].pieces, plot.rows[1]
    ('5', ('0,80 0,80', '100,40 100,40'), ('10:01', '–'))
    """
    known = [one for _, line in values for one in line if one is not None]
    top = round_up(max(known, default=0))
    step = 100 / max(len(labels) - 1, 1)
    return Plot(
        lines=tuple(
            PlottedLine(name=name, pieces=tuple(_cut_line(line, step, top)))
            for name, line in values
        ),
        rows=tuple(
            (label, *(write_figure(line[at]) for _, line in values))
            for at, label in enumerate(labels)
        ),
        top=write_figure(top),
        first=labels[0] if labels else "",
        last=labels[-1] if labels else "",
    )


def _cut_line(line: Sequence[float | None], step: float, top: float) -> list[str]:
    pieces: list[list[str]] = [[]]
    for at, value in enumerate(line):
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{at * step:.5g},{100 - 100 * value / top:.5g}")
    # a point alone, twice, is a line that its round ends show
    return [" ".join(piece if piece[1:] else piece * 2) for piece in pieces if piece]


def round_up(value: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is not less than a value.

    >>> [round_up(one) for one in (0, 0.03, 7, 10, 1234)]
    [1, 0.05, 10, 10, 2000]
    """
    if value <= 0:
        return 1
    power = math.floor(math.log10(value))
    unit: float = 10**power if power >= 0 else 1 / 10**-power
    return next(one * unit for one in _ROUND if one * unit >= value * (1 - 1e-12))


def write_figure(value: float | None) -> str:
    """Write a measured value with three digits.

    >>> [write_figure(one) for one in (None, 0, 0.01234, 1234.5)]
    ['–', '0', '0.0123', '1230']
    """
    return "–" if value is None else f"{float(f'{value:.3g}'):.10g}"
