"""The counter of changes: seen by every process, and grown before a change is acknowledged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from perdure.storage.generation import FILE, Generation

ANOTHER_PROCESS = """
import sys
from pathlib import Path
from perdure.storage.generation import Generation
with Generation(Path(sys.argv[1])) as generation:
    for line in sys.stdin:
        if line == "grow\\n":
            generation.note_revision()
        print(generation.revision_count, flush=True)
"""


def test_all_processes_see_the_count_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(tmp_path)]
    with (
        Generation(tmp_path) as here,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        ) as other,
    ):
        assert other.stdin
        assert other.stdout
        for expected in (1, 2, 3):
            here.note_revision()
            other.stdin.write("look\n")
            assert int(other.stdout.readline()) == expected
        other.stdin.write("grow\n")
        assert int(other.stdout.readline()) == here.revision_count == 4
        other.stdin.close()


def test_the_count_outlives_its_readers(tmp_path: Path) -> None:
    with Generation(tmp_path) as generation:
        generation.note_revision()
    with Generation(tmp_path) as generation:
        assert generation.revision_count == 1


def test_the_count_wraps_instead_of_failing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff" * 8)
    with Generation(tmp_path) as generation:
        generation.note_revision()
        assert generation.revision_count == 0


def test_the_counters_of_an_earlier_release_grow(tmp_path: Path) -> None:
    """Its file had room for one."""
    (tmp_path / FILE).write_bytes((7).to_bytes(8, sys.byteorder))
    with Generation(tmp_path) as generation, Generation(tmp_path) as other:
        assert (generation.revision_count, generation.change_count) == (7, 0)
        generation.note_change()
        assert (other.revision_count, other.change_count) == (7, 1)
