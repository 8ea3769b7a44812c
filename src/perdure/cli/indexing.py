"""The index of words, brought up to date before the command line searches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.progress import show_progress

if TYPE_CHECKING:
    from perdure.registry import Registry

_SEVERAL = 1000  # changes after which a bar shows the progress


def update_word_index(registry: Registry, *, again: bool = False) -> None:
    """Bring the index up to date, with a bar if that takes long."""
    from perdure.upkeep.searching.updating import update_index

    with show_progress("indexing", total=None, unit="changes") as bar:
        for step in update_index(registry, again=again):
            if step.taken >= _SEVERAL:
                bar(step.taken, f"indexing, {step.behind or 0} to go")
