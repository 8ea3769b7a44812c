"""Killed at any moment: numbers of changes have no gaps, and none is given twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from tests.conftest import StartWorker
from tests.storage.registries import unpack_registry

from perdure.model.changes import Change, ChangeMark
from perdure.storage.sqlite.records import SqliteRecords
from perdure.upkeep.changes.walking import check_changes


def seen(root: Path) -> list[Change]:
    with closing(SqliteRecords(root)) as reader:
        found = reader.list_changes(limit=1_000_000)
        assert not [one for one in check_changes(reader) if one.problem]
    return found


def test_numbers_have_no_gaps_and_are_never_given_again(root: Path, start: StartWorker) -> None:
    """What a reader saw before each kill stands unchanged at the end."""
    chance = random.Random(19930923)
    before: list[Change] = []
    for number in range(6):
        worker = start("crowd", f"crowd{number}", 32)
        for _ in range(chance.randrange(200, 1500)):
            worker.hear()
        with closing(SqliteRecords(root)) as reader:
            during = reader.list_changes(limit=1_000_000)
        worker.kill()
        after = seen(root)
        assert after[: len(before)] == before
        assert after[: len(during)] == during
        assert [one.mark for one in after] == [ChangeMark(1, at) for at in range(1, len(after) + 1)]
        before = after
    assert len(before) > 50


def test_several_processes_write_one_sequence(root: Path, start: StartWorker) -> None:
    workers = [start("mint", f"actor{number}", 60) for number in range(3)]
    for worker in workers:
        worker.hear_until("done")
    for worker in workers:
        worker.stop()
    found = seen(root)
    assert [one.mark for one in found] == [ChangeMark(1, at) for at in range(1, len(found) + 1)]
    actors = {one.actor for one in found}
    assert actors >= {"actor0", "actor1", "actor2"}
    assert sum(one.count for one in found) == 180


_NUMBERING = """
import sys
from pathlib import Path
from perdure.storage.sqlite import reconstruct
from perdure.storage.sqlite.journal import SqliteJournal
reconstruct._SOME = 5
journal = SqliteJournal(Path(sys.argv[1]))
print("ready", flush=True)
journal.number_changes("2026-11-22T12:00:00Z")
"""


def test_numbering_an_older_registry_survives_kills(place: Path) -> None:
    root = unpack_registry(1, place)
    chance = random.Random(19940120)
    kills = 0
    while True:
        worker = subprocess.Popen(
            [sys.executable, "-c", _NUMBERING, str(root)], stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        worker.stdout.readline()
        time.sleep(chance.uniform(0, 0.02))
        os.kill(worker.pid, signal.SIGKILL)
        ended = worker.wait()
        worker.stdout.close()
        if ended == 0 or kills == 30:
            break
        kills += 1
        with closing(SqliteRecords(root)) as reader:
            if len(reader.list_epochs()) == 2:
                break
    subprocess.run([sys.executable, "-c", _NUMBERING, str(root)], check=True)
    found = seen(root)
    past = [one for one in found if one.epoch == 0]
    assert [one.number for one in past] == list(range(1, len(past) + 1))
    assert sum(one.count for one in past if one.act == "reconstructed") == 332
    assert [one.mark for one in found if one.epoch] == [ChangeMark(1, 1)]
