"""Moving a registry to another store: `move`."""

from __future__ import annotations

import os

import click

from perdure.cli.command import PerdureCommand, here
from perdure.cli.progress import show_progress


@click.command(cls=PerdureCommand)
@click.option(
    "--to",
    "to_store",
    default="",
    metavar="STORE",
    help="The new store of records: sqlite, or an address such as postgresql://db.example/perdure.",
)
@click.option(
    "--bytes",
    "to_bytes",
    default="",
    metavar="BYTES",
    help="The new store of bytes: segments, or an address such as s3://bucket/prefix.",
)
@click.option("--abandon", is_flag=True, help="Give up the move that was begun here.")
def move(to_store: str, to_bytes: str, abandon: bool) -> None:
    """Move the registry to another store of records, or of bytes, or both.

    Others read and write meanwhile. At the end, writes are refused for some seconds (503); then the
    registry is in the new place, with the same names, numbers, changes and chain, and the old place
    refuses to be written. Servers of this directory start again by themselves; directories of other
    nodes need the new address in their perdure.toml.

    The copy is compared with the registry, every revision and every byte, before the registry
    leaves its place. If the command is interrupted, run it again: it continues. Without
    options, it goes on with the move that was begun.
    """
    from perdure.upkeep.places.moving import abandon_move, move_registry

    if abandon and (to_store or to_bytes):
        raise click.UsageError("--abandon goes with no other option")
    root = here().root
    if abandon:
        abandon_move(root)
        here().print_note("the move was given up; the registry stays in its place")
        return
    with show_progress("moving", total=1, unit="share") as advance:
        phase = ""
        for progress in move_registry(
            root, to_store=to_store, to_bytes=to_bytes, environment=dict(os.environ)
        ):
            if progress.phase != phase:
                phase = progress.phase
                here().print_note(phase)
            advance(progress.share, phase)
