"""The bytes of a registry as WARC segments: the adapter of `perdure.storage.byte_ports.Bytes`.

How it works: a representation is `length` bytes from `offset` in the file of its segment.
`Segments` reads them; it hands writing to `writer`, sealing to `ocfl` and backups to `copying`, and
answers a rebuild from the records that `warc` finds.

What must stay true: a read that meets the end of the file raises Corrupt and never returns fewer
bytes than requested.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec

from perdure.errors import Corrupt
from perdure.errors.corruption import RepresentationCutOff
from perdure.errors.segment_corruption import NoteUnreadable
from perdure.model.records import Representation, Tombstone
from perdure.storage.byte_ports import (
    CHUNK,
    Blanking,
    CheckedRecord,
    IntactBytes,
    KeptCorrection,
    KeptRecord,
)
from perdure.storage.segments import blanking, copying, directory, mending, ocfl, warc
from perdure.storage.segments.directory import SegmentFile, SegmentFiles
from perdure.storage.segments.writer import SegmentWriter
from perdure.storage.store_findings import StoreFinding

_decode_tombstone = msgspec.json.Decoder(Tombstone).decode
_decode_correction = msgspec.json.Decoder(KeptCorrection).decode


class Segments:
    """The segments of a registry directory. Safe to use from several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = SegmentFiles(root)
        self._moving = threading.Lock()

    @property
    def is_shared(self) -> bool:
        return False

    def examine(self) -> list[StoreFinding]:
        return []  # the store of the records examines the disk

    def create(self) -> None:
        (self._root / directory.SEGMENTS).mkdir(parents=True, exist_ok=True)
        ocfl.make_storage_root(self._root)

    def list_directories(self) -> tuple[str, ...]:
        return (directory.SEGMENTS, ocfl.ARCHIVE)

    # Reading
    # -------

    def read_bytes(self, held: Representation) -> bytes:
        return b"".join(self.read_chunks(held))

    def read_chunks(self, held: Representation) -> Iterator[bytes]:
        file, offset = self.find_local(held)
        end = offset + held.length
        while offset < end:
            piece = file.read(min(CHUNK, end - offset), offset)
            if not piece:
                raise RepresentationCutOff(
                    segment=held.segment, at=offset, length=held.length, sha512=held.sha512
                )
            offset += len(piece)
            yield piece

    def find_local(self, held: Representation) -> tuple[SegmentFile, int]:
        return self._files.open_segment(held.segment), held.offset

    def list_numbers(self) -> list[int]:
        return directory.list_segments(self._root)

    def read_records(self, number: int) -> Iterator[KeptRecord | Corrupt]:
        path = directory.find_path(self._root, number)
        with path.open("rb") as file:
            for record in warc.read_around_damage(file, where=path.name):
                if isinstance(record, Corrupt):
                    yield record
                elif record.type == "metadata":
                    file.seek(record.offset)
                    yield _read_metadata(file.read(record.block.length), record, path.name)
                else:
                    yield _read_representation(record, number)

    def check_records(
        self, number: int, length: int
    ) -> Iterator[IntactBytes | CheckedRecord | Corrupt]:
        from perdure.storage.segments import checking  # only an audit needs it and its threads

        for found in checking.check_segment(self._root, number, length):
            if isinstance(found, (IntactBytes, Corrupt)):
                yield found
                continue
            record = found.record
            if record.type != "metadata":
                yield CheckedRecord(_read_representation(record, number), is_intact=False)
                continue
            kept = _read_metadata(found.data, record, f"segment {number}")
            yield kept if isinstance(kept, Corrupt) else CheckedRecord(kept, found.is_intact)

    def check_root(self) -> Iterator[Corrupt]:
        from perdure.storage.segments import checking

        return checking.check_root(self._root)

    # Writing and keeping
    # -------------------

    def open_writer(
        self,
        known: Iterable[int],
        growing: tuple[int, int, str] | None,
        *,
        segment_bytes: int,
        now: str,
    ) -> SegmentWriter:
        return SegmentWriter(self._root, known, growing, segment_bytes=segment_bytes, now=now)

    def seal(self, number: int, at: str) -> None:
        loose = directory.segment_path(self._root, number)
        with self._hold_files():
            ocfl.seal_segment(self._root, number, loose, at=at)

    def blank_bytes(self, blankings: Sequence[Blanking], at: str) -> list[int]:
        linked = []
        with self._hold_files():
            for number, some in groupby(sorted(blankings, key=_find_segment), key=_find_segment):
                if not blanking.blank_segment(self._root, number, tuple(some), at=at):
                    linked.append(number)
        self._files.close()  # files of objects that were replaced
        return linked

    def forget_erased(self) -> None:
        """Do nothing: there are no copies."""

    def mend_bytes(self, held: Representation, pieces: Iterable[bytes]) -> None:
        with self._hold_files():
            mending.mend_segment(self._root, held, pieces)
        self._files.close()  # a file that was replaced

    @contextmanager
    def _hold_files(self) -> Iterator[None]:
        """Let no other thread or process move or rewrite a segment meanwhile."""
        with self._moving:
            fd = os.open(self._root / directory.SEGMENTS, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                yield
            finally:
                os.close(fd)

    def is_same_sealed(self, number: int, target: Path) -> bool:
        return copying.is_same_object(self._root, target, number)

    def copy_segment(self, number: int, length: int, target: Path, *, link: bool = False) -> None:
        copying.copy_segment(self._root, target, number, length, link=link)

    # Moving
    # ------

    def begin_arrival(self, registry: str) -> None:
        """Do nothing but what `create` does: the directory has no other registry."""
        del registry
        self.create()

    @contextmanager
    def lend_segment(self, number: int) -> Iterator[Path]:
        del number
        yield self._root

    def receive_segment(self, number: int, length: int, source: Path) -> None:
        if source != self._root:
            copying.copy_segment(source, self._root, number, length, link=False)

    def drop_segment(self, number: int) -> None:
        shutil.rmtree(ocfl.object_path(self._root, number), ignore_errors=True)
        directory.segment_path(self._root, number).unlink(missing_ok=True)
        self._files.close()

    def close(self) -> None:
        self._files.close()


def _find_segment(one: Blanking) -> int:
    return one.held.segment


def _read_representation(record: warc.SegmentRecord, number: int) -> KeptRecord:
    block = record.block
    media_type, _, charset = block.media_type.partition(";charset=")
    return KeptRecord(
        name=block.uri,
        at=block.at,
        end=record.end,
        version=block.version,
        representation=Representation(
            format=block.format,
            media_type=media_type,
            charset=charset or None,
            language=block.language,
            length=block.length,
            sha512=block.sha512,
            segment=number,
            offset=record.offset,
        ),
    )


def _read_metadata(data: bytes, record: warc.SegmentRecord, where: str) -> KeptRecord | Corrupt:
    """Read a correction, or else a withdrawal."""
    block = record.block
    kept = KeptRecord(name=block.uri, at=block.at, end=record.end, version=block.version)
    is_correction = block.media_type == warc.CORRECTION
    try:
        if is_correction:
            return msgspec.structs.replace(kept, correction=_decode_correction(data))
        return msgspec.structs.replace(kept, tombstone=_decode_tombstone(data))
    except msgspec.DecodeError as error:
        note: Literal["a correction", "a tombstone"]
        note = "a correction" if is_correction else "a tombstone"
        return NoteUnreadable(file=where, offset=record.offset, note=note, fault=str(error))
