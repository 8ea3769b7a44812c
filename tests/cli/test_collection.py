"""Collections on the command line: made, added to, listed, checked, compared."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.cli.conftest import Shell

from perdure.model import collection as members
from perdure.upkeep.collection import forms, reports
from perdure.upkeep.collection.checking import MemberChecker
from perdure.upkeep.collection.resuming import RunLog, RunSubject
from perdure.upkeep.collection.status import CheckedMember, State

PWID = "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/"
CLOSED = "pwid:netarkivet.dk:2016-01-22T11.20.29Z:part:http://www.dr.dk/"
LETTER = b"Dear Sir,\nyours\n"
TODAY = r"pdi://oma\.eop\.gov\.us/\d{4}/\d\d/\d\d"


@pytest.fixture
def minted(shell: Shell, letter: Path) -> str:
    (name,) = shell.lines("mint", str(letter), "--series", "oma.eop.gov.us")
    return name


def corpus(shell: Shell, *lines: str, **settings: object) -> str:
    (name,) = shell.lines("collection", "make", "-", stdin="\n".join(lines), **settings)
    return name


def test_make_mints_a_document(shell: Shell, minted: str) -> None:
    words = (
        "collection",
        "make",
        "-",
        "--title",
        "A corpus",
        "--creator",
        "Ada",
        "--purpose",
        "why",
    )
    (name,) = shell.lines(*words, stdin=f"{minted}\tname=letter\n{PWID}\n")
    assert re.fullmatch(rf"{TODAY}/\d+\.json\.1", name)
    data = shell.run("get", name).stdout_bytes
    found = members.read_collection(data)
    assert (found.title, found.creators, found.purpose) == ("A corpus", ("Ada",), "why")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.date)
    letter, page = found.members
    assert (letter.identifier, letter.name) == (minted, "letter")
    assert letter.digest == "sha512:" + hashlib.sha512(LETTER).hexdigest()
    assert (letter.length, letter.media_type) == (16, "text/plain")
    assert (page.identifier, page.digest) == (PWID, "")
    assert members.write_collection(found) == data, "what is held is the canonical form"
    record = shell.json("describe", name)["record"]
    assert record["metadata"] == {"title": "A corpus", "creator": "Ada"}


def test_an_empty_stdin_is_a_program_that_failed(shell: Shell, minted: str, place: Path) -> None:
    """It makes no collection, and no version without members."""
    first = corpus(shell, minted)
    for words in (("make",), ("commit", first), ("add", first)):
        said = shell.error("collection", *words, "-", code=2, stdin=b"")
        assert "to deposit an empty collection, name an empty file" in said["message"]
    shell.error("collection", "make", "/dev/null", code=2)
    assert shell.lines("collection", "list", first) == [f"1\t{minted}"]
    (place / "empty.txt").touch()
    (name,) = shell.lines("collection", "make", "empty.txt")
    assert shell.lines("collection", "list", name) == []


def test_addresses_at_web_archives_are_taken_as_pwids(shell: Shell) -> None:
    name = corpus(shell, "https://web.archive.org/web/20160122112029/http://www.dr.dk/")
    assert shell.lines("collection", "list", name) == [f"1\t{PWID}"]


def test_add_makes_the_next_version(shell: Shell, minted: str) -> None:
    first = corpus(shell, minted)
    (second,) = shell.lines("collection", "add", first, "-", stdin=f"{minted}\n{PWID}\n")
    assert second == f"{first[:-1]}2"
    assert shell.lines("collection", "list", second) == [f"1\t{minted}", f"2\t{PWID}"]
    assert shell.lines("collection", "list", first) == [f"1\t{minted}"]
    error = shell.error("collection", "add", first, "-", stdin=CLOSED, code=40)
    assert error["current"] == second
    shell.error("collection", "add", second, "-", "--expect", "1", stdin=CLOSED, code=41)
    result = shell.run("collection", "add", second, "-", stdin=PWID)
    assert result.stdout.strip() == second
    assert "0 members added, 1 were members already" in result.stderr


@pytest.mark.parametrize("form", ["json", "text", "csv", "turtle"])
def test_a_list_that_was_edited_is_the_next_version(shell: Shell, minted: str, form: str) -> None:
    first = corpus(shell, minted, PWID, CLOSED)
    data = shell.run("collection", "list", first, "--form", form).stdout_bytes
    edited = forms.read_collection(data)
    edited = msgspec.structs.replace(edited, title="Edited", members=edited.members[:0:-1])
    text = forms.write_collection(edited, form)
    (second,) = shell.lines("collection", "commit", first, "-", stdin=text)
    assert second == f"{first[:-1]}2"
    assert shell.lines("collection", "list", second) == [f"1\t{CLOSED}", f"2\t{PWID}"]
    assert len(shell.lines("collection", "list", first)) == 3
    shell.error("collection", "commit", first, "-", stdin=text, code=40)
    (third,) = shell.lines("collection", "commit", second, "-", stdin=minted)
    seen = members.read_collection(shell.run("get", third).stdout_bytes)
    assert (seen.title, seen.date) == ("Edited", edited.date)
    assert seen.members[0].digest == "sha512:" + hashlib.sha512(LETTER).hexdigest()


@pytest.mark.parametrize("form", ["json", "text", "csv", "turtle"])
def test_list_writes_all_forms_and_make_reads_them(shell: Shell, minted: str, form: str) -> None:
    name = corpus(shell, f"{minted}\ttitle=A <letter>", PWID)
    data = shell.run("collection", "list", name, "--form", form).stdout_bytes
    (again,) = shell.lines("collection", "make", "-", stdin=data)
    assert shell.run("get", again).stdout_bytes == shell.run("get", name).stdout_bytes


def test_only_collections_are_listed(shell: Shell, minted: str) -> None:
    shell.error("collection", "list", minted, code=13)
    shell.error("collection", "list", "pdi://oma.eop.gov.us/1999/09/09/9", code=10)
    error = shell.error("collection", "make", "-", stdin=f"{PWID}\nno:thing\n", code=55)
    assert error["line"] == 2


# checking
# --------


def states(shell: Shell, name: str, code: int = 0) -> dict[str, str]:
    report = shell.run("collection", "check", name, "--report", "json", code=code).stdout
    return {one["identifier"]: one["state"] for one in json.loads(report)["checked"]}


def test_check_tells_what_became_of_each(shell: Shell, minted: str) -> None:
    gone, part = minted, f"{minted}#char=0,4"
    (reserved,) = shell.lines("mint", "--series", "oma.eop.gov.us", "--format", "text")
    (elsewhere,) = shell.lines(
        "mint", "--series", "oma.eop.gov.us", "--location", "http://example.org/a"
    )
    listed = {
        gone: State.HELD,
        part: State.HELD,
        f"{minted}#char=0,400": State.ABSENT,
        reserved: State.KNOWN,
        elsewhere: State.LOCATED,
        "pdi://oma.eop.gov.us/1999/09/09/9.text.1": State.ABSENT,
        "pdi://whitehouse.gov.us/1999/09/09/9.text.1": State.FOREIGN,
        "doi:10.1000/182": State.FOREIGN,
        PWID: State.UNVERIFIED,
        CLOSED: State.CLOSED,
        "pwid:nobody.example:2016-01-22T11.20.29Z:part:http://www.dr.dk/": State.UNVERIFIED,
    }
    name = corpus(shell, *listed)
    assert states(shell, name, code=1) == {one: str(state) for one, state in listed.items()}
    shell.run("withdraw", gone, "--reason", "a court said so")
    assert states(shell, name, code=1)[gone] == "gone"


def test_a_digest_that_the_collection_gives_is_compared(shell: Shell, minted: str) -> None:
    sha1 = hashlib.sha1(LETTER).hexdigest()
    name = corpus(shell, f"{minted}\tdigest=sha1:{sha1}")
    assert states(shell, name) == {minted: "held"}
    name = corpus(shell, f"{minted}\tdigest=sha1:{sha1[::-1]}")
    assert states(shell, name, code=1) == {minted: "digest changed"}


def test_a_name_without_version_drifts_and_diff_says_so(
    shell: Shell, minted: str, tmp_path: Path
) -> None:
    resource = minted.rsplit(".", 2)[0]
    name = corpus(shell, resource, PWID)
    before = tmp_path / "before.json"
    shell.run("collection", "check", name, "--report", "json", "-o", str(before))
    assert shell.run("collection", "diff", str(before), name).stdout.endswith("nothing changed\n\n")
    written = shell.run("collection", "diff", str(before), name, "-o", str(tmp_path / "drift"))
    assert written.stderr == "perdure: nothing changed\n"
    shell.run("commit", resource, "-", stdin="Dear Madam,\n")
    after = tmp_path / "after.json"
    shell.run("collection", "check", name, "--report", "json", "-o", str(after), code=1)
    for new in (str(after), name):
        words = ("collection", "diff", str(before), new, "--report", "json")
        (change,) = json.loads(shell.run(*words, code=1).stdout)["changes"]
        assert (change["kind"], change["identifier"]) == ("digest changed", resource)
    shell.run("withdraw", resource, "--reason", "a court said so")
    (change,) = shell.json("collection", "diff", str(after), name, code=1)["changes"]
    for asked in (("check", name), ("diff", str(after), name)):
        told = shell.run("collection", *asked, "--json", code=1).stdout
        assert told.count("\n") == 1
        told = shell.run("collection", *asked, "--report", "json", code=1).stdout
        assert told.endswith("\n}\n")
    assert change["kind"] == "gone"


def test_an_archive_that_closes_or_moves_is_drift(shell: Shell) -> None:
    """ "re-check later shows drift (digest changed, gone, closed, moved)" """
    settings, archives = shell.root / "perdure.toml", shell.root / "archives.toml"
    settings.write_text(settings.read_text() + 'archives_file = "archives.toml"\n')
    entry = '[[archive]]\nid = "x.example"\naccess = "{}"\nmoved_to = "{}"\n'
    archives.write_text("")
    name = corpus(shell, "pwid:x.example:2016-01-22T11.20.29Z:part:http://www.dr.dk/")
    before = shell.root.parent / "before.json"
    for access, moved_to, kind in (
        ("open", "", None),
        ("closed", "", "closed"),
        ("open", "archive.org", "moved"),
    ):
        archives.write_text(entry.format(access, moved_to))
        if kind is not None:
            words = ("collection", "diff", str(before), name)
            text = shell.run(*words, code=1).stdout
            assert f"1 member, 1 {kind}\n" in text
            assert f"1 {kind}: pwid:x.example" in text
            assert f"<td>{kind}</td>" in shell.run(*words, "--report", "html", code=1).stdout
            (change,) = shell.json(*words, code=1)["changes"]
            assert change["kind"] == kind
        shell.run("collection", "check", name, "--report", "json", "-o", str(before))


def test_damage_is_told(shell: Shell, minted: str) -> None:
    name = corpus(shell, minted)
    (segment,) = (shell.root / "segments").iterdir()
    segment.write_bytes(segment.read_bytes().replace(b"Dear Sir,\n", b"Dear Sis,\n", 1))
    assert states(shell, name, code=1) == {minted: "damaged"}


def test_versions_are_compared(shell: Shell, minted: str) -> None:
    first = corpus(shell, minted, PWID)
    (second,) = shell.lines("collection", "add", first, "-", stdin=CLOSED)
    (change,) = shell.json("collection", "diff", first, second, code=1)["changes"]
    assert (change["kind"], change["identifier"], change["number"]) == ("added", CLOSED, 3)
    (change,) = shell.json("collection", "diff", second, first, code=1)["changes"]
    assert change["kind"] == "removed"
    shell.run("collection", "diff", first, first)


def test_nothing_in_a_report_is_markup(shell: Shell) -> None:
    name = corpus(shell, PWID, "doi:10.1/<b>\tname=<script>")
    page = shell.run("collection", "check", name, "--report", "html").stdout
    chosen = shell.run("--json", "collection", "check", name, "--report", "html").stdout
    assert chosen.startswith(page.partition("\n")[0])
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_a_check_that_was_killed_goes_on_where_it_was(
    shell: Shell, minted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = corpus(shell, minted, PWID, CLOSED)
    state = tmp_path / "state"
    whole = shell.run("collection", "check", name, "--report", "json").stdout
    document = shell.run("get", name).stdout_bytes
    about = RunSubject(
        run="check",
        collection=name,
        sha512=hashlib.sha512(document).hexdigest(),
        begun="2020-01-01T00:00:00Z",
    )
    first = CheckedMember(number=1, identifier=minted, state=State.UNREADABLE, detail="seen before")
    with RunLog(state, about, CheckedMember) as log:
        log.add_step(first)
    with state.open("ab") as file:
        file.write(b'{"number": 2, "identif')  # a crash in the middle of a line
    words = ("collection", "check", name, "--report", "json", "--state", str(state))
    found = reports.read_report(shell.run(*words, code=1).stdout_bytes)
    assert found.begun == "2020-01-01T00:00:00Z"
    assert found.checked[0] == first, "it was not looked at again"
    assert found.checked[1:] == reports.read_report(whole.encode()).checked[1:]
    assert not state.exists()


@pytest.mark.parametrize("what", ["make", "add", "commit", "check", "diff"])
def test_a_run_that_was_killed_does_nothing_twice(
    shell: Shell, minted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Of each run the first member is looked at, then SIGKILL comes."""
    listed, state, before = tmp_path / "listed", tmp_path / "state", tmp_path / "before.json"
    part = f"{minted}#char=0,4"
    listed.write_text(f"{minted}\n{part}\n")
    name = corpus(shell, PWID if what in {"add", "commit"} else listed.read_text())
    shell.run("collection", "check", name, "--report", "json", "-o", str(before))
    words = {
        "make": ("make", str(listed)),
        "add": ("add", name, str(listed)),
        "commit": ("commit", name, str(listed)),
        "check": ("check", name),
        "diff": ("diff", str(before), name),
    }[what]
    words = ("collection", *words, "--state", str(state))
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, "-C", str(shell.root), *words], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    looked: list[str] = []
    check = MemberChecker.check

    def noted(self: MemberChecker, number: int, member: members.CollectionMember) -> CheckedMember:
        looked.append(member.identifier)
        return check(self, number, member)

    monkeypatch.setattr(MemberChecker, "check", noted)
    told = shell.run(*words).stdout
    assert looked == [part]
    assert not state.exists()
    if what in {"make", "add", "commit"}:
        made = members.read_collection(shell.run("get", told.strip()).stdout_bytes).members[-2:]
        data = (LETTER, LETTER[:4])
        assert [one.digest for one in made] == [
            f"sha512:{hashlib.sha512(one).hexdigest()}" for one in data
        ]


_KILLED = """
import os, signal, sys
from perdure.cli import perdure
from perdure.upkeep.collection.checking import MemberChecker
check = MemberChecker.check
def until(self, number, member):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return check(self, number, member)
MemberChecker.check = until
perdure.main(sys.argv[1:])
"""


def test_the_state_of_another_run_is_left_alone(shell: Shell, minted: str, tmp_path: Path) -> None:
    name = corpus(shell, minted)
    state = tmp_path / "state"
    for data in (b"my diary\n", b"my diary", msgspec.json.encode(
        RunSubject(run="check", collection="hdl:1/1", sha512="", begun="")) + b"\n"):  # fmt: skip
        state.write_bytes(data)
        shell.error("collection", "check", name, "--state", str(state), code=40)
        assert state.read_bytes() == data


def test_a_report_that_cannot_be_written_keeps_what_was_done(
    shell: Shell, minted: str, tmp_path: Path
) -> None:
    name = corpus(shell, minted)
    state = tmp_path / "state"
    output = str(tmp_path / "no" / "such" / "place")
    shell.error("collection", "check", name, "--state", str(state), "-o", output, code=6)
    assert state.exists()
