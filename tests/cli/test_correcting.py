"""`correct`: a wrong charset or type is corrected, and the bytes and the name stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

BLUEBERRY = "Bl\u00e5b\u00e6r\r\n".encode("cp850")
WRONG = ("--charset", "windows-1252")


@pytest.fixture
def danish(shell: Shell, place: Path) -> str:
    (place / "d.txt").write_bytes(BLUEBERRY)
    return shell.lines("mint", "d.txt", "--series", SERIES, *WRONG)[0]


def test_a_charset_is_corrected_and_the_history_says_what_was(shell: Shell, danish: str) -> None:
    done = shell.run("correct", danish, "--charset", "cp850", "--reason", "DOS", "--by", "Anna")
    assert done.stdout == f"{danish}\n"
    assert "was text/plain; charset=windows-1252; is text/plain; charset=ibm850" in done.stderr
    assert "characters: 8 before, 8 after" in done.stderr
    assert "before character 2" in done.stderr  # Bl is ASCII in both
    assert shell.run("get", danish, "-o", "-").stdout_bytes == BLUEBERRY
    (version,) = shell.json("describe", danish)["record"]["versions"]
    (one,) = version["representations"]
    assert (one["charset"], one["corrections"][0]["before"]["charset"]) == (
        "ibm850",
        "windows-1252",
    )
    shown = shell.run("describe", danish).stdout
    assert "was text/plain; charset=windows-1252 until" in shown
    assert "says Anna: DOS" in shown
    first, second = shell.run("history", danish, "--json").stdout.splitlines()
    assert '"by": "Anna"' in second
    assert "corrections" not in first
    assert "unchanged" in shell.run("correct", danish, "--charset", "cp850").stderr


def test_parts_are_counted_in_the_right_charset_from_then_on(shell: Shell, place: Path) -> None:
    """The index of the first reading is not used for the second."""
    (place / "u.txt").write_bytes("\u00e6\u00f8\u00e5".encode())
    name = shell.lines("mint", "u.txt", "--series", SERIES, "--charset", "latin1")[0]
    assert shell.run("get", f"{name}#char=1,2").stdout_bytes == b"\xa6"
    done = shell.run("correct", name, "--charset", "utf-8")
    assert "characters: 6 before, 3 after" in done.stderr
    assert shell.run("get", f"{name}#char=1,2").stdout_bytes == "\u00f8".encode()


def test_what_a_page_says_of_itself_is_read_anew(shell: Shell, place: Path) -> None:
    (place / "p.html").write_bytes("<title>Bl\u00e5b\u00e6r</title>".encode("cp850"))
    name = shell.lines("mint", "p.html", "--series", SERIES, *WRONG)[0]
    assert "Bl\u2020b\u2018r" in shell.run("metadata", "get", name).stdout
    shell.run("correct", name, "--charset", "cp850")
    assert "Bl\u00e5b\u00e6r" in shell.run("metadata", "get", name).stdout


def test_committing_the_same_bytes_with_another_charset_says_how_to_correct_it(
    shell: Shell, danish: str
) -> None:
    told = shell.error("commit", danish, "d.txt", "--charset", "cp850", code=40)
    assert told["code"] == "conflict"
    assert "perdure correct" in str(told)
    assert shell.run("commit", danish, "d.txt").stderr.startswith("perdure: unchanged")
    assert shell.run("commit", danish, "d.txt", *WRONG).stderr.startswith("perdure: unchanged")


def test_the_right_format_becomes_a_reading_alias(shell: Shell, place: Path) -> None:
    (place / "j.txt").write_bytes("\u65e5\u672c\u8a9e".encode())
    name = shell.lines("mint", "j.txt", "--series", SERIES, "--charset", "shift_jis")[0]
    assert name.endswith(".shift_jis.1")
    done = shell.run("correct", name, "--charset", "utf-8")
    alias = name.replace(".shift_jis.", ".utf-8.")
    assert done.stdout == f"{name}\n"
    assert f"{alias} finds these bytes, too" in done.stderr
    assert f"held {name} " in shell.run("resolve", alias).stdout
    (place / "other.txt").write_bytes("\u5225".encode())
    shell.error("commit", name, "other.txt", "--version", "1", "--format", "utf-8", code=40)


def test_a_dry_run_changes_nothing(shell: Shell, danish: str) -> None:
    done = shell.run("correct", danish, "--charset", "cp850", "--dry-run")
    assert "is text/plain; charset=ibm850" in done.stderr
    assert shell.json("describe", danish)["record"].get("revision", 1) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--charset", "nosuchcharset"], 4),
        (["--type", "image/png", "--charset", "utf-8"], 4),
        (["--charset", "utf-8", "--expect", "7"], 41),
        ([], 2),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, danish: str, words: list[str], code: int) -> None:
    shell.error("correct", danish, *words, code=code)
    assert shell.json("describe", danish)["record"].get("revision", 1) == 1


def test_bytes_that_the_charset_cannot_read_are_told(shell: Shell, danish: str) -> None:
    done = shell.run("correct", danish, "--charset", "utf-8")
    assert "cannot all be read in this way" in done.stderr


def test_parts_that_this_registry_names_are_listed(shell: Shell, danish: str, place: Path) -> None:
    quoted, other = f"{danish}#char=2,6", f"pdi://{SERIES}/1999/01/01/9.text.1#char=1,2"
    shell.run("bind", "--register", "doi:10.9999/a", f"https://id.example/{danish}%23char=1,3")
    made = ("collection", "make", "-", "--title", "Fruit", "--series", SERIES)
    collected = shell.lines(*made, stdin=f"{quoted}\n{other}")[0]
    told = shell.run("correct", danish, "--charset", "cp850").stderr
    assert "char=1,3 may mean something else: location of doi:10.9999/a" in told
    assert f"char=2,6 may mean something else: member 1 of {collected.split('.json')[0]}" in told
    assert "char=1,2 may" not in told


def test_exports_carry_corrections_and_a_rebuild_keeps_them(shell: Shell, danish: str) -> None:
    shell.run("correct", danish, "--charset", "cp850", "--reason", "DOS")
    exported = shell.run("export").stdout
    assert '"corrections":[{"before":{"media_type":"text/plain","charset":"windows-1252"}' in (
        exported
    )
    for path in shell.root.glob("registry.sqlite*"):
        path.unlink()
    shell.run("rebuild", code=1)  # it says that there was no old file
    assert shell.run("export").stdout == exported
