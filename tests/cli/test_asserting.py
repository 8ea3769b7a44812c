"""`assert`, `assertions` and `retract`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.model.assertions import CONTEXT, write_assertion
from perdure.registry import Registry
from perdure.upkeep.proposing import propose_assertion


@pytest.fixture
def name(shell: Shell, letter: Path) -> str:
    return shell.lines("mint", "--series", SERIES, str(letter))[0]


def test_an_assertion_is_made_listed_and_retracted(shell: Shell, name: str) -> None:
    words = ("--motivation", "cito:disputes", "--body", "Out of context.", "--by", "ann")
    (made,) = shell.lines("assert", f"{name}#char=0,8", *words)
    assert made.endswith(".jsonld.1")
    (line,) = shell.lines("assertions", name)
    assert line.startswith(f"{made} part cito:disputes by ann at ")
    assert line.endswith("Z: Out of context.")
    assert shell.lines("assertions", f"{name}#char=9,10") == []
    shell.run("retract", made, "I was wrong", "--by", "bob", code=31)
    (retraction,) = shell.lines("retract", made, "I was wrong", "--by", "ann")
    assert f", retracted by {retraction}: " in shell.lines("assertions", name)[0]
    assert shell.lines("assertions", name, "--standing") == []


def test_the_forms_of_a_list(shell: Shell, name: str) -> None:
    made = shell.lines("assert", name, "--body", "Well said.")[0]
    (item,) = shell.json("assertions", name, "--form", "array")
    assert item["canonical"] == made.removesuffix(".jsonld.1")
    assert item["motivation"] == "commenting"
    page = shell.json("assertions", name, "--form", "page")
    assert (page["type"], page["id"]) == ("AnnotationPage", name)
    assert page["items"][0]["registry"]["scope"] == "same"
    assert shell.json("assertions", name)["motivations"] == ["http://www.w3.org/ns/oa#commenting"]


def test_lists_can_be_narrowed(shell: Shell, name: str) -> None:
    one = shell.lines("assert", name, "--motivation", "questioning", "--by", "ann")[0]
    other = shell.lines("assert", f"{name}#char=0,4", "--body", "x")[0]
    for words, found in (
        (("--by", "ann"), [one]),
        (("--motivation", "questioning"), [one]),
        (("--scope", "part"), [other]),
        (("--scope", "part", "--scope", "same"), [one, other]),
        (("--scope", "set"), []),
    ):
        lines = shell.lines("assertions", name, *words)
        assert [line.split()[0] for line in lines] == found


def test_many_lines_at_once(shell: Shell, name: str) -> None:
    good = write_assertion((name,), ("tagging",), body="x").replace(b"\n", b"")
    result = shell.run("assert", "--lines", "-", stdin=good + b"\n{}\n" + good + b"\n", code=1)
    assert len(result.stdout.splitlines()) == 2
    assert "line 2: " in result.stderr
    assert "2 assertions stored, 1 refused" in result.stderr
    shell.run("assert", "--lines", "-", stdin=good)
    assert len(shell.lines("assertions", name)) == 3


def test_a_document_is_kept_as_it_is(shell: Shell, name: str, place: Path) -> None:
    path = place / "note.jsonld"
    document = {"type": "Annotation", "@context": CONTEXT, "target": name, "creator": "urn:x:me"}
    path.write_text(json.dumps(document))
    made = shell.lines("assert", "--file", str(path))[0]
    assert shell.run("get", made).stdout == path.read_text()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("assert",), 2),
        (("assert", "--body", "x"), 2),
        (("assert", "hdl:1839/"), 2),
        (("assert", "hdl:1839/x", "--lines", "-"), 2),
        (("assert", "URN:IANA:42117::x:::#char=6,11"), 2),
        (("assert", "pdi://oma.eop.gov.us/1999/01/01/1"), 10),
        (("assert", "hdl:1839/x", "--motivation", "shouting"), 4),
        (("assert", "--file", "-"), 4),
        (("assertions", "pdi://oma.eop.gov.us/1999/01/01/1"), 10),
        (("assertions", "hdl:1839/x", "--motivation", "shouting"), 4),
        (("retract", "hdl:1839/x"), 10),
    ],
)
def test_mistakes(shell: Shell, words: tuple[str, ...], code: int) -> None:
    shell.run(*words, stdin="{}", code=code)
    assert shell.lines("assertions", "hdl:1839/x") == []


def test_what_is_no_assertion_cannot_be_retracted(shell: Shell, name: str) -> None:
    assert shell.error("retract", name, code=4)["code"] == "invalid-request"


def test_ten_megabytes_are_refused(shell: Shell) -> None:
    assert shell.error("assert", "--file", "-", stdin=b"[" * 10_000_000, code=52)["code"]


def test_proposals_are_listed_accepted_and_refused(shell: Shell, name: str) -> None:
    with Registry(shell.root) as registry:
        for body, why in (("one", ("questioning",)), ("other", ())):
            data = write_assertion((name,), why, body=body)
            propose_assertion(registry, data, series=SERIES, by="eve")
    lines = shell.lines("assertions", "--proposed")
    assert not any("  " in line for line in lines)
    lines.sort(key=lambda line: "questioning" not in line)
    first, second = (line.split()[0] for line in lines)
    assert shell.lines("assertions", "--proposed", "--by", "ann") == []
    (made,) = shell.lines("assert", "--accept", first, "--by", "ann")
    assert shell.lines("assert", "--refuse", second) == [second]
    assert shell.lines("assertions", "--proposed") == []
    (line,) = shell.lines("assertions", name)
    assert line.startswith(f"{made} same questioning by eve at ")
    assert "accepted by" in shell.run("describe", made, "--json").stdout
    for word in ("--accept", "--refuse"):
        assert shell.error("assert", word, first, code=10)["code"] == "not-found"
    shell.run("assertions", code=2)
    shell.run("assertions", name, "--proposed", code=2)
