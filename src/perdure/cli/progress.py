"""Progress bars: on stderr, and only if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


class Bar(Protocol):
    """A callable that reports how far the work has come."""

    def __call__(self, done: float, what: str | None = None) -> None:
        """Report `done` of the total, and `what` is being done if that changes."""


@contextmanager
def show_progress(what: str, *, total: float | None, unit: str = "bytes") -> Iterator[Bar]:
    """Show a bar for `total` bytes or other units (None if not known), or for a share of 1."""
    if not sys.stderr.isatty():
        yield _show_nothing
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = {"bytes": DownloadColumn(), "share": TaskProgressColumn()}.get(
        unit, MofNCompleteColumn()
    )
    rate = _make_rate_column(unit)
    columns = (
        TextColumn("{task.description}"), BarColumn(), amount, *rate, TimeRemainingColumn()
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)

        def advance(done: float, what: str | None = None) -> None:
            shown.update(task, completed=done, description=what)

        yield advance


def _make_rate_column(unit: str) -> tuple[ProgressColumn, ...]:
    """The column that says how many are done in a second; none for a share of the whole."""
    from rich.progress import ProgressColumn, Task, TransferSpeedColumn
    from rich.text import Text

    if unit in ("bytes", "share"):
        return (TransferSpeedColumn(),) if unit == "bytes" else ()

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    return (RateColumn(),)


def _show_nothing(done: float, what: str | None = None) -> None:
    """Show nothing: stderr is not a terminal."""
