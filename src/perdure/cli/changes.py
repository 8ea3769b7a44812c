"""Numbered changes: `changes`, `head`, `counts`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import PerdureCommand, here
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perdure.model.changes import Change, Epoch
    from perdure.registry import Registry

_PAGE = 1000
_SECONDS = 0.2  # between two looks for new changes


@click.command(cls=PerdureCommand)
@click.option("--since", metavar="N", help="Only changes after this one: 1042, or 3.1042.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="At most this many.")
@click.option("--follow", is_flag=True, help="Wait for further changes, until interrupted.")
def changes(since: str | None, limit: int | None, follow: bool) -> None:
    """List the changes of the registry in order, each with its number.

    With --json, each line is a public row of docs/reference/changes.md.
    """
    with here().open_registry() as registry:
        mark, left = registry.mark(since), limit
        while True:
            page = registry.changes(mark, limit=min(left or _PAGE, _PAGE))
            for change in page:
                _print_change(registry, change)
                mark = change.mark
            left = None if left is None else left - len(page)
            if left == 0 or not (page or follow):
                return
            if not page:
                time.sleep(_SECONDS)


def _print_change(registry: Registry, change: Change) -> None:
    from perdure.upkeep.changes.rows import make_public_row

    row = make_public_row(registry.records, change, _epochs_for(registry, change))
    here().print_answer(row, f"{change.mark} {_describe_row(row, change)}")


def _epochs_for(registry: Registry, change: Change) -> list[Epoch]:
    return registry.records.list_epochs() if change.number == 1 else []


def _describe_row(row: dict[str, Any], change: Change) -> str:
    """Describe a row for people."""
    if not change.is_public:
        return f"{change.at} {change.act}"
    what = row.get("name") or row.get("reason", "")
    if "first" in row:
        what = f"{row['first']} to {row['last']} ({change.count})"
    version = f" revision {change.revision}" if change.revision > 1 else ""
    return f"{change.at} {change.act} {what}{version}"


@click.command(cls=PerdureCommand)
def head() -> None:
    """Print the last change as one line of JSON, to keep out of reach of the registry.

    Later, 'perdure verify --against FILE' reports whether the past was rewritten since. A note on
    stderr says if this directory is a copy of a registry.
    """
    import msgspec

    from perdure.errors.changes import ChangesUnnumbered

    with here().open_registry() as registry:
        found, signs = registry.head(), registry.fence.list_signs()
    if signs:
        here().print_note(f"this is a copy of a registry, and writes nothing: {'; '.join(signs)}")
    if found is None:
        raise ChangesUnnumbered
    click.echo(msgspec.json.encode(found).decode())


@click.command(cls=PerdureCommand)
@click.option("--rebuild", is_flag=True, help="Count everything again.")
def counts(rebuild: bool) -> None:
    """Count the new names and the changes in each series on each day."""
    from perdure.cli.progress import show_progress

    with (
        here().open_registry() as registry,
        show_progress("changes", total=None, unit="changes") as bar,
    ):
        for taken, rows in _catch_up_counts(registry, rebuild=rebuild):
            bar(taken)
            for one in rows:
                text = (
                    f"{one.day} {one.series} {count_things(one.names, 'name')}, "
                    f"{count_things(one.changes, 'change')}"
                )
                here().print_answer(one, text)


def _catch_up_counts(registry: Registry, *, rebuild: bool) -> Iterator[tuple[int, Any]]:
    from perdure.upkeep.changes.counts import Counts
    from perdure.upkeep.changes.following import catch_up

    follower = Counts(registry.root)
    if rebuild:
        follower.reset()
    taken = 0
    for step in catch_up(registry.records, follower):
        taken = step.taken
        yield taken, ()
    yield taken, follower.list_counts()
