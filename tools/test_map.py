"""Which tests execute a line, and how long each takes: how `mutate.py` chooses its tests.

How it works: `map_tests` runs tests once, under coverage with a context for each test, with this
module as a plug-in of pytest that notes how long each took. A line that is executed while modules
are imported, or once and then remembered, has no test of its own: for such a line the tests that
execute anything else of its module are meant (`find_all`). Of each property a few examples are
enough here.

What must stay true: the tests are given with the fastest first, for the first that fails is enough.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import coverage
import pytest
from hypothesis import settings

_DURATIONS = "TEST_DURATIONS"
_durations: defaultdict[str, float] = defaultdict(float)


class TestMap:
    """The tests by the lines that they execute."""

    def __init__(self, lines: dict[str, dict[int, set[str]]], durations: dict[str, float]) -> None:
        self._lines = lines
        self._durations = durations

    def find_tests(self, module: Path, lines: Iterable[int]) -> list[str]:
        """The tests that execute one of some lines, the fastest first."""
        executed = self._lines.get(str(module), {})
        return self._sort({test for line in lines for test in executed.get(line, ())})

    def find_all(self, module: Path) -> list[str]:
        """The tests that execute anything of a module, the fastest first."""
        return self.find_tests(module, self._lines.get(str(module), {}))

    def _sort(self, tests: set[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self._durations.get(test, 0), test))


def map_tests(project: Path, modules: Iterable[Path], arguments: Iterable[str]) -> TestMap:
    """Run tests in a copy of the project. Raises SystemExit if one fails, for none may."""
    settings, data = project / "test_map.cfg", project / "test_map.coverage"
    durations = project / "test_map.json"
    names = "\n".join(f"  */src/perdure/{module}" for module in modules)
    settings.write_text(f"[run]\ndata_file = {data}\ninclude =\n{names}\n", "utf-8")
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *("-p", "test_map", "--cov", "--cov-config", str(settings), "--cov-context", "test"),
        *("--cov-report", "", "--hypothesis-profile", "perdure-map", *arguments),
    ]
    path = f"{project / 'src'}{os.pathsep}{Path(__file__).parent}"
    environment = os.environ | {"PYTHONPATH": path, _DURATIONS: str(durations)}
    ended = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        sys.exit(f"the tests fail before anything is broken:\n{ended.stdout}{ended.stderr}")
    return TestMap(_read_lines(data, project), json.loads(durations.read_text("utf-8")))


def _read_lines(data: Path, project: Path) -> dict[str, dict[int, set[str]]]:
    measured = coverage.CoverageData(str(data))
    measured.read()
    root = project / "src" / "perdure"
    lines: dict[str, dict[int, set[str]]] = {}
    for file in measured.measured_files():
        contexts = measured.contexts_by_lineno(file)
        lines[str(Path(file).relative_to(root))] = {
            line: {one.rpartition("|")[0] for one in found if one}
            for line, found in contexts.items()
        }
    return lines


# The plug-in
# -----------

settings.register_profile(
    "perdure-map", deadline=None, derandomize=True, database=None, max_examples=20
)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _durations[report.nodeid] += report.duration


def pytest_sessionfinish() -> None:
    Path(os.environ[_DURATIONS]).write_text(json.dumps(_durations), "utf-8")
