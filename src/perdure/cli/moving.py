"""Moving identifiers in and out, and finding duplicates: `import`, `export`, `dedupe`."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here, to_json
from perdure.cli.damage import DamageReport
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.model.commands import Joining
    from perdure.upkeep.transfer.blocks import Fault
    from perdure.upkeep.transfer.importing import ImportSource
    from perdure.upkeep.transfer.previewing import RecordChange

    _OpenSource = Callable[[], AbstractContextManager[ImportSource]]

_TABLE = StatedPath(exists=True, dir_okay=False)
_FOLDER = StatedPath(file_okay=False, path_type=Path)
_NEW_FILE = StatedPath(dir_okay=False, path_type=Path)
_OUTPUT = StatedPath(dir_okay=False, allow_dash=True)


@click.command("import", cls=PerdureCommand)
@click.argument("file", type=options.FILE)
@click.option("--add", "how", flag_value="add", default="add", help="Only add data (default).")
@click.option("--merge", "how", flag_value="merge", help="Data of lines wins, member by member.")
@click.option("--replace", "how", flag_value="replace", help="Fields of lines replace those here.")
@click.option("--apply", is_flag=True, help="Merge or replace; without this it is only shown.")
@click.option(
    "--undo", type=_NEW_FILE, metavar="FILE", help="File that undoes it. Default: FILE.undo.jsonl."
)
@click.option("--atomic", is_flag=True, help="If one line is bad, import nothing.")
@click.option("--errors", type=_OUTPUT, metavar="FILE", help="Append bad lines to FILE, in JSON.")
@click.option("--files", type=_FOLDER, help="Base of the paths in lines. Default: that of FILE.")
@click.option("--csv", "is_table", is_flag=True, help="FILE is a table. Default if called .csv.")
@click.option(
    "--columns", metavar="NAMES", help="Columns of a table without a first row of names: id,url."
)
def import_file(
    file: str,
    how: str,
    apply: bool,
    undo: Path | None,
    atomic: bool,
    errors: str | None,
    files: Path | None,
    is_table: bool,
    columns: str | None,
) -> None:
    """Import the identifiers in FILE (- for stdin), in the format of docs/reference/jsonl.md.

    FILE may be a table (CSV): `id` (or `handle`, `doi`, `ark`), `url`, and names of metadata.

    A bad line is reported with its number, and the import goes on. Lines that were imported before
    change nothing, so you may repeat an import; an interrupted import resumes where it stopped.
    Exits with 1 if a line was bad.

    A line that contradicts the registry is bad, unless you --merge or --replace. These show what
    would change. With --apply, they change it, and write the file that undoes it before they do:
    `perdure import --replace --apply FILE.undo.jsonl`.
    """
    from perdure.model.commands import Joining

    joining = Joining(how)
    names = tuple(columns.split(",")) if columns else ()
    is_table = is_table or bool(names) or Path(file).suffix.lower() == ".csv"
    open_source = partial(_open_source, file, files, is_table=is_table, columns=names)
    if joining is Joining.ADD:
        if apply or undo:
            raise click.UsageError("--apply and --undo need --merge or --replace")
    elif file == "-":
        raise click.UsageError("--merge and --replace read FILE twice, so it cannot be stdin")
    elif not apply:
        _show_changes(open_source, joining)
        return
    else:
        _write_undo(open_source, joining, undo or Path(f"{file}.undo.jsonl"))
    _import_lines(open_source, joining, atomic=atomic, errors=errors)


@click.command(cls=PerdureCommand)
@click.argument("file", type=_TABLE)
@click.option("--apply", is_flag=True, help="Change the records; without this it is only shown.")
@click.option(
    "--undo", type=_NEW_FILE, metavar="FILE", help="File that undoes it. Default: FILE.undo.jsonl."
)
@click.option("--errors", type=_OUTPUT, metavar="FILE", help="Append bad lines to FILE, in JSON.")
@click.option(
    "--refused", type=_NEW_FILE, metavar="FILE", help="Write the bad rows of a table to FILE."
)
@click.option(
    "--columns", metavar="NAMES", help="Columns of a table without a first row of names: id,url."
)
def update(
    file: str,
    apply: bool,
    undo: Path | None,
    errors: str | None,
    refused: Path | None,
    columns: str | None,
) -> None:
    """Change many known identifiers by FILE: a table (CSV), or lines as `import` reads them.

    If a row gives locations, they replace those of the identifier; all other data is merged. It
    shows what would change. With --apply it changes it, and writes the file that undoes it before
    it does: `perdure import --replace --apply FILE.undo.jsonl`.

    A row with an unknown identifier is bad. Bad rows are reported with their lines, and the others
    are carried out. With --refused they are written to a table that you can mend and give back.
    Exits with 1 if a row was bad.
    """
    from perdure.model.commands import Joining

    names = tuple(columns.split(",")) if columns else ()
    is_table = bool(names) or Path(file).suffix.lower() not in (".jsonl", ".json")
    if refused is not None and not is_table:
        raise click.UsageError("--refused needs a table; bad lines are reported by --errors")
    open_source = partial(_open_source, file, None, is_table=is_table, columns=names)
    bad: dict[int, str] = {}
    try:
        if apply:
            _write_undo(open_source, Joining.UPDATE, undo or Path(f"{file}.undo.jsonl"))
            _import_lines(open_source, Joining.UPDATE, atomic=False, errors=errors, bad=bad)
        else:
            _show_changes(open_source, Joining.UPDATE, errors=errors, bad=bad)
    finally:
        if refused is not None and bad:
            _write_refused(file, refused, names, bad)


def _write_refused(file: str, target: Path, names: tuple[str, ...], bad: dict[int, str]) -> None:
    """Write the bad rows of a table, by their numbers, with the reasons."""
    from perdure.upkeep.transfer.tables import detect_charset, write_refused_rows

    with Path(file).open(encoding=detect_charset(Path(file))[1], newline="") as table:
        write_refused_rows(table, target, names, bad)


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
        total = source.path.stat().st_size if source.path else None
        bar = opened.enter_context(show_progress("reading", total=total))
        try:
            for step in import_lines(registry, source, how=how, atomic=atomic):
                bar(step.read, step.phase)
                for fault in step.faults:
                    _print_fault(fault, log)
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
                _print_fault(one, log)
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


@contextlib.contextmanager
def _open_source(
    file: str, files: Path | None, *, is_table: bool, columns: tuple[str, ...]
) -> Iterator[ImportSource]:
    from perdure.upkeep.transfer.importing import ImportSource

    if is_table:
        from perdure.upkeep.transfer.tables import detect_charset, read_table

        charset, codec = ("utf-8", "utf-8-sig") if file == "-" else detect_charset(Path(file))
        if charset not in ("utf-8", "us-ascii"):
            here().print_note(f"{Path(file).name}: read as {charset}")
        with (
            click.open_file(file, encoding=codec, errors="surrogateescape") as table,
            tempfile.TemporaryFile() as lines,
        ):
            lines.writelines(read_table(table, columns))
            lines.seek(0)
            yield ImportSource(lines, files or Path(file).parent)
        return

    if file == "-":
        yield ImportSource(sys.stdin.buffer, files or Path())
        return
    path = Path(file)
    with path.open("rb") as opened:
        yield ImportSource(opened, files or path.parent, path if path.is_file() else None)


def _print_fault(fault: Fault, log: IO[Any] | None) -> None:
    told = {"line": fault.line} | fault.error
    if log is not None:
        log.write(to_json(told) + "\n")
    repair = f"; {fault.error['repair']}" if fault.error["repair"] else ""
    here().print_failure(told, f"line {fault.line}: {fault.error['message']}{repair}")


@click.command(cls=PerdureCommand)
@click.argument("pattern", required=False, type=options.PATTERN)
@click.option("-o", "--output", type=_OUTPUT, default="-", metavar="FILE", help="Default: stdout.")
@click.option("--files", type=_FOLDER, help="Write bytes to files there, not into the lines.")
def export(pattern: NameSet | None, output: str, files: Path | None) -> None:
    """Write the registry as JSON Lines: all identifiers, or those that match PATTERN (hdl:1839/*).

    If you `import` the output into an empty registry, that registry makes the same promises. With
    --files, give `import` the same --files. Damaged records are reported and left out; then
    it exits with 53.
    """
    from perdure.upkeep.transfer.exporting import export_lines

    damage = DamageReport()
    with (
        here().open_registry() as registry,
        output_file(output) as file,
        show_progress("exporting", total=None, unit="identifiers") as bar,
    ):
        if pattern is not None:
            pattern = registry.listings.require_known(pattern)
        lines = export_lines(registry, within=pattern, files=files, report=damage.add_error)
        for number, line in enumerate(lines, 1):
            file.write(line)
            bar(number)
    damage.end_command()


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
