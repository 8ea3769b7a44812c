"""Copying segments for a backup: only what is new, because a segment changes only at its end.

A segment in which something was erased since (`blanking`) replaces its copy.

What must stay true: a copy is complete and durable before it takes its name; a sealed segment in
the target is replaced only by one that differs in nothing but what was erased.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from perdure.storage.byte_ports import INCOMING
from perdure.storage.durable import (
    copy_durably,
    replace_durably,
    sync_above,
    sync_directory,
    sync_file,
)
from perdure.storage.segments import blanking, ocfl
from perdure.storage.segments.directory import make_missing, segment_path

_END = 1 << 20  # bytes that are compared


def is_same_object(root: Path, target: Path, number: int) -> bool:
    """Return whether a segment that is sealed in `target` has the same bytes here, apart from
    those that were erased here since.
    """
    if not ocfl.object_path(target, number).exists():
        return True
    if not ocfl.object_path(root, number).exists():
        return False
    return _has_same_digest(root, target, number) or (
        number in blanking.list_erased(root)
        and blanking.is_only_erased(
            ocfl.content_path(root, number), ocfl.content_path(target, number)
        )
    )


def _has_same_digest(root: Path, target: Path, number: int) -> bool:
    return ocfl.read_promised_digest(root, number) == ocfl.read_promised_digest(target, number)


def copy_segment(root: Path, target: Path, number: int, length: int, *, link: bool) -> None:
    """Copy one segment, sealed or not. Raises Corrupt."""
    sealed = ocfl.object_path(target, number)
    loose = segment_path(target, number)
    is_erased = number in blanking.list_erased(root)
    if is_erased:
        blanking.note_erased(target, number)
        _replace_erased(root, target, number, link=link)
    if sealed.exists():
        _drop_loose(target, sealed, loose)
        return
    source = segment_path(root, number)
    try:
        copied = loose.stat().st_size if loose.exists() else -1
        if copied != length or is_erased or not _has_same_end(source, loose, length):
            copy_durably(source, loose, length=length)
    except FileNotFoundError:  # it was sealed, perhaps a moment ago
        _copy_object(ocfl.object_path(root, number), sealed, number, link=link)
        _drop_loose(target, sealed, loose)


def _replace_erased(root: Path, target: Path, number: int, *, link: bool) -> None:
    """Replace the copy of a sealed segment from which something was erased here since."""
    ours, theirs = ocfl.object_path(root, number), ocfl.object_path(target, number)
    if not (ours.exists() and theirs.exists()) or _has_same_digest(root, target, number):
        return
    old = target / INCOMING / f"erased-{number:06d}"
    shutil.rmtree(old, ignore_errors=True)
    beside = _copy_beside(ours, theirs, link=link)
    theirs.replace(old)
    replace_durably(beside, theirs)
    shutil.rmtree(old)


def _drop_loose(target: Path, sealed: Path, loose: Path) -> None:
    """Remove the earlier copy of a segment, after its object is durable in its place."""
    sync_above(sealed, target / ocfl.ARCHIVE)
    loose.unlink(missing_ok=True)


def _has_same_end(one: Path, other: Path, length: int) -> bool:
    """Return whether the last bytes are the same. Raises FileNotFoundError if a file is missing."""
    begin = max(length - _END, 0)
    with one.open("rb") as first, other.open("rb") as second:
        first.seek(begin)
        second.seek(begin)
        return first.read(length - begin) == second.read(length - begin)


def _copy_object(source: Path, target: Path, number: int, *, link: bool) -> None:
    if not source.exists():
        raise make_missing(number)
    replace_durably(_copy_beside(source, target, link=link), target)


def _copy_beside(source: Path, target: Path, *, link: bool) -> Path:
    """Copy an object durably, under another name in the directory of the target."""
    beside = target.with_name(f".{target.name}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, beside, copy_function=os.link if link else shutil.copy2)
    for directory, _, names in os.walk(beside):
        for name in names:
            sync_file(Path(directory, name))
        sync_directory(Path(directory))
    return beside
