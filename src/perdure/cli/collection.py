"""Collections: `collection make`, `add`, `commit`, `list`, `check`, `diff`, `extract`.

What must stay true: a member that is not what the collection names is reported, and the command
ends with 1, but the run goes on. A long run can be stopped and resumed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, PerdureGroup, here
from perdure.cli.deposit import open_input, require_bytes
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.cli.receipts import print_receipt
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.model.collection import Collection
    from perdure.registry import Registry
    from perdure.upkeep.collection.drift import Drift
    from perdure.upkeep.collection.extracting import ExtractedMember
    from perdure.upkeep.collection.making import HeldCollection
    from perdure.upkeep.collection.resuming import RunLog
    from perdure.upkeep.collection.status import Report

_FORMS = ("json", "text", "csv", "turtle")
_REPORTS = ("text", "json", "html")
_form = click.option(
    "--form",
    type=click.Choice(_FORMS),
    metavar="FORM",
    help="Form of FILE: json, text, csv or turtle. Default: detected from the content.",
)
_no_manifest = click.option(
    "--no-manifest",
    is_flag=True,
    help="Do not add digest, length and type to members that this registry holds.",
)
_report = click.option(
    "--report",
    "form",
    type=click.Choice(_REPORTS),
    metavar="FORM",
    help="text, json or html. Default: text, or json with --json.",
)
_output = options.add_output()
_state = click.option(
    "--state",
    type=StatedPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Save progress there; the same command with the same FILE resumes the run.",
)


_ask = click.option(
    "--ask",
    is_flag=True,
    help="Ask other archives about their PWIDs, and read exact captures there.",
)


@click.group(cls=PerdureGroup)
def collection() -> None:
    """Collections: corpora and other lists of identifiers, held and versioned as one thing."""


@collection.command(cls=PerdureCommand)
@click.argument("file", type=options.FILE)
@click.option("--series", type=options.SERIES, help="Document series to mint in.")
@click.option("--title", metavar="TEXT", help="Title. Default: the title in FILE.")
@click.option("--creator", multiple=True, metavar="NAME", help="Who made it; may be repeated.")
@click.option("--purpose", metavar="TEXT", help="What it is for.")
@click.option("--date", metavar="DATE", help="Such as 2026-11-21. Default: that in FILE, or today.")
@_form
@_no_manifest
@_state
@options.once
def make(
    file: str,
    series: str | None,
    title: str | None,
    creator: tuple[str, ...],
    purpose: str | None,
    date: str | None,
    form: str | None,
    no_manifest: bool,
    state: Path | None,
    once: str | None,
) -> None:
    """Mint a collection of the identifiers in FILE (- for stdin), and print its identifier.

    FILE has one identifier on each line, or more detail in JSON, CSV or Turtle. The address of a
    capture at a web archive counts as its PWID. Members keep the order of FILE: `#member=1` is the
    first.
    """
    import msgspec

    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.collection import making

    with here().open_registry() as registry:
        found = _read_collection(registry, file, form)
        said = {"title": title, "creators": creator or None, "purpose": purpose, "date": date}
        given = {name: value for name, value in said.items() if value is not None}
        today = format_timestamp(registry.clock())[:10]
        found = msgspec.structs.replace(found, **{"date": found.date or today} | given)
        found = _add_manifest(registry, found, state, manifest=not no_manifest)
        authority = _choose_series(registry, series)
        receipt = making.mint_collection(registry, authority, found, once)
    _remove_state(state)
    print_receipt(receipt)


@collection.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("file", type=options.FILE)
@_form
@_no_manifest
@_state
@options.expect
def add(
    identifier: Identifier,
    file: str,
    form: str | None,
    no_manifest: bool,
    state: Path | None,
    expect: int | None,
) -> None:
    """Add the identifiers in FILE (- for stdin) to a collection, as its next version.

    They come after the members that the collection has; members that it has already stay as they
    are. The command fails if someone else has changed the collection meanwhile.
    """
    from perdure.upkeep.collection import making

    with here().open_registry() as registry:
        seen = making.load_held(registry, identifier)
        more = _read_collection(registry, file, form)
        more = _add_manifest(registry, more, state, manifest=not no_manifest)
        grown, count = making.add_members(seen.collection, more.members)
        receipt = making.commit_collection(registry, seen, grown, expect)
    _remove_state(state)
    print_receipt(receipt)
    here().print_note(
        f"{count_things(count, 'member')} added, {len(more.members) - count} were members already"
    )


@collection.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.argument("file", type=options.FILE)
@_form
@_no_manifest
@_state
@options.expect
def commit(
    identifier: Identifier,
    file: str,
    form: str | None,
    no_manifest: bool,
    state: Path | None,
    expect: int | None,
) -> None:
    """Make FILE (- for stdin) the next version of a collection.

    FILE is the complete collection, as `collection list --form` writes it, edited. You may add,
    remove and reorder members, so `#member=7` may be another member than before; earlier versions
    stay as they are. Title, creators, purpose and date stay if FILE does not give them. The command
    fails if someone else has changed the collection meanwhile.
    """
    from perdure.upkeep.collection import making

    with here().open_registry() as registry:
        seen = making.load_held(registry, identifier)
        found = making.fill_description(_read_collection(registry, file, form), seen.collection)
        found = _add_manifest(registry, found, state, manifest=not no_manifest)
        receipt = making.commit_collection(registry, seen, found, expect)
    _remove_state(state)
    print_receipt(receipt)


@collection.command("list", cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "--form",
    type=click.Choice(_FORMS),
    metavar="FORM",
    help="Write the complete collection as json, text, csv or turtle.",
)
@_output
def list_members(identifier: Identifier, form: str | None, output: str) -> None:
    """List the members of a collection: number, identifier, name or title."""
    import msgspec

    from perdure.upkeep.collection import forms, making

    with here().open_registry() as registry:
        seen = making.load_held(registry, identifier)
    if form is not None:
        with output_file(output) as into:
            into.write(
                forms.write_collection(seen.collection, form, identifier=str(seen.identifier))
            )
        return
    for number, member in enumerate(seen.collection.members, 1):
        shown = "\t".join(filter(None, (member.name, " ".join(member.title.split()))))
        here().print_answer(
            {"number": number} | msgspec.structs.asdict(member),
            f"{number}\t{member.identifier}\t{shown}".rstrip(),
        )


@collection.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@_report
@_output
@_state
@_ask
def check(
    identifier: Identifier, form: str | None, output: str, state: Path | None, ask: bool
) -> None:
    """Check every member of a collection, and report the state of each.

    Members that this registry holds are read, and parts are cut. PWIDs are looked up in the web
    archive of this registry, then in the registry of archives. The command fetches nothing unless
    you tell it to --ask other archives. Exits with 1 if a member is not what the collection names.
    You can compare a report in JSON with a later one: see `collection diff`.
    """
    from perdure.upkeep.collection import making

    with here().open_registry() as registry:
        seen = making.load_held(registry, identifier)
        report = _check_collection(registry, seen, state, ask=ask)
    _write_report(report, form, output)
    _remove_state(state)
    if report.failed_count:
        click.get_current_context().exit(exits.FINDINGS)


@collection.command(cls=PerdureCommand)
@click.argument("old")
@click.argument("new")
@_report
@_output
@_state
@_ask
def diff(old: str, new: str, form: str | None, output: str, state: Path | None, ask: bool) -> None:
    """Report what changed from OLD to NEW: two versions of a collection, or two checks.

    Each is an identifier, or a report that `collection check --report json` wrote. If OLD is a
    report and NEW an identifier, the collection is checked now. Exits with 1 if anything changed.
    """
    from perdure.upkeep.collection import drift, making

    with here().open_registry() as registry:
        before, after = _load_side(registry, old), _load_side(registry, new)
        if isinstance(before, making.HeldCollection):
            if not isinstance(after, making.HeldCollection):
                raise click.UsageError("a version can only be compared with another version")
            found = drift.compare_versions(
                before.collection,
                after.collection,
                before=str(before.identifier),
                after=str(after.identifier),
            )
        else:
            if isinstance(after, making.HeldCollection):
                after = _check_collection(registry, after, state, ask=ask)
            found = drift.compare_checks(before, after)
    _write_report(found, form, output)
    _remove_state(state)
    if found.changes:
        click.get_current_context().exit(exits.FINDINGS)


@collection.command(cls=PerdureCommand)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "-o",
    "--output",
    required=True,
    type=StatedPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="FILE.warc.gz or FILE.wacz.",
)
def extract(identifier: Identifier, output: Path) -> None:
    """Write the members of a collection that are kept here to a WARC file or a WACZ package.

    Records are copied unchanged, with their requests and metadata and the originals of revisits;
    pages come with all their resources. Documents that this registry holds become `resource`
    records. If a run was stopped or killed, the same command resumes it. Exits with 1 if a member
    or a resource of one is not kept here or is damaged; these are listed on stderr, and the rest is
    written.
    """
    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.collection import making, packaging

    is_package = output.name.endswith(".wacz")
    if not is_package and not output.name.endswith(".warc.gz"):
        raise click.BadParameter("use a name in .warc.gz or .wacz", param_hint="--output")
    partial = output.with_name(f"{output.name}.partial")
    with here().open_registry() as registry:
        seen = making.load_held(registry, identifier)
        with _open_log(registry, seen, output) as log:
            steps = _extract_members(registry, seen, partial, log)
            if is_package:
                with output_file(str(output)) as into:
                    packaging.write_package(
                        into, partial, seen, steps, format_timestamp(registry.clock())
                    )
                partial.unlink()
            else:
                partial.replace(output)
            log.remove_file()
    problems = 0
    for step in steps:
        for problem in step.problems:
            problems += 1
            shown = {"number": step.number, "problem": problem}
            here().print_failure(shown, f"member {step.number}: {problem}")
    records = sum(len(step.written) for step in steps)
    here().print_summary(
        {"members": len(steps), "written": records, "problems": problems, "file": str(output)},
        f"{count_things(len(steps), 'member')}, {count_things(records, 'record')} "
        f"and documents written, {count_things(problems, 'problem')}",
    )
    if problems:
        click.get_current_context().exit(exits.FINDINGS)


def _open_log(registry: Registry, seen: HeldCollection, output: Path) -> RunLog[ExtractedMember]:
    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.collection.extracting import ExtractedMember
    from perdure.upkeep.collection.resuming import RunLog, RunSubject

    begun = format_timestamp(registry.clock())
    about = RunSubject(
        run="extract", collection=str(seen.identifier), sha512=seen.sha512, begun=begun
    )
    return RunLog(output.with_name(f"{output.name}.state"), about, ExtractedMember)


def _extract_members(
    registry: Registry, seen: HeldCollection, partial: Path, log: RunLog[ExtractedMember]
) -> list[ExtractedMember]:
    from perdure.upkeep.collection import extracting

    total = len(seen.collection.members)
    with (
        extracting.open_partial(partial) as into,
        show_progress("members", total=total, unit="members") as bar,
    ):
        return extracting.MemberExtraction(registry, seen, into, log).run(watch=bar)


def _read_collection(registry: Registry, file: str, form: str | None) -> Collection:
    from perdure.archives.pwid import known
    from perdure.upkeep.collection import forms

    archives = known.load_archives(registry.settings, registry.root)

    def spell_identifier(text: str) -> str:
        if not text.startswith(("http://", "https://")):
            return text
        candidates = archives.read_playback_url(text)
        return str(candidates[0].pwid) if candidates else text

    with open_input(file) as source:
        data = source.read()
    require_bytes(file, len(data), "collection")
    return forms.read_collection(data, form, spell=spell_identifier)


def _add_manifest(
    registry: Registry, found: Collection, state: Path | None, *, manifest: bool
) -> Collection:
    import msgspec

    from perdure.upkeep.collection import runs

    if not manifest:
        return found
    with show_progress("members", total=len(found.members), unit="members") as bar:
        listed = runs.complete_members(registry, found.members, state=state, watch=bar)
    return msgspec.structs.replace(found, members=listed)


def _remove_state(state: Path | None) -> None:
    """Remove the state file: the result is safe, so no run has to resume."""
    if state is not None:
        state.unlink(missing_ok=True)


def _choose_series(registry: Registry, series: str | None) -> str:
    owned = registry.settings.series
    if series is None and len(owned) != 1:
        raise click.UsageError(f"--series is needed; owned: {', '.join(owned) or 'none'}")
    return series or owned[0]


def _check_collection(
    registry: Registry, seen: HeldCollection, state: Path | None, *, ask: bool = False
) -> Report:
    from perdure.upkeep.collection import runs

    with show_progress("members", total=len(seen.collection.members), unit="members") as bar:
        return runs.check_collection(registry, seen, state=state, ask=ask, watch=bar)


def _load_side(registry: Registry, text: str) -> HeldCollection | Report:
    """Read a report if there is such a file, otherwise the collection of an identifier."""
    from perdure.ids import parse
    from perdure.upkeep.collection import making, reports

    path = Path(text)
    if len(text) < 4096 and path.is_file():
        return reports.read_report(path.read_bytes())
    return making.load_held(registry, parse(text))


def _write_report(found: Report | Drift, form: str | None, output: str) -> None:
    from perdure.upkeep.collection import reports

    form = form or ("json" if here().as_json else "text")
    with output_file(output) as into:
        into.write(reports.write_report(found, form, line=here().as_json))
    if output != "-":
        here().print_note(reports.summarise_report(found))
