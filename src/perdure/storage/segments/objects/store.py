"""The bytes of a registry in an S3 store: the adapter of `perdure.storage.byte_ports.Bytes`.

How it works: `layout` says which objects a segment consists of; reading a representation is one
ranged request for the object that has it. `cache` has a file of it for all that needs one. What
concerns a whole segment is done on files (`workshop`), what is new is written by `writer`.

What must stay true: a read that gets fewer bytes than promised raises Corrupt; a file that is
served has the digest of its representation.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path

from perdure.errors import Corrupt
from perdure.errors.corruption import FileEndsEarly, RepresentationCutOff
from perdure.errors.moving import PlaceTaken
from perdure.model.records import Representation
from perdure.storage import ocfl_layout
from perdure.storage.byte_ports import (
    CHUNK,
    Blanking,
    CheckedRecord,
    FetchNeeded,
    IntactBytes,
    KeptRecord,
)
from perdure.storage.segments import ocfl
from perdure.storage.segments.objects import cache, layout, ownership
from perdure.storage.segments.objects.addresses import ObjectAddress
from perdure.storage.segments.objects.cache import CachedFile, DocumentCache
from perdure.storage.segments.objects.client import ObjectAbsent, ObjectClient
from perdure.storage.segments.objects.erasures import ErasureNotes, note_erasures
from perdure.storage.segments.objects.examining import examine_bucket, require_conditions
from perdure.storage.segments.objects.layout import Layout, SegmentPart
from perdure.storage.segments.objects.workshop import Workshop, require_layout
from perdure.storage.segments.objects.writer import ObjectWriter
from perdure.storage.segments.store import Segments
from perdure.storage.store_findings import StoreFinding

_MOST_LAYOUTS = 4096
_ARRIVAL = "registry"
"""The object that says whose bytes were moved to the bucket."""


class ObjectBytes:
    """The segments of a registry in a bucket. Safe to use from several threads."""

    def __init__(
        self,
        address: ObjectAddress,
        root: Path,
        find_prefix: Callable[[Path], str] | None = None,
    ) -> None:
        """`find_prefix`: the prefix of the objects of a directory; by default, that of the
        address, for all directories."""
        self._address = address
        self._root = root
        self._find_prefix = find_prefix or (lambda _: address.prefix)
        self._prefix = self._find_prefix(root)
        self._client = ObjectClient(address, self._prefix)
        self._workshop = Workshop(self._client, root)
        self._locks = ownership.SegmentLocks(self._client, root)
        self._cache = DocumentCache(root, address.cache_bytes, self._fetch_pieces)
        self._erasures = ErasureNotes(self._client)
        self._layouts: dict[int, Layout] = {}
        self._loose: set[int] = set()
        self._lock = threading.Lock()

    @property
    def is_shared(self) -> bool:
        return True

    def examine(self) -> list[StoreFinding]:
        return examine_bucket(self._client, self._address)

    def create(self) -> None:
        (self._root / cache.DIRECTORY).mkdir(parents=True, exist_ok=True)
        ownership.find_node(self._root)
        require_conditions(self._client)
        for name, text in ocfl_layout.list_declarations():
            self._client.create_object(f"{ocfl.ARCHIVE}/{name}", text)

    def list_directories(self) -> tuple[str, ...]:
        return (cache.DIRECTORY,)

    # Reading
    # -------

    def read_bytes(self, held: Representation) -> bytes:
        if _is_in_loop():
            file, offset = self.find_local(held)
            return file.read(held.length, offset)
        return b"".join(self.read_chunks(held))

    def read_chunks(self, held: Representation) -> Iterator[bytes]:
        end = 0
        for piece in self._fetch_pieces(held):
            end += len(piece)
            for start in range(0, len(piece), CHUNK):
                yield piece[start : start + CHUNK]
        if end != held.length:
            raise self._make_cut_off(held, end)

    def find_local(self, held: Representation) -> tuple[CachedFile, int]:
        if _is_in_loop() and not self._cache.has_file(held):
            raise FetchNeeded(held)
        return self._cache.find_file(held), 0

    def _fetch_pieces(self, held: Representation) -> Iterator[bytes]:
        """The bytes of a representation, or fewer if its object ends too early."""
        part, at = self._find_part(held), held.offset
        end = held.offset + held.length
        is_second = False
        while at < end:
            try:
                pieces = self._client.read_pieces(part.key, at - part.start, end - at)
                for piece in pieces:
                    at += len(piece)
                    is_second = False
                    yield piece
                break
            except ObjectAbsent:  # it was sealed a moment ago, or the store has lost it
                if is_second:
                    raise self._make_cut_off(held, at - held.offset) from None
                is_second = True
                self._forget_layout(held.segment)
                part = self._find_part(held)

    def _find_part(self, held: Representation) -> SegmentPart:
        end = held.offset + held.length
        for _ in range(2):
            known = self._find_layout(held.segment)
            part = known.find_part(held.offset)
            if part is not None and part.end >= end:
                return part
            self._forget_layout(held.segment)  # it may have grown
        if part is None:
            raise self._make_cut_off(held, 0)
        return part

    def _find_layout(self, number: int) -> Layout:
        with self._lock:
            known = self._layouts.get(number)
        if known is None:
            known = require_layout(self._client, number)
            with self._lock:
                if len(self._layouts) >= _MOST_LAYOUTS:
                    self._layouts.clear()
                self._layouts[number] = known
        return known

    def _forget_layout(self, number: int) -> None:
        with self._lock:
            self._layouts.pop(number, None)

    @staticmethod
    def _make_cut_off(held: Representation, length: int) -> Corrupt:
        return RepresentationCutOff(
            segment=held.segment, at=held.offset + length, length=held.length, sha512=held.sha512
        )

    def list_numbers(self) -> list[int]:
        return layout.list_numbers(self._client)

    def read_records(self, number: int) -> Iterator[KeptRecord | Corrupt]:
        found = require_layout(self._client, number)
        with self._workshop.fetch_segment(number, found) as root:
            yield from Segments(root).read_records(number)

    def check_records(
        self, number: int, length: int
    ) -> Iterator[IntactBytes | CheckedRecord | Corrupt]:
        found = require_layout(self._client, number)
        with self._workshop.fetch_segment(number, found) as root:
            yield from Segments(root).check_records(number, length)

    def check_root(self) -> Iterator[Corrupt]:
        names = [name for name, _ in ocfl_layout.list_declarations()]
        with self._workshop.fetch_root(names) as root:
            yield from Segments(root).check_root()

    # Writing and keeping
    # -------------------

    def open_writer(
        self,
        known: Iterable[int],
        growing: tuple[int, int, str] | None,
        *,
        segment_bytes: int,
        now: str,
    ) -> ObjectWriter:
        with self._lock:
            self._layouts.clear()
        self._loose.clear()
        self._workshop.clear_away()
        return ObjectWriter(
            self._client,
            ObjectClient(self._address, self._prefix, is_patient=False),
            ownership.find_node(self._root),
            known,
            growing,
            segment_bytes=segment_bytes,
            now=now,
            loose=self._loose,
        )

    def seal(self, number: int, at: str) -> None:
        with self._locks.hold_segment(number):
            self._workshop.seal_segment(number, require_layout(self._client, number), at)
        self._loose.discard(number)
        self._forget_layout(number)

    def blank_bytes(self, blankings: Sequence[Blanking], at: str) -> list[int]:
        kept = []
        ordered = sorted(blankings, key=lambda one: one.held.segment)
        for number, group in groupby(ordered, key=lambda one: one.held.segment):
            some = tuple(group)
            with self._locks.hold_segment(number):
                found = require_layout(self._client, number)
                if not self._workshop.blank_segment(number, found, some, at):
                    kept.append(number)
            for one in some:
                self._cache.forget_place(number, one.held.offset)
            note_erasures(self._client, [(number, one.held.offset) for one in some])
        return kept

    def forget_erased(self) -> None:
        for segment, offset in self._erasures.read_new():
            self._cache.forget_place(segment, offset)

    def mend_bytes(self, held: Representation, pieces: Iterable[bytes]) -> None:
        with self._locks.hold_segment(held.segment):
            found = require_layout(self._client, held.segment)
            self._workshop.mend_segment(found, held, pieces)
        self._cache.forget_place(held.segment, held.offset)

    def is_same_sealed(self, number: int, target: Path) -> bool:
        prefix = self._find_prefix(target)
        if prefix == self._prefix:
            return True
        other = ObjectClient(self._address, prefix)
        if not layout.is_sealed(other, number):
            return True
        return layout.is_sealed(self._client, number) and self._workshop.is_same_object(
            number, Workshop(other, target)
        )

    def copy_segment(self, number: int, length: int, target: Path, *, link: bool = False) -> None:
        """Copy a segment to the prefix of another directory.

        If both have the same, only make sure that it is there.
        """
        del link  # there are no files
        found = require_layout(self._client, number)
        if found.length < length:
            missing = length - found.length
            raise FileEndsEarly(file=f"segment {number}", at=found.length, missing=missing)
        prefix = self._find_prefix(target)
        if prefix != self._prefix:
            other = ObjectClient(self._address, prefix)
            self._workshop.copy_segment(number, found, length, other)

    # Moving
    # ------

    def begin_arrival(self, registry: str) -> None:
        """Note in the bucket whose bytes arrive. Raises PlaceTaken."""
        owner = registry.encode()
        try:
            is_ours = self._client.read_object(_ARRIVAL) == owner
        except ObjectAbsent:
            is_ours = not layout.list_numbers(self._client)
        if not is_ours:
            raise PlaceTaken(setting="bytes", value=self._address.shown)
        self._client.replace_object(_ARRIVAL, lambda: iter((owner,)))
        self.create()

    def lend_segment(self, number: int) -> AbstractContextManager[Path]:
        return self._workshop.fetch_segment(number, require_layout(self._client, number))

    def receive_segment(self, number: int, length: int, source: Path) -> None:
        ownership.take_over_number(self._client, ownership.find_node(self._root), number)
        self._workshop.receive_segment(number, length, source)
        self._forget_layout(number)

    def drop_segment(self, number: int) -> None:
        self._workshop.drop_segment(number)
        self._forget_layout(number)

    def close(self) -> None:
        self._cache.close()


def _is_in_loop() -> bool:
    """Return True in the thread of an event loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
