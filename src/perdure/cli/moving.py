"""Moving in, moving out, and finding duplicates: `import`, `export`, `dedupe`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from perdure.cli import exits, options
from perdure.cli.command import Command, here, to_json
from perdure.cli.output import output_file
from perdure.cli.progress import progress

if TYPE_CHECKING:
    from perdure.ids import Identifier
    from perdure.upkeep.transfer.blocks import Fault
    from perdure.upkeep.transfer.importing import Source

_FOLDER = click.Path(file_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, allow_dash=True)


@click.command("import", cls=Command)
@click.argument("file", type=options.FILE)
@click.option("--atomic", is_flag=True, help="Import all lines or, where one is bad, none.")
@click.option("--errors", type=_OUTPUT, metavar="FILE", help="Append bad lines there, in JSON.")
@click.option("--files", type=_FOLDER, help="Where the paths of lines lead; else beside FILE.")
def import_(file: str, atomic: bool, errors: str | None, files: Path | None) -> None:
    """Take in the identifiers in FILE, as docs/reference/jsonl.md tells (- for stdin).

    A bad line is told with its number, and the rest goes on. Lines that were imported already
    change nothing, so an import may be repeated; one that was interrupted goes on where it stopped.
    Ends with 1 where a line was bad.
    """
    from perdure.upkeep.transfer.importing import import_lines

    accepted = refused = 0
    with contextlib.ExitStack() as opened:
        registry = opened.enter_context(here().registry())
        source = opened.enter_context(_source(file, files))
        log = opened.enter_context(click.open_file(errors, "a")) if errors else None
        total = source.path.stat().st_size if source.path else None
        bar = opened.enter_context(progress("reading", total=total))
        for step in import_lines(registry, source, atomic=atomic):
            bar(step.read, step.phase)
            for fault in step.faults:
                _tell(fault, log)
            accepted, refused = step.accepted, step.refused
    here().summary(
        {"accepted": accepted, "refused": refused},
        f"{accepted} identifiers imported, {refused} lines refused",
    )
    if refused:
        click.get_current_context().exit(exits.FINDINGS)


@contextlib.contextmanager
def _source(file: str, files: Path | None) -> Iterator[Source]:
    from perdure.upkeep.transfer.importing import Source

    if file == "-":
        yield Source(sys.stdin.buffer, files or Path())
        return
    path = Path(file)
    with path.open("rb") as opened:
        yield Source(opened, files or path.parent, path if path.is_file() else None)


def _tell(fault: Fault, log: IO[Any] | None) -> None:
    told = {"line": fault.line} | fault.error
    if log is not None:
        log.write(to_json(told) + "\n")
    repair = f"; {fault.error['repair']}" if fault.error["repair"] else ""
    here().fail(told, f"line {fault.line}: {fault.error['message']}{repair}")


@click.command(cls=Command)
@click.argument("pattern", required=False, type=options.PATTERN)
@click.option("-o", "--output", type=_OUTPUT, default="-", metavar="FILE", help="Else stdout.")
@click.option("--files", type=_FOLDER, help="Write bytes into files there, not into the lines.")
def export(pattern: Identifier | None, output: str, files: Path | None) -> None:
    """Write what the registry promises as JSON Lines: all of it, or what PATTERN matches.

    `import` of the output into an empty registry makes the same promises. With --files, give
    `import` the same --files.
    """
    from perdure.upkeep.transfer.exporting import export_lines

    with (
        here().registry() as registry,
        output_file(output) as file,
        progress("exporting", total=None, unit="identifiers") as bar,
    ):
        for number, line in enumerate(export_lines(registry, within=pattern, files=files), 1):
            file.write(line)
            bar(number)


@click.command(cls=Command)
@click.argument("file", default="-", type=options.FILE)
@click.option("--duplicates", is_flag=True, help="Print the duplicates, and why they are.")
def dedupe(file: str, duplicates: bool) -> None:
    """Read identifiers and URLs, one a line, and print each resource once (- for stdin).

    Duplicates go to stderr: what is equal, equivalent, an alias, has the same bytes or the same
    location as an earlier line, by what the registry knows. With --duplicates it is the other way
    round, and with --json every line is answered.
    """
    from perdure.upkeep.dedupe import Known, Nothing, sieve

    with contextlib.ExitStack() as opened:
        lines = opened.enter_context(
            click.open_file(file, encoding="utf-8-sig", errors="surrogateescape")
        )
        known: Known | Nothing = Nothing()
        if (here().root / "perdure.toml").exists():
            registry = opened.enter_context(here().registry())
            known = Known(registry.listings, registry.reading)
        for one in sieve(lines, known):
            if here().as_json:
                here().answer(one, "")
            elif one.why is None:
                click.echo(one.text, err=duplicates)
            else:
                told = f"{one.text} {one.why} line {one.first_line} {one.first_text}"
                click.echo(told, err=not duplicates)
