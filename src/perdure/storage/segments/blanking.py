"""Erasing bytes in segments: the same length, valid WARC records, valid OCFL objects.

How it works: zeros replace the bytes, and the digests in the head of the record become those of the
remaining bytes. Both have the same length as before, so nothing else in the segment moves. An
open segment is overwritten in its place. A sealed one may be shared with a backup by hard links, so
a blank copy of it becomes a loose segment again, its object is moved aside, and the copy is sealed
like any other segment. In the end the old file is overwritten, too, unless another name still has
it.

    archive/…/000007  old            segments/000007.warc  blank      erasing/000007  -
    archive/…/000007  -              segments/000007.warc  blank      erasing/000007  old
    archive/…/000007  blank          -                                erasing/000007  old

`segments/erased.json` lists the segments in which something was erased: a backup copies these
again.

What must stay true: every step can be repeated after a crash at any point; the segment is readable
under one of its paths at every moment; no byte outside the erased stretches and the heads of their
records changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import blake3

from perdure.errors import Corrupt
from perdure.errors.segment_corruption import HeadNotFound, OtherRecordFound
from perdure.storage.byte_ports import CHUNK, Blanking
from perdure.storage.checked_file import load_checked, save_checked
from perdure.storage.durable import (
    copy_durably,
    replace_durably,
    sync_directory,
    write_all,
)
from perdure.storage.segments import ocfl, warc
from perdure.storage.segments.directory import SEGMENTS, find_path, segment_path

PLACE = "erasing"
"""The directory of erasures that are under way."""
_LIST = "erased.json"
_MESSAGE = "content erased"


def blank_segment(root: Path, number: int, blankings: Sequence[Blanking], *, at: str) -> bool:
    """Erase bytes of one segment. Return False if another name of the old file still has them.

    Raises Corrupt if the segment is missing or has no such record, OSError if the disk refuses.
    """
    note_erased(root, number)
    place, loose = ocfl.object_path(root, number), segment_path(root, number)
    old = root / PLACE / f"{number:06d}"
    if not old.exists():
        sealed = ocfl.content_path(root, number)
        if loose.exists() and sealed.exists() and loose.samefile(sealed):  # a crash while sealing
            loose.unlink()
            sync_directory(loose.parent)
        if not place.exists():
            _blank_file(find_path(root, number), blankings)
            return True
        old.parent.mkdir(exist_ok=True)
        if not loose.exists():
            beside = old.with_suffix(".warc")
            copy_durably(sealed, beside)
            _blank_file(beside, blankings)
            replace_durably(beside, loose)
        replace_durably(place, old)
        sync_directory(place.parent)
    ocfl.seal_segment(root, number, loose, at=at, message=_MESSAGE)
    is_gone = _blank_last_name(old / "v1" / "content" / f"{number:06d}.warc", blankings)
    shutil.rmtree(old)
    sync_directory(old.parent)
    return is_gone


def list_erased(root: Path) -> frozenset[int]:
    """The numbers of the segments in which something was erased. Raises Corrupt."""
    return load_checked(root / SEGMENTS / _LIST, frozenset[int]) or frozenset()


def is_only_erased(ours: Path, theirs: Path) -> bool:
    """Return whether our segment differs from theirs only in what was erased in it."""
    with ours.open("rb") as one, theirs.open("rb") as other:
        pairs = zip(
            warc.read_records(one, where=ours.name),
            warc.read_records(other, where=theirs.name),
            strict=True,
        )
        try:
            for mine, other_record in pairs:
                places = (mine.offset, mine.end, mine.block.uri)
                if places != (other_record.offset, other_record.end, other_record.block.uri):
                    return False
                if mine.block.sha512 == other_record.block.sha512:
                    continue
                length = mine.block.length
                for left, right in zip(
                    _read_stretch(one.fileno(), mine.offset, length),
                    _read_stretch(other.fileno(), mine.offset, length),
                    strict=True,
                ):
                    if any(a != b and a for a, b in zip(left, right, strict=True)):
                        return False
        except (Corrupt, ValueError):  # ValueError: one has more records
            return False
    return True


def note_erased(root: Path, number: int) -> None:
    """Note that something was erased in a segment."""
    known = list_erased(root)
    if number not in known:
        save_checked(root / SEGMENTS / _LIST, sorted({*known, number}))


def _blank_last_name(path: Path, blankings: Iterable[Blanking]) -> bool:
    """Overwrite the old file in its place if no other name has it: readers may have it open."""
    try:
        if path.stat().st_nlink > 1:
            return False
    except FileNotFoundError:  # a crash while it was being removed
        return True
    _blank_file(path, blankings)
    return True


def _blank_file(path: Path, blankings: Iterable[Blanking]) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        for one in blankings:
            _blank_record(fd, one, path.name)
        os.fsync(fd)
    finally:
        os.close(fd)


def _blank_record(fd: int, blanking: Blanking, where: str) -> None:
    held = blanking.held
    start, head = _find_head(fd, held.offset, where)
    old = warc.read_head(head)
    if old is None or old.length != held.length:
        raise OtherRecordFound(file=where, offset=held.offset)
    for begin, end in blanking.spans:
        for offset in range(begin, end, CHUNK):
            _write_at(fd, bytes(min(CHUNK, end - offset)), held.offset + offset)
    sha512, other = hashlib.sha512(), blake3.blake3()
    for piece in _read_stretch(fd, held.offset, held.length):
        sha512.update(piece)
        other.update(piece)
    head = head.replace(old.sha512.encode(), sha512.hexdigest().encode())
    if old.blake3:
        head = head.replace(old.blake3.encode(), other.hexdigest().encode())
    _write_at(fd, head, start)


def _write_at(fd: int, text: bytes, offset: int) -> None:
    os.lseek(fd, offset, os.SEEK_SET)
    write_all(fd, text)


def _find_head(fd: int, offset: int, where: str) -> tuple[int, bytes]:
    """The head of the record whose block begins at `offset`, and where the head begins."""
    start = max(0, offset - warc.LONGEST_HEAD)
    before = os.pread(fd, offset - start, start)
    at = before.rfind(warc.VERSION + b"WARC-Type: ")
    if at < 0 or not before.endswith(warc.TRAILER):
        raise HeadNotFound(file=where, offset=offset)
    return start + at, before[at:]


def _read_stretch(fd: int, offset: int, length: int) -> Iterator[bytes]:
    for at in range(offset, offset + length, CHUNK):
        yield os.pread(fd, min(CHUNK, offset + length - at), at)
