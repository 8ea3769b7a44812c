"""`init`, `doctor`, `version`, `completion`. `serve` runs in tests/server and test_reading."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.storage.store_findings import examine_file_system


def test_init_refuses_a_series_that_nothing_could_be_minted_in(shell: Shell, place: Path) -> None:
    error = shell.error("init", "new", "--series", "reports.example.org", code=4)
    assert (error["code"], error["rule"]) == ("invalid-request", "ruling pdi-series")
    assert not (place / "new").exists()


def test_init_says_once_that_there_is_no_base_url(shell: Shell, place: Path) -> None:
    told = shell.run("init", "new", "--series", SERIES)
    assert told.stderr.count("base_url") == 1
    name = shell.lines("-C", "new", "mint", "--series", SERIES, "--meta", "title=A")[0]
    for words in (
        ("cite", name),
        ("metadata", "get", name),
        ("bind", name, "http://example.org/a"),
        ("describe", name),
        ("list", f"pdi://{SERIES}/"),
    ):
        assert "base_url" not in shell.run("-C", "new", *words).stderr
    settings = place / "new" / "perdure.toml"
    text = settings.read_text("utf-8").replace('# base_url = ""', 'base_url = "https://a.example"')
    settings.write_text(text, "utf-8")
    assert not shell.run("init", "new").stderr


def test_init_makes_a_registry_and_adds_to_it(shell: Shell, place: Path) -> None:
    made = shell.json("init", "new", "--series", "OMA.eop.gov.us", "--shoulder", "ark:/99999/fk4")
    assert made["series"] == [SERIES]
    assert made["shoulders"] == ["99999/fk4"]
    shell.run("-C", "new", "mint", "--series", SERIES)
    grown = shell.json("-C", "new", "init", "--series", "b.us", "--naming-authority", "iana:42117")
    assert grown["series"] == [SERIES, "b.us"]
    assert grown["naming_authorities"] == ["IANA:42117"]
    assert shell.lines("-C", "new", "mint", "--series", SERIES)[0].endswith("/2")


@pytest.mark.parametrize(
    "words", [["--series", "one"], ["--shoulder", "a b/c"], ["--naming-authority", "X:1"]]
)
def test_what_no_authority_can_be_called_is_refused(shell: Shell, words: list[str]) -> None:
    shell.run("init", "new", *words, code=3)
    assert not Path("new").exists()


def test_a_doctor_needs_somebody_to_look_at(shell: Shell) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shell.error("doctor", f"http://127.0.0.1:{free.getsockname()[1]}", code=20)
    shell.error("doctor", "no url", code=5)


def test_a_doctor_examines_what_a_registry_stands_on(shell: Shell, root: Path) -> None:
    lines = shell.run("doctor", code=find_code(root)).stdout.splitlines()
    assert [line.split(":")[0].split(" ", 1)[1].strip() for line in lines if line[0] != " "] == [
        "file system",
        "clock",
        "space",
    ]


def find_code(root: Path) -> int:
    """The code to end with: the tests may run in memory, or on a disk that is nearly full."""
    return int(not (examine_file_system(root).ok and has_space(root)))


def has_space(root: Path) -> bool:
    disk = shutil.disk_usage(root)
    return disk.free >= disk.total / 20


def test_version(shell: Shell) -> None:
    assert shell.json("version")["perdure"] == version("perdure")
    assert shell.run("--version").stdout == f"perdure {version('perdure')}\n"


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: Shell, name: str) -> None:
    assert "_PERDURE_COMPLETE" in shell.run("completion", name).stdout


def test_the_shell_gets_completions() -> None:
    """As the script for bash asks for them."""
    done = subprocess.run(
        ["perdure"],
        executable=Path(sys.executable).with_name("perdure"),
        env={"_PERDURE_COMPLETE": "bash_complete", "COMP_WORDS": "perdure ver", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == {"plain,verify", "plain,verify-part", "plain,version"}


def test_the_directory_that_is_named_counts(shell: Shell, place: Path) -> None:
    """`-C DIR`, else PERDURE_REGISTRY; before and behind the name of a group, too."""
    other = str(place / "other")
    shell.run("-C", other, "init", "--series", "kk.dk")
    shell.run("-C", other, "token", "create", "first", "--series", "kk.dk")
    shell.run("token", "-C", other, "create", "second", "--series", "kk.dk")
    shell.run("token", "create", "third", "--series", SERIES)
    assert len(shell.lines("-C", other, "token", "list")) == 2
    assert len(shell.lines("token", "list", "-C", other)) == 2
    assert len(shell.lines("token", "list")) == 1


def test_a_retired_setting_is_one_line(shell: Shell) -> None:
    """An error or a note is one line on stderr, without a place in our code."""
    settings = shell.root / "perdure.toml"
    settings.write_text(
        settings.read_text().replace("[perdure]\n", '[perdure]\nhttp_parser = "h11"\n')
    )
    result = shell.run("list")
    (line,) = result.stderr.splitlines()
    assert line.startswith("perdure: the setting http_parser no longer has any effect")
    assert ".py" not in line
