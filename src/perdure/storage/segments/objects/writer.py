"""The writer of segments in a bucket: each batch becomes one object, before it is committed.

How it works: the records of a batch collect in memory, as those of files do. `send` begins to
create their object in another thread, while the journal inserts the records; `flush` waits until
the store has acknowledged it. A batch of more than 8 MiB becomes several parts. Content that
arrived as a file becomes a segment of its own. If a batch fails, its objects are deleted; if the
store does not answer, that waits until the next one that has bytes.

What must stay true: `flush` returns only after every object of the batch was acknowledged; no key
is used again while an object that was never committed may be there; a segment is written by the
node that claimed it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from perdure.errors.corruption import FileTooShort
from perdure.errors.object_stores import ObjectStoreFailed, ObjectTaken
from perdure.model.commands import Content
from perdure.model.records import Tombstone
from perdure.storage.byte_ports import BytesRefused, FlushFailed, KeptCorrection, join_kind
from perdure.storage.segments import warc
from perdure.storage.segments.objects.client import ObjectClient
from perdure.storage.segments.objects.layout import (
    ASIDE,
    Layout,
    SegmentPart,
    find_layout,
    list_loose,
    make_part_key,
)
from perdure.storage.segments.objects.ownership import claim_number, find_owner, list_claims
from perdure.storage.spool import HEAD_ROOM

_encode = msgspec.json.Encoder().encode
_MOST_BUFFERED = 8 << 20
_PIECE = 1 << 20
_MOST_PARTS = 1000
"""Parts of a segment: so many keys are listed in one answer."""
_PAUSE = 5.0
"""Seconds after a failure in which the store is not asked again."""


class ObjectWriter:
    """Writes the segments of one node, and takes back what it left uncommitted.

    Raises Corrupt if the growing segment is shorter than the registry says, ObjectStoreFailed if
    the store does not answer.
    """

    def __init__(
        self,
        client: ObjectClient,
        quick: ObjectClient,
        node: str,
        known: Iterable[int],
        growing: tuple[int, int, str] | None,
        *,
        segment_bytes: int,
        now: str,
        loose: set[int],
    ) -> None:
        """`quick` gives up at once. `loose` are the segments of this node that are not sealed."""
        self._client, self._quick, self._node = client, quick, node
        self._segment_bytes = segment_bytes
        self._now = now
        self._loose = loose
        self._pool = ThreadPoolExecutor(1, "perdure-objects")
        self._record_ids = warc.make_record_ids()
        self._buffer: list[bytes] = []
        self._sending: list[Future[None]] = []
        self._created: list[str] = []  # keys of this batch
        self._uncertain: list[str] = []  # keys of failed batches that may have an object
        self._failed_at = float("-inf")
        self._failure: ObjectStoreFailed | None = None
        self._adopted: dict[int, tuple[Path, int]] = {}
        self._number = self._end = self._sent = self._position = self._parts = 0
        self._day = now[:10]
        self._recover_segments(set(known), growing)

    def _recover_segments(self, known: set[int], growing: tuple[int, int, str] | None) -> None:
        claimed = list_claims(self._client)
        self._following = max([*claimed, *known], default=0) + 1
        for number in list_loose(self._client):
            layout = find_layout(self._client, number)
            if layout is None or layout.is_sealed:
                continue
            if find_owner(self._client, number) != self._node:
                continue
            if number not in known:
                self._set_aside(list(layout.parts))
                continue
            self._loose.add(number)
            if growing is not None and number == growing[0]:
                self._take_up(number, growing[1], growing[2], layout)

    def _take_up(self, number: int, end: int, opened: str, layout: Layout) -> None:
        """Go on with a segment of this node, and set aside what follows its committed end."""
        kept = [part for part in layout.parts if part.start < end]
        length = kept[-1].end if kept else 0
        if length < end:
            raise FileTooShort(file=f"segment {number}", expected=end, size=length)
        self._set_aside([part for part in layout.parts if part.start >= end])
        if length == end:
            self._number, self._day = number, opened[:10]
            self._end = self._sent = self._position = end
            self._parts = len(kept)

    def _set_aside(self, parts: list[SegmentPart]) -> None:
        """Move parts of an interrupted batch where you can inspect them. They are never served."""
        for part in parts:
            key = f"{ASIDE}/{self._node}/{part.key}-{time.time_ns()}"
            self._client.move_object(part.key, key)

    # The batch
    # ---------

    def begin_batch(self, now: str) -> None:
        self._now = now
        is_full = self._end >= self._segment_bytes or self._parts >= _MOST_PARTS
        if self._end and (is_full or self._day != now[:10]):
            self._retire_segment()

    def append(self, name: str, version: int, content: Content) -> tuple[int, int]:
        self._settle()
        head = warc.make_head(self._make_block(name, version, content), id=next(self._record_ids))
        return self._append_record(head, content.data or b"")

    def adopt(self, name: str, version: int, content: Content, source: Path) -> tuple[int, int]:
        self._settle()
        block = self._make_block(name, version, content)
        head = warc.make_head(block, id=next(self._record_ids), size=HEAD_ROOM)
        number = self._take_number()
        key = make_part_key(number, 0)
        self._created.append(key)
        with self._refuse_failures():
            self._client.create_large(key, lambda: _read_spooled(head, source, content.length))
        self._adopted[number] = source, HEAD_ROOM + content.length + len(warc.TRAILER)
        return number, HEAD_ROOM

    def append_tombstone(self, name: str, version: int, tombstone: Tombstone) -> None:
        self._append_metadata(name, version, warc.TOMBSTONE, _encode(tombstone))

    def append_correction(self, name: str, version: int, kept: KeptCorrection) -> None:
        self._append_metadata(name, version, warc.CORRECTION, _encode(kept))

    def _append_metadata(self, name: str, version: int, media_type: str, text: bytes) -> None:
        self._settle()
        block = warc.WarcBlock(
            uri=name,
            at=self._now,
            media_type=media_type,
            length=len(text),
            sha512=hashlib.sha512(text).hexdigest(),
            version=version,
        )
        head = warc.make_head(block, id=next(self._record_ids), type="metadata")
        self._append_record(head, text)

    def _append_record(self, head: bytes, data: bytes) -> tuple[int, int]:
        if not self._number:
            self._number, self._day = self._take_number(), self._now[:10]
        offset = self._position + len(head)
        self._buffer += (head, data, warc.TRAILER)
        self._position = offset + len(data) + len(warc.TRAILER)
        if self._position - self._sent > _MOST_BUFFERED:
            self.send()
        return self._number, offset

    def send(self) -> None:
        if not self._buffer:
            return
        data, key = b"".join(self._buffer), make_part_key(self._number, self._sent)
        self._buffer.clear()
        self._sent = self._position
        self._created.append(key)
        self._parts += 1
        self._sending.append(self._pool.submit(self._client.create_object, key, data))

    def flush(self) -> None:
        self.send()
        with self._refuse_failures():
            for sending in self._sending:
                sending.result()
        self._sending.clear()

    def list_lengths(self) -> list[tuple[int, int, bool]]:
        grown = [(number, length, False) for number, (_, length) in self._adopted.items()]
        if self._position > self._end:
            grown.append((self._number, self._position, True))
        return grown

    def note_commit(self) -> None:
        self._end = self._position
        for number, (source, _) in self._adopted.items():
            source.unlink()
            self._loose.add(number)
        if self._number:
            self._loose.add(self._number)
        self._adopted.clear()
        self._created.clear()

    def rewind_batch(self) -> None:
        for sending in self._sending:
            sending.exception()  # wait: what is under way may still arrive
        self._sending.clear()
        self._buffer.clear()
        self._adopted.clear()
        self._uncertain += self._created
        self._created.clear()
        self._sent = self._position = self._end
        if self._failure is None:
            try:
                self._delete_uncertain(self._client)
            except ObjectStoreFailed as error:
                self._note_failure(error)

    # What a store that does not answer leaves behind
    # -----------------------------------------------

    def _settle(self) -> None:
        """Delete what failed batches may have left, before anything is written after it.

        Raises ObjectStoreFailed if the store still does not answer.
        """
        if self._failure is not None and time.monotonic() < self._failed_at + _PAUSE:
            raise self._failure
        if not self._uncertain and self._failure is None:
            return
        try:
            self._delete_uncertain(self._quick)
            self._quick.find_size(make_part_key(1, 0))
        except ObjectStoreFailed as error:
            self._note_failure(error)
            raise
        self._failure = None

    def _delete_uncertain(self, client: ObjectClient) -> None:
        while self._uncertain:
            client.delete_objects(self._uncertain[-1:])
            self._uncertain.pop()

    def _note_failure(self, error: ObjectStoreFailed) -> None:
        self._failure, self._failed_at = error, time.monotonic()

    def _refuse_failures(self) -> _Refusing:
        return _Refusing(self._note_failure)

    # Between batches
    # ---------------

    def list_sealable(self, now: str) -> list[int]:
        if self._end and self._day != now[:10]:
            self._retire_segment()
        return sorted(self._loose - {self._number}) if not self._uncertain else []

    def close(self) -> None:
        self._pool.shutdown()

    def _retire_segment(self) -> None:
        self._number = self._end = self._sent = self._position = self._parts = 0

    def _take_number(self) -> int:
        with self._refuse_failures():
            number = claim_number(self._client, self._node, self._following)
        self._following = number + 1
        return number

    def _make_block(self, name: str, version: int, content: Content) -> warc.WarcBlock:
        return warc.WarcBlock(
            uri=name,
            at=self._now,
            media_type=join_kind(content.media_type, content.charset),
            length=content.length,
            sha512=content.sha512,
            blake3=content.blake3,
            format=content.format,
            version=version,
            language=content.language,
        )


class _Refusing:
    """Turns failures of the store into the error of the port, and notes them."""

    def __init__(self, note: Callable[[ObjectStoreFailed], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ObjectTaken):  # perhaps by a copy of this directory
            raise FlushFailed(str(error)) from error
        if isinstance(error, ObjectStoreFailed):
            self._note(error)
            raise BytesRefused(error) from error


def _read_spooled(head: bytes, source: Path, length: int) -> Iterator[bytes]:
    """The record of a spooled upload, in pieces."""
    yield head
    left = length
    with source.open("rb") as file:
        file.seek(HEAD_ROOM)
        while left:
            piece = file.read(min(_PIECE, left))
            if not piece:
                raise FileTooShort(file=source.name, expected=HEAD_ROOM + length, size=file.tell())
            left -= len(piece)
            yield piece
    yield warc.TRAILER
