"""What a run has done survives a crash, whole lines only; drift is told from two reports."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.upkeep.collection import drift, reports
from perdure.upkeep.collection.drift import DriftKind
from perdure.upkeep.collection.resuming import RunLog, RunSubject
from perdure.upkeep.collection.status import CheckedMember, Report, State

ABOUT = RunSubject(run="check", collection="hdl:1/1", sha512="ab", begun="2026-01-01T00:00:00Z")


class Step(msgspec.Struct, frozen=True):
    number: int


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(cut=st.integers(0, 400), more=st.binary(max_size=40).filter(lambda one: b"\n" not in one))
def test_whatever_a_crash_leaves_the_next_run_goes_on(
    tmp_path: Path, cut: int, more: bytes
) -> None:
    path = tmp_path / "state"
    path.unlink(missing_ok=True)
    with RunLog(path, ABOUT, Step) as log:
        for number in range(12):
            log.add_step(Step(number))
    first = len(path.read_bytes().splitlines(keepends=True)[0])
    whole = path.read_bytes()[: first + cut]
    path.write_bytes(whole + more)
    done = whole.count(b"\n") - 1
    with RunLog(path, msgspec.structs.replace(ABOUT, begun="later"), Step) as log:
        assert [one.number for one in log.steps] == list(range(done))
        assert log.about == ABOUT
        log.add_step(Step(99))
    with RunLog(path, ABOUT, Step) as log:
        assert [one.number for one in log.steps] == [*range(done), 99]


def report(state: State, digest: str = "", *, ended: str = "now", where: str = "") -> Report:
    one = CheckedMember(number=1, identifier="hdl:1/2", state=state, digest=digest, where=where)
    return Report(collection="hdl:1/1", sha512="ab", begun="b", ended=ended, size=1, checked=(one,))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (report(State.HELD, "sha512:a"), report(State.HELD, "sha512:a"), None),
        (report(State.HELD, "sha512:a"), report(State.HELD, "sha512:b"), DriftKind.CHANGED),
        (report(State.HELD, "sha512:a"), report(State.GONE), DriftKind.GONE),
        (report(State.UNVERIFIED), report(State.CLOSED), DriftKind.CLOSED),
        (report(State.UNVERIFIED), report(State.MOVED), DriftKind.MOVED),
        (report(State.LOCATED, where="a"), report(State.LOCATED, where="b"), DriftKind.MOVED),
        (report(State.HELD, "sha512:a"), report(State.UNREADABLE), DriftKind.UNREADABLE),
        (report(State.EXACT, "sha512:a"), report(State.ABSENT), DriftKind.GONE),
        (report(State.EXACT, "sha512:a"), report(State.NEAREST), DriftKind.GONE),
        (report(State.CONFIRMED), report(State.OTHER_URI), DriftKind.GONE),
        (report(State.UNVERIFIED), report(State.ABSENT), DriftKind.ABSENT),
        (report(State.ABSENT), report(State.EXACT, "sha512:a"), DriftKind.BACK),
        (report(State.LOCATED), report(State.HELD, "sha512:a"), DriftKind.STATE),
    ],
)
def test_drift(before: Report, after: Report, kind: DriftKind | None) -> None:
    found = drift.compare_checks(before, after)
    assert [one.kind for one in found.changes] == ([kind] if kind else [])
    assert reports.read_report(reports.write_report(after, "json")) == after


def test_what_a_check_did_not_come_to_is_not_removed() -> None:
    empty = Report(collection="hdl:1/1", sha512="ab", begun="b", size=1)
    assert not drift.compare_checks(report(State.HELD), empty).changes
    ended = msgspec.structs.replace(empty, ended="now")
    (change,) = drift.compare_checks(report(State.HELD), ended).changes
    assert change.kind is DriftKind.REMOVED


def test_a_line_of_a_report_is_one_line() -> None:
    one = CheckedMember(
        number=1, identifier="hdl:1/2", state=State.GONE, detail="a\nb\x1b[31m\u2028c"
    )
    text = reports.write_report(Report(collection="c", sha512="", checked=(one,)), "text").decode()
    assert text.count("\n") == 4
    assert "\x1b" not in text
