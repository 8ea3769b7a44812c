"""Checking and preserving a registry: `verify`, `rebuild`, `backup`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.model.changes import ChainHead
    from perdure.registry import Registry
    from perdure.upkeep.changes.intact import IntactChanges
    from perdure.upkeep.helpers import Helpers

_LARGE = 16 << 20  # bytes of a registry for which helper processes gain more than they cost


@click.command(cls=PerdureCommand)
@click.argument("pattern", required=False, type=options.PATTERN)
@click.option(
    "--against",
    metavar="FILE",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    help="A head that 'perdure head' printed: report whether the past was rewritten since.",
)
@click.option(
    "--all",
    "is_full",
    is_flag=True,
    help="Also check the heads of the bytes, sealed segments, the registry file, and references.",
)
@click.option(
    "--signatures",
    "only_signatures",
    is_flag=True,
    help="Judge the signatures of documents instead; bytes are not read again.",
)
@click.option(
    "--bundle",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --signatures: those in a file of 'perdure export-signatures'; needs no registry.",
)
@click.option(
    "--allowed-signers",
    "allowed",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --bundle: the list of keys that you trust, instead of that in the bundle.",
)
@click.option(
    "--authorities",
    type=StatedPath(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --bundle: certificates of time-stamping authorities that you trust, in PEM.",
)
def verify(
    pattern: NameSet | None,
    against: Path | None,
    is_full: bool,
    only_signatures: bool,
    bundle: Path | None,
    allowed: Path | None,
    authorities: Path | None,
) -> None:
    """Read all bytes of the registry again, or those of PATTERN, and compare their digests.

    Without PATTERN, also check all numbered changes, and that each record is as its change left it.
    With --all, check everything that perdure stores: the head of each record in the segments (its
    name, version, type, length and digests), bytes that no record names, the inventories of sealed
    segments, the structure of the registry file, its index of references, references to names of
    this registry that do not exist, and the index of captures, whose entries must lead to records
    of archive files ('perdure archive check' also reads their content). With PATTERN and --all,
    check this for the records of PATTERN and for the complete segments that contain their bytes,
    without captures.

    If PATTERN is a citation (citing@origin=cited), check instead whether the cited part is quoted
    at this place, and print the verdict.

    Prints one line for each problem. Exits with 1 if there are any.

    With --signatures, prints one line for each signature in the registry, or of the names of
    PATTERN, with its verdict. Exits with 1 if one of them does not count.
    """
    if only_signatures or bundle or allowed or authorities:
        from perdure.cli import signing

        if against is not None or is_full or (bundle and (pattern or not only_signatures)):
            raise click.UsageError("--signatures goes with PATTERN or --bundle, and nothing else")
        if bundle is not None:
            signing.verify_bundle(bundle, allowed, authorities)
        elif allowed or authorities:
            raise click.UsageError("--allowed-signers and --authorities go with --bundle")
        else:
            signing.verify_signatures(pattern)
        return
    if pattern is not None and pattern.example.is_citation:
        from perdure.cli import quotations

        if is_full or against is not None:
            raise click.UsageError("a citation is verified without --all and --against")
        with here().open_registry() as registry:
            quotations.verify_citation(registry, pattern.example)
        return
    sharing = _fork_helpers() if is_full and pattern is None else nullcontext()
    with sharing as helpers, here().open_registry() as registry:
        head = None if against is None else _read_head(against)
        _verify_registry(registry, pattern, head, is_full=is_full, helpers=helpers)


def _read_head(file: Path) -> ChainHead:
    """Read a saved head. Raises InvalidRequest."""
    import msgspec

    from perdure.errors.changes import MalformedHead
    from perdure.model.changes import ChainHead

    try:
        return msgspec.json.decode(file.read_bytes(), type=ChainHead)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedHead(file=str(file), fault=str(error)) from error


@contextmanager
def _fork_helpers() -> Iterator[Helpers | None]:
    """Fork a helper process for each processor, if the registry is large enough to need them.

    Call this before the registry is opened.
    """
    from perdure.upkeep import full_audit
    from perdure.upkeep.helpers import MOST, count_cores, fork_helpers

    root, count = here().root, min(count_cores(), MOST)
    if count < 2 or full_audit.measure_size(root) < _LARGE:
        yield None
        return
    with fork_helpers(count, partial(full_audit.open_work, root)) as helpers:
        yield helpers


def _verify_registry(
    registry: Registry,
    pattern: NameSet | None,
    against: ChainHead | None = None,
    *,
    is_full: bool,
    helpers: Helpers | None = None,
) -> None:
    from perdure.upkeep import audit, full_audit
    from perdure.upkeep.changes.intact import IntactChanges

    if pattern is not None:
        pattern = registry.listings.require_known(pattern)
    total = None if pattern else sum(length for _, length, _ in registry.records.list_segments())
    checks_changes = pattern is None or against is not None
    bytes_only = pattern is None and not is_full and _has_changes(registry)
    intact = IntactChanges(registry.records)
    count = size = bad = erased = 0
    named = set()
    with show_progress("verifying", total=total or None) as bar:
        if bytes_only:  # the store looks for them in one go, however many records have none
            bar(0, "looking for records with bytes")
        if is_full:
            findings = full_audit.audit_registry(
                registry, within=pattern, report=bar, intact=intact, helpers=helpers
            )
        else:
            findings = audit.verify_digests(
                registry.records, registry.bytes, within=pattern, bytes_only=bytes_only
            )
        for found in findings:
            count, size = count + (found.offset > 0), size + found.length
            erased += bool(found.erased)
            if not is_full:
                bar(size, "verifying")
            if found.problem:
                named.add(found.identifier)
                bad += 1
                here().print_answer(found, f"{found.identifier}: {found.problem}")
    changes, note = _verify_changes(registry, against, intact) if checks_changes else ({}, "")
    bad_changes = changes.pop("problems", 0)
    if bad_changes and bytes_only:  # now read the records that the store left out
        for found in audit.find_damaged(registry.records):
            if found.identifier not in named:
                bad += 1
                here().print_answer(found, f"{found.identifier}: {found.problem}")
    notes = [_describe_check(count, size, erased, bad)]
    if pattern is not None and count == 0:
        notes = [f"nothing was checked: no bytes of {pattern} are held here"]
    notes += [note] if checks_changes else []
    bad += bad_changes
    told = {"checked": count, "erased": erased, "bytes": size, "problems": bad} | changes
    if pattern is None:
        _note_verification(registry, bad)
    here().print_answer(told, "")
    for note in notes:
        here().print_note(note)
    if bad:
        click.get_current_context().exit(exits.FINDINGS)


def _describe_check(count: int, size: int, erased: int, bad: int) -> str:
    """The result of a check in words."""
    some = f", {erased} of them erased" if erased else ""
    checked = f"{count_things(count, 'representation')} with {count_things(size, 'byte')}"
    return f"{checked} checked{some}, {count_things(bad, 'problem')}"


def _has_changes(registry: Registry) -> bool:
    """Return True if the check of the changes reads every record."""
    from perdure.errors import PerdureError

    try:
        return registry.head() is not None
    except PerdureError:  # which the check of the changes reports
        return False


def _note_verification(registry: Registry, problems: int) -> None:
    """Note for `perdure status` that the complete registry was verified; a copy stays as it is."""
    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.milestones import Milestone, note_verification

    if not registry.fence.list_signs():
        at = format_timestamp(registry.clock())
        note_verification(registry.root, Milestone(at=at, problems=problems))


def _verify_changes(
    registry: Registry, against: ChainHead | None, intact: IntactChanges
) -> tuple[dict[str, Any], str]:
    """Check numbered changes and report each problem. Returns the totals for the final summary.

    The records of `intact` changes are not read again.
    """
    from perdure.upkeep.changes.walking import check_changes

    head = registry.head()
    if head is None and against is None:
        return {"changes": None}, "changes have no numbers yet; the next write gives them numbers"
    count = lost = bad = 0
    with show_progress("changes", total=None, unit="changes") as bar:
        for found in check_changes(registry.records, against=against, intact=intact):
            lost += found.lost
            if found.problem:
                bad += 1
                where = f"change {found.mark}" if found.mark else "changes"
                flaw = {"change": found.mark and str(found.mark), "problem": found.problem}
                here().print_answer(flaw, f"{where}: {found.problem}")
            else:
                count += 1
                bar(count)
    gone = f", {count_things(lost, 'revision')} lost before a rebuild" if lost else ""
    at = f" up to {head.mark}" if head else ""
    value = {"changes": count, "head": head, "lost": lost, "problems": bad}
    return (
        value,
        f"{count_things(count, 'change')} checked{at}, {count_things(bad, 'problem')}{gone}",
    )


@click.command(cls=PerdureCommand)
@options.highest
def rebuild(pairs: tuple[tuple[str, str], ...]) -> None:
    """Rebuild the registry file from the segments, if it is damaged or lost.

    The segments do not contain locations, metadata, history and tokens: these come from the old
    file, as far as it can be read. The old file is kept in aside/. Stop every server and writer
    first. Exits with 1 if something could not be read. If it is then not known which names were
    lost, no serial number is given out before tomorrow (UTC), unless --highest says which ones are
    used.
    """
    from perdure import settings
    from perdure.model.timestamps import format_timestamp
    from perdure.registry import load_bytes, load_store, utc_now
    from perdure.upkeep.transfer.renewal import rebuild_registry as renew

    root = here().root
    chosen = settings.load_settings(root, os.environ)
    store, open_bytes = load_store(chosen.store), load_bytes(chosen.bytes)
    highest = options.read_highest(pairs)
    problems = []
    done = {"segments": 0, "records": 0}
    with show_progress("segments", total=None, unit="steps") as bar:
        now = format_timestamp(utc_now())
        steps = renew(
            root, store, open_bytes, now=now, highest=highest, copy_fence=chosen.copy_fence
        )
        for step in steps:
            bar(step.done, step.phase)
            done[step.phase] = step.done
            if step.problem:
                problems.append(step.problem)
                here().print_failure({"problem": step.problem}, step.problem)
    here().print_summary(
        done | {"problems": problems},
        f"{count_things(done['segments'], 'segment')} read, "
        f"{count_things(done['records'], 'record')} taken from the old file",
    )
    if problems:
        click.get_current_context().exit(exits.FINDINGS)


@click.command(cls=PerdureCommand)
@click.argument("target", type=StatedPath(file_okay=False, path_type=Path))
@click.option(
    "--link",
    is_flag=True,
    help="Make hard links to complete segments, on the same disk, instead of copies.",
)
@click.option(
    "--check", is_flag=True, help="Verify the copy, as 'perdure -C TARGET verify --all' does."
)
def backup(target: Path, link: bool, check: bool) -> None:
    """Copy the registry to TARGET while it is in use.

    If TARGET is an earlier backup, only new data is copied. The copy is itself a registry
    directory: to restore it, serve it or copy it back (docs/how-to/back-up.md).
    """
    from perdure.registry import Registry
    from perdure.upkeep.transfer.backup import back_up

    with (
        here().open_registry() as registry,
        show_progress("registry", total=1, unit="share") as bar,
    ):
        steps = back_up(
            registry.root,
            target,
            registry.store,
            registry.open_bytes,
            link=link,
            copy_fence=registry.settings.copy_fence,
        )
        for step in steps:
            bar(step.share, step.phase)
    here().print_summary({"backup": str(target)}, f"backed up to {target}")
    if check:
        with Registry(target) as copy:
            _verify_registry(copy, None, is_full=True)
