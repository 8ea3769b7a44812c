"""A deposit from beginning to end: plan a directory, then carry out the plan.

How it works: `plan_directory` writes a plan; `carry_out` mints what the plan of a job says, or goes
on with it, and writes the report. Both yield their progress.

What must stay true: see `perdure.upkeep.deposit`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import msgspec

from perdure.extractors.inside.derived import DocumentBytes
from perdure.extractors.inside.derived import InsideReader as InsideProcess
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.deposit import jobs
from perdure.upkeep.deposit import plan as rows
from perdure.upkeep.deposit.inventory import KNOWN, choose_meanings, read_inventory
from perdure.upkeep.deposit.jobs import DepositJob
from perdure.upkeep.deposit.options import ONCE, PlanOptions
from perdure.upkeep.deposit.plan import DESCRIBING, PlannedFile, PlanTerms, PlanWriter
from perdure.upkeep.deposit.planning import InsideProposal, Planner
from perdure.upkeep.deposit.receipts import Receipted, ReceiptFile
from perdure.upkeep.deposit.reporting import write_report
from perdure.upkeep.deposit.running import DepositRun, Tally
from perdure.upkeep.deposit.sketching import sketch_text
from perdure.upkeep.deposit.tables import RefusedRows, RowFault, Table
from perdure.upkeep.deposit.taking import FileKind, FileRoot
from perdure.upkeep.deposit.walking import FoundDirectory, walk_tree
from perdure.upkeep.deposit.workbook import Workbook

Choose = Callable[[FoundDirectory], FoundDirectory]
"""Chooses some of the files of a directory."""
Results = Callable[[Receipted], None]


class PlanProgress(NamedTuple):
    """Progress of a plan; all numbers are totals."""

    rows: int
    documents: int
    files: int
    """That were looked at."""
    refused: int
    """Rows of the inventory that fit no file."""


class InventoryFindings(NamedTuple):
    """Findings about an inventory, made before the plan."""

    remark: str
    """Charset and delimiter, unless they are the usual ones."""
    refused: int
    extra: tuple[str, ...]


def plan_directory(
    registry: Registry,
    directory: Path,
    options: PlanOptions,
    target: Path,
    *,
    refused: Path,
    note: Callable[[str], None],
    choose: Choose | None = None,
) -> Iterator[PlanProgress]:
    """Write the plan of a directory. `refused` gets the rows of the inventory that fit no file.

    Raises TableUnusable, DatePatternMalformed, OSError.
    """
    root = FileRoot(directory)
    with ExitStack() as opened:
        workbook = opened.enter_context(Workbook(target.with_name(f".{target.name}.work")))
        findings = _take_inventory(root, options, workbook, refused)
        if findings.remark:
            note(findings.remark)
        own = tuple(one for one in DESCRIBING if one not in findings.extra)
        terms = PlanTerms(Path(os.fsdecode(root.path)), options.series, (*findings.extra, *own))
        writer = opened.enter_context(PlanWriter(target, terms))
        planner = _make_planner(registry, root, options, workbook, opened, note)
        count = documents = files = 0
        for found in walk_tree(root.path):
            if choose is not None:
                found = choose(found)
            for some in planner.plan_directory(found):
                writer.write_rows(some)
                count += len(some)
                documents += some[0].action in (rows.MINT, rows.COLLECTION)
                if not count % 100:
                    yield PlanProgress(count, documents, files, findings.refused)
            files += len(found.files)
        for some in planner.finish():
            writer.write_rows(some)
            count += len(some)
            documents += some[0].action == rows.COLLECTION
        yield PlanProgress(count, documents, files, findings.refused)


def _take_inventory(
    root: FileRoot, options: PlanOptions, workbook: Workbook, refused: Path
) -> InventoryFindings:
    """Put the inventory into the workbook, with the names of all files."""
    if not options.inventory:
        return InventoryFindings("", 0, ())
    path = Path(options.inventory)
    for found in walk_tree(root.path):
        workbook.add_files(one.path for one in found.files)
    with Table(path) as table:
        columns, remark = table.columns, table.remark
        meanings = choose_meanings(table, options.mapping)
    with RefusedRows(refused, columns) as bad:
        read_inventory(path, workbook, bad, options.mapping)
    extra = tuple(one for one in meanings.values() if one not in KNOWN)
    return InventoryFindings(f"{path.name}: {remark}" if remark else "", bad.count, extra)


def _make_planner(
    registry: Registry,
    root: FileRoot,
    options: PlanOptions,
    workbook: Workbook,
    opened: ExitStack,
    note: Callable[[str], None],
) -> Planner:
    inside = None
    if options.detect and options.inside:
        inside = _Inside(opened.enter_context(InsideProcess()))
    sketch = None
    if options.detect and find_spec("numpy") is not None:
        sketch = sketch_text
    elif options.detect:
        note("texts that are nearly the same are not looked for: install perdure[text]")
    return Planner(
        root,
        options,
        workbook,
        today=registry.clock().strftime("%Y-%m-%d"),
        inside=inside,
        sketch=sketch,
        find_held=lambda sha512: tuple(map(str, registry.listings.find_same_bytes(sha512))),
    )


class _Inside:
    """Reads what files say of themselves, in a confined process."""

    def __init__(self, process: InsideProcess) -> None:
        self._process = process

    def propose(self, path: Path, offset: int, size: int, kind: FileKind) -> InsideProposal:
        charset = kind.charset or None
        asked = DocumentBytes(path, offset, size, kind.media_type, charset)
        found = self._process.read_document(asked)
        pairs = {name: " ".join(value.split()) for name, value in found.pairs.items()}
        return InsideProposal(found.source, pairs, found.problem)


# Carrying out
# ------------


def prepare_job(
    registry: Registry,
    directory: Path,
    options: PlanOptions,
    *,
    restart: bool,
    note: Callable[[str], None],
    choose: Choose | None = None,
) -> Iterator[PlanProgress | DepositJob]:
    """Plan a deposit, or find the interrupted one with these options. The last value is the job.

    Raises as `plan_directory`.
    """
    jobs.remove_unplanned(registry.root)
    known = jobs.find_job(registry.root, directory, options, jobs.PLANNED)
    if known is not None and not restart:
        note(f"goes on with deposit {known.name}, which was interrupted")
        yield known
        return
    if known is not None:
        _end_job(registry, known)
    before = jobs.find_job(registry.root, directory, options, jobs.DONE)
    if before is not None and options.duplicates != ONCE:
        note(
            f"deposit {before.name} of this directory is done; its files get further names now "
            f"(--duplicates {options.duplicates})"
        )
    now = format_timestamp(registry.clock())
    job = jobs.begin_job(registry.root, directory, options, now)
    with job.locked():
        progress = PlanProgress(0, 0, 0, 0)
        for progress in plan_directory(
            registry,
            directory,
            options,
            job.plan,
            refused=job.path / jobs.INVENTORY_REFUSED,
            note=note,
            choose=choose,
        ):
            yield progress
        with job.plan.open("rb") as file:
            os.fsync(file.fileno())
        state = job.load_state() or jobs.JobState(state=jobs.PLANNING)
        job.save_state(msgspec.structs.replace(state, state=jobs.PLANNED, rows=progress.rows))
    yield job


def carry_out(
    registry: Registry,
    job: DepositJob,
    *,
    directory: Path | None = None,
    series: str = "",
    results: Results | None = None,
) -> Iterator[Tally]:
    """Carry out the plan of a job, or go on with it. Iterate to the end.

    `directory` and `series` overrule those of the plan. Raises TableUnusable, DepositRunning,
    StorageFailed, Unavailable, OSError.
    """
    with ExitStack() as opened:
        opened.enter_context(job.locked())
        table = opened.enter_context(Table(job.plan))
        terms = rows.read_terms(table, directory, series)
        root = FileRoot(terms.directory)
        refused = opened.enter_context(
            RefusedRows(job.path / jobs.REFUSED, terms.columns, rows.write_directory(terms))
        )
        run = DepositRun(registry, root, job.name, refused=refused)
        if results is not None:
            run.results = results
        receipts = opened.enter_context(ReceiptFile(job.path / jobs.RECEIPTS))
        documents = rows.join_rows(rows.read_rows(table, terms))
        yield from run.run_documents(documents, receipts)
        receipts.flush()
    yield run.tally
    _end_job(registry, job, str(terms.directory))


def _end_job(registry: Registry, job: DepositJob, directory: str = "") -> None:
    """Write the report of a job, and mark it as done."""
    state = job.load_state() or jobs.JobState(state=jobs.PLANNED)
    ended = format_timestamp(registry.clock())
    receipts = job.path / jobs.RECEIPTS
    if receipts.exists():
        facts = {
            "directory": (directory or state.directory).encode("utf-8", "replace").decode(),
            "job": job.name,
            "began": state.began,
            "ended": ended,
        }
        write_report(receipts, job.path / jobs.REPORT, facts)
    job.save_state(msgspec.structs.replace(state, state=jobs.DONE, ended=ended))


def read_plan(
    path: Path, directory: Path | None = None, series: str = ""
) -> Iterator[PlannedFile | RowFault]:
    """Read the rows of a plan, to show or to check them. Raises TableUnusable."""
    with Table(path) as table:
        terms = rows.read_terms(table, directory, series)
        yield from rows.read_rows(table, terms)
