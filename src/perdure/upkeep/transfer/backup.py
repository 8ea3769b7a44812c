"""A copy of a complete registry, made while it is in use.

How it works: first the store copies the records as they are at one moment. Then the segments that
this copy knows are copied, each up to the length that it records; later bytes are left out. A copy
into the directory of an earlier backup writes only what is new: a segment changes only at its end,
and the store finds out what differs in its records. The web archive is copied, too
(`perdure.upkeep.transfer.captures`). The result is itself a registry directory: you can verify it,
read it and, after a disaster, promote it. It carries a mark, so that nothing is written to it
before (`perdure.writing.copy_fence`).

What must stay true: each file, and the mark, is complete and durable before the registry file that
names it takes its place, so an interrupted backup leaves the earlier one usable. A backup
overwrites only the past of the same registry, and never takes files of others for its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from perdure.archives.places import DIRECTORY, INDEX, WITHHELD
from perdure.errors import Conflict
from perdure.errors.importing import (
    TargetInRegistry,
    TargetIsRegistry,
    TargetNotBackup,
    TargetOfOtherRegistry,
)
from perdure.errors.processes import BackupRunning, CopyHasWriter
from perdure.errors.root import quote
from perdure.model.changes import ChainHead, ChangeMark
from perdure.model.timestamps import format_timestamp
from perdure.registry import DIRECTORIES, SETTINGS_FILE, utc_now
from perdure.storage import closed_days, fence, handover, home
from perdure.storage.byte_ports import INCOMING, Bytes, OpenBytes
from perdure.storage.durable import (
    WRITE_LOCK,
    check_directory,
    copy_durably,
    hold_lock,
    resolve_path,
    sync_directory,
)
from perdure.storage.ports import Records, Store, storage_errors
from perdure.upkeep.citations.received import back_up_reports
from perdure.upkeep.milestones import Milestone, note_backup
from perdure.writing.copy_fence import FULL, CopyFence


class BackupProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a backup."""

    phase: str
    share: float
    """Finished share of this phase, 0 to 1."""


def back_up(
    root: Path,
    target: Path,
    store: Store,
    open_bytes: OpenBytes,
    *,
    link: bool = False,
    copy_fence: str = FULL,
) -> Iterator[BackupProgress]:
    """Copy the registry in `root` to `target`. Iterate to the end.

    `link` makes hard links to sealed segments instead of copies: fast, only on the same disk, and
    no protection against losing that disk. `copy_fence` is the setting.

    Raises InvalidRequest if `target` is something else, Corrupt if a segment is missing or too
    short, StorageFailed if the disk is full, Unavailable if another process writes to `target`.
    """
    with storage_errors("the backup"), ExitStack() as opened:
        held = opened.enter_context(closing(open_bytes(root)))
        copied = opened.enter_context(closing(open_bytes(target)))
        directories = (*copied.list_directories(), *DIRECTORIES)
        _check_target(root, target, directories)
        at = format_timestamp(utc_now())
        for name in directories:
            (target / name).mkdir(parents=True, exist_ok=True)
        work = target / INCOMING
        opened.enter_context(hold_lock(work, BackupRunning(used=quote(target))))
        copy = opened.enter_context(closing(store.begin_copy(root, work, target)))
        known = copy.list_segments()
        _check_past(held, root, target, known, store)
        opened.enter_context(hold_lock(target / WRITE_LOCK, CopyHasWriter(used=quote(target))))
        _check_past(held, root, target, known, store)  # again, now that nothing can be written
        _check_home(target, CopyFence(target, store, copy_fence))
        for share in copy.copy():
            yield BackupProgress(phase="registry", share=share)
        home.mark_copy(target, home.BackupMark(registry=home.find_id(root), at=at))
        copied.create()
        total, done = max(sum(length for _, length, _ in known), 1), 0
        for number, length, _ in known:
            held.copy_segment(number, length, target, link=link)
            done += length
            yield BackupProgress(phase="segments", share=done / total)
        _copy_other_files(root, target)
        for directory in (*(target / name for name in directories), target):
            sync_directory(directory)
        sync_directory(target.resolve().parent)
        copy.install()
    if not CopyFence(root, store, copy_fence).list_signs():
        ended = Milestone(at=format_timestamp(utc_now()), target=str(target.resolve()))
        note_backup(root, ended)


def _copy_other_files(root: Path, target: Path) -> None:
    """Copy all but segments and records: captures, what is withheld, fences and settings."""
    if (root / DIRECTORY / INDEX).exists():
        from perdure.upkeep.transfer.captures import back_up_captures  # few have captures

        back_up_captures(root, target, copy_durably)
    back_up_reports(root, target)
    for name in (WITHHELD, fence.FILE, handover.FILE, closed_days.FILE):
        if (root / name).exists():
            copy_durably(root / name, target / name)
    copy_durably(root / SETTINGS_FILE, target / SETTINGS_FILE)


def _check_target(root: Path, target: Path, directories: tuple[str, ...]) -> None:
    """Raise InvalidRequest if `target` has anything but a registry with these directories."""
    check_directory(target, *directories)
    if resolve_path(target).is_relative_to(resolve_path(root)):
        raise TargetInRegistry(target=str(target))
    names = [one.name for one in target.iterdir()] if target.exists() else []
    strange = not (target / INCOMING).is_dir() and not set(names) <= set(directories)
    if strange:
        raise TargetNotBackup(target=str(target))


def _check_home(target: Path, guard: CopyFence) -> None:
    """Raise InvalidRequest if `target` is a registry in its own home, and no backup."""
    if home.find_id(target) and not guard.list_signs():
        raise TargetIsRegistry(target=str(target))


def _check_past(
    held: Bytes, root: Path, target: Path, known: list[tuple[int, int, str]], store: Store
) -> None:
    """Raise InvalidRequest unless `target` is empty or holds an earlier state of this registry.

    To overwrite another registry, or another course of this one, could destroy data that exists
    only there.  # ruling: copy-fence
    """
    same = all(held.is_same_sealed(number, target) for number, _, _ in known)
    if not (same and _is_past(root, target, store)):
        raise TargetOfOtherRegistry(target=str(target))


def _is_past(root: Path, target: Path, store: Store) -> bool:
    """Return whether this registry has all changes of the one in `target`, too.

    It only grows, so it has every change of the state that is copied.
    """
    if not (target / SETTINGS_FILE).exists():  # a backup that was interrupted, or none at all
        return store.is_past(target, root)
    with closing(store.open_records(target)) as earlier:
        head = earlier.find_head()
    if head is None:
        return store.is_past(target, root)
    with closing(store.open_records(root)) as records:
        return _has_head(records, head)


def _has_head(records: Records, head: ChainHead) -> bool:
    """Return whether a registry has the change of a head, after the same changes."""
    try:
        found = records.list_changes(ChangeMark(head.epoch, head.number - 1), limit=1)
    except Conflict:
        return False
    return [one.head for one in found] == [head]
