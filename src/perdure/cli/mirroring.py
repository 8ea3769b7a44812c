"""Mirrors of other registries: `mirror add|run|status|compare|follow|accept`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits
from perdure.cli.command import PerdureGroup, here
from perdure.cli.paths import StatedPath
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.model.mirroring import Contradiction
    from perdure.upkeep.mirroring.status import MirrorStatus


@click.group(cls=PerdureGroup)
def mirror() -> None:
    """Follow another registry, and serve what it has under the same names."""


@mirror.command()
@click.argument("url")
@click.option(
    "--series",
    "scopes",
    multiple=True,
    metavar="SERIES",
    help="Mirror only this series; repeat it for several. Default: everything.",
)
@click.option(
    "--token-file",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file with a token of that registry that has the right mirror.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="URL",
    help="Another mirror, from which bytes are fetched if the origin does not have them.",
)
@click.option("--base-url", default="", metavar="URL", help="The public address of this mirror.")
@click.option(
    "--from",
    "backup",
    type=StatedPath(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A backup of that registry, to start from.",
)
@click.option(
    "--captures",
    is_flag=True,
    help="Mirror its archive files, too: they may be many terabytes.",
)
def add(
    url: str,
    scopes: tuple[str, ...],
    token_file: Path | None,
    sources: tuple[str, ...],
    base_url: str,
    backup: Path | None,
    *,
    captures: bool,
) -> None:
    """Make the directory a mirror of the registry at URL.

    'perdure serve' follows it and answers readers; 'perdure mirror run' only follows it. The token
    needs the right mirror in that registry, for all names or for the series.
    """
    from perdure.model.timestamps import format_timestamp
    from perdure.registry import utc_now
    from perdure.upkeep.mirroring.adding import add_mirror

    added = add_mirror(
        here().root,
        url,
        secret=token_file.read_text("utf-8").strip() if token_file else "",
        scopes=scopes,
        sources=sources,
        base_url=base_url,
        backup=backup,
        captures=captures,
        now=format_timestamp(utc_now()),
    )
    here().print_summary(added, f"{here().root.resolve()} is a mirror of {added.url}")


@mirror.command()
@click.option("--once", is_flag=True, help="Take over what there is now, then end.")
def run(once: bool) -> None:
    """Follow the origin until interrupted; 'perdure serve' does so itself.

    One process follows at a time, and is the only one that writes to the directory.
    """
    from perdure.upkeep.children import watch_parent
    from perdure.upkeep.mirroring.captures import CaptureMirror
    from perdure.upkeep.mirroring.following import MirrorFollower

    stopping, has_parent = threading.Event(), watch_parent()
    with (
        here().open_registry() as registry,
        MirrorFollower(registry) as follower,
        CaptureMirror(registry) as captures,
    ):

        def stop(*_: object) -> None:
            stopping.set()
            follower.interrupt()
            captures.interrupt()

        signal.signal(signal.SIGTERM, stop)
        if not once:
            captures.start()
            follower.follow(
                lambda: has_parent() and not stopping.is_set(),
                pause=lambda s: _wait(stopping, s),
            )
            return
        replayed = 0
        for page in follower.catch_up():
            replayed += page.replayed
            if stopping.is_set():
                break
        captures.catch_up(lambda: list(follower.catch_up()))
    done = {"at": str(page.at) if page.at else None, "replayed": replayed}
    here().print_summary(done, f"{count_things(replayed, 'change')} replayed, now at {page.at}")


def _wait(stopping: threading.Event, seconds: float) -> None:
    stopping.wait(seconds)


@mirror.command()
def status() -> None:
    """Show how far the mirror is behind its origin, and why it has stopped if it has.

    Exits with 1 if it has stopped at a contradiction.
    """
    from perdure.errors.mirroring import NotMirror
    from perdure.upkeep.mirroring.status import measure_mirror

    with here().open_registry() as registry:
        found = measure_mirror(registry)
    if found is None:
        raise NotMirror(directory=str(here().root))
    here().print_answer(found, "\n".join(f"{name:12}{text}" for name, text in _write_lines(found)))
    if found.contradiction is not None:
        click.get_current_context().exit(exits.FINDINGS)


def _write_lines(found: MirrorStatus) -> Iterator[tuple[str, str]]:
    yield "origin", found.origin
    yield "mirrored", ", ".join(found.scopes) if found.scopes != ("*",) else "everything"
    for source in found.sources:
        yield "source", source
    told = f", the origin is at {found.origin_head}" if found.origin_head else ""
    yield "last change", f"{found.at or 'none yet'}{told}"
    if found.behind is not None:
        yield "behind", count_things(found.behind, "change", grouped=True)
    if found.lag is not None:
        yield "complete", f"{found.lag:.0f} seconds ago"
    if (captures := found.captures) is not None:
        files = f"{captures.files} of {count_things(captures.announced, 'archive file')}"
        closed = ", closed to readers" if captures.access == "closed" else ""
        why = f": {captures.fault}" if captures.fault else ""
        yield "captures", f"{files}{closed}{why}"
    if found.missing:
        yield "missing", f"the bytes of {count_things(found.missing, 'document', grouped=True)}"
    yield "state", f"{found.verdict}{f': {found.fault}' if found.fault else ''}"
    if found.contradiction is not None:
        yield from _write_contradiction(found.contradiction)
    for one in found.accepted:
        yield "accepted", f"change {one.mark} ({one.rule}) at {one.at}: {one.reason}"


def _write_contradiction(found: Contradiction) -> Iterator[tuple[str, str]]:
    import msgspec

    yield "stopped", f"at change {found.mark} ({found.rule}), {found.at}: {found.fault}"
    yield "ours", msgspec.json.encode(found.ours).decode() if found.ours else "none"
    yield "theirs", msgspec.json.encode(found.theirs).decode() if found.theirs else "none"


@mirror.command()
@click.argument("url", required=False)
@click.option(
    "--sample",
    metavar="N",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Compare this many documents, drawn at random.",
)
@click.option("--all", "is_full", is_flag=True, help="Compare all documents.")
@click.option(
    "--token-file",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file with a token of the other registry that has the right mirror.",
)
@click.option("--dry-run", is_flag=True, help="Report damage, and repair nothing.")
def compare(
    url: str | None, sample: int, is_full: bool, token_file: Path | None, dry_run: bool
) -> None:
    """Challenge the registry at URL over the bytes of documents, and repair damage on both sides.

    URL is by default the origin of this mirror. Neither side can answer without reading the bytes,
    since each challenge has a new random number. Damaged bytes are replaced by those of the other
    side if these have the promised digest. Exits with 1 if damage is left.
    """
    from perdure.upkeep.mirroring.comparing import compare_bytes, open_other
    from perdure.upkeep.mirroring.meeting import meet_registry

    secret = token_file.read_text("utf-8").strip() if token_file else None
    with here().open_registry() as registry:
        other = open_other(registry, url, secret)
        if not registry.fence.find_origin():
            meet_registry(registry, other)
        done = compare_bytes(
            registry, other, sample=None if is_full else sample, is_repairing=not dry_run
        )
        for one in done.damaged:
            here().print_answer(one, f"{one.identifier} {one.side} {one.outcome}")
    here().print_note(
        f"{count_things(done.compared, 'document')} compared with {other.url}, "
        f"{count_things(len(done.damaged), 'damage')}, "
        f"{count_things(done.skipped, 'document')} not comparable"
    )
    if any(one.outcome != "repaired" for one in done.damaged):
        click.get_current_context().exit(exits.FINDINGS)


@mirror.command()
@click.argument("url")
@click.option(
    "--token-file",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file with a token of that registry that has the right mirror.",
)
def follow(url: str, token_file: Path | None) -> None:
    """Follow the registry at URL from now on, which goes on where the origin ended.

    If it is a promoted mirror with all changes that are here, the mirror goes on with the next one.
    If it is a successor to which the origin handed names over, the mirror starts again from
    nothing, and what it had is kept in aside/. Any other registry is refused. Stop a server first.
    """
    from perdure.model.timestamps import format_timestamp
    from perdure.registry import utc_now
    from perdure.upkeep.mirroring.turning import turn_mirror

    turned = turn_mirror(
        here().root,
        url,
        secret=token_file.read_text("utf-8").strip() if token_file else "",
        now=format_timestamp(utc_now()),
    )
    how = "goes on with" if turned.continues else "starts again with"
    here().print_summary(turned, f"the mirror {how} {turned.origin}, not {turned.former}")


@mirror.command()
@click.option("--reason", required=True, metavar="TEXT", help="Why it may go on; it is kept.")
def accept(reason: str) -> None:
    """Let the mirror go on after the contradiction at which it stopped.

    If one change broke a rule, this change may break it, and no other. If the past was rewritten,
    the mirror starts again from nothing, and what it had is kept in aside/: stop a server first.
    """
    from perdure.model.timestamps import format_timestamp
    from perdure.registry import utc_now
    from perdure.upkeep.mirroring.adding import accept_contradiction

    state = accept_contradiction(here().root, reason, format_timestamp(utc_now()))
    found = state.evidence[-1]
    here().print_summary(found, f"accepted: change {found.mark}, {found.fault}")
