"""How a trial, a test that takes minutes, reports its progress and what it tried.

How it works: a trial counts what it tries in the fixture `tally`, most simply by iterating over
`tally.each`. Each tenth is printed while the trial runs. At the end pytest prints one line for each
trial and their sum, also if it was interrupted. `tests/conftest.py` makes both known to pytest.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pytest

PROPERTY = "trial"
"""The name under which the report of a test keeps its counts."""
_T = TypeVar("_T")


class Tally:
    """Numbers of things tried, by what they are: `{"kills": 1000, "acknowledged writes": 8214}`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.counts: Counter[str] = Counter()
        self.show = show
        self._start = time.monotonic()

    def add(self, noun: str, number: int = 1) -> None:
        self.counts[noun] += number

    def each(self, things: Sequence[_T], noun: str) -> Iterator[_T]:
        """All of these, each counted when the caller is done with it."""
        before = self.counts[noun]
        for number, thing in enumerate(things, 1):
            yield thing
            self.reach(noun, before + number, before + len(things))

    def reach(self, noun: str, number: int, of: int) -> None:
        """Set a number, and show it if another tenth of the whole is reached."""
        before, self.counts[noun] = self.counts[noun], number
        if 10 * number // of > 10 * before // of:
            self.show(f"{number:,} of {of:,} {noun} in {time.monotonic() - self._start:.0f} s")


@pytest.fixture
def tally(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Tally]:
    """Counts what a test tries; shows it if the test is a trial."""
    is_trial = request.node.get_closest_marker("trial") is not None
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")

    def show(line: str) -> None:
        if is_trial and reporter is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                reporter.write_line(f"  {line}")

    tally = Tally(show)
    yield tally
    if is_trial:
        record_property(PROPERTY, dict(tally.counts))


# What pytest prints at its end
# -----------------------------

_SELECTED = pytest.StashKey[int]()


def pytest_collection_finish(session: pytest.Session) -> None:
    trials = [item for item in session.items if item.get_closest_marker("trial")]
    session.config.stash[_SELECTED] = len(trials)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    selected = config.stash.get(_SELECTED, 0)
    if selected:
        terminalreporter.section("trials")
        for line in summarise_trials(terminalreporter.stats, selected):
            terminalreporter.write_line(line)


def summarise_trials(stats: dict[str, list[Any]], selected: int) -> Iterator[str]:
    """A line for each trial, and their sum; `stats` are the reports by their outcome.

    A skipped trial has not ended: its line gives the reason.
    """
    reports = [one for found in stats.values() for one in found if hasattr(one, "when")]
    failed = {one.nodeid for one in reports if one.failed}
    skipped = {one.nodeid: _find_reason(one) for one in reports if one.skipped}
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        seconds[report.nodeid] += report.duration
    ended, total = 0, Counter[str]()
    for report in reports:
        if report.when == "teardown":
            counts = dict(report.user_properties).get(PROPERTY, {})
            total.update(counts)
            if report.nodeid in skipped:
                outcome = f"skipped ({skipped[report.nodeid]})"
            else:
                ended += 1
                verdict = "FAILED" if report.nodeid in failed else "passed"
                outcome = f"{verdict} in {seconds[report.nodeid]:.0f} s"
            yield f"{outcome}: {write_counts(counts)} ({report.nodeid})"
    yield (
        f"{ended} of {selected} trials ended, {len(failed)} failed, {len(skipped)} skipped:"
        f" {write_counts(total)}, in {sum(seconds.values()) / 60:.1f} minutes"
    )


def _find_reason(report: Any) -> str:
    """Why a test was skipped; an expected failure is reported as skipped, too."""
    known = report.longrepr
    reason = known[2] if isinstance(known, tuple) else getattr(report, "wasxfail", "")
    return str(reason).removeprefix("Skipped: ")


def write_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {noun}" for noun, number in counts.items()) or "nothing counted"
