"""`restrict` and `restrictions`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES


def test_a_rule_is_set_listed_and_lifted(shell: Shell, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter))[0].removesuffix(".text.1")
    assert shell.lines("restrict", name, "--until", "2999-01-01", "--token", "--reason", "why") == [
        name
    ]
    (line,) = shell.lines("restrictions")
    assert line.startswith(f"{name} closed, except to token, everyone from 2999-01-01 by local at ")
    assert line.endswith(": why")
    assert (
        "unchanged"
        in shell.run("restrict", name, "--until", "2999-01-01", "--token", "--reason", "why").stderr
    )
    assert shell.run("get", name).stdout == letter.read_text()  # this machine reads everything
    shell.run("restrict", name, "--lift", "--by", "ann")
    assert shell.lines("restrictions") == []
    assert [line.split()[1] for line in shell.lines("restrictions", "--all")] == [
        "closed,",
        "lifted",
    ]


def test_rules_about_one_name(shell: Shell) -> None:
    shell.run("restrict", "ark:/99999/x", "--part", "page=2", "--never")
    shell.run("restrict", "ark:/99999/x", "--network", "10.0.0.0/8", "--network", "::1/128")
    shell.run("restrict", "ark:/99999/y", "--unavailable")
    shell.run("restrict", "oma.eop.gov.us", "--open")
    found = [json.loads(line) for line in shell.lines("restrictions", "ark:99999/x", "--json")]
    assert [(one["about"], one.get("part"), one["access"]) for one in found] == [
        ("ark:99999/x", "page=2", "closed"),
        ("ark:99999/x", None, "closed"),
    ]
    assert found[1]["networks"] == ["10.0.0.0/8", "::1/128"]
    (line,) = shell.lines("restrictions", "oma.eop.gov.us")
    assert line.startswith("oma.eop.gov.us open by local")
    assert shell.lines("restrictions", "ark:99999/z") == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 2),
        (("--open", "--never"), 2),
        (("--lift", "--token"), 2),
        (("--until", "soon"), 4),
        (("--network", "here"), 4),
        (("--lift",), 4),
    ],
)
def test_rules_that_are_refused(shell: Shell, options: tuple[str, ...], code: int) -> None:
    shell.error("restrict", "ark:/99999/x", *options, code=code)
    assert shell.lines("restrictions") == []
