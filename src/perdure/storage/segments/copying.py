"""Copying segments for a backup: only what is new, because a segment changes only at its end.

What must stay true: a copy is complete and durable before it takes its name; a sealed segment in
the target is never replaced.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from perdure.storage.durable import (
    copy_durably,
    replace_durably,
    sync_above,
    sync_directory,
    sync_file,
)
from perdure.storage.segments import ocfl
from perdure.storage.segments.directory import make_missing, segment_path

_END = 1 << 20  # bytes that are compared


def is_same_object(root: Path, target: Path, number: int) -> bool:
    """Return whether a segment that is sealed in `target` has the same bytes here."""
    if not ocfl.object_path(target, number).exists():
        return True
    return ocfl.object_path(root, number).exists() and (
        ocfl.read_promised_digest(root, number) == ocfl.read_promised_digest(target, number)
    )


def copy_segment(root: Path, target: Path, number: int, length: int, *, link: bool) -> None:
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
            copy_durably(source, loose, length=length)
    except FileNotFoundError:  # it was sealed, perhaps a moment ago
        _copy_object(ocfl.object_path(root, number), sealed, number, link=link)
        _drop_loose(target, sealed, loose)


def _drop_loose(target: Path, sealed: Path, loose: Path) -> None:
    """Remove the earlier copy of a segment, after its object is durable in its place."""
    sync_above(sealed, target / "archive")
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
    beside = target.with_name(f".{target.name}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, beside, copy_function=os.link if link else shutil.copy2)
    for directory, _, names in os.walk(beside):
        for name in names:
            sync_file(Path(directory, name))
        sync_directory(Path(directory))
    replace_durably(beside, target)
