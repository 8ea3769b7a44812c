"""Making a copy of a registry the registry: `promote`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.upkeep.transfer.promoting import Promotion


@click.command(cls=PerdureCommand)
@options.highest
@click.option(
    "--predecessor",
    type=StatedPath(),
    metavar="REGISTRY",
    help="The registry itself, a directory or URL: its later names are reserved here.",
)
@click.option(
    "--snapshot",
    is_flag=True,
    help="Promote a registry that came back with a snapshot or image of its whole machine.",
)
@click.option(
    "--revoke-tokens",
    is_flag=True,
    help="Revoke all tokens: one that was revoked after the copy was made is valid in it.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
def promote(
    pairs: tuple[tuple[str, str], ...],
    predecessor: str | None,
    snapshot: bool,
    revoke_tokens: bool,
    dry_run: bool,
) -> None:
    """Make a copy of a registry the registry: a restored backup, or a directory that was moved.

    A copy answers, but writes nothing until it is promoted. The registry of which it is a copy must
    be lost, or stopped for good. It may have given out serial numbers that are unknown here, so
    none is given out before tomorrow (UTC), unless --highest says which ones are used, or
    --predecessor is the directory of the registry itself, which then becomes a copy. Nor does the
    copy know which tokens were revoked since: see --revoke-tokens.
    """
    from perdure import settings
    from perdure.model.timestamps import format_timestamp
    from perdure.registry import load_store, utc_now
    from perdure.upkeep.transfer import predecessors, promoting

    root = here().root
    chosen = settings.load_settings(root, os.environ)
    store = load_store(chosen.store)
    there: predecessors.Predecessor | None = None
    if predecessor is not None:
        is_url = predecessor.lower().startswith(("http://", "https://"))
        there = (
            predecessors.PredecessorUrl(predecessor)
            if is_url
            else predecessors.PredecessorDirectory(Path(predecessor), store)
        )
    done = promoting.promote_copy(
        root,
        store,
        chosen,
        now=format_timestamp(utc_now()),
        highest=options.read_highest(pairs),
        predecessor=there,
        is_snapshot=snapshot,
        revoke_all=revoke_tokens,
        dry_run=dry_run,
    )
    here().print_answer(done, "")
    for note in _describe_promotion(done, dry_run=dry_run):
        here().print_note(note)


def _describe_promotion(done: Promotion, *, dry_run: bool) -> Iterator[str]:
    """Say what a promotion did, and what is left to do."""
    if dry_run:
        yield "nothing was changed; without --dry-run:"
    if done.signs:
        yield f"this directory was a copy: {'; '.join(done.signs)}"
    if done.epoch is not None:
        after = f" after change {done.previous.mark} of its predecessor" if done.previous else ""
        yield f"it is the registry now: epoch {done.epoch} begins{after}"
    for series in done.closed:
        yield (
            f"no serial number of {series} is given out on {done.day} (UTC), since its highest one "
            f"is unknown; to tell it: perdure promote --highest {series}=NUMBER"
        )
    for series, number in done.highest.items():
        yield f"serial numbers of {series} go on after {number} at least"
    if done.is_complete:
        yield "the predecessor gives out no further name: it is a copy now"
    if done.reserved:
        yield (
            "reserved, since this registry did not know them: "
            f"{count_things(done.reserved, 'name')} of the predecessor"
        )
    for name in done.withdrawn:
        yield (
            f"{name} was withdrawn in the predecessor since, and is served here: take the "
            "withdrawals over with 'perdure -C PREDECESSOR export | perdure import -', or repeat "
            "them (and erasures in any case), before you serve this registry"
        )
    if done.unlisted:
        yield (
            f"{count_things(done.unlisted, 'name')} of the "
            "predecessor cannot be listed over HTTP; see its log"
        )
    if done.epoch is not None and not done.is_looked_up:
        yield (
            "names without serial numbers (ARKs, handles, chosen names) that the predecessor gave "
            "out after that change are unknown here; look into its receipts and logs before you "
            "give out such names"
        )
    yield from _describe_tokens(done, dry_run=dry_run)


def _describe_tokens(done: Promotion, *, dry_run: bool) -> Iterator[str]:
    if done.revoked:
        yield f"revoked: {_list_tokens(done.revoked)}"
    if done.tokens:
        since = f" after change {done.previous.mark}" if done.previous else ""
        all_of_them = "; --revoke-tokens revokes all of them" if dry_run else ""
        yield (
            f"valid: {_list_tokens(done.tokens)}; if one of them was revoked{since}, this registry "
            f"does not know it: revoke it again with 'perdure token revoke NAME'{all_of_them}"
        )
    if done.unknown_tokens:
        yield (
            f"unknown here: {_list_tokens(done.unknown_tokens)}, made in the predecessor since; "
            "make new ones with 'perdure token create'"
        )


def _list_tokens(names: tuple[str, ...]) -> str:
    return f"{count_things(len(names), 'token')} ({', '.join(names)})"
