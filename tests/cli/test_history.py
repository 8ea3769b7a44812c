"""`perdure history`: what was done to an identifier, when, and by whom."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shell
from tests.conftest import SERIES


def test_each_line_tells_one_thing_that_was_added_or_taken_away(shell: Shell, place: Path) -> None:
    (place / "one.txt").write_bytes(b"one\r\n")
    (place / "two.txt").write_bytes(b"two\r\n")
    name = shell.lines("mint", "--series", SERIES, "one.txt")[0]
    shell.run("commit", name, "two.txt")
    shell.run("bind", name, "https://a.example/", "https://b.example/")
    shell.run("break", name, "https://a.example/")
    told = [line.partition("{")[0] for line in shell.lines("history", name)]
    assert [line for line in told if line.startswith("  ")] == [
        "  versions + ",
        "  versions + ",
        "  locations + ",
        "  locations + ",
        "  locations - ",
    ]
    revisions = shell.run("history", name, "--json").stdout.splitlines()
    assert len(revisions) == 4
