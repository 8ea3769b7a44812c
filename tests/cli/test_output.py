"""Output files appear whole or not at all, and replace nothing but regular files."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.cli.output import output_file


def test_a_file_appears_when_it_is_whole(place: Path) -> None:
    target = place / "out"
    target.write_bytes(b"earlier")
    with output_file(str(target)) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"earlier"
    assert target.read_bytes() == b"new"


def test_what_fails_leaves_the_earlier_file(place: Path) -> None:
    target = place / "out"
    target.write_bytes(b"earlier")

    def fail() -> None:
        with output_file(str(target)) as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [(one.name, one.read_bytes()) for one in place.iterdir()] == [("out", b"earlier")]


def test_a_link_stays_a_link(place: Path) -> None:
    (place / "real").write_bytes(b"earlier")
    (place / "link").symlink_to("real")
    with output_file(str(place / "link")) as file:
        file.write(b"new")
    assert (place / "link").is_symlink()
    assert (place / "real").read_bytes() == b"new"


@pytest.mark.parametrize("command", ["export", "get"])
def test_what_is_no_regular_file_is_written_to_and_stays(
    shell: Shell, letter: Path, place: Path, command: str
) -> None:
    """A pipe here stands for /dev/null, which root could replace."""
    name = shell.lines("mint", "--series", SERIES, str(letter))[0]
    pipe = place / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    shell.run(command, *([name] if command == "get" else []), "-o", str(pipe))
    reader.join()
    assert read[0]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("assertions", "--proposed"), "no proposed assertions"),
        (("restrictions",), "no rules"),
        (("restrictions", "hdl:1/a"), "no rules about hdl:1/a"),
        (("proposals",), "no proposed withdrawals or erasures"),
        (("token", "list"), "no tokens; 'perdure token create' makes one"),
        (("archive", "list"), "no archive files; 'perdure archive add' registers some"),
        (("citations", "received"), "no reports of citations"),
    ],
)
def test_an_empty_list_says_so(shell: Shell, words: tuple[str, ...], sentence: str) -> None:
    result = shell.run(*words)
    assert (result.stdout, result.stderr) == ("", f"perdure: {sentence}\n")
    result = shell.run(*words, "--json")
    assert (result.stdout, result.stderr) == ("", "")
