"""`verify`, `rebuild`, `backup`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shell
from tests.conftest import SERIES

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
    assert "2 representations with 19 bytes checked, 1 problems" in result.stderr
    found, sums = map(json.loads, shell.run("verify", "--json", code=1).stdout.splitlines())
    assert (found["identifier"], found["segment"]) == (second, 1)
    assert sums["problems"] == 1
    shell.run("verify", first)


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
    assert shell.lines(*there, "mint", "--series", SERIES)[0].endswith("/2")
    shell.error("backup", str(shell.root / "inside"), code=4)


def test_the_check_of_a_backup_finds_damage(shell: Shell, place: Path) -> None:
    mint(shell, "bytes")
    damage(shell.root, b"bytes", b"bites")
    shell.run("backup", "copy", "--check", code=1)
