"""A copy of a complete registry, made while it is in use.

How it works: first SQLite copies the registry file as it is at one moment. Then the segments that
this copy knows are copied, each up to the length that it records; later bytes are left out. A copy
into the directory of an earlier backup copies only what is new, because a segment changes only at
its end. The web archive is copied, too (`perdure.upkeep.transfer.captures`). The result is itself a
registry directory: you can verify it, read it and, after a disaster, serve it.

What must stay true: each file is complete and durable before the registry file that names it takes
its place, so an interrupted backup leaves the earlier one usable. A backup overwrites only the past
of the same registry, and never takes files of others for its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from perdure import settings
from perdure.errors import Conflict, Corrupt, PerdureError
from perdure.errors.importing import TargetInRegistry, TargetNotBackup, TargetOfOtherRegistry
from perdure.errors.root import quote
from perdure.model.changes import ChainHead, ChangeMark
from perdure.storage.durable import hold_lock, replace_durably, sync_above, sync_directory
from perdure.storage.ports import Records, Store, storage_errors
from perdure.storage.segments import ocfl
from perdure.storage.segments.directory import segment_path
from perdure.upkeep.transfer import captures
from perdure.writing import peers as writers

_PIECE = 1 << 20
_DIRECTORIES = ("segments", "archive", "incoming", "aside")
_WRITER = "a server or another command is writing to it"


class BackupProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a backup."""

    phase: str
    share: float
    """Finished share of this phase, 0 to 1."""


def back_up(
    root: Path, target: Path, store: Store, *, link: bool = False
) -> Iterator[BackupProgress]:
    """Copy the registry in `root` to `target`. Iterate to the end.

    `link` makes hard links to sealed segments instead of copies: fast, only on the same disk, and
    no protection against losing that disk. Raises InvalidRequest if `target` is something else,
    Corrupt if a segment is missing or too short, StorageFailed if the disk is full, Unavailable if
    another process writes to `target`.
    """
    _check_target(root, target)
    with storage_errors("the backup"), ExitStack() as held:
        for name in _DIRECTORIES:
            (target / name).mkdir(parents=True, exist_ok=True)
        work = target / "incoming"
        running = "another backup is running; wait until it has ended"
        held.enter_context(hold_lock(work, used=quote(target), user=running))
        for share in store.back_up(root, work):
            yield BackupProgress(phase="registry", share=share)
        try:
            with closing(store.open_records(work)) as copy:
                known = copy.list_segments()
                _check_past(root, target, copy, store)
                lock = hold_lock(target / writers.LOCK, used=quote(target), user=_WRITER)
                held.enter_context(lock)
                _check_past(root, target, copy, store)  # again, now that nothing can be written
        except PerdureError:
            store.drop_copy(work)
            raise
        ocfl.make_storage_root(target)
        total, done = max(sum(length for _, length, _ in known), 1), 0
        for number, length, _ in known:
            _copy_segment(root, target, number, length, link=link)
            done += length
            yield BackupProgress(phase="segments", share=done / total)
        captures.back_up_captures(root, target, _copy_file)
        _copy_file(root / settings.FILE, target / settings.FILE)
        for name in _DIRECTORIES:
            sync_directory(target / name)
        sync_directory(target)
        sync_directory(target.resolve().parent)
        store.install_registry(work, target)


def _check_target(root: Path, target: Path) -> None:
    if target.resolve().is_relative_to(root.resolve()):
        raise TargetInRegistry(target=str(target))
    strange = target.exists() and any(target.iterdir()) and not (target / "incoming").is_dir()
    if strange:
        raise TargetNotBackup(target=str(target))


def _check_past(root: Path, target: Path, copy: Records, store: Store) -> None:
    """Raise InvalidRequest unless `target` is empty or holds an earlier state of this registry.

    To overwrite another registry, or another course of this one, could destroy data that exists
    only there.  # ruling: copy-fence
    """
    same = all(_is_same_object(root, target, number) for number, _, _ in copy.list_segments())
    if not (same and _is_past(target, copy, store)):
        raise TargetOfOtherRegistry(target=str(target))


def _is_past(target: Path, copy: Records, store: Store) -> bool:
    """Return whether all changes in `target` are in the copy, too."""
    if not (target / settings.FILE).exists():  # a backup that was interrupted, or none at all
        return store.is_past(target, target / "incoming")
    with closing(store.open_records(target)) as earlier:
        head = earlier.find_head()
    return store.is_past(target, target / "incoming") if head is None else _has_head(copy, head)


def _has_head(records: Records, head: ChainHead) -> bool:
    """Return whether a registry has the change of a head, after the same changes."""
    try:
        found = records.list_changes(ChangeMark(head.epoch, head.number - 1), limit=1)
    except Conflict:
        return False
    return [one.head for one in found] == [head]


def _is_same_object(root: Path, target: Path, number: int) -> bool:
    """Return whether a segment that is sealed in `target` has the same bytes here."""
    if not ocfl.object_path(target, number).exists():
        return True
    return ocfl.object_path(root, number).exists() and (
        ocfl.read_promised_digest(root, number) == ocfl.read_promised_digest(target, number)
    )


def _copy_segment(root: Path, target: Path, number: int, length: int, *, link: bool) -> None:
    """Copy one segment, sealed or not. Raises Corrupt."""
    sealed = ocfl.object_path(target, number)
    loose = segment_path(target, number)
    if sealed.exists():
        _drop_loose(target, sealed, loose)
        return
    source = segment_path(root, number)
    try:
        copied = loose.stat().st_size if loose.exists() else -1
        if copied != length or not _has_same_end(source, loose, length):
            _copy_file(source, loose, length=length)
    except FileNotFoundError:  # it was sealed, perhaps a moment ago
        _copy_object(ocfl.object_path(root, number), sealed, number, link=link)
        _drop_loose(target, sealed, loose)


def _drop_loose(target: Path, sealed: Path, loose: Path) -> None:
    """Remove the earlier copy of a segment, after its object is durable in its place."""
    sync_above(sealed, target / "archive")
    loose.unlink(missing_ok=True)


def _has_same_end(one: Path, other: Path, length: int) -> bool:
    """Return whether the last bytes are the same. Raises FileNotFoundError if a file is missing."""
    begin = max(length - _PIECE, 0)
    with one.open("rb") as first, other.open("rb") as second:
        first.seek(begin)
        second.seek(begin)
        return first.read(length - begin) == second.read(length - begin)


def _copy_object(source: Path, target: Path, number: int, *, link: bool) -> None:
    if not source.exists():
        name = f"segment {number}"
        raise Corrupt(identifier=name, where="segments/", promised="a file", found="none")
    beside = target.with_name(f".{target.name}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, beside, copy_function=os.link if link else shutil.copy2)
    for directory, _, names in os.walk(beside):
        for name in names:
            _sync_file(Path(directory, name))
        sync_directory(Path(directory))
    replace_durably(beside, target)


def _copy_file(source: Path, target: Path, *, length: int | None = None) -> None:
    """Copy a file, or its first bytes, and make the copy durable. Raises Corrupt."""
    beside = target.with_name(f".{target.name}")
    with source.open("rb") as reading, beside.open("wb") as writing:
        left = length if length is not None else os.fstat(reading.fileno()).st_size
        while left:
            piece = reading.read(min(left, _PIECE))
            if not piece:
                raise Corrupt(
                    identifier=source.name,
                    where=str(source.parent),
                    promised=f"{left} more bytes",
                    found="the end of the file",
                )
            writing.write(piece)
            left -= len(piece)
        writing.flush()
        os.fsync(writing.fileno())
    replace_durably(beside, target)


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
