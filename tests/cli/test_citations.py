"""`cites`, `cited-by`, `quotes` and `index`: what they print, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

WORDS = "We will open the archives of the past ten years if each office agrees and not before then"


def mint(shell: Shell, place: Path, name: str, text: str) -> str:
    (place / name).write_text(text, "utf-8")
    return str(shell.json("mint", "--series", SERIES, str(place / name))["identifier"])


@pytest.fixture
def speech(shell: Shell, place: Path) -> str:
    return mint(shell, place, "speech.txt", f"{WORDS}.\n")


@pytest.fixture
def memo(shell: Shell, place: Path, speech: str) -> str:
    return mint(shell, place, "memo.txt", f"He said:\n> {WORDS.upper()}\nSee {speech}#char=0,47.\n")


def test_who_cites_and_what_is_cited(shell: Shell, speech: str, memo: str) -> None:
    # each of the three line breaks before it counts two characters, "> " two, "See " four
    origin = len("He said:") + 2 + len("> ") + len(WORDS) + 2 + len("See ")
    (line,) = shell.lines("cited-by", speech)
    assert line.endswith(f" declared:text {memo}@{origin} -> {speech}#char=0,47")
    assert shell.lines("cites", memo) == [line]
    row = shell.json("cited-by", speech)
    assert row["citation"] == f"{memo}@{origin}={speech}#char=0,47"
    assert shell.json("cited-by", speech, "--count") == {"count": 1}
    assert shell.lines("cited-by", f"pdi://{SERIES}/", "--count") == ["1"]
    assert shell.lines("cited-by", f"{speech}#char=50,60") == []
    assert shell.lines("cites", memo, "--kind", "claimed") == []
    assert shell.lines("cites", memo, "--kind", "declared", "--limit", "1") == [line]


def test_an_empty_list_is_a_sentence_for_people_and_nothing_for_programs(
    shell: Shell, speech: str, memo: str
) -> None:
    for words, sentence in (
        (("cites", speech), f"no references found in {speech}"),
        (("cited-by", memo), f"no references to {memo} found"),
        (("cited-by", f"{speech}#char=50,60"), f"no references to {speech}#char=50,60 found"),
        (
            ("cites", memo, "--kind", "claimed"),
            f"no references found in {memo} within these limits",
        ),
        (
            ("cited-by", f"pdi://{SERIES}/", "--since", "2999-01-01"),
            f"no references to pdi://{SERIES}/ found within these limits",
        ),
    ):
        result = shell.run(*words)
        assert (result.stdout, result.stderr) == ("", f"perdure: {sentence}\n")
        result = shell.run(*words, "--json")
        assert (result.stdout, result.stderr) == ("", "")
        assert shell.lines(*words, "--count") == ["0"]
    assert "no references" not in shell.run("cites", memo).stderr


def test_a_list_says_why_it_cannot_be_made(shell: Shell, speech: str, memo: str) -> None:
    assert shell.error("cites", memo, "--kind", "else", code=4)["code"] == "invalid-request"
    assert shell.error("cites", memo, "--since", "2026-13-01", code=4)["day"] == "2026-13-01"
    shell.error("cited-by", f"{speech}9", code=11)
    shell.error("cited-by", "doi:10.1000/182", code=10)
    shell.error("cited-by", f"{speech}#char=0,999", code=18)
    resource = memo.rsplit(".", 2)[0]
    shell.run("withdraw", resource, "--reason", "a court said so")
    shell.run("cites", memo, code=16)
    assert shell.lines("cited-by", speech) == []


def test_a_name_of_elsewhere_can_be_cited(shell: Shell, place: Path) -> None:
    letter = mint(shell, place, "letter.txt", "see doi:10.1000/182")
    assert [
        json.loads(line)["citing"] for line in shell.lines("cited-by", "doi:10.1000/182", "--json")
    ] == [letter]


def test_quotations_are_found_with_their_names(shell: Shell, speech: str, memo: str) -> None:
    pytest.importorskip("numpy")
    report = shell.json("quotes", "of", memo)
    (found,) = report["quotations"]
    start = len("He said:") + 2 + len("> ")
    assert found["identifier"] == f"{memo}#char={start},{start + len(WORDS)}"
    assert found["found_in"] == f"{speech}#char=0,{len(WORDS)}"
    assert found["words"] == len(WORDS.split())
    assert found["citation"] == f"{memo}@{start}={speech}#char=0,{len(WORDS)}"
    assert shell.json("verify", found["citation"])["verdict"] == "same-words"
    assert "15 equal words" in report["promise"]
    assert report["unread"] == 0
    # the speech is the older one, so the name of the citation is the same
    (other,) = shell.json("quotes", "of", speech)["quotations"]
    assert other["found_in"] == found["identifier"]


def test_a_file_is_searched(shell: Shell, speech: str, place: Path) -> None:
    pytest.importorskip("numpy")
    (place / "draft.html").write_text(f"<p>So: <b>{WORDS}</b>, he said", "utf-8")
    result = shell.run("quotes", "find", str(place / "draft.html"))
    (line,) = result.stdout.splitlines()
    assert line.startswith(f"4-{4 + len(WORDS)} = {speech}#char=0,{len(WORDS)} ")
    assert "every run of 15 equal words that is not boilerplate" in result.stderr
    assert shell.lines("quotes", "find", "-", stdin=f"«{WORDS}»")
    assert shell.lines("quotes", "find", "-", stdin="nothing of it") == []
    shell.error("quotes", "of", f"{speech}9", code=11)


def test_the_indexes_are_made_and_say_what_they_could_not_read(
    shell: Shell, speech: str, memo: str, place: Path
) -> None:
    (place / "a.pdf").write_bytes(b"%PDF-1.4\nno objects\n%%EOF\n")
    broken = shell.json("mint", "--series", SERIES, str(place / "a.pdf"))["identifier"]
    for words in (("index",), ("index", "--rebuild")):
        *unread, marks = [json.loads(line) for line in shell.lines(*words, "--json")]
        assert {one["unread"] for one in unread} == {broken}
        assert marks["citations"] == marks.get("passages", marks["citations"])
    assert len(shell.lines("cited-by", speech)) == 1


def test_citations_are_exported_as_everybody_may_read_them(
    shell: Shell, speech: str, memo: str
) -> None:
    shell.error("citations", "export", "--form", "scholix", code=4)  # no base_url
    with (shell.root / "perdure.toml").open("a") as settings:
        settings.write('base_url = "https://pid.example"\n')
    lines = shell.lines("citations", "export", "--form", "opencitations")
    assert lines[1:] == [f'"url:pid.example/{memo}","","url:pid.example/{speech}",""']
    found = json.loads(shell.run("citations", "export", memo, "--form", "scholix").stdout)
    assert [one["Target"]["Identifier"]["ID"] for one in found] == [speech]
    shell.run("restrict", memo.rsplit(".", 2)[0], "--never")
    assert len(shell.lines("citations", "export", "--form", "opencitations")) == 1


def test_reports_are_taken_in_accepted_and_deleted(shell: Shell, speech: str, place: Path) -> None:
    report = {
        "RelationshipType": {"Name": "References"},
        "Source": {"Identifier": {"ID": "10.1000/182", "IDScheme": "DOI"}, "Title": "A paper"},
        "Target": {"Identifier": {"ID": speech, "IDScheme": "PDI"}},
        "LinkProvider": [{"Name": "Crossref"}],
        "LinkPublicationDate": "2026-11-20",
    }
    (place / "links.json").write_text(json.dumps([report]))
    taken = shell.json("citations", "receive", str(place / "links.json"), "--form", "scholix")
    assert taken == {"added": 1, "known": 0, "left_out": 0}
    assert shell.lines("cited-by", speech) == []
    assert shell.json("citations", "received", "--state", "waiting")["number"] == 1
    shell.run("citations", "accept", "1")
    source = "https://doi.org/10.1000/182"
    (line,) = shell.lines("cited-by", speech)
    assert line == f"2026-11-20 received:scholix {source} -> {speech} (says Crossref)"
    assert shell.json("cited-by", speech, "--count") == {"count": 1}
    mint(shell, place, "note.txt", f"See {speech}.")
    assert shell.lines("cited-by", speech)[1:] == [line]
    assert shell.lines("cited-by", speech, "--limit", "1") != [line]
    counts = [
        shell.json("cited-by", speech, "--count", "--limit", most) for most in ("1", "2", "3")
    ]
    assert counts == [{"count": 1}, {"count": 2}, {"count": 2}]
    shell.run("citations", "delete", "1")
    assert line not in shell.lines("cited-by", speech)
    shell.error("citations", "delete", "1", code=10)
    inside = "http://127.0.0.1:1/x"
    assert shell.error("citations", "receive", inside, "--form", "scholix", code=4)
    assert shell.lines("citations", "fetch") == []


def test_found_quotations_are_listed_when_they_are_asked_for(
    shell: Shell, speech: str, memo: str
) -> None:
    pytest.importorskip("numpy")
    start = len("He said:") + 2 + len("> ")
    (line,) = shell.lines("cited-by", speech, "--kind", "found")
    assert line.endswith(f" found {memo}@{start} -> {speech}#char=0,{len(WORDS)}")
    assert shell.lines("cites", memo, "--kind", "found") == [line]
    assert shell.lines("cites", speech, "--kind", "found") == []
    assert shell.lines("cited-by", memo, "--kind", "found") == []
    shell.error("cites", memo, "--kind", "found", "--kind", "claimed", code=4)
    shell.error("cites", f"pdi://{SERIES}/", "--kind", "found", code=4)
    form = ("--form", "opencitations")
    assert len(shell.lines("citations", "export", "--kind", "found", *form)) == 1


def test_a_reader_that_stops_is_no_fault_of_the_index(shell: Shell, speech: str, memo: str) -> None:
    """As `perdure citations export --form cito | head -1` may do."""
    with (shell.root / "perdure.toml").open("a") as settings:
        settings.write('base_url = "https://pid.example"\n')
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "perdure.cli", "-C", str(shell.root)]
    ended = subprocess.run(
        [*words, "citations", "export", "--form", "cito"],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert b"index" not in ended.stderr
    assert ended.returncode
