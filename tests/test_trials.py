"""What a trial reports while it runs and when it has ended."""

from __future__ import annotations

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
    def report(name: str, when: str, *, failed: bool = False, **counts: int) -> SimpleNamespace:
        properties = [("trial", counts)] if when == "teardown" else []
        return SimpleNamespace(
            nodeid=name, when=when, failed=failed, duration=30, user_properties=properties
        )

    stats = {
        "": [report("a", "setup"), report("b", "setup"), report("c", "setup")],
        "passed": [report("a", "call"), report("a", "teardown", names=1000)],
        "failed": [report("b", "call", failed=True), report("b", "teardown", names=7, kills=1)],
        "warnings": [SimpleNamespace()],
    }
    assert list(summarise_trials(stats, 4)) == [
        "passed in 90 s: 1,000 names (a)",
        "FAILED in 90 s: 7 names, 1 kills (b)",
        "2 of 4 trials ended, 1 failed: 1,007 names, 1 kills, in 3.5 minutes",
    ]
