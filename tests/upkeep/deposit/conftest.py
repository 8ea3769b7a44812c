"""A directory to deposit, and short ways to plan it and to carry out plans."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SERIES, Desk

from perdure.upkeep.deposit import jobs
from perdure.upkeep.deposit.jobs import DepositJob
from perdure.upkeep.deposit.moving_in import carry_out, plan_directory, prepare_job
from perdure.upkeep.deposit.options import PlanOptions
from perdure.upkeep.deposit.running import Tally


class Depositor:
    """Plans and deposits one directory."""

    def __init__(self, desk: Desk, place: Path) -> None:
        self.desk = desk
        self.source = place / "source"
        self.source.mkdir()
        self.place = place
        self.notes: list[str] = []

    def write(self, **files: bytes | str) -> None:
        """Write files; `__` in a name is a slash, and its last `_` the dot."""
        for name, data in files.items():
            stem, _, extension = name.replace("__", "/").rpartition("_")
            self.write_file(f"{stem}.{extension}", data)

    def write_file(self, name: str | bytes, data: bytes | str) -> Path:
        path = self.source / (
            name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def options(self, **given: Any) -> PlanOptions:
        fields: dict[str, Any] = {"series": SERIES, "inside": False}
        return PlanOptions(**fields | given)

    def plan(self, **given: Any) -> list[dict[str, str]]:
        """The rows of a plan, without the first one."""
        target = self.place / "plan.csv"
        for _ in plan_directory(
            self.desk.registry,
            self.source,
            self.options(**given),
            target,
            refused=self.place / "bad.csv",
            note=self.notes.append,
        ):
            pass
        return read_rows(target)[1:]

    def prepare(self, **given: Any) -> DepositJob:
        restart = given.pop("restart", False)
        steps = prepare_job(
            self.desk.registry,
            self.source,
            self.options(**given),
            restart=restart,
            note=self.notes.append,
        )
        *_, job = steps
        assert isinstance(job, DepositJob)
        return job

    def deposit(self, **given: Any) -> list[dict[str, str]]:
        """Plan and deposit; return the receipts."""
        job = self.prepare(**given)
        self.run(job)
        return read_rows(job.path / jobs.RECEIPTS)

    def give_back(self, rows: list[dict[str, str]], **given: Any) -> list[dict[str, str]]:
        """Carry out the plan with these rows; return the receipts."""
        plan = self.place / "given.csv"
        first = read_rows(self.place / "plan.csv")[0]
        with plan.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(first))
            writer.writeheader()
            writer.writerows([first, *rows])
        job = jobs.adopt_plan(self.desk.root, plan, "", "2026-11-21T12:00:00Z")
        self.run(job, **given)
        return read_rows(job.path / jobs.RECEIPTS)

    def run(self, job: DepositJob, **given: Any) -> Tally:
        *_, tally = carry_out(self.desk.registry, job, **given)
        return tally


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pick(rows: list[dict[str, str]], *names: str) -> list[tuple[str, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


@pytest.fixture
def depositor(desk: Desk, place: Path) -> Depositor:
    return Depositor(desk, place)
