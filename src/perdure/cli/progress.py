"""Progress bars: on stderr, and only if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


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
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)

        def advance(done: float, what: str | None = None) -> None:
            shown.update(task, completed=done, description=what)

        yield advance


def _show_nothing(done: float, what: str | None = None) -> None:
    """Show nothing: stderr is not a terminal."""
