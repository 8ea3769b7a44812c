"""A drop folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tests.conftest import TODAY
from tests.upkeep.deposit.conftest import Depositor

from perdure.upkeep.deposit.walking import FoundFile
from perdure.upkeep.deposit.watching import find_ready, is_unfinished, watch_directory


class _Ended(Exception):
    pass


def test_a_file_is_ready_when_it_has_stopped_changing() -> None:
    """watching.py: "a file that is still being written is not taken"."""
    still, grows = FoundFile(b"a", 1, 5), FoundFile(b"b", 2, 5)
    late, unfinished = FoundFile(b"c", 1, 90), FoundFile(b"d.part", 1, 5)
    now = {one.path: one for one in (still, grows, late, unfinished)}
    before = now | {b"b": FoundFile(b"b", 1, 4)}
    assert find_ready(before, now, {}, 10) == {b"a": still}
    assert find_ready(before, now, {b"a": still}, 10) == {}
    assert find_ready({}, now, {}, 10) == {}
    assert find_ready(now, now, {}, 100) == {b"a": still, b"b": grows, b"c": late}


def test_names_of_unfinished_files() -> None:
    for name in (b"a/x.part", b".x.swp", b"x.TMP", b"x~"):
        assert is_unfinished(name)
    assert not is_unfinished(b"a.b/x.txt")


def watch(depositor: Depositor, *rounds: dict[str, bytes]) -> list[tuple[str, str, str]]:
    """Watch the folder; write the files of each round after it."""
    waiting = list(rounds)

    def pause(_: float) -> None:
        if not waiting:
            raise _Ended
        for name, data in waiting.pop(0).items():
            path = depositor.write_file(name, data)
            os.utime(path, (1, 1))

    found: list[tuple[str, str, str]] = []
    results = watch_directory(
        depositor.desk.registry,
        depositor.source,
        depositor.options(),
        settle=1,
        note=depositor.notes.append,
        pause=pause,
    )
    with contextlib.suppress(_Ended):
        found.extend((one.row.name, one.status, one.identifier) for one in results)
    return found


def test_files_are_taken_as_they_arrive(depositor: Depositor) -> None:
    found = watch(
        depositor,
        {"a.txt": b"a", "x.part": b"half"},
        {"r.txt": b"r", "r.html": b"<!DOCTYPE html>r"},
        {},
        {"a.txt": b"another"},
        {},
        {},
    )
    assert found == [
        ("a.txt", "minted", f"{TODAY}/1.text.1"),
        ("r.html", "minted", f"{TODAY}/2.html.1"),
        ("r.txt", "minted", f"{TODAY}/2.text.1"),
        ("a.txt", "minted", f"{TODAY}/3.text.1"),
    ]


def test_a_restart_mints_nothing_again(depositor: Depositor, place: Path) -> None:
    first = watch(depositor, {"a.txt": b"a"}, {}, {})
    again = watch(depositor, {}, {})
    assert first == [("a.txt", "minted", f"{TODAY}/1.text.1")]
    assert again == [("a.txt", "same", f"{TODAY}/1.text.1")]


def test_what_is_no_file_is_told_once_and_not_taken(depositor: Depositor) -> None:
    """walking.py: "nothing is passed over silently"."""
    depositor.write_file("a.txt", b"a")
    (depositor.source / os.fsdecode(b"li\xe9n\n")).symlink_to("a.txt")
    os.utime(depositor.source / "a.txt", (1, 1))
    assert watch(depositor, {}, {}, {}) == [("a.txt", "minted", f"{TODAY}/1.text.1")]
    told = [one for one in depositor.notes if "symbolic" in one]
    assert told == [r"not taken: li\xe9n\x0a: a symbolic link"]
