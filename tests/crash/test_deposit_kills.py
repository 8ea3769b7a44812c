"""A deposit that is killed again and again mints each document once."""

from __future__ import annotations

import csv
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import SERIES
from tests.trials import Tally

from perdure.registry import Registry, initialise
from perdure.upkeep import audit

_FILES = 900


def write_tree(source: Path) -> None:
    for number in range(_FILES):
        folder = source / f"{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.v1.txt").write_text(f"text {number}")
        if number % 3 == 0:
            (folder / f"{number}.v2.txt").write_text(f"text {number}, again")
    (source / "large.bin").write_bytes(bytes(range(256)) * (40 << 10))


def deposit_until_done(root: Path, source: Path, chance: random.Random) -> int:
    """Deposit, kill the process after a while, and begin again. Return the number of kills.

    The first process is killed before any machine can be done, the next ones later and later, so
    that a slow machine is done one day, too.
    """
    kills, seconds = 0, chance.uniform(0.15, 0.3)
    words = [sys.executable, "-m", "perdure.cli", "-C", str(root), "deposit", str(source)]
    while True:
        process = subprocess.Popen(
            [*words, "--no-inside", "--duplicates", "each"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            seconds *= chance.uniform(1.05, 1.3)
            if not list_done(root):  # else it was killed when all was done
                continue
            return kills
        assert process.returncode == 0
        return kills


def list_done(root: Path) -> list[Path]:
    """The deposits that were carried out completely."""
    states = (root / "deposits").glob("*/job.json")
    return [path.parent for path in states if b'"state":"done"' in path.read_bytes()]


def check_outcome(root: Path, source: Path) -> None:
    """Every file has a name of its own, and the numbers have no gap."""
    (done,) = list_done(root)
    with (done / "receipts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert {row["file"] for row in rows} == files
    assert len(rows) == len(files)
    assert {row["status"] for row in rows} == {"minted"}
    assert len({row["identifier"] for row in rows}) == len(rows)
    numbers = {int(row["identifier"].split("/")[-1].partition(".")[0]) for row in rows}
    days = {row["identifier"].rpartition("/")[0] for row in rows}
    with Registry(root) as registry:
        assert registry.records.count_records() == _FILES + 1
        if len(days) == 1:  # midnight may pass
            assert numbers == set(range(1, _FILES + 2))
        found = audit.verify_digests(registry.records, registry.bytes)
        assert not [one for one in found if one.problem]


def test_nothing_is_minted_twice(root: Path, place: Path) -> None:
    """The issue: "resumable at any kill"; "resumed, nothing twice"."""
    source = place / "source"
    write_tree(source)
    kills = deposit_until_done(root, source, random.Random(19))
    assert kills
    check_outcome(root, source)


@pytest.mark.trial
@pytest.mark.timeout(3600)
def test_a_hundred_kills(root: Path, place: Path, tally: Tally) -> None:
    chance = random.Random(1997)
    kills = turn = 0
    while kills < 100:
        turn += 1
        source, registry = place / f"source{turn}", place / f"registry{turn}"
        write_tree(source)
        initialise(registry, series=(SERIES,))
        kills += deposit_until_done(registry, source, chance)
        check_outcome(registry, source)
        tally.reach("kills", min(kills, 100), 100)
