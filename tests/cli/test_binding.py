"""`bind`, `break`, `alias`, `withdraw`."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

HANDLE = "hdl:10.9999/perdure"
A, B = "https://a.example/1", "https://b.example/1"


def locations(shell: Shell, name: str) -> list[dict[str, object]]:
    found = shell.json("describe", name)["record"].get("locations", [])
    assert isinstance(found, list)
    return found


def test_any_identifier_is_bound_once_it_is_registered(shell: Shell) -> None:
    shell.error("bind", HANDLE, A, code=10)
    assert "--register" in shell.run("bind", HANDLE, A, code=10).stderr
    shell.run("bind", "--register", HANDLE, A, B, "--weight", "3", "--role", "mirror")
    assert locations(shell, HANDLE) == [
        {"uri": A, "weight": 3, "role": "mirror"},
        {"uri": B, "weight": 3, "role": "mirror"},
    ]
    shell.run("bind", HANDLE, A, "--region", "eu")
    assert locations(shell, HANDLE)[0] == {"uri": A, "region": "eu"}


def test_a_digest_may_be_given_in_three_ways(shell: Shell, letter: Path) -> None:
    digest = hashlib.sha512(letter.read_bytes())
    encoded = base64.b64encode(digest.digest()).decode()
    for number, words in enumerate(
        (
            ["--digest", f"sha512:{digest.hexdigest().upper()}"],
            ["--digest", f"sha-512=:{encoded}:"],
            ["--digest-of", str(letter)],
        )
    ):
        name = f"{HANDLE}{number}"
        shell.run("bind", "--register", name, A, *words)
        assert locations(shell, name) == [{"uri": A, "sha512": digest.hexdigest()}]


@pytest.mark.parametrize("digest", ["", "sha512:abc", "sha256:" + 64 * "0", "sha-512=:AAAA:"])
def test_what_is_no_digest_is_a_mistake(shell: Shell, digest: str) -> None:
    shell.error("bind", "--register", HANDLE, A, "--digest", digest, code=2)


@pytest.mark.parametrize(
    "words",
    [["javascript:alert(1)"], ["no uri"], [A, "--language", "a\nb"], [A, "--region", "e u"]],
)
def test_what_must_not_reach_a_browser_is_refused(shell: Shell, words: list[str]) -> None:
    assert shell.error("bind", "--register", HANDLE, *words, code=4)["code"] == "invalid-request"


def test_version_and_format_are_those_of_the_identifier(shell: Shell) -> None:
    name = f"pdi://{SERIES}/1997/09/01/1"
    shell.run("bind", "--register", f"{name}.mpeg.2", A)
    shell.run("bind", name, B, "--version", "3", "--format", "AU")
    assert locations(shell, name) == [
        {"uri": A, "version": 2, "format": "mpeg"},
        {"uri": B, "version": 3, "format": "au"},
    ]


def test_breaking_keeps_what_was_promised(shell: Shell, letter: Path) -> None:
    name = f"pdi://{SERIES}/1997/09/01/1.text.1"
    shell.run("bind", "--register", name, A, "--digest-of", str(letter))
    told = shell.error("break", name, A, code=40)
    assert "send them" in told["message"]
    shell.run("break", name, A, "--bytes", str(letter))
    assert locations(shell, name) == []
    assert shell.run("get", name).stdout_bytes == letter.read_bytes()


def test_what_breaking_brings_has_the_format_that_was_bound(shell: Shell, letter: Path) -> None:
    """The file looks like plain text; what was bound is the `au` of version 1."""
    name = f"pdi://{SERIES}/1997/09/01/1.au.1"
    shell.run("bind", "--register", name, A, "--digest-of", str(letter))
    shell.run("break", name, A, "--bytes", str(letter))
    held = shell.json("describe", name)["record"]["versions"][0]["representations"]
    assert [one["format"] for one in held] == ["au"]


def test_breaking_what_is_not_bound_is_an_error(shell: Shell) -> None:
    shell.run("bind", "--register", HANDLE, A)
    shell.error("break", HANDLE, B, code=4)
    shell.error("break", f"{HANDLE}2", B, code=10)


@pytest.mark.parametrize("words", [(), ("--type", "text/html")])
def test_what_is_bound_to_nothing_is_not_reserved(shell: Shell, words: tuple[str, ...]) -> None:
    """Reserved is a name that was bound to nothing yet  # ruling: pdi-reserved-name"""
    (name,) = shell.lines("mint", "--series", SERIES, *words)
    assert "reserved" in shell.run("describe", name).stdout
    shell.run("bind", name, A)
    assert "reserved" not in shell.run("describe", name).stdout
    shell.run("break", name, A)
    described = shell.run("describe", name).stdout
    assert "bound to nothing since" in described
    assert "reserved" not in described
    shell.run("withdraw", name, "--reason", "an error")
    described = shell.run("describe", name).stdout
    assert "withdrawn since" in described
    assert "reserved" not in described


def test_aliases_lead_both_ways(shell: Shell) -> None:
    name = shell.lines("mint", "--series", SERIES)[0].removesuffix(".text.1")
    shell.run("alias", name, HANDLE)
    for one in (name, HANDLE):
        shell.run("bind", "--register", one, A)
        assert set(shell.lines("resolve", one, "--want", "i2ns")) == {name, "doi:10.9999/perdure"}


def test_what_is_withdrawn_is_gone_and_says_why(shell: Shell, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter))[0]
    shell.run("withdraw", name.removesuffix(".text.1"), "--reason", "an error", "--by", "the court")
    result = shell.run("get", name, code=16)
    assert result.stdout == ""
    assert "'an error'" in result.stderr
    assert "the court" in result.stderr
    shell.error("commit", name, str(letter), code=40)


def test_one_version_is_withdrawn(shell: Shell, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter))[0]
    shell.run("commit", name, "-", "--type", "text/plain", stdin="corrected")
    shell.run("withdraw", name, "--reason", "a misprint")
    shell.run("get", name, code=16)
    assert shell.run("get", name[:-1] + "2").stdout == "corrected"


def test_a_withdrawal_needs_another_person_than_the_machine(shell: Shell, letter: Path) -> None:
    """Ruling two-persons: "whoever works on the machine itself is one person"."""
    settings = shell.root / "perdure.toml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace("[perdure]", "[perdure]\nwithdrawal_persons = 2", 1), "utf-8")
    name = shell.lines("mint", "--series", SERIES, str(letter))[0]
    for by in ("anna", "anna", "bert", "Anna "):
        told = shell.run("withdraw", name, "--reason", "an error", "--by", by).stderr
        assert told.startswith("perdure: proposed: ")
        shell.run("get", name)
    assert "an error" in shell.run("describe", name).stdout
    (line,) = shell.lines("proposals")
    assert line.startswith(f"{name.removesuffix('.text.1')} withdrawal of version 1 proposed by")
    shell.run("refuse", name, "--by", "bert")
    assert shell.lines("proposals") == []
    shell.error("refuse", name, code=40)
    shell.run("get", name)


def test_a_reason_must_be_given(shell: Shell) -> None:
    name = shell.lines("mint", "--series", SERIES)[0]
    shell.error("withdraw", name, code=2)
    shell.error("withdraw", name, "--reason", "  ", code=4)


def test_an_alias_resolves_as_what_it_names(shell: Shell) -> None:
    shell.run("bind", "--register", "hdl:1/a", "https://a.example/")
    shell.run("alias", "hdl:1/a", "doi:10.1000/other")
    assert shell.lines("resolve", "doi:10.1000/other")[0] == shell.lines("resolve", "hdl:1/a")[0]
    shell.run("bind", "--register", "hdl:1/b", "https://b.example/")
    shell.run("alias", "hdl:1/b", "doi:10.1000/other")  # which of the two it means, nobody can tell
    shell.error("resolve", "doi:10.1000/other", code=10)


# Erasing
# -------


def use_setting(shell: Shell, line: str) -> None:
    settings = shell.root / "perdure.toml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace("[perdure]", f"[perdure]\n{line}", 1), "utf-8")


def test_an_erasure_says_what_it_does_not_reach(shell: Shell, letter: Path) -> None:
    """Ruling tombstone-silence: "lists what it cannot reach (backups, exports, caches)"."""
    use_setting(shell, "erasure_persons = 1")
    names = [shell.lines("mint", "--series", SERIES, str(letter))[0] for _ in range(2)]
    result = shell.run("erase", names[0], "--reason", "the law")
    assert result.stdout.splitlines() == [names[0]]
    assert f"the same bytes are still held as {names[1]}" in result.stderr
    assert "not reached: backups that are not made again, exports" in result.stderr
    told = shell.json("verify")
    assert (told["checked"], told["erased"], told["problems"]) == (2, 1, 0)
    assert "1 of them erased" in shell.run("verify").stderr
    assert "1 of them erased" in shell.run("verify", "--all").stderr
    assert "erased at " in shell.run("describe", names[0]).stdout
    assert shell.run("get", names[1]).stdout_bytes == letter.read_bytes()


def test_a_part_is_erased(shell: Shell, letter: Path) -> None:
    use_setting(shell, "erasure_persons = 1")
    name = shell.lines("mint", "--series", SERIES, str(letter))[0]
    shell.error("erase", name, "--part", "char=0,400", "--reason", "x", code=18)
    shell.error(
        "erase", name.removesuffix(".text.1"), "--part", "char=0,4", "--reason", "x", code=4
    )
    shell.run("erase", f"{name}#char=0,8", "--reason", "the law")
    (segment,) = (shell.root / "segments").glob("*.warc")
    assert b"Dear Sir" not in segment.read_bytes()
    assert bytes(8) + letter.read_bytes()[8:] in segment.read_bytes()
    shell.run("get", name, code=16)
    assert shell.json("verify")["problems"] == 0


def test_an_erasure_alone_is_proposed(shell: Shell, letter: Path) -> None:
    name = shell.lines("mint", "--series", SERIES, str(letter))[0]
    assert "proposed" in shell.run("erase", name, "--reason", "the law").stderr
    assert " erasure of version 1 proposed by local" in shell.lines("proposals")[0]
    shell.run("refuse", name)
    assert shell.lines("proposals") == []
