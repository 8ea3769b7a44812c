"""Moving identifiers in: `import`, `update`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from perdure.cli import exits, options, sources
from perdure.cli.command import PerdureCommand, here, to_json
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.model.commands import Joining
    from perdure.upkeep.exchange.opening import SourceChoice
    from perdure.upkeep.transfer.blocks import Fault, Readers
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
    from perdure.upkeep.transfer.importing import import_lines

    accepted = refused = 0
    with contextlib.ExitStack() as opened:
        source = opened.enter_context(open_source())
        readers = opened.enter_context(_fork_readers(source))
        registry = opened.enter_context(here().open_registry())
        log = opened.enter_context(click.open_file(errors, "a")) if errors else None
        total = source.path.stat().st_size if source.path and not source.key else None
        bar = opened.enter_context(show_progress("reading", total=total))
        try:
            for step in import_lines(registry, source, how=how, atomic=atomic, readers=readers):
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


@contextlib.contextmanager
def _fork_readers(source: ImportSource) -> Iterator[Readers | None]:
    """Fork processes that read a long source. Call this before the registry is opened."""
    from perdure.upkeep.transfer.blocks import count_readers, fork_readers

    count = count_readers(source.path.stat().st_size if source.path else None)
    if not count:
        yield None
        return
    with fork_readers(count) as readers:
        yield readers


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
