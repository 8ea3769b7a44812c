"""What a trial reports while it runs and when it has ended."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.trials import Tally, summarise_trials


def test_each_tenth_is_shown_and_counted() -> None:
    shown: list[str] = []
    tally = Tally(shown.append)
    for number in tally.each(range(25), "kills"):
        assert tally.counts["kills"] == number
        tally.add("acknowledged writes", 3)
    assert tally.counts == {"kills": 25, "acknowledged writes": 75}
    assert [line.split(" kills")[0] for line in shown] == [
        f"{number} of 25" for number in (3, 5, 8, 10, 13, 15, 18, 20, 23, 25)
    ]


def test_the_summary_counts_what_ended_and_what_failed() -> None:
    def report(
        name: str, when: str, *, failed: bool = False, skipped: str = "", **counts: int
    ) -> SimpleNamespace:
        properties = [("trial", counts)] if when == "teardown" else []
        return SimpleNamespace(
            nodeid=name,
            when=when,
            failed=failed,
            skipped=bool(skipped),
            longrepr=("trial.py", 7, f"Skipped: {skipped}"),
            duration=30,
            user_properties=properties,
        )

    stats = {
        "": [report(name, "setup") for name in ("a", "b", "c", "e", "e")],
        "passed": [report("a", "call"), report("a", "teardown", names=1000)],
        "failed": [report("b", "call", failed=True), report("b", "teardown", names=7, kills=1)],
        "skipped": [
            report("d", "setup", skipped="it needs 60 GB of disk"),
            report("d", "teardown"),
            report("e", "call", skipped="no such program"),
            report("e", "teardown", names=2),
        ],
        "warnings": [SimpleNamespace()],
    }
    assert list(summarise_trials(stats, 6)) == [
        "passed in 90 s: 1,000 names (a)",
        "FAILED in 90 s: 7 names, 1 kills (b)",
        "skipped (it needs 60 GB of disk): nothing counted (d)",
        "skipped (no such program): 2 names (e)",
        "2 of 6 trials ended, 1 failed, 2 skipped: 1,009 names, 1 kills, in 6.5 minutes",
    ]


def test_a_run_of_skipped_trials_says_so(tmp_path: Path) -> None:
    """As pytest itself reports them: a skipped trial has neither passed nor ended."""
    shutil.copy(Path(__file__).with_name("trials.py"), tmp_path)
    (tmp_path / "conftest.py").write_text(
        "from trials import pytest_collection_finish, pytest_terminal_summary\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = trial\n")
    (tmp_path / "test_them.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.trial\n"
        "@pytest.mark.skipif(True, reason='needs a larger disk')\n"
        "def test_by_mark(): ...\n"
        "def test_in_body(): pytest.skip('needs a program')\n"
        "def test_done(): ...\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "trial"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = list(filter(None, result.stdout.partition("= trials =")[2].splitlines()))[1:]
    assert lines[0].startswith("skipped (needs a larger disk): nothing counted (test_them.py::")
    assert lines[1].startswith("skipped (needs a program): nothing counted (test_them.py::")
    assert lines[2].startswith("passed in 0 s: nothing counted (test_them.py::")
    assert lines[3].startswith("1 of 3 trials ended, 0 failed, 2 skipped: nothing counted, in ")
