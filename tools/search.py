"""`make search`, first half: searches for examples that break a property, within a given time.

How it works: all property tests run in rounds, each with a new seed, in another order, and with
twice as many examples of each property as the round before (a property that sets its own number
keeps it). The first round reaches every property soon; later ones look deeper. In each round, this
module is also a plug-in of pytest: it notes each property that ended, and skips the rest when the
time is over. A failure ends the search: Hypothesis prints the example and keeps it in
`.hypothesis/`, where the next search finds it first.

What must stay true: the summary counts what ended, and nothing else; and a property that failed
fails the search, even in the last second.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from perdure.errors.root import count_things

COMMAND = [
    *(sys.executable, "-m", "pytest", "-q", "-x", "-m", "hypothesis and not trial", "-r", "fE"),
    *("-p", "search", "--hypothesis-profile", "perdure-search"),
    *("-n", "2", "--dist", "worksteal", "-o", "timeout=0"),
]
FIRST = 100
"""Examples of each property in the first round."""
MOST = 6400
GRACE = 120
"""Seconds that a property has after the time is over, before its round is interrupted."""
_EXAMPLES, _END, _NOTES = "SEARCH_EXAMPLES", "SEARCH_END", "SEARCH_NOTES"


@dataclass(frozen=True)
class Round:
    """What became of the properties in one round."""

    examples: int
    code: int
    """pytest's exit code."""
    outcomes: dict[str, str]
    """Of each property: `passed`, `failed`, `skipped` or `unreached`."""
    seconds: float

    @property
    def ended(self) -> list[str]:
        return [name for name, outcome in self.outcomes.items() if outcome in ("passed", "failed")]

    @property
    def broken(self) -> list[str]:
        return [name for name, outcome in self.outcomes.items() if outcome == "failed"]

    def __str__(self) -> str:
        return (
            f"{len(self.ended)} of {len(self.outcomes)} properties ended,"
            f" {len(self.broken)} broken, in {self.seconds:.0f} s"
        )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("tests", nargs="*", help="files or directories (default: all)")
    chosen = options.parse_args()
    start = time.time()
    end = start + 60 * chosen.minutes
    rounds: list[Round] = []
    while time.time() < end and not (rounds and rounds[-1].code):
        number, examples = len(rounds) + 1, min(FIRST << len(rounds), MOST)
        left = (end - time.time()) / 60
        print(f"round {number}: {examples} examples each, {left:.0f} minutes left", flush=True)
        rounds.append(run_round(examples, chosen.tests, end))
        print(f"round {number}: {rounds[-1]}", flush=True)
    print(summarise_rounds(rounds, time.time() - start))
    return next((one.code for one in rounds if one.code), 0)


def run_round(examples: int, tests: list[str], end: float) -> Round:
    """Runs each property once, until a time in seconds since 1970."""
    seed = str(secrets.randbelow(1 << 32))
    command = [*COMMAND, "--hypothesis-seed", seed, "--shuffle", seed, *tests]
    start = time.time()
    with tempfile.NamedTemporaryFile("r", encoding="utf-8", prefix="search-") as notes:
        environment = os.environ | {
            "PYTHONPATH": str(Path(__file__).parent),
            _EXAMPLES: str(examples),
            _END: str(end),
            _NOTES: notes.name,
        }
        process = subprocess.Popen(command, env=environment)
        code = 0
        try:
            code = process.wait(end + GRACE - start)
        except subprocess.TimeoutExpired:
            print("a property did not end in time: interrupted", flush=True)
            process.send_signal(signal.SIGINT)
            process.wait()
        outcomes: dict[str, str] = dict(map(json.loads, notes))
    return Round(
        examples, code or int("failed" in outcomes.values()), outcomes, time.time() - start
    )


def summarise_rounds(rounds: list[Round], seconds: float) -> str:
    """What was tried in all rounds: a line, and one for each property that is broken."""
    known = {name for one in rounds for name in one.outcomes}
    times = Counter(name for one in rounds for name in one.ended)
    broken = sorted({name for one in rounds for name in one.broken})
    text = (
        f"search ended after {seconds / 60:.0f} minutes and {count_things(len(rounds), 'round')}:"
        f" {len(times)} of {len(known)} properties were tried, {times.total()} times in all;"
        f" broken: {len(broken)}"
    )
    if len(times) < len(known):
        text += f". {len(known) - len(times)} were not reached: give it more minutes"
    return "\n  ".join((text, *broken))


# The plug-in
# -----------

settings.register_profile(
    "perdure-search", deadline=None, max_examples=int(os.environ.get(_EXAMPLES, FIRST))
)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note all properties, in one of the processes that know them."""
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        note_outcomes({item.nodeid: "unreached" for item in session.items})


def pytest_runtest_setup() -> None:
    if time.time() > float(os.environ[_END]):
        pytest.skip("the time is over")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the outcome, in the process that hears of all of them."""
    if "PYTEST_XDIST_WORKER" not in os.environ and (report.when == "call" or not report.passed):
        note_outcomes({report.nodeid: report.outcome})


def note_outcomes(outcomes: dict[str, str]) -> None:
    with Path(os.environ[_NOTES]).open("a", encoding="utf-8") as notes:
        notes.writelines(f"{json.dumps(one)}\n" for one in outcomes.items())


if __name__ == "__main__":
    sys.exit(main())
