"""A drop folder: files are taken when they have stopped arriving.

How it works: the folder is walked every few seconds. A file is taken if its size and time were the
same in the walk before, and it has not changed for a while. Names that programs give to unfinished
files are waited for. Files that were taken stay in the folder; after a restart, their bytes are
found under their names, so nothing is minted twice. Links and what else cannot be a document are
noted once, when they appear.

What must stay true: a file that is still being written is not taken; the folder is only read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from perdure.registry import Registry
from perdure.upkeep.deposit.jobs import DepositJob
from perdure.upkeep.deposit.moving_in import carry_out, prepare_job
from perdure.upkeep.deposit.options import ONCE, PlanOptions
from perdure.upkeep.deposit.receipts import Receipted
from perdure.upkeep.deposit.spelling import spell_path
from perdure.upkeep.deposit.taking import FileRoot
from perdure.upkeep.deposit.walking import FoundDirectory, FoundFile, PassedOver, walk_tree

_UNFINISHED = (b".part", b".partial", b".tmp", b".crdownload", b".filepart", b".download", b"~")
_LONGEST_PAUSE = 5.0  # seconds

Seen = dict[bytes, FoundFile]


def watch_directory(
    registry: Registry,
    directory: Path,
    options: PlanOptions,
    *,
    settle: float,
    note: Callable[[str], None],
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[Receipted]:
    """Yield the result of each file as it is taken, without end.

    `settle`: seconds that a file must not have changed. Raises as `carry_out`.
    """
    root = FileRoot(directory)
    options = msgspec.structs.replace(options, duplicates=ONCE)
    before: Seen = {}
    taken: Seen = {}
    told: set[PassedOver] = set()
    while True:
        tree = list(walk_tree(root.path))
        now = {file.path: file for found in tree for file in found.files}
        passed = [one for found in tree for one in found.passed]
        for one in (one for one in passed if one not in told):
            note(f"not taken: {spell_path(one.path)}: {one.reason}")
        told = set(passed)
        taken = {path: one for path, one in taken.items() if now.get(path) == one}
        ready = find_ready(before, now, taken, time.time_ns() - int(settle * 1e9))
        if ready:
            yield from _take_files(registry, directory, options, ready, note)
            taken |= ready
        before = now
        pause(min(max(settle / 2, 0.2), _LONGEST_PAUSE))


def find_ready(before: Seen, now: Seen, taken: Seen, latest: int) -> Seen:
    """The files that have stopped changing and are not taken yet. Pure.

    `latest`: the time of the last change that is long enough ago, in nanoseconds.
    """
    return {
        path: file
        for path, file in now.items()
        if before.get(path) == file
        and path not in taken
        and file.changed <= latest
        and not is_unfinished(path)
    }


def is_unfinished(path: bytes) -> bool:
    """Return True if a program gives such names to files that it has not finished."""
    name = path.rpartition(b"/")[2]
    return name.startswith(b".") or name.lower().endswith(_UNFINISHED)


def _take_files(
    registry: Registry,
    directory: Path,
    options: PlanOptions,
    ready: Seen,
    note: Callable[[str], None],
) -> Iterator[Receipted]:
    """Deposit these files, and yield their results."""

    def choose_ready(found: FoundDirectory) -> FoundDirectory:
        files = [one for one in found.files if ready.get(one.path) == one]
        return FoundDirectory(found.path, files, [])

    job: DepositJob | None = None
    for step in prepare_job(
        registry, directory, options, restart=True, note=note, choose=choose_ready
    ):
        job = step if isinstance(step, DepositJob) else job
    results: list[Receipted] = []
    if job is not None:
        for _ in carry_out(registry, job, results=results.append):
            yield from results
            results.clear()
