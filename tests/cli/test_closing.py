"""`close`: no name is given under a closed day."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES


def test_no_name_is_given_under_a_closed_day(shell: Shell, letter: Path) -> None:
    """Ruling pdi-retrospective: "never under a day that was declared closed (`perdure close`)"."""
    words = ("mint", "--series", SERIES, str(letter), "--day")
    before = shell.lines(*words, "1997/09/01")[0]
    assert shell.lines("close", f"{SERIES}/1997/09", "--reason", "all are in") == [
        f"closed pdi://{SERIES}/1997/09/01/ to 1997/09/31"
    ]
    error = shell.error(*words, "1997/09/01", code=40)
    assert "all are in" in error["reason"]
    assert shell.lines(*words, "1997/10/01")[0].startswith(f"pdi://{SERIES}/1997/10/01/1")
    assert shell.run("get", before).stdout == letter.read_text()
    assert shell.lines("close") == [f"{SERIES} 1997/09/01 1997/09/31 all are in"]
    again = shell.lines("close", f"pdi://{SERIES}/1997/09/15/")
    assert again == [f"already closed pdi://{SERIES}/1997/09/15/ to 1997/09/15"]


def test_names_that_were_given_stay_and_grow_and_imports_bring_others(
    shell: Shell, letter: Path
) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter), "--day", "1997/09/01")[0]
    shell.run("close", f"{SERIES}/1997")
    letter.write_text("second version")
    assert shell.lines("commit", name, str(letter))[0].endswith(".2")
    line = {"id": f"pdi://{SERIES}/1997/09/01/77", "locations": ["https://a.example/"]}
    assert shell.json("import", "-", stdin=json.dumps(line))["accepted"] == 1


@pytest.mark.parametrize("interval", [SERIES, f"{SERIES}/2999", f"{SERIES}/1997/13", "hdl:1839/a"])
def test_only_past_days_of_a_series_are_closed(shell: Shell, interval: str) -> None:
    assert shell.run("close", interval, code=shell_code(interval)).stdout == ""


def shell_code(interval: str) -> int:
    """A malformed day or series exits with 3, an interval that is not past with 4."""
    return 3 if "/13" in interval or "hdl" in interval else 4


def test_a_backup_knows_the_closed_days(shell: Shell, place: Path) -> None:
    shell.run("close", f"{SERIES}/1997/09/01")
    shell.run("backup", str(place / "copy"))
    closed = json.loads((place / "copy" / "closed.json").read_text())
    assert closed["value"]["stretches"][0]["first"] == "1997/09/01"
    damaged = shell.root / "closed.json"
    damaged.write_text(damaged.read_text().replace("1997/09/01", "1997/09/02", 1))
    assert "closed.json" in shell.run("verify", "--all", code=1).output
