"""Collections: `collection make`, `add`, `commit`, `list`, `check`, `diff`, `extract`.

What must stay true: a member that is not what the collection names is reported, and the command
ends with 1, but the run goes on. A long run can be stopped and resumed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perdure.cli import exits, options
from perdure.cli.command import Command, Group, here
from perdure.cli.deposit import opened
from perdure.cli.output import output_file
from perdure.cli.progress import progress
from perdure.cli.receipts import answer

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.model.collection import Collection
    from perdure.registry import Registry
    from perdure.upkeep.collection.drift import Drift
    from perdure.upkeep.collection.extracting import Step
    from perdure.upkeep.collection.making import Held
    from perdure.upkeep.collection.resuming import Log
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
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Save progress there; the same command with the same FILE resumes the run.",
)


_ask = click.option(
    "--ask",
    is_flag=True,
    help="Ask other archives about their PWIDs, and read exact captures there.",
)


@click.group(cls=Group)
def collection() -> None:
    """Collections: corpora and other lists of identifiers, held and versioned as one thing."""


@collection.command(cls=Command)
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

    from perdure.upkeep.collection import making
    from perdure.writing.registrar import timestamp

    with here().registry() as registry:
        found = _read(registry, file, form)
        said = {"title": title, "creators": creator or None, "purpose": purpose, "date": date}
        given = {name: value for name, value in said.items() if value is not None}
        today = timestamp(registry.clock())[:10]
        found = msgspec.structs.replace(found, **{"date": found.date or today} | given)
        found = _completed(registry, found, state, manifest=not no_manifest)
        authority = _series(registry, series)
        receipt = making.mint(registry, authority, found, once)
    _done(state)
    answer(receipt)


@collection.command(cls=Command)
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

    with here().registry() as registry:
        seen = making.held(registry, identifier)
        more = _read(registry, file, form)
        more = _completed(registry, more, state, manifest=not no_manifest)
        grown, count = making.added(seen.collection, more.members)
        receipt = making.commit(registry, seen, grown, expect)
    _done(state)
    answer(receipt)
    here().note(f"{count} members added, {len(more.members) - count} were members already")


@collection.command(cls=Command)
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

    with here().registry() as registry:
        seen = making.held(registry, identifier)
        found = making.filled(_read(registry, file, form), seen.collection)
        found = _completed(registry, found, state, manifest=not no_manifest)
        receipt = making.commit(registry, seen, found, expect)
    _done(state)
    answer(receipt)


@collection.command("list", cls=Command)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "--form",
    type=click.Choice(_FORMS),
    metavar="FORM",
    help="Write the complete collection as json, text, csv or turtle.",
)
@_output
def list_(identifier: Identifier, form: str | None, output: str) -> None:
    """List the members of a collection: number, identifier, name or title."""
    import msgspec

    from perdure.upkeep.collection import forms, making

    with here().registry() as registry:
        seen = making.held(registry, identifier)
    if form is not None:
        with output_file(output) as into:
            into.write(forms.write(seen.collection, form, identifier=str(seen.identifier)))
        return
    for number, member in enumerate(seen.collection.members, 1):
        shown = "\t".join(filter(None, (member.name, " ".join(member.title.split()))))
        here().answer(
            {"number": number} | msgspec.structs.asdict(member),
            f"{number}\t{member.identifier}\t{shown}".rstrip(),
        )


@collection.command(cls=Command)
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

    with here().registry() as registry:
        seen = making.held(registry, identifier)
        report = _checked(registry, seen, state, ask=ask)
    _write(report, form, output)
    _done(state)
    if report.failed:
        click.get_current_context().exit(exits.FINDINGS)


@collection.command(cls=Command)
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

    with here().registry() as registry:
        before, after = _either(registry, old), _either(registry, new)
        if isinstance(before, making.Held):
            if not isinstance(after, making.Held):
                raise click.UsageError("a version can only be compared with another version")
            found = drift.of_versions(
                before.collection,
                after.collection,
                before=str(before.identifier),
                after=str(after.identifier),
            )
        else:
            if isinstance(after, making.Held):
                after = _checked(registry, after, state, ask=ask)
            found = drift.of_checks(before, after)
    _write(found, form, output)
    _done(state)
    if found.changes:
        click.get_current_context().exit(exits.FINDINGS)


@collection.command(cls=Command)
@click.argument("identifier", type=options.IDENTIFIER)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
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
    from perdure.upkeep.collection import making, packaging
    from perdure.writing.registrar import timestamp

    is_package = output.name.endswith(".wacz")
    if not is_package and not output.name.endswith(".warc.gz"):
        raise click.BadParameter("use a name in .warc.gz or .wacz", param_hint="--output")
    partial = output.with_name(f"{output.name}.partial")
    with here().registry() as registry:
        seen = making.held(registry, identifier)
        with _log(registry, seen, output) as log:
            steps = _extracted(registry, seen, partial, log)
            if is_package:
                with output_file(str(output)) as into:
                    packaging.write(into, partial, seen, steps, timestamp(registry.clock()))
                partial.unlink()
            else:
                partial.replace(output)
            log.finish()
    problems = 0
    for step in steps:
        for problem in step.problems:
            problems += 1
            shown = {"number": step.number, "problem": problem}
            here().fail(shown, f"member {step.number}: {problem}")
    records = sum(len(step.written) for step in steps)
    here().summary(
        {"members": len(steps), "written": records, "problems": problems, "file": str(output)},
        f"{len(steps)} members, {records} records and documents written, {problems} problems",
    )
    if problems:
        click.get_current_context().exit(exits.FINDINGS)


def _log(registry: Registry, seen: Held, output: Path) -> Log[Step]:
    from perdure.upkeep.collection.extracting import Step
    from perdure.upkeep.collection.resuming import About, Log
    from perdure.writing.registrar import timestamp

    begun = timestamp(registry.clock())
    about = About(run="extract", collection=str(seen.identifier), sha512=seen.sha512, begun=begun)
    return Log(output.with_name(f"{output.name}.state"), about, Step)


def _extracted(registry: Registry, seen: Held, partial: Path, log: Log[Step]) -> list[Step]:
    from perdure.upkeep.collection import extracting

    total = len(seen.collection.members)
    with (
        extracting.start(partial) as into,
        progress("members", total=total, unit="members") as bar,
    ):
        return extracting.Extraction(registry, seen, into, log).run(watch=bar)


def _read(registry: Registry, file: str, form: str | None) -> Collection:
    from perdure.archives.pwid import known
    from perdure.upkeep.collection import forms

    archives = known.load(registry.settings, registry.root)

    def spell(text: str) -> str:
        if not text.startswith(("http://", "https://")):
            return text
        candidates = archives.from_playback(text)
        return str(candidates[0].pwid) if candidates else text

    with opened(file) as source:
        return forms.read(source.read(), form, spell=spell)


def _completed(
    registry: Registry, found: Collection, state: Path | None, *, manifest: bool
) -> Collection:
    import msgspec

    from perdure.upkeep.collection import runs

    if not manifest:
        return found
    with progress("members", total=len(found.members), unit="members") as bar:
        listed = runs.manifest(registry, found.members, state=state, watch=bar)
    return msgspec.structs.replace(found, members=listed)


def _done(state: Path | None) -> None:
    """Remove the state file: the result is safe, so no run has to resume."""
    if state is not None:
        state.unlink(missing_ok=True)


def _series(registry: Registry, series: str | None) -> str:
    owned = registry.settings.series
    if series is None and len(owned) != 1:
        raise click.UsageError(f"--series is needed; owned: {', '.join(owned) or 'none'}")
    return series or owned[0]


def _checked(registry: Registry, seen: Held, state: Path | None, *, ask: bool = False) -> Report:
    from perdure.upkeep.collection import runs

    with progress("members", total=len(seen.collection.members), unit="members") as bar:
        return runs.check(registry, seen, state=state, ask=ask, watch=bar)


def _either(registry: Registry, text: str) -> Held | Report:
    """Read a report if there is such a file, otherwise the collection of an identifier."""
    from perdure.ids import parse
    from perdure.upkeep.collection import making, reports

    path = Path(text)
    if len(text) < 4096 and path.is_file():
        return reports.read(path.read_bytes())
    return making.held(registry, parse(text))


def _write(found: Report | Drift, form: str | None, output: str) -> None:
    from perdure.upkeep.collection import reports

    form = form or ("json" if here().as_json else "text")
    with output_file(output) as into:
        into.write(reports.write(found, form, line=here().as_json))
    if output != "-":
        here().note(reports.summary(found.counts()))
