"""How everything here is measured: ours against another's, in alternation, by medians.

How it works: both do the same work in turn, round after round in one process, so that whatever
slows the machine down slows both. Each round gives one ratio; the median of the ratios counts.

What must stay true: a benchmark reports a `Ratio` with its target, never a bare time: absolute
numbers say more about the machine than about the code.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

_WIDTH = 140
"""Columns of a table in a file, where no terminal says how many there are."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much more than another we do in the same time."""

    name: str
    ours: float
    """What we do, in `unit`; more is better."""
    other: float
    """What the other does, in `unit`."""
    unit: str
    ratio: float
    """Median over the rounds of ours divided by the other's of the same round."""
    target: float

    @property
    def ok(self) -> bool:
        return self.ratio >= self.target


def compare(
    name: str,
    ours: Callable[[], object],
    other: Callable[[], object],
    *,
    work: int,
    unit: str,
    target: float,
    rounds: int = 15,
) -> Ratio:
    """Run `ours` and `other` in alternation, each doing `work` units of work per call."""
    ours(), other()  # what happens once only, such as filling caches and importing
    gc.collect()
    gc.disable()
    try:
        pairs = [(_processor_seconds(ours), _processor_seconds(other)) for _ in range(rounds)]
    finally:
        gc.enable()
    return Ratio(
        name=name,
        ours=work / statistics.median(mine for mine, _ in pairs),
        other=work / statistics.median(theirs for _, theirs in pairs),
        unit=unit,
        ratio=statistics.median(theirs / mine for mine, theirs in pairs),
        target=target,
    )


def _processor_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def show(ratios: Iterable[Ratio]) -> bool:
    """Print a table of the ratios; gives whether all of them reach their targets."""
    rows = list(ratios)
    table = Table("", "ours", "other", "unit", "ratio", "target", "")
    for row in rows:
        table.add_row(
            row.name,
            f"{row.ours:,.0f}",
            f"{row.other:,.0f}",
            row.unit,
            f"{row.ratio:.2f}",
            f"≥ {row.target:.2f}",
            "[green]ok[/]" if row.ok else "[red]missed[/]",
        )
    Console(width=None if sys.stdout.isatty() else _WIDTH).print(table)
    return all(row.ok for row in rows)
