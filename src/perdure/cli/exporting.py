"""Moving identifiers out, and finding duplicates: `export`, `dedupe`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import click

from perdure.cli import options, sources
from perdure.cli.command import PerdureCommand, here
from perdure.cli.damage import DamageReport
from perdure.cli.output import output_file
from perdure.cli.paths import StatedPath
from perdure.cli.progress import Bar, show_progress

if TYPE_CHECKING:
    from perdure.ids.name_set import NameSet
    from perdure.registry import Registry


_FOLDER = StatedPath(file_okay=False, path_type=Path)


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
