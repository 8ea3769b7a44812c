"""The check of a segment: every head, every byte and, if it is sealed, its OCFL object.

How it works: the file is read once, from its beginning to its end, in large pieces. Each head must
be exactly the text that `warc.make_head` makes of its fields, so a damaged name of a field is found
as well as a damaged value. The bytes of each record are hashed as they come. The whole file of a
sealed segment is hashed at the same time in a second thread, and compared with its inventory.
Behind a damaged head, reading goes on at the next complete record.

What must stay true: no byte of the file is read twice unless it is damaged; a record is given only
if its head is intact; nothing is changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from blake3 import blake3

from perdure.errors import Corrupt
from perdure.errors.corruption import FileTooShort
from perdure.errors.segment_corruption import (
    InventoriesDiffer,
    InventoryMissing,
    RecordEndAltered,
    SealedFileAltered,
    SealedSegmentAltered,
    SegmentRecordCutOff,
    SegmentRecordDamaged,
)
from perdure.storage import ocfl_layout
from perdure.storage.byte_ports import IntactBytes
from perdure.storage.segments import blanking, directory, ocfl, warc

_PIECE = 1 << 20
_SMALL = 1 << 16  # bytes of a block that is hashed in one piece
_THREADED = 1 << 18  # bytes that take longer to hash than another thread takes to wake up
_DECLARATION = b"ocfl_object_1.1\n"


class CheckedBlock(NamedTuple):
    """A withdrawal or correction, or content that does not have its digests. Its head is intact."""

    record: warc.SegmentRecord
    is_intact: bool
    data: bytes
    """The block of a withdrawal; empty for content."""


class _Digester:
    """Hashes pieces in another thread, at most one behind."""

    def __init__(self, pool: ThreadPoolExecutor, digest: Any) -> None:
        self._pool = pool
        self._digest = digest
        self._running: Future[None] | None = None

    def update(self, piece: bytes | memoryview) -> None:
        self._wait()
        if len(piece) < _THREADED:
            self._digest.update(piece)
        else:
            self._running = self._pool.submit(self._digest.update, piece)

    def finish(self) -> str:
        """The digest in hexadecimal."""
        self._wait()
        return str(self._digest.hexdigest())

    def _wait(self) -> None:
        if self._running is not None:
            self._running.result()
            self._running = None


class _Reader:
    """Reads a file once. Every byte also goes to `seen`."""

    def __init__(self, file: BinaryIO, end: int, seen: _Digester | None) -> None:
        self._file = file
        self._left = end  # bytes of the file that are not read yet
        self._seen = seen
        self._data = b""
        self._at = 0
        self.offset = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, at most `size`; fewer only at the end."""
        while len(self._data) - self._at < size and self._fill():
            pass
        return self._data[self._at : self._at + size]

    def find(self, mark: bytes, within: int) -> int:
        """The distance of the next mark, or -1 if it does not begin within `within` bytes."""
        while True:
            found = self._data.find(mark, self._at, self._at + within)
            if found >= 0:
                return found - self._at
            if len(self._data) - self._at >= within or not self._fill():
                return -1

    def take(self, size: int) -> Iterator[memoryview]:
        """The next `size` bytes in pieces; fewer only at the end."""
        while size:
            if self._at == len(self._data) and not self._fill():
                return
            piece = memoryview(self._data)[self._at : self._at + size]
            self._at += len(piece)
            self.offset += len(piece)
            size -= len(piece)
            yield piece

    def take_bytes(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        piece = self.peek(size)
        self._at += len(piece)
        self.offset += len(piece)
        return piece

    def take_intact(self) -> IntactBytes | None:
        """The bytes of the next record, if the record is complete in memory, small and intact.

        None for all others, of which nothing is taken. Its digests are compared here, because
        nearly all records come this way.
        """
        data, start = self._data, self._at
        begin = data.find(warc.TRAILER, start, start + warc.LONGEST_HEAD) + len(warc.TRAILER)
        fields = warc.match_fields(data[start:begin]) if begin > start else None
        if fields is None:
            return None
        type, _, uri, sha512, kind, size, version, format, blake3_, language = fields
        length = int(size)
        end = begin + length
        if type == "metadata" or length > _SMALL or not data.startswith(warc.TRAILER, end):
            return None
        block = data[begin:end]
        if hashlib.sha512(block).hexdigest() != sha512 or (
            blake3_ and blake3(block).hexdigest() != blake3_
        ):
            return None
        offset = self.offset + begin - start
        self._at = end + len(warc.TRAILER)
        self.offset = offset + length + len(warc.TRAILER)
        facts = (uri, int(version or 0), format or "", kind, language, length, sha512)
        return IntactBytes(offset, facts)

    def skip(self, size: int) -> None:
        for _ in self.take(size):
            pass

    def _fill(self) -> bool:
        piece = self._file.read(min(_PIECE, self._left))
        self._left -= len(piece)
        if not piece:
            return False
        if self._seen is not None:
            self._seen.update(piece)
        self._data = self._data[self._at :] + piece
        self._at = 0
        return True


def check_segment(
    root: Path, number: int, length: int
) -> Iterator[IntactBytes | CheckedBlock | Corrupt]:
    """The records with intact heads up to a length, in order, and an error for all other damage."""
    try:
        path = directory.find_path(root, number)
    except Corrupt as error:
        yield error
        return
    place = ocfl.object_path(root, number)
    is_sealed = place in path.parents
    with path.open("rb") as file, ThreadPoolExecutor(1) as pool:
        size = path.stat().st_size
        end = size if is_sealed else min(length, size)
        whole = _Digester(pool, hashlib.sha512()) if is_sealed else None
        yield from _check_records(_Reader(file, end, whole), path, end, pool)
        if size < length:
            yield FileTooShort(file=path.name, expected=length, size=size)
        found = whole.finish() if whole is not None else ""
    if is_sealed:
        yield from _check_object(place, number, found)


def _check_records(
    reader: _Reader, path: Path, end: int, pool: ThreadPoolExecutor
) -> Iterator[IntactBytes | CheckedBlock | Corrupt]:
    while reader.offset < end:
        intact = reader.take_intact()  # nearly all records, in half the time
        if intact is not None:
            yield intact
            continue
        start = reader.offset
        found = _read_head(reader, path.name, end)
        if isinstance(found, Corrupt):
            yield found
            with path.open("rb") as other:
                following = warc.find_next_record(other, path.name, start + 1)
            reader.skip((end if following is None else min(following, end)) - reader.offset)
            continue
        yield _check_block(reader, found, pool)
        if reader.take_bytes(len(warc.TRAILER)) != warc.TRAILER:
            yield RecordEndAltered(file=path.name, offset=found.end - len(warc.TRAILER))


def _read_head(reader: _Reader, where: str, end: int) -> warc.SegmentRecord | Corrupt:
    """Read a head. If it is damaged, nothing is taken from the reader."""
    start = reader.offset
    length = reader.find(warc.TRAILER, warc.LONGEST_HEAD)
    text = reader.peek(max(length, 0) + len(warc.TRAILER))
    begin = start + len(text)
    try:
        type, block = warc.parse_head(text, where, start)
    except SegmentRecordDamaged as error:
        return error
    record_end = begin + block.length + len(warc.TRAILER)
    if record_end > end:
        return SegmentRecordCutOff(file=where, offset=start, missing=record_end - end)
    reader.take_bytes(len(text))
    return warc.SegmentRecord(type=type, block=block, offset=begin, end=record_end)


def _check_block(
    reader: _Reader, record: warc.SegmentRecord, pool: ThreadPoolExecutor
) -> IntactBytes | CheckedBlock:
    block = record.block
    found, other = hashlib.sha512(), _Digester(pool, blake3())
    is_note = record.type == "metadata"
    data = b""
    for piece in reader.take(block.length):
        if block.blake3:
            other.update(piece)
        found.update(piece)
        if is_note:
            data += piece
    is_intact = found.hexdigest() == block.sha512 and (
        not block.blake3 or other.finish() == block.blake3
    )
    if is_note or not is_intact:
        return CheckedBlock(record, is_intact, data)
    facts = (
        block.uri,
        block.version,
        block.format,
        block.media_type,
        block.language or None,
        block.length,
        block.sha512,
    )
    return IntactBytes(record.offset, facts)


# Sealed segments
# ---------------


def _check_object(place: Path, number: int, found: str) -> Iterator[Corrupt]:
    """Check the files around a sealed segment, whose own digest is `found`."""
    where = ocfl.object_id(number)
    declaration = _read_file(place / "0=ocfl_object_1.1")
    if declaration != _DECLARATION:
        yield _make_altered(where, "0=ocfl_object_1.1", _DECLARATION, declaration)
    inventories = []
    for name in ("inventory.json", "v1/inventory.json"):
        text = _read_file(place / name)
        inventories.append(text)
        promised = ocfl_layout.spell_sidecar(text or b"")
        sidecar = _read_file(place / f"{name}.sha512")
        if text is None:
            yield InventoryMissing(container=where, file=name)
        elif sidecar != promised:
            yield _make_altered(where, f"{name}.sha512", promised, sidecar)
    if inventories[0] != inventories[1]:
        yield InventoriesDiffer(container=where)
    digest = _read_promise(inventories[0], number)
    if digest != found:
        file = f"v1/content/{number:06d}.warc"
        yield SealedSegmentAltered(container=where, file=file, digest=digest, found=found)


def _read_promise(inventory: bytes | None, number: int) -> str | None:
    """The digest of the segment in an inventory, or None if the inventory cannot be read."""
    try:
        value = json.loads(inventory or b"")
        return ocfl.find_promise(value, number)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def check_root(root: Path) -> Iterator[Corrupt]:
    """Check the files that declare the archive an OCFL storage root, and the list of erasures."""
    try:
        blanking.list_erased(root)
    except Corrupt as error:
        yield error
    for name, text in ocfl_layout.list_declarations():
        found = _read_file(root / ocfl.ARCHIVE / name)
        if found != text:
            yield _make_altered("archive/", name, text, found)


def _read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _make_altered(container: str, file: str, expected: bytes, text: bytes | None) -> Corrupt:
    shown = None if text is None else _show(text)
    return SealedFileAltered(container=container, file=file, expected=_show(expected), text=shown)


def _show(text: bytes) -> str:
    return text[:150].decode("utf-8", "backslashreplace")
