"""Bytes of registries in memory, for tests of code that uses the ports.

How it works: a `MemoryByteStore` has the segments of each directory. A segment is an array of bytes
and the list of its records. A writer appends at once and cuts off everything after the last commit.
A reader that needs a file gets a temporary one with the bytes of one representation. Only one
process sees the segments, and they end with the process.

What must stay true: the store keeps every promise of `perdure.storage.byte_ports.Bytes`. The
contract tests run on it and on WARC segments.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from perdure.errors import Corrupt
from perdure.errors.corruption import FileEndsEarly
from perdure.errors.segment_corruption import SegmentMissing
from perdure.model.commands import Content, make_representation
from perdure.model.records import Representation, Tombstone
from perdure.storage.byte_ports import (
    CHUNK,
    Blanking,
    CheckedRecord,
    IntactBytes,
    KeptCorrection,
    KeptRecord,
    list_facts,
)
from perdure.storage.spool import HEAD_ROOM
from perdure.storage.store_findings import StoreFinding

_END = b"\n"
"""After each record, so that an empty one has a length, too."""


class MemorySegment:
    """One segment: its bytes, and where each record ends."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.records: list[KeptRecord] = []
        self.sealed: str | None = None
        """The time of its sealing."""

    def add_record(self, data: bytes, record: KeptRecord) -> int:
        """Append a record, and return the offset of its first byte."""
        offset = len(self.data)
        self.data += data + _END
        self.records.append(replace(record, end=len(self.data)))
        return offset

    def blank_record(self, held: Representation) -> None:
        """Give the record of a representation the digest of the remaining bytes."""
        self.records = [
            replace(record, representation=replace(record.representation, sha512=held.sha512))
            if record.representation and record.representation.offset == held.offset
            else record
            for record in self.records
        ]

    def cut_segment(self, length: int) -> None:
        """Remove everything after the first `length` bytes."""
        del self.data[length:]
        self.records = [record for record in self.records if record.end <= length]

    def copy_start(self, length: int) -> MemorySegment:
        """A copy of the first `length` bytes."""
        made = MemorySegment()
        made.data = self.data[:length]
        made.records = [record for record in self.records if record.end <= length]
        made.sealed = self.sealed
        return made


_Registries = dict[Path, dict[int, MemorySegment]]


class MemoryFile:
    """A temporary file that is removed when the last reader drops it."""

    def __init__(self, data: bytes) -> None:
        self._file = tempfile.NamedTemporaryFile(prefix="perdure-")  # noqa: SIM115 - kept open
        self._file.write(data)
        self._file.flush()

    @property
    def fd(self) -> int:
        return self._file.fileno()

    @property
    def path(self) -> Path:
        return Path(self._file.name)

    def read(self, length: int, offset: int) -> bytes:
        return os.pread(self.fd, length, offset)


class MemoryBytes:
    """Reads the bytes of a registry in memory."""

    def __init__(self, registries: _Registries, root: Path) -> None:
        self._registries = registries
        self._root = root
        self._files: dict[Representation, MemoryFile] = {}
        self._lock = threading.Lock()

    @property
    def _segments(self) -> dict[int, MemorySegment]:
        return self._registries.setdefault(self._root, {})

    def _find_segment(self, number: int) -> MemorySegment:
        try:
            return self._segments[number]
        except KeyError:
            raise SegmentMissing(segment=number) from None

    @property
    def is_shared(self) -> bool:
        return False

    def examine(self) -> list[StoreFinding]:
        return []  # there is no server

    def create(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)

    def list_directories(self) -> tuple[str, ...]:
        return ()

    def read_bytes(self, held: Representation) -> bytes:
        return b"".join(self.read_chunks(held))

    def read_chunks(self, held: Representation) -> Iterator[bytes]:
        data = self._find_segment(held.segment).data
        stop = held.offset + held.length
        for offset in range(held.offset, stop, CHUNK):
            end = min(offset + CHUNK, stop)
            if end > len(data):
                raise _make_short(held.segment, promised=stop, found=len(data))
            yield bytes(data[offset:end])

    def find_local(self, held: Representation) -> tuple[MemoryFile, int]:
        data = self._find_segment(held.segment).data
        with self._lock:
            file = self._files.get(held)
            if file is None:
                file = MemoryFile(bytes(data[held.offset : held.offset + held.length]))
                self._files[held] = file
        return file, 0

    def list_numbers(self) -> list[int]:
        return sorted(self._segments)

    def read_records(self, number: int) -> Iterator[KeptRecord | Corrupt]:
        segment = self._find_segment(number)
        for record in segment.records:
            if record.end > len(segment.data):
                yield _make_short(number, promised=record.end, found=len(segment.data))
                return
            yield record

    def check_records(
        self, number: int, length: int
    ) -> Iterator[IntactBytes | CheckedRecord | Corrupt]:
        for record in self.read_records(number):
            if isinstance(record, Corrupt):
                yield record
                continue
            held, is_intact = record.representation, self._has_digest(record)
            if record.end > length:
                continue
            if held is not None and is_intact:
                yield IntactBytes(held.offset, list_facts(record.name, record.version, held))
            else:
                yield CheckedRecord(record, is_intact)

    def _has_digest(self, record: KeptRecord) -> bool:
        held = record.representation
        if held is None:
            return True
        return hashlib.sha512(self.read_bytes(held)).hexdigest() == held.sha512

    def check_root(self) -> Iterator[Corrupt]:
        yield from ()

    def open_writer(
        self,
        known: Iterable[int],
        growing: tuple[int, int, str] | None,
        *,
        segment_bytes: int,
        now: str,
    ) -> MemoryBytesWriter:
        segments, numbers = self._segments, set(known)
        for number in set(segments) - numbers:
            del segments[number]
        number, end, opened = growing or (0, 0, now)
        if number and (number not in segments or segments[number].sealed):
            number = end = 0
        elif number:
            if len(segments[number].data) < end:
                raise _make_short(number, promised=end, found=len(segments[number].data))
            segments[number].cut_segment(end)
        following = max([*segments, *numbers], default=0) + 1
        return MemoryBytesWriter(segments, number, following, opened[:10], segment_bytes)

    def seal(self, number: int, at: str) -> None:
        segment = self._find_segment(number)
        segment.sealed = segment.sealed or at

    def blank_bytes(self, blankings: Sequence[Blanking], at: str) -> list[int]:
        del at  # memory keeps no inventory
        for one in blankings:
            held, segment = one.held, self._find_segment(one.held.segment)
            for start, end in one.spans:
                segment.data[held.offset + start : held.offset + end] = bytes(end - start)
            segment.blank_record(held)
        with self._lock:
            self._files.clear()
        return []

    def forget_erased(self) -> None:
        """Do nothing: there are no copies."""

    def mend_bytes(self, held: Representation, pieces: Iterable[bytes]) -> None:
        segment = self._find_segment(held.segment)
        offset = held.offset
        for piece in pieces:
            segment.data[offset : offset + len(piece)] = piece
            offset += len(piece)
        with self._lock:
            self._files.clear()

    def is_same_sealed(self, number: int, target: Path) -> bool:
        other = self._registries.get(target, {}).get(number)
        if other is None or other.sealed is None:
            return True
        ours = self._segments.get(number)
        return ours is not None and ours.sealed is not None and _is_only_erased(ours, other)

    def copy_segment(self, number: int, length: int, target: Path, *, link: bool = False) -> None:
        del link  # there are no files
        copies = self._registries.setdefault(target, {})
        segment = self._find_segment(number)
        if number in copies and copies[number].sealed and copies[number].data == segment.data:
            return
        if len(segment.data) < length:
            raise _make_short(number, promised=length, found=len(segment.data))
        copies[number] = segment.copy_start(length)

    def close(self) -> None:
        with self._lock:
            self._files.clear()


class MemoryBytesWriter:
    """Writes the bytes of a registry in memory."""

    def __init__(
        self,
        segments: dict[int, MemorySegment],
        number: int,
        following: int,
        day: str,
        segment_bytes: int,
    ) -> None:
        self._segments = segments
        self._number = number
        self._following = following
        self._day = day
        self._segment_bytes = segment_bytes
        self._now = ""
        self._committed = len(segments[number].data) if number else 0
        self._adopted: dict[int, Path] = {}

    def begin_batch(self, now: str) -> None:
        self._now = now
        if self._committed and (self._committed >= self._segment_bytes or self._day != now[:10]):
            self._start_segment()

    def _start_segment(self) -> None:
        self._number, self._committed, self._day = self._take_number(), 0, self._now[:10]
        self._segments[self._number] = MemorySegment()

    def _take_number(self) -> int:
        self._following += 1
        return self._following - 1

    def _find_growing(self) -> MemorySegment:
        if not self._number:
            self._start_segment()
        return self._segments[self._number]

    def append(self, name: str, version: int, content: Content) -> tuple[int, int]:
        segment = self._find_growing()
        record = self._make_record(name, version, content, self._number, len(segment.data))
        return self._number, segment.add_record(content.data or b"", record)

    def adopt(self, name: str, version: int, content: Content, source: Path) -> tuple[int, int]:
        data = source.read_bytes()[HEAD_ROOM:]
        number = self._take_number()
        segment = self._segments[number] = MemorySegment()
        self._adopted[number] = source
        record = self._make_record(name, version, content, number, 0)
        return number, segment.add_record(data, record)

    def _make_record(
        self, name: str, version: int, content: Content, number: int, offset: int
    ) -> KeptRecord:
        held = make_representation(content, number, offset)
        return KeptRecord(name=name, at=self._now, end=0, version=version, representation=held)

    def append_tombstone(self, name: str, version: int, tombstone: Tombstone) -> None:
        record = KeptRecord(name=name, at=self._now, end=0, version=version, tombstone=tombstone)
        self._find_growing().add_record(b"", record)

    def append_correction(self, name: str, version: int, kept: KeptCorrection) -> None:
        record = KeptRecord(name=name, at=self._now, end=0, version=version, correction=kept)
        self._find_growing().add_record(b"", record)

    def send(self) -> None:
        """Do nothing: memory is written at once."""

    def flush(self) -> None:
        """Do nothing: memory is as durable as it can be."""

    def list_lengths(self) -> list[tuple[int, int, bool]]:
        grown = [(number, len(self._segments[number].data), False) for number in self._adopted]
        length = len(self._segments[self._number].data) if self._number else 0
        return [*grown, (self._number, length, True)] if length > self._committed else grown

    def note_commit(self) -> None:
        for source in self._adopted.values():
            source.unlink()
        self._adopted.clear()
        self._committed = len(self._segments[self._number].data) if self._number else 0

    def rewind_batch(self) -> None:
        for number in self._adopted:
            del self._segments[number]
        self._adopted.clear()
        if self._number:
            self._segments[self._number].cut_segment(self._committed)

    def list_sealable(self, now: str) -> list[int]:
        if self._committed and self._day != now[:10]:
            self._number = self._committed = 0
        loose = (number for number, segment in self._segments.items() if not segment.sealed)
        return sorted(set(loose) - {self._number})

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class MemoryByteStore:
    """Keeps the bytes of registries in memory, under the directory with which each is opened."""

    def __init__(self) -> None:
        self._registries: _Registries = {}

    def open_bytes(self, root: Path) -> MemoryBytes:
        return MemoryBytes(self._registries, root)

    def shorten_segment(self, root: Path, number: int, length: int) -> None:
        """Lose the end of a segment, as a damaged disk does."""
        del self._registries[root][number].data[length:]


def _is_only_erased(ours: MemorySegment, other: MemorySegment) -> bool:
    return len(ours.data) == len(other.data) and all(
        mine in (0, theirs) for mine, theirs in zip(ours.data, other.data, strict=True)
    )


def _make_short(number: int, *, promised: int, found: int) -> Corrupt:
    return FileEndsEarly(file=f"segment {number}", at=found, missing=promised - found)
