"""`verify`, `rebuild`, `backup`."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES

from perdure.cli.progress import Bar
from perdure.ids import parse
from perdure.registry import Registry


def mint(shell: Shell, text: str) -> str:
    return shell.lines("mint", "--series", SERIES, "-", "--type", "text/plain", stdin=text)[0]


def damage(root: Path, before: bytes, after: bytes) -> None:
    (segment,) = (root / "segments").glob("*.warc")
    segment.write_bytes(segment.read_bytes().replace(before, after))


def test_verify_finds_a_changed_byte(shell: Shell) -> None:
    first, second = mint(shell, "the first"), mint(shell, "the second")
    told = shell.json("verify")
    assert (told["checked"], told["bytes"], told["problems"]) == (2, 19, 0)
    assert (told["changes"], told["lost"]) == (3, 0)
    assert told["head"]["number"] == 3
    damage(shell.root, b"the second", b"the Second")
    result = shell.run("verify", code=1)
    assert result.stdout.startswith(f"{second}: digest ")
    assert "2 representations with 19 bytes checked, 1 problem" in result.stderr
    found, sums = map(json.loads, shell.run("verify", "--json", code=1).stdout.splitlines())
    assert (found["identifier"], found["segment"]) == (second, 1)
    assert sums["problems"] == 1
    shell.run("verify", first)


def test_verify_says_what_it_does_before_the_first_finding(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar without an end moves; one of 0 bytes is full while a million redirects are read."""
    told: list[tuple[str, float | None]] = []

    @contextmanager
    def show(what: str, *, total: float | None, unit: str = "bytes") -> Iterator[Bar]:
        told.append((what, total))
        yield lambda _done, phase=None: told.append((phase or "", None))

    monkeypatch.setattr("perdure.cli.keeping.show_progress", show)
    shell.run("bind", "--register", "hdl:1839/a", "https://a.example/")
    shell.run("verify")
    assert told[:2] == [("verifying", None), ("looking for records with bytes", None)]
    assert told[2][0] == "changes"
    mint(shell, "a document")
    told.clear()
    shell.run("verify")
    assert told[0][1]
    assert told[1:3] == [("looking for records with bytes", None), ("verifying", None)]


def test_verify_names_each_damaged_record_without_bytes(shell: Shell) -> None:
    """Records without bytes are read once, with the changes that wrote them."""
    document = mint(shell, "a document").removesuffix(".text.1")
    lines = [
        json.dumps({"id": f"pdi://{SERIES}/1997/09/01/{number}", "locations": [f"urn:a:{number}"]})
        for number in range(1, 10)
    ]
    shell.run("import", "-", stdin="\n".join(lines))
    shell.run("verify")
    with closing(sqlite3.connect(shell.root / "registry.sqlite")) as connection, connection:
        connection.execute("DROP TRIGGER records_hold")
        connection.execute("UPDATE records SET record=record || 1 WHERE key GLOB '*/a[37]'")
        update = "UPDATE records SET record='' WHERE key=?"
        connection.execute(update, (parse(document).key,))
    *found, sums = map(json.loads, shell.run("verify", "--json", code=1).stdout.splitlines())
    named = [one["identifier"] for one in found if "identifier" in one]
    lost = [f"pdi://{SERIES}/1997/09/01/{number}" for number in (3, 7)]
    assert named == [*lost, document]
    assert sums["problems"] == len(found)
    assert sums["checked"] == 0


def test_verify_all_finds_a_damaged_head(shell: Shell) -> None:
    """A rebuild would have stopped there, and given the lost names out again."""
    name = mint(shell, "the first")
    assert shell.json("verify", "--all")["problems"] == 0
    assert shell.json("verify", "--all", name)["checked"] == 1
    damage(shell.root, b"Content-Length", b"Cmntent-Length")
    shell.run("verify")
    result = shell.run("verify", "--all", code=1)
    assert f"{name}: its bytes are as promised, but the head" in result.stdout
    shell.run("backup", "copy", "--check", code=1)


def test_a_damaged_record_is_no_reason_to_leave_out_others(shell: Shell) -> None:
    first = mint(shell, "the first")
    mint(shell, "the second")
    damage(shell.root, b"the second", b"the Second")
    result = shell.run("export", code=53)
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == [first[:-7]]
    assert "/2.text.1" in result.stderr


def test_rebuild_keeps_what_only_the_old_file_tells(shell: Shell) -> None:
    name = mint(shell, "bytes")
    shell.run("bind", "--register", "hdl:10.9999/x", "https://a.example")
    before = shell.lines("export")
    done = shell.json("rebuild")
    assert (done["segments"], done["records"], done["problems"]) == (1, 2, [])
    assert shell.lines("export") == before
    assert shell.run("get", name).stdout == "bytes"
    assert len(list((shell.root / "aside").glob("registry-*.sqlite"))) == 1


def test_rebuild_of_a_lost_file_tells_that_it_is_lost(shell: Shell) -> None:
    name = mint(shell, "bytes")
    (shell.root / "registry.sqlite").unlink()
    assert "it does not exist" in shell.run("rebuild", code=1).stderr
    assert shell.run("get", name).stdout == "bytes"


def test_rebuild_waits_for_nobody(shell: Shell) -> None:
    mint(shell, "bytes")
    with Registry(shell.root) as busy:
        busy.door.elect_leader()
        assert shell.error("rebuild", code=20)["code"] == "unavailable"


def test_a_backup_is_a_registry(shell: Shell, place: Path) -> None:
    name = mint(shell, "bytes")
    shell.run("backup", "copy", "--check")
    there = ("-C", str(place / "copy"))
    assert shell.run(*there, "get", name).stdout == "bytes"
    shell.run(*there, "promote", "--highest", f"{SERIES}=1")
    assert shell.lines(*there, "mint", "--series", SERIES)[0].endswith("/2")
    shell.error("backup", str(shell.root / "inside"), code=4)


def test_the_check_of_a_backup_finds_damage(shell: Shell, place: Path) -> None:
    mint(shell, "bytes")
    damage(shell.root, b"bytes", b"bites")
    shell.run("backup", "copy", "--check", code=1)


def test_a_restored_copy_gives_no_name_twice(shell: Shell, place: Path) -> None:
    """Finding A1: the copy, made with cp -a, minted the next name once more, with other bytes."""
    for one in ("d1", "d2", "d3"):
        mint(shell, one)
    shell.run("mint", "--series", SERIES)
    old = Shell(Path(shutil.copytree(shell.root, place / "t1.old")))
    fifth = mint(shell, "d5")
    refused = old.error("mint", "--series", SERIES, code=20)
    assert refused["code"] == "copy-not-promoted"
    assert "run 'perdure promote' here" in refused["message"]
    assert "this is a copy of a registry" in old.run("head").stderr
    assert old.json("promote", "--dry-run")["closed"] == [SERIES]
    told = old.run("promote").stderr
    assert "epoch 2 begins after change 1.5 of its predecessor" in told
    assert "look into its receipts and logs" in told
    old.error("mint", "--series", SERIES, code=40)
    assert "go on after 5" in old.run("promote", "--highest", f"{SERIES}=5").stderr
    assert mint(old, "other") == fifth.replace("/5.text", "/6.text")
    old.run("verify")
    assert "begin promotion" in old.run("changes").stdout
    assert old.error("promote", code=4)["code"] == "invalid-request"
    old.run("promote", "--highest", f"{SERIES}=five", code=2)


def test_a_restored_backup_names_its_tokens(shell: Shell, place: Path) -> None:
    """One that was revoked after the backup is valid again, and nothing else would say so."""
    for name in ("press", "lost"):
        shell.run("token", "create", name, "--series", SERIES)
    shell.run("backup", str(place / "backup"))
    shell.run("token", "revoke", "lost")
    copy = Shell(place / "backup")
    advice = copy.run("promote", "--dry-run").stderr
    assert "valid: 2 tokens (lost, press); if one of them was revoked after change 1.3" in advice
    assert "--revoke-tokens revokes all of them" in advice
    assert copy.json("promote", "--dry-run")["tokens"] == ["lost", "press"]
    assert "revoked: 2 tokens (lost, press)" in copy.run("promote", "--revoke-tokens").stderr
    assert copy.run("token", "list").stdout.count(" revoked ") == 2


def test_a_backup_gives_no_name_twice(shell: Shell, place: Path) -> None:
    """Finding A1, with the command of the product itself."""
    mint(shell, "d1")
    shell.run("backup", str(place / "t2b"), "--check")
    first = shell.lines("mint", "--series", SERIES, "--location", "https://a.example/original")
    copy = Shell(place / "t2b")
    copy.error("mint", "--series", SERIES, "--location", "https://b.example/other", code=20)
    copy.error(
        "import", "-", stdin='{"id":"ark:99999/fk4x","locations":["https://b.example/"]}', code=20
    )
    copy.error("token", "create", "t", "--series", SERIES, code=20)
    copy.error("init", "--series", "other.gov.us", code=20)
    copy.error("archive", "withhold", "http://a.example/", "--reason", "x", code=20)
    for words in (("verify",), ("export",), ("backup", str(place / "t2c")), ("list", "pdi:")):
        copy.run(*words, code=0 if words[0] != "list" else 3)
    told = copy.run("promote", "--predecessor", str(shell.root)).stderr
    assert "reserved, since this registry did not know them: 1 name" in told
    (other,) = copy.lines("mint", "--series", SERIES)
    assert (first[0][-2:], other) == ("/2", f"{first[0][:-1]}3")
    shell.error("mint", "--series", SERIES, code=20)
