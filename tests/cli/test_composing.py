"""`compose` and `provenance`."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

_PIXEL = "R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="


@pytest.fixture
def name(shell: Shell, letter: Path) -> str:
    return shell.lines("mint", "--series", SERIES, str(letter))[0]


def test_a_composite_is_made_and_explained(shell: Shell, name: str, place: Path) -> None:
    page = place / "page.html"
    page.write_text(f'<!doctype html><blockquote cite="{name}#char=0,9"></blockquote>')
    result = shell.run(
        "compose", str(page), "--series", SERIES, "--title", "Letters", "--by", "ann"
    )
    made = result.stdout.strip()
    assert f"verbatim: {name}#char=0,9" in result.stderr
    assert "Letters" in shell.run("describe", made).stdout
    assert "Dear Sir,</blockquote>" in shell.run("get", made).stdout
    (line,) = shell.lines("provenance", made)
    assert line.startswith(f"verbatim {name}#char=0,9 at char=")
    result = shell.run("provenance", name)
    assert result.stdout == ""
    assert f"{made} contains it" in result.stderr
    told = shell.run("withdraw", name.removesuffix(".text.1"), "--reason", "a court said so").stderr
    assert f"{made.removesuffix('.html.1')} is about it, or contains it" in told
    (line,) = shell.lines("provenance", made, code=1)
    assert line.startswith(f"gone {name}#char=0,9")
    assert line.endswith(", a court said so")
    assert shell.json("provenance", made, code=1)["tombstone"]["reason"] == "a court said so"


def test_a_composite_can_be_written_to_a_file(shell: Shell, name: str, place: Path) -> None:
    include = f'<xi:include href="{name}" parse="text"/>'
    source = f'<a xmlns:xi="http://www.w3.org/2001/XInclude">{include}</a>'
    result = shell.run("compose", "-", "--type", "text/xml", "--output", "-", stdin=source)
    assert "Dear Sir,\nyours" in result.stdout
    shell.run("compose", "-", "--type", "text/xml", "-o", str(place / "made.xml"), stdin=source)
    assert (place / "made.xml").read_text() == result.stdout


def test_the_name_of_a_file_says_that_it_is_xml(shell: Shell, name: str, place: Path) -> None:
    """As for `mint`: XML needs no declaration (XML 1.0, section 2.8)."""
    include = f'<xi:include href="{name}#char=0,4" parse="text"/>'
    path = place / "page.xml"
    path.write_text(f'<d xmlns:xi="http://www.w3.org/2001/XInclude">{include}</d>')
    (made,) = shell.lines("compose", str(path), "--series", SERIES)
    assert made.endswith(".xml.1")


def test_parts_are_conjoined(shell: Shell, name: str) -> None:
    parts = (f"{name}#char=0,4", f"{name}#char=5,9")
    (made,) = shell.lines("conjoin", *parts, "--body", "Both.", "--by", "ann")
    lines = shell.lines("provenance", made)
    assert [line.split()[:2] for line in lines] == [["referenced", one] for one in parts]
    (line,) = shell.lines("assertions", parts[0])
    assert line.startswith(f"{made} same conjoins by ann at ")
    assert line.endswith(": Both.")
    assert "at least 2 parts" in shell.run("conjoin", parts[0], code=4).stderr
    shell.run("withdraw", name.removesuffix(".text.1"), "--reason", "a court said so")
    shell.run("provenance", made, code=1)


@pytest.mark.parametrize(
    ("words", "document", "code"),
    [
        ((), "<p>", 2),
        (("--series", SERIES, "--output", "-"), "<p>", 2),
        (("--series", SERIES), "<!doctype html><p>nothing", 4),
        (("--series", SERIES), '<!doctype html><q cite="pdi://a.us/1999/01/01/1.text.1">x</q>', 4),
        (("--series", SERIES, "--type", "text/plain"), "x", 4),
        (("--series", SERIES, "--type", "text/html"), "x" * (9 << 20), 52),
    ],
)
def test_mistakes(shell: Shell, words: tuple[str, ...], document: str, code: int) -> None:
    shell.run("compose", "-", *words, stdin=document, code=code)


def test_a_manifest_needs_the_address_of_the_resolver(shell: Shell, name: str, place: Path) -> None:
    (place / "a.gif").write_bytes(b64decode(_PIXEL))
    (picture,) = shell.lines("mint", "--series", SERIES, str(place / "a.gif"))
    assert "no public resolver" in shell.run("manifest", picture, code=4).stderr
    with (shell.root / "perdure.toml").open("a") as settings:
        settings.write('base_url = "https://pid.example"\n')
    found = json.loads(shell.run("manifest", picture).stdout)
    assert found["id"] == f"https://pid.example/{picture}?manifest"
    assert found["items"][0]["width"] == 1
    assert "no picture, sound or film" in shell.run("manifest", name, code=13).stderr
