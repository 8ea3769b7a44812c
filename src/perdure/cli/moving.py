"""Moving identifiers in and out, and finding duplicates: `import`, `export`, `dedupe`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import click

from perdure.cli import exits, options, sources
from perdure.cli.command import PerdureCommand, here, to_json
from perdure.cli.damage import DamageReport
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath
from perdure.cli.progress import Bar, show_progress
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.model.commands import Joining
    from perdure.registry import Registry
    from perdure.upkeep.exchange.opening import SourceChoice
    from perdure.upkeep.transfer.blocks import Fault
    from perdure.upkeep.transfer.importing import ImportSource
    from perdure.upkeep.transfer.previewing import RecordChange

    _OpenSource = Callable[[], AbstractContextManager[ImportSource]]

_TABLE = StatedPath(exists=True, dir_okay=False)
_FOLDER = StatedPath(file_okay=False, path_type=Path)


@click.command("import", cls=PerdureCommand)
@click.argument("file", type=options.FILE)
@sources.from_form
@sources.with_map
@click.option(
    "--save-map", type=sources.NEW_FILE, metavar="FILE", help="Save the meanings for --map @FILE."
)
@sources.with_charset
@click.option("--add", "how", flag_value="add", default="add", help="Only add data (default).")
@click.option("--merge", "how", flag_value="merge", help="Data of lines wins, member by member.")
@click.option("--replace", "how", flag_value="replace", help="Fields of lines replace those here.")
@click.option("--apply", is_flag=True, help="Merge or replace; without this it is only shown.")
@sources.with_undo
@click.option("--atomic", is_flag=True, help="If one line is bad, import nothing.")
@sources.with_errors
@sources.with_refused
@click.option("--files", type=_FOLDER, help="Base of the paths in lines. Default: that of FILE.")
@click.option("--csv", "is_table", is_flag=True, help="The same as --from csv.")
@sources.with_columns
def import_file(
    file: str,
    form: str | None,
    entries: str | None,
    save_map: Path | None,
    charset: str | None,
    how: str,
    apply: bool,
    undo: Path | None,
    atomic: bool,
    errors: str | None,
    refused: Path | None,
    files: Path | None,
    is_table: bool,
    columns: str | None,
) -> None:
    """Import the identifiers in FILE (- for stdin), in the format of docs/reference/jsonl.md.

    FILE may also be a table (CSV, TSV) of `id` (or `handle`, `doi`, `ark`), `url`, and names of
    metadata; or a file of another system: a batch or dump of a Handle.Net server, a download of
    EZID, a dump of arklet or DataCite, a deposit of Crossref, BibTeX, RIS, CSL-JSON
    (docs/reference/exchange.md). Its form is recognised, or named by --from. It may be compressed.

    A bad line is reported with its number, and the import goes on. With --refused, bad records are
    written to a file that you can mend and import. Lines that were imported before change nothing,
    so you may repeat an import; an interrupted import resumes where it stopped. Exits with 1 if a
    line was bad.

    A line that contradicts the registry is bad, unless you --merge or --replace. These show what
    would change. With --apply, they change it, and write the file that undoes it before they do:
    `perdure import --replace --apply FILE.undo.jsonl`.
    """
    from perdure.model.commands import Joining

    joining = Joining(how)
    _check_joining(file, joining, apply=apply, undo=undo)
    with contextlib.ExitStack() as opened:
        choice = opened.enter_context(
            sources.choose_source(
                file,
                form=form or ("csv" if is_table or columns else ""),
                entries=entries,
                charset=charset,
                columns=columns,
                files=files,
            )
        )
        if save_map is not None:
            _save_mapping(choice, save_map)
        source = partial(sources.open_source, file, choice, files)
        bad: dict[int, str] = {}
        try:
            if joining is not Joining.ADD and not apply:
                _show_changes(source, joining, errors=errors, bad=bad)
                return
            if joining is not Joining.ADD:
                _write_undo(source, joining, undo or Path(f"{file}.undo.jsonl"))
            _import_lines(source, joining, atomic=atomic, errors=errors, bad=bad)
        finally:
            sources.write_refused(choice, refused, bad)


def _check_joining(file: str, how: Joining, *, apply: bool, undo: Path | None) -> None:
    """Raise UsageError if options of different ways of importing are combined."""
    from perdure.model.commands import Joining

    if how is Joining.ADD:
        if apply or undo:
            raise click.UsageError("--apply and --undo need --merge or --replace")
    elif file == "-":
        raise click.UsageError("--merge and --replace read FILE twice, so it cannot be stdin")


def _save_mapping(choice: SourceChoice, target: Path) -> None:
    from perdure.upkeep.exchange.mapping import write_mapping

    if not choice.terms.mapping:
        raise click.UsageError("--save-map needs --map")
    target.write_text(write_mapping(choice.terms.mapping), "utf-8")


@click.command(cls=PerdureCommand)
@click.argument("file", type=_TABLE)
@sources.from_form
@sources.with_map
@sources.with_charset
@click.option("--apply", is_flag=True, help="Change the records; without this it is only shown.")
@sources.with_undo
@sources.with_errors
@sources.with_refused
@sources.with_columns
def update(
    file: str,
    form: str | None,
    entries: str | None,
    charset: str | None,
    apply: bool,
    undo: Path | None,
    errors: str | None,
    refused: Path | None,
    columns: str | None,
) -> None:
    """Change many known identifiers by FILE: a table (CSV), or a file of any form of `import`.

    If a row gives locations, they replace those of the identifier; all other data is merged. It
    shows what would change. With --apply it changes it, and writes the file that undoes it before
    it does: `perdure import --replace --apply FILE.undo.jsonl`.

    A row with an unknown identifier is bad. Bad rows are reported with their lines, and the others
    are carried out. With --refused they are written to a table that you can mend and give back.
    Exits with 1 if a row was bad.
    """
    from perdure.model.commands import Joining

    if not form and Path(file).suffix.lower() not in (".jsonl", ".json"):
        form = "csv"
    bad: dict[int, str] = {}
    with sources.choose_source(
        file, form=form or "", entries=entries, charset=charset, columns=columns, files=None
    ) as choice:
        source = partial(sources.open_source, file, choice, None)
        try:
            if apply:
                _write_undo(source, Joining.UPDATE, undo or Path(f"{file}.undo.jsonl"))
                _import_lines(source, Joining.UPDATE, atomic=False, errors=errors, bad=bad)
            else:
                _show_changes(source, Joining.UPDATE, errors=errors, bad=bad)
        finally:
            sources.write_refused(choice, refused, bad)


def _import_lines(
    open_source: _OpenSource,
    how: Joining,
    *,
    atomic: bool,
    errors: str | None,
    bad: dict[int, str] | None = None,
) -> None:
    import gc

    from perdure.upkeep.transfer.importing import import_lines

    gc.set_threshold(100_000)  # many rows are alive at a time, without cycles to be found
    accepted = refused = 0
    with contextlib.ExitStack() as opened:
        registry = opened.enter_context(here().open_registry())
        source = opened.enter_context(open_source())
        log = opened.enter_context(click.open_file(errors, "a")) if errors else None
        total = source.path.stat().st_size if source.path and not source.key else None
        bar = opened.enter_context(show_progress("reading", total=total))
        try:
            for step in import_lines(registry, source, how=how, atomic=atomic):
                bar(step.read, step.phase)
                for fault in step.faults:
                    _print_fault(fault, source.unit, log)
                    if bad is not None:
                        bad[fault.line] = fault.error["message"]
                accepted, refused = step.accepted, step.refused
        except KeyboardInterrupt:
            here().print_note(_describe_interruption(accepted, atomic=atomic))
            raise
    here().print_summary(
        {"accepted": accepted, "refused": refused},
        f"{count_things(accepted, 'identifier')} imported, {count_things(refused, 'line')} refused",
    )
    if refused:
        click.get_current_context().exit(exits.FINDINGS)


def _describe_interruption(accepted: int, *, atomic: bool) -> str:
    if atomic:
        return "interrupted; repeat the command to start again"
    return (
        f"interrupted after {count_things(accepted, 'identifier')}; "
        "repeat the command to go on from there"
    )


def _show_changes(
    open_source: _OpenSource,
    how: Joining,
    *,
    errors: str | None = None,
    bad: dict[int, str] | None = None,
) -> None:
    """Print what an import would change."""
    from perdure.upkeep.transfer.blocks import Fault
    from perdure.upkeep.transfer.previewing import preview_lines

    changed = refused = 0
    with contextlib.ExitStack() as opened:
        registry = opened.enter_context(here().open_registry())
        source = opened.enter_context(open_source())
        log = opened.enter_context(click.open_file(errors, "a")) if errors else None
        for one in preview_lines(registry, source, how):
            if isinstance(one, Fault):
                refused += 1
                _print_fault(one, source.unit, log)
                if bad is not None:
                    bad[one.line] = one.error["message"]
            else:
                changed += 1
                print_change(one)
    here().print_summary(
        {"changed": changed, "refused": refused},
        f"{count_things(changed, 'identifier')} would change, "
        f"{count_things(refused, 'line')} refused; --apply does it",
    )
    if refused:
        click.get_current_context().exit(exits.FINDINGS)


def print_change(change: RecordChange) -> None:
    """Print the difference that a change makes to a record."""
    lines = [f"{change.identifier}{' (new)' if change.is_new else ''}"]
    for field in change.fields:
        lines += [f"  - {field.name}: {one}" for one in _list_texts(field.before, field.after)]
        lines += [f"  + {field.name}: {one}" for one in _list_texts(field.after, field.before)]
    here().print_answer(change, "\n".join(lines))


def _list_texts(value: Any, other: Any) -> list[str]:
    """Return as JSON what only `value` has: members of an object, elements of a list."""
    if isinstance(value, dict):
        beside = other if isinstance(other, dict) else {}
        return [to_json({name: one}) for name, one in value.items() if beside.get(name) != one]
    if isinstance(value, list | tuple):
        others = other if isinstance(other, list | tuple) else ()
        return [to_json(one) for one in value if one not in others]
    return [] if value is None else [to_json(value)]


def _write_undo(open_source: _OpenSource, how: Joining, undo: Path) -> None:
    """Write the lines that undo an import, durably, before it begins."""
    from perdure.upkeep.transfer.blocks import Fault
    from perdure.upkeep.transfer.previewing import preview_lines

    try:
        target = undo.open("xb")
    except FileExistsError:
        raise click.UsageError(
            f"{undo} exists: it undoes an earlier import; move it, or give --undo"
        ) from None
    with target, here().open_registry() as registry, open_source() as source:
        for one in preview_lines(registry, source, how):
            if not isinstance(one, Fault):
                target.write(one.undo_line)
        target.flush()
        os.fsync(target.fileno())


def _print_fault(fault: Fault, unit: str, log: IO[Any] | None) -> None:
    told = {unit: fault.line} | fault.error
    if log is not None:
        log.write(to_json(told) + "\n")
    repair = f"; {fault.error['repair']}" if fault.error["repair"] else ""
    here().print_failure(told, f"{unit} {fault.line}: {fault.error['message']}{repair}")


@click.command(cls=PerdureCommand)
@click.argument("pattern", required=False, type=options.PATTERN)
@click.option(
    "-o", "--output", type=sources.OUTPUT, default="-", metavar="FILE", help="Default: stdout."
)
@click.option("--as", "form", default="jsonl", metavar="FORM", help="Form of another system.")
@click.option(
    "--losses",
    type=sources.OUTPUT,
    metavar="FILE",
    help="Write a table of the data that the form cannot hold.",
)
@click.option("--files", type=_FOLDER, help="Write bytes to files there, not into the lines.")
def export(
    pattern: NameSet | None, output: str, form: str, losses: str | None, files: Path | None
) -> None:
    """Write the registry as JSON Lines: all identifiers, or those that match PATTERN (hdl:1839/*).

    If you `import` the output into an empty registry, that registry makes the same promises. With
    --files, give `import` the same --files. Damaged records are reported and left out; then
    it exits with 53.

    With --as, it is written in a form that `import --from` reads, such as handle-batch, ezid-csv,
    datacite-xml or csv, or as marc21 (docs/reference/exchange.md). The number of
    records that lost data is printed; --losses lists them. With --files, bytes go to files, and
    files.csv there says to which identifier they belong.
    """
    from perdure.upkeep.transfer.exporting import export_lines

    damage = DamageReport()
    with contextlib.ExitStack() as opened:
        registry = opened.enter_context(here().open_registry())
        file = opened.enter_context(output_file(output))
        bar = opened.enter_context(show_progress("exporting", total=None, unit="identifiers"))
        if pattern is not None:
            pattern = registry.listings.require_known(pattern)
        if form != "jsonl":
            table = opened.enter_context(click.open_file(losses, "w")) if losses else None
            _export_as(registry, form, file, bar, table, within=pattern, files=files, damage=damage)
        else:
            lines = export_lines(registry, within=pattern, files=files, report=damage.add_error)
            for number, line in enumerate(lines, 1):
                file.write(line)
                bar(number)
    damage.end_command()


def _export_as(
    registry: Registry,
    form: str,
    file: BinaryIO,
    bar: Bar,
    losses: IO[Any] | None,
    *,
    within: NameSet | None,
    files: Path | None,
    damage: DamageReport,
) -> None:
    """Write an export in the form of another system, and report what the form cannot hold."""
    from perdure.upkeep.exchange.forms import find_written_form
    from perdure.upkeep.exchange.rows import write_row
    from perdure.upkeep.exchange.writing import FormExport, Loss

    def note_loss(loss: Loss) -> None:
        if losses is not None:
            losses.write(write_row((loss.identifier, loss.field)))

    if losses is not None:
        losses.write(write_row(("id", "field")))
    exported = FormExport(
        registry,
        find_written_form(form),
        within=within,
        files=files,
        report=damage.add_error,
        note_loss=note_loss,
    )
    for text in exported:
        file.write(text)
        bar(exported.written)
    for field, count in sorted(exported.losses.items()):
        times = "once" if count == 1 else f"{count} times"
        here().print_note(f"{form} cannot hold {field} ({times})")


@click.command(cls=PerdureCommand)
@click.argument("file", default="-", type=options.FILE)
@click.option("--duplicates", is_flag=True, help="Print the duplicates, and the reasons.")
def dedupe(file: str, duplicates: bool) -> None:
    """Read identifiers and URLs, one per line, and print each resource once (- for stdin).

    Duplicates go to stderr: lines that equal an earlier one, are equivalent to it, are its alias,
    or have the same bytes or location, as far as the registry knows. With --duplicates, duplicates
    go to stdout and the others to stderr; with --json, every line has an answer.
    """
    from perdure.upkeep.dedupe import EmptyLookUp, RegistryLookUp, sieve_lines

    with contextlib.ExitStack() as opened:
        lines = opened.enter_context(
            click.open_file(file, encoding="utf-8-sig", errors="surrogateescape")
        )
        known: RegistryLookUp | EmptyLookUp = EmptyLookUp()
        if (here().root / "perdure.toml").exists():
            registry = opened.enter_context(here().open_registry())
            known = RegistryLookUp(registry.listings, registry.reading)
        for one in sieve_lines(lines, known):
            if here().as_json:
                here().print_answer(one, "")
            elif one.why is None:
                click.echo(one.text, err=duplicates)
            else:
                told = f"{one.text} {one.why} line {one.first_line} {one.first_text}"
                click.echo(told, err=not duplicates)
