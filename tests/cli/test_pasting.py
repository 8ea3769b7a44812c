"""Identifiers on the command line as people paste them, and series as they know them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Shell


@pytest.fixture
def name(shell: Shell, letter: Path) -> str:
    return shell.lines("mint", "--series", "oma.eop.gov.us", str(letter))[0]


@pytest.mark.parametrize(
    "form",
    ["<{}>", "“{}”", " {} ", "http://127.0.0.1:28411/{}", "https://a.example/urn:{}?landing"],
)
def test_every_command_reads_what_is_pasted(shell: Shell, name: str, form: str) -> None:
    pasted = form.format(name)
    assert shell.run("get", pasted).stdout_bytes == b"Dear Sir,\nyours\n"
    assert (
        shell.json("describe", pasted)["identifier"] == shell.json("describe", name)["identifier"]
    )
    assert shell.lines("list", pasted) == shell.lines("list", name)


def test_a_printed_link_to_a_part_is_the_part(shell: Shell, name: str) -> None:
    for link in (f"https://a.example/{name}%23char=5,8", f"https://a.example/{name}?part=char=5,8"):
        assert shell.run("get", link).stdout == "Sir"
        assert shell.lines("deurlify", f"<{link}>") == [f"{name}#char=5,8"]


def test_other_names_are_read_at_our_own_address(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://pid.example.org/hdl:1839/a"
    assert shell.error("resolve", url, code=3)["meant"] == "hdl:1839/a"
    monkeypatch.setenv("PERDURE_BASE_URL", "https://pid.example.org")
    assert shell.error("describe", url, code=10)["identifier"] == "hdl:1839/a"


def test_a_name_without_its_scheme_is_not_guessed_but_named(shell: Shell, name: str) -> None:
    told = shell.error("get", name.removeprefix("pdi://"), code=3)
    assert (told["code"], told["meant"]) == ("unknown-scheme", name)


@pytest.mark.parametrize(
    "text", ["press.a.us", "PRESS.a.us/", "pdi://press.a.us/", "urn:pdi://press.a.us/"]
)
def test_a_series_is_read_as_people_write_it(shell: Shell, text: str) -> None:
    assert "press.a.us" in shell.json("init", "--series", text)["series"]


@pytest.mark.parametrize(("text", "at"), [("oma_x.us", 3), ("pdi://x_y.us/", 7), ("x.us/2026/", 4)])
def test_a_wrong_series_is_told_as_it_was_written(shell: Shell, text: str, at: int) -> None:
    told = shell.error("init", "--series", text, code=3)
    assert (told["text"], told["at"]) == (text, at)


@pytest.mark.parametrize(
    "words",
    [
        ("history", "{}"), ("break", "{}", "https://x.example/"),
        ("correct", "{}", "--charset", "utf-8"),
        ("bind", "{}", "https://x.example/"),
    ],
)  # fmt: skip
def test_a_pattern_where_one_name_is_needed_is_called_so(
    shell: Shell, name: str, words: tuple[str, ...]
) -> None:
    interval = name.rpartition("/")[0] + "/"
    command = [one.format(interval) for one in words]
    assert "a pattern names many resources" in shell.error(*command, code=4)["reason"]


def test_metadata_of_many_names_are_only_merged(shell: Shell, name: str, tmp_path: Path) -> None:
    record = tmp_path / "m.json"
    record.write_text('{"titles":[{"value":"A"}]}')
    interval = name.rpartition("/")[0] + "/"
    said = shell.error("metadata", "set", interval, str(record), code=2)
    assert "a pattern or a list of names needs --merge" in said["message"]


def test_a_version_without_a_format_is_explained(shell: Shell, name: str) -> None:
    generic = name.removesuffix(".text.1")
    assert (
        "a version needs a format before it, such as .text.1"
        in shell.run("get", f"{generic}.1", code=13).stderr
    )
    assert "request one of text" in shell.run("get", f"{generic}.pdf", code=13).stderr
