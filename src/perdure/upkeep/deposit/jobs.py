"""The deposits of a registry: a directory for each, with its plan, its receipts and its report.

How it works: `deposits/<job>/` has `job.json`, `plan.csv`, `receipts.csv`, and `refused.csv` if a
row was refused. A deposit of a directory that was interrupted is found by the directory and the
options; a plan that is given back is found by its bytes. A lock makes sure that one process at a
time carries out a job.

What must stay true: a plan that was begun never changes; the name of a job, which begins the
idempotency keys, is never used twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perdure.errors.depositing import DepositRunning, TableUnreadable
from perdure.storage.durable import write_durably
from perdure.upkeep.deposit.options import PlanOptions

DIRECTORY = "deposits"
PLAN, RECEIPTS, REFUSED, REPORT = "plan.csv", "receipts.csv", "refused.csv", "report.html"
INVENTORY_REFUSED = "inventory-refused.csv"
_STATE, _LOCK = "job.json", "lock"
PLANNING, PLANNED, DONE = "planning", "planned", "done"


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a job, and the choices with which it began."""

    state: str
    directory: str = ""
    """The directory, if the job began with one."""
    options: PlanOptions | None = None
    inventory: str = ""
    """SHA-256 of the inventory, if there is one."""
    rows: int = 0
    """Rows of the plan."""
    began: str = ""
    ended: str = ""


class DepositJob:
    """One deposit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name

    @property
    def plan(self) -> Path:
        return self.path / PLAN

    def load_state(self) -> JobState | None:
        """Return the state, or None if it is unreadable: the job was never begun."""
        try:
            return msgspec.json.decode((self.path / _STATE).read_bytes(), type=JobState)
        except (OSError, msgspec.MsgspecError):
            return None

    def save_state(self, state: JobState) -> None:
        """Make a state durable. Raises OSError."""
        write_durably(self.path / _STATE, msgspec.json.encode(state))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the job for this process. Raises DepositRunning."""
        with (self.path / _LOCK).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DepositRunning(job=self.name) from None
            yield


def find_job(root: Path, directory: Path, options: PlanOptions, state: str) -> DepositJob | None:
    """Find the newest deposit of a directory with these options that is in a state."""
    asked = JobState(
        state=state,
        directory=os.path.realpath(directory),
        options=options,
        inventory=digest_file(options.inventory),
    )
    for path in sorted((root / DIRECTORY).glob("2*"), reverse=True):
        job = DepositJob(path)
        found = job.load_state()
        if found is not None and found == msgspec.structs.replace(
            asked, rows=found.rows, began=found.began, ended=found.ended
        ):
            return job
    return None


def begin_job(root: Path, directory: Path, options: PlanOptions, now: str) -> DepositJob:
    """Begin a deposit of a directory. `now`: `2026-11-21T05:13:46Z`. Raises OSError."""
    name = f"{now.replace('-', '').replace(':', '')[:15]}-{secrets.token_hex(4)}"
    job = DepositJob(root / DIRECTORY / name)
    job.path.mkdir(parents=True)
    state = JobState(
        state=PLANNING,
        directory=os.path.realpath(directory),
        options=options,
        inventory=digest_file(options.inventory),
        began=now,
    )
    job.save_state(state)
    return job


def adopt_plan(root: Path, plan: Path, settings: str, now: str) -> DepositJob:
    """Begin a deposit by a plan, or find the one that this plan has begun.

    `settings`: what the command line adds to the plan. Raises TableUnreadable or OSError.
    """
    try:
        with plan.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
    except OSError as error:
        raise TableUnreadable(path=plan.name, fault=error.strerror or str(error)) from None
    digest.update(settings.encode("utf-8", "surrogateescape"))
    job = DepositJob(root / DIRECTORY / f"plan-{digest.hexdigest()[:24]}")
    if job.load_state() is None:
        job.path.mkdir(parents=True, exist_ok=True)
        copy = job.path / f"{PLAN}.new"
        shutil.copyfile(plan, copy)
        copy.replace(job.plan)
        job.save_state(JobState(state=PLANNED, began=now))
    return job


def remove_unplanned(root: Path) -> None:
    """Remove deposits that were interrupted before their plan was complete."""
    for path in (root / DIRECTORY).glob("2*"):
        job = DepositJob(path)
        state = job.load_state()
        if state is None or state.state != PLANNING:
            continue
        try:
            with job.locked():
                shutil.rmtree(path, ignore_errors=True)
        except DepositRunning:
            continue


def digest_file(path: str) -> str:
    """SHA-256 of a file; empty without a path, or if it cannot be read."""
    if not path:
        return ""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
