"""`changes`, `head`, `counts`, `verify --against`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Shell
from tests.conftest import SERIES
from tests.storage.registries import unpack_registry


def mint(shell: Shell, text: str) -> str:
    return shell.lines("mint", "--series", SERIES, "-", "--type", "text/plain", stdin=text)[0]


def test_changes_are_listed_with_their_numbers(shell: Shell) -> None:
    name = mint(shell, "one")
    shell.run("bind", name, "https://a.example/1")
    whole = name.rpartition(".text")[0]
    lines = shell.lines("changes")
    assert [line.split()[0] for line in lines] == ["1.1", "1.2", "1.3"]
    assert [line.split(maxsplit=2)[2] for line in lines] == [
        "begin created",
        f"mint {whole}",
        f"bind {whole} revision 2",
    ]
    assert shell.lines("changes", "--since", "2") == lines[2:]
    assert shell.lines("changes", "--since", "1.0", "--limit", "1") == lines[:1]
    assert shell.lines("changes", "--since", "3") == []
    rows = [json.loads(line) for line in shell.lines("changes", "--json")]
    assert [(one["number"], one["act"]) for one in rows] == [
        (1, "begin"),
        (2, "mint"),
        (3, "bind"),
    ]
    assert rows[1]["name"] == whole


def test_what_is_no_mark_and_what_never_was(shell: Shell) -> None:
    mint(shell, "one")
    assert shell.error("changes", "--since", "x", code=4)["code"] == "invalid-request"
    told = shell.error("changes", "--since", "7.1", code=40)
    assert "the last change here is 1.2" in told["message"]


def test_changes_are_followed(shell: Shell) -> None:
    mint(shell, "one")
    command = [sys.executable, "-m", "perdure.cli", "-C", str(shell.root), "changes", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert [following.stdout.readline().split()[0] for _ in range(2)] == ["1.1", "1.2"]
        mint(shell, "two")
        assert following.stdout.readline().split()[0] == "1.3"
        following.terminate()


def test_a_saved_head_is_verified(shell: Shell, place: Path) -> None:
    mint(shell, "one")
    saved = place / "head"
    saved.write_text(shell.run("head").stdout)
    assert json.loads(saved.read_text()) == shell.json("verify")["head"]
    mint(shell, "two")
    assert (
        "3 changes checked up to 1.3, 0 problems"
        in shell.run("verify", "--against", str(saved)).stderr
    )
    saved.write_text(saved.read_text().replace('"chain":"', '"chain":"0'))
    told = shell.run("verify", "--against", str(saved), code=1).stdout
    assert told.startswith("change 1.2: the past was rewritten")
    saved.write_text("[]")
    assert shell.error("verify", "--against", str(saved), code=4)["code"] == "invalid-request"


def test_an_older_registry_has_no_head_yet(place: Path) -> None:
    shell = Shell(unpack_registry(1, place))
    assert "no numbers yet" in shell.run("head", code=20).stderr
    assert "no numbers yet" in shell.run("verify").stderr
    assert shell.lines("changes") == []
    saved = place / "head"
    saved.write_text('{"epoch":1,"number":2,"chain":"00"}')
    assert (
        "change 1.2: a head 1.2 was saved"
        in shell.run("verify", "--against", str(saved), code=1).stdout
    )


def test_names_are_counted_by_series_and_day(shell: Shell) -> None:
    name = mint(shell, "one")
    mint(shell, "two")
    shell.run("bind", name, "https://a.example/1")
    (line,) = shell.lines("counts")
    day, said = line.split(maxsplit=1)
    assert said == f"{SERIES} 2 names, 3 changes"
    counted = {"day": day, "series": SERIES, "names": 2, "changes": 3}
    assert shell.json("counts") == counted
    assert shell.json("counts", "--rebuild") == counted
