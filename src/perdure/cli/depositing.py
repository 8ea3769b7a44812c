"""Moving in: `deposit` mints the files of a directory, by a plan that can be corrected."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from perdure.cli import exits, options
from perdure.cli.command import PerdureCommand, here
from perdure.cli.paths import StatedPath
from perdure.cli.progress import show_progress
from perdure.errors.root import count_things, show_plainly

if TYPE_CHECKING:
    from perdure.registry import Registry
    from perdure.upkeep.deposit.jobs import DepositJob
    from perdure.upkeep.deposit.options import PlanOptions
    from perdure.upkeep.deposit.plan import PlannedFile
    from perdure.upkeep.deposit.running import Tally
    from perdure.upkeep.deposit.tables import RowFault

_TREE = StatedPath(exists=True, file_okay=False, path_type=Path)
_TABLE = StatedPath(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = StatedPath(dir_okay=False, path_type=Path)


class DepositChoices(TypedDict):
    """The options that decide what a plan says."""

    metadata: Path | None
    mapping: tuple[tuple[str, str], ...]
    listed_only: bool
    date_pattern: str | None
    file_times: bool
    retrospective: bool
    no_detect: bool
    no_inside: bool
    separate: bool
    duplicates: str
    packages: str


class _Outputs(TypedDict):
    """Files that get copies of the results."""

    receipt: Path | None
    report: Path | None
    refused: Path | None


@click.command(cls=PerdureCommand)
@click.argument("directory", required=False, type=_TREE, metavar="[DIR]")
@click.option("--series", type=options.SERIES, help="Document series to mint in.")
@click.option(
    "--metadata", type=_TABLE, metavar="FILE", help="Inventory: a table (CSV) about the files."
)
@click.option(
    "--map",
    "mapping",
    multiple=True,
    type=options.PAIR,
    metavar="NAME=MEANING",
    help="Meaning of a column of the inventory, such as Datei=file; may be repeated.",
)
@click.option("--listed-only", is_flag=True, help="Take only files that the inventory lists.")
@click.option("--dry-run", is_flag=True, help="Print the plan, and mint nothing.")
@click.option(
    "--plan",
    "plan_file",
    type=_NEW_FILE,
    metavar="FILE",
    help="With --dry-run and DIR, write the plan to FILE. Else carry out the plan in FILE.",
)
@click.option(
    "--date-pattern", metavar="PATTERN", help="Pattern of dates in paths, such as %Y/%m/%d."
)
@click.option(
    "--file-times", is_flag=True, help="If nothing else says a date, use the time of the file."
)
@click.option(
    "--retrospective", is_flag=True, help="Give names under the days of the documents, not today."
)
@click.option("--no-detect", is_flag=True, help="Take types from the names of files alone.")
@click.option("--no-inside", is_flag=True, help="Do not read what files say of themselves.")
@click.option("--separate", is_flag=True, help="Make each file a document of its own.")
@click.option(
    "--duplicates",
    type=click.Choice(("once", "each")),
    default="once",
    help="Give equal bytes one name (once, the default), or each file its own.",
)
@click.option(
    "--packages",
    type=click.Choice(("documents", "collections")),
    default="documents",
    help="Keep a package as one document (default), or as a collection of its members.",
)
@click.option("--receipt", type=_NEW_FILE, metavar="FILE", help="Copy the receipts to FILE.")
@click.option("--report", type=_NEW_FILE, metavar="FILE", help="Copy the report to FILE.")
@click.option(
    "--refused",
    type=_NEW_FILE,
    metavar="FILE",
    help="Copy refused rows to FILE; those of the inventory, if no other is refused.",
)
@click.option("--restart", is_flag=True, help="Plan again, even if a deposit was interrupted.")
@click.option("--watch", is_flag=True, help="Go on: take files as they arrive in DIR.")
@click.option(
    "--settle",
    type=click.FloatRange(min=0),
    default=10.0,
    metavar="SECONDS",
    help="With --watch, take a file that has not changed for so long. Default: 10.",
)
def deposit(
    directory: Path | None,
    series: str | None,
    dry_run: bool,
    plan_file: Path | None,
    restart: bool,
    watch: bool,
    settle: float,
    receipt: Path | None,
    report: Path | None,
    refused: Path | None,
    **choices: Unpack[DepositChoices],
) -> None:
    """Mint the files in DIR, and in all directories below it, as documents.

    Files that differ only in their extension are formats of one document (report.txt, report.pdf);
    report.v1.txt and report.v2.txt are versions. An inventory can say otherwise. --dry-run shows
    the plan; with --plan FILE you can correct it and give it back.

    Each file gets a row in the receipts, with its name or the reason why it has none. An
    interrupted deposit goes on when you repeat the command, and mints nothing twice. It prints the
    directory with plan, receipts and report. Exits with 1 if a row was refused.
    """
    outputs: _Outputs = {"receipt": receipt, "report": report, "refused": refused}
    if directory is None and plan_file is None:
        raise click.UsageError("name a directory, or a plan with --plan")
    with here().open_registry() as registry:
        if watch:
            if directory is None or plan_file is not None or dry_run:
                raise click.UsageError("--watch takes DIR, without --plan and --dry-run")
            chosen = _choose_options(registry, series, choices)
            _watch(registry, directory, chosen, settle)
        elif plan_file is not None and (directory is None or not dry_run):
            _deposit_plan(registry, plan_file, directory, series, outputs, dry_run=dry_run)
        elif directory is not None:
            chosen = _choose_options(registry, series, choices)
            if dry_run:
                _show_plan(registry, directory, chosen, plan_file, refused)
            else:
                _deposit_directory(registry, directory, chosen, outputs, restart=restart)


def _choose_options(registry: Registry, series: str | None, choices: DepositChoices) -> PlanOptions:
    from perdure.upkeep.deposit.inventory import KNOWN
    from perdure.upkeep.deposit.options import PlanOptions

    owned = registry.settings.series
    if series is None and len(owned) != 1:
        raise click.UsageError(f"--series is needed; owned: {', '.join(owned) or 'none'}")
    inventory = choices["metadata"]
    if inventory is None and (choices["mapping"] or choices["listed_only"]):
        raise click.UsageError("--map and --listed-only need --metadata")
    for _, meaning in choices["mapping"]:
        if not meaning.strip() or meaning.startswith("_"):
            known = ", ".join(KNOWN)
            raise click.BadParameter(f"{meaning!r} is not one of {known}, or a name for metadata")
    return PlanOptions(
        series=series or owned[0],
        inventory=str(inventory.resolve()) if inventory else "",
        mapping=dict(choices["mapping"]),
        listed_only=choices["listed_only"],
        date_pattern=choices["date_pattern"] or "",
        file_times=choices["file_times"],
        retrospective=choices["retrospective"],
        detect=not choices["no_detect"],
        inside=not choices["no_inside"],
        separate=choices["separate"],
        duplicates=choices["duplicates"],
        packages=choices["packages"],
    )


# The plan
# --------


def _show_plan(
    registry: Registry,
    directory: Path,
    chosen: PlanOptions,
    target: Path | None,
    refused: Path | None,
) -> None:
    """Plan a directory, and print the plan."""
    import tempfile

    from perdure.upkeep.deposit.moving_in import plan_directory

    if target is not None and target.exists():
        raise click.UsageError(f"{target} exists; move it, or carry it out without --dry-run")
    with contextlib.ExitStack() as opened:
        work = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        bar = opened.enter_context(show_progress("planning", total=None, unit="files"))
        bad = 0
        for step in plan_directory(
            registry,
            directory,
            chosen,
            work / "plan.csv",
            refused=work / "refused.csv",
            note=here().print_note,
        ):
            bar(step.files)
            bad = step.refused
        faults = _print_plan(work / "plan.csv", None, "")
        if bad:
            _print_refused(work / "refused.csv", chosen.inventory)
        if target is not None:
            shutil.copyfile(work / "plan.csv", target)
        if refused is not None and bad:
            shutil.copyfile(work / "refused.csv", refused)
    if bad or faults:
        click.get_current_context().exit(exits.FINDINGS)


def _print_plan(path: Path, directory: Path | None, series: str) -> int:
    """Print the rows of a plan, and the totals. Return the number of rows that are unusable."""
    from perdure.upkeep.deposit.moving_in import read_plan
    from perdure.upkeep.deposit.tables import RowFault

    counts: dict[str, int] = {}
    documents = last = faults = 0
    if not here().as_json:
        click.echo(_join_cells(_HEADS))
    for row in read_plan(path, directory, series):
        if isinstance(row, RowFault):
            faults += 1
            _print_fault(path.name, row)
            continue
        counts[row.action] = counts.get(row.action, 0) + 1
        if row.document and row.document != last:
            documents += row.action in ("mint", "collection")
            last = row.document
        _print_row(row)
    files = sum(counts.values())
    text = f"{count_things(documents, 'document')} of {count_things(counts.get('mint', 0), 'file')}"
    rest = ", ".join(f"{name} {count}" for name, count in counts.items() if name != "mint")
    here().print_note(f"{text}{f'; {rest}' if rest else ''}; {count_things(files, 'row')} in all")
    return faults


_HEADS = ("DOC", "V", "ACTION", "TYPE", "CHARSET", "DAY", "DATE", "FILE", "TITLE", "WHY")
_WIDTHS = (5, 2, 6, 24, 10, 10, 10, 40, 30, 0)


def _print_row(row: PlannedFile) -> None:
    date = f"{row.date} ({row.date_source})" if row.date_source else row.date
    title = row.title
    if row.described_by and row.title:
        title = f"{row.title} ({row.described_by})"
    why = "; ".join(one for one in (f"as {row.same_as}" if row.same_as else "", row.why) if one)
    cells = (
        str(row.document or ""), str(row.version), row.action, row.media_type, row.charset, row.day,
        date, row.name, title, why,
    )  # fmt: skip
    value = {
        "document": row.document, "version": row.version, "action": row.action, "file": row.name,
        "media_type": row.media_type, "charset": row.charset, "day": row.day, "date": row.date,
        "date_source": row.date_source, "title": row.title, "described_by": row.described_by,
        "same_as": row.same_as, "size": row.size, "why": row.why,
    }  # fmt: skip
    here().print_answer(value, _join_cells(cells))


def _join_cells(cells: tuple[str, ...]) -> str:
    """Align cells in columns; one that is too long pushes the others."""
    padded = (show_plainly(cell).ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True))
    return " ".join(padded).rstrip()


def _print_fault(name: str, fault: RowFault) -> None:
    told = {"file": name, "line": fault.line} | fault.error.as_dict()
    here().print_failure(told, f"{name}, line {fault.line}: {fault.error}")


def _print_refused(path: Path, name: str) -> None:
    """Print the rows of a table that were refused, with their lines and reasons."""
    import csv

    from perdure.upkeep.deposit.tables import LINE, REASON

    shown = Path(name).name
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row[REASON]:
                told = {"file": shown, "line": int(row[LINE] or 0), "reason": row[REASON]}
                here().print_failure(told, f"{shown}, line {row[LINE]}: {row[REASON]}")


# The deposit
# -----------


def _deposit_directory(
    registry: Registry, directory: Path, chosen: PlanOptions, outputs: _Outputs, *, restart: bool
) -> None:
    """Plan a directory, and mint what the plan says."""
    from perdure.upkeep.deposit import jobs
    from perdure.upkeep.deposit.moving_in import prepare_job

    job: DepositJob | None = None
    with show_progress("planning", total=None, unit="files") as bar:
        for step in prepare_job(
            registry, directory, chosen, restart=restart, note=here().print_note
        ):
            if isinstance(step, jobs.DepositJob):
                job = step
            else:
                bar(step.files)
    if job is None:
        return
    bad = job.path / jobs.INVENTORY_REFUSED
    if bad.exists():
        _print_refused(bad, chosen.inventory)
    _run_job(registry, job, outputs, bad=bad.exists())


def _deposit_plan(
    registry: Registry,
    plan_file: Path,
    directory: Path | None,
    series: str | None,
    outputs: _Outputs,
    *,
    dry_run: bool,
) -> None:
    """Check a plan, or mint what it says."""
    from perdure.model.timestamps import format_timestamp
    from perdure.upkeep.deposit import jobs
    from perdure.upkeep.deposit.plan import read_terms
    from perdure.upkeep.deposit.tables import Table

    with Table(plan_file) as table:
        read_terms(table, directory, series or "")
        if table.remark:
            here().print_note(f"{plan_file.name}: {table.remark}")
    if dry_run:
        if _print_plan(plan_file, directory, series or ""):
            click.get_current_context().exit(exits.FINDINGS)
        return
    now = format_timestamp(registry.clock())
    job = jobs.adopt_plan(registry.root, plan_file, f"{directory or ''}\n{series or ''}", now)
    _run_job(registry, job, outputs, plan=plan_file.name, directory=directory, series=series or "")


def _run_job(
    registry: Registry,
    job: DepositJob,
    outputs: _Outputs,
    *,
    plan: str = "plan.csv",
    directory: Path | None = None,
    series: str = "",
    bad: bool = False,
) -> None:
    """Carry out a job, and print where its results are; refused rows with their lines in `plan`."""
    from perdure.upkeep.deposit import jobs, running
    from perdure.upkeep.deposit.moving_in import carry_out

    state = job.load_state()
    total = state.rows if state is not None and state.rows else None
    tally = running.Tally()
    with show_progress("depositing", total=total, unit="files") as bar:
        try:
            for tally in carry_out(registry, job, directory=directory, series=series):
                bar(tally.rows)
        except KeyboardInterrupt:
            here().print_note(
                f"interrupted after {count_things(tally.documents, 'document')}; "
                "repeat the command to go on from there"
            )
            raise
    refused = job.path / jobs.REFUSED
    told = jobs.REFUSED if refused.exists() else jobs.INVENTORY_REFUSED
    for name, target in (
        (jobs.RECEIPTS, outputs["receipt"]),
        (jobs.REPORT, outputs["report"]),
        (told, outputs["refused"]),
    ):
        if target is not None and (job.path / name).exists():
            shutil.copyfile(job.path / name, target)
    if refused.exists():
        _print_refused(refused, plan)
    _print_tally(job, tally)
    if bad or tally.results.get("refused"):
        click.get_current_context().exit(exits.FINDINGS)


def _print_tally(job: DepositJob, tally: Tally) -> None:
    counts = {name: tally.results.get(name, 0) for name in ("same", "skipped", "refused")}
    rest = ", ".join(f"{count_things(count, 'file')} {name}" for name, count in counts.items())
    here().print_answer(
        {
            "job": job.name,
            "path": str(job.path),
            "documents": tally.documents,
            "files": tally.files,
            "bytes": tally.bytes,
        }
        | counts,
        str(job.path),
    )
    here().print_note(
        f"{count_things(tally.documents, 'document')} minted of "
        f"{count_things(tally.files, 'file')}; {rest}"
    )


def _watch(registry: Registry, directory: Path, chosen: PlanOptions, settle: float) -> None:
    """Take files as they arrive, until interrupted."""
    from perdure.upkeep.deposit.watching import watch_directory

    here().print_note(f"watches {directory}; Ctrl-C ends it")
    for one in watch_directory(registry, directory, chosen, settle=settle, note=here().print_note):
        value = {
            "file": one.row.name,
            "status": one.status,
            "identifier": one.identifier,
            "why": one.why,
        }
        here().print_answer(value, f"{one.identifier or one.status} {show_plainly(one.row.name)}")
        sys.stdout.flush()
