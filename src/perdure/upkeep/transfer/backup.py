"""A copy of a complete registry, made while it is in use.

How it works: first the store copies the records as they are at one moment. Then the segments that
this copy knows are copied, each up to the length that it records; later bytes are left out. A copy
into the directory of an earlier backup copies only what is new, because a segment changes only at
its end. The web archive is copied, too (`perdure.upkeep.transfer.captures`). The result is itself a
registry directory: you can verify it, read it and, after a disaster, serve it.

What must stay true: each file is complete and durable before the registry file that names it takes
its place, so an interrupted backup leaves the earlier one usable. A backup overwrites only the past
of the same registry, and never takes files of others for its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from perdure import settings
from perdure.archives import withholding
from perdure.errors.importing import TargetInRegistry, TargetNotBackup, TargetOfOtherRegistry
from perdure.storage.durable import copy_durably
from perdure.storage.ports import Bytes, OpenBytes, Store, storage_errors
from perdure.upkeep.transfer import captures


class BackupProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a backup."""

    phase: str
    share: float
    """Finished share of this phase, 0 to 1."""


def back_up(
    root: Path, target: Path, store: Store, open_bytes: OpenBytes, *, link: bool = False
) -> Iterator[BackupProgress]:
    """Copy the registry in `root` to `target`. Iterate to the end.

    `link` makes hard links to sealed segments instead of copies: fast, only on the same disk, and
    no protection against losing that disk. Raises InvalidRequest if `target` is something else,
    Corrupt if a segment is missing or too short, StorageFailed if the disk is full.
    """
    _check_target(root, target)
    with (
        storage_errors("the backup"),
        closing(open_bytes(root)) as held,
        closing(open_bytes(target)) as copied,
    ):
        for name in ("incoming", "aside"):
            (target / name).mkdir(parents=True, exist_ok=True)
        work = target / "incoming"
        for share in store.back_up(root, work):
            yield BackupProgress(phase="registry", share=share)
        with closing(store.open_records(work)) as copy:
            known = copy.list_segments()
        if not _is_earlier_state(held, target, work, store, [number for number, _, _ in known]):
            store.drop_copy(work)
            raise TargetOfOtherRegistry(target=str(target))
        copied.create()
        total, done = max(sum(length for _, length, _ in known), 1), 0
        for number, length, _ in known:
            held.copy_segment(number, length, target, link=link)
            done += length
            yield BackupProgress(phase="segments", share=done / total)
        captures.back_up_captures(root, target, copy_durably)
        if (root / withholding.FILE).exists():
            copy_durably(root / withholding.FILE, target / withholding.FILE)
        copy_durably(root / settings.FILE, target / settings.FILE)
        store.install_registry(work, target)


def _check_target(root: Path, target: Path) -> None:
    if target.resolve().is_relative_to(root.resolve()):
        raise TargetInRegistry(target=str(target))
    strange = target.exists() and any(target.iterdir()) and not (target / "incoming").is_dir()
    if strange:
        raise TargetNotBackup(target=str(target))


def _is_earlier_state(
    held: Bytes, target: Path, work: Path, store: Store, numbers: list[int]
) -> bool:
    """Return whether `target` is empty or holds an earlier state of this registry. To overwrite
    another registry, or another course of this one, could destroy data that exists only there."""
    ours = store.is_past(target, work)
    return ours and all(held.is_same_sealed(number, target) for number in numbers)
