"""The writer of segments: which segment a record goes to, and the head that it gets there.

How it works: a segment grows until it exceeds `segment_bytes` or its day is over; then the next
batch starts another. The heads of records that differ only in name, length and digests are made
from one pattern in a batch. `perdure.storage.segments.appender` writes the bytes.

Recovery sets aside the bytes after the last committed byte of the growing segment, and segment
files that no committed batch names. They contain nothing that was acknowledged.

What must stay true: a file of the archive is never written to, not even through a second link; a
number of a segment is never used twice.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from perdure.model.commands import Content
from perdure.model.records import Tombstone
from perdure.storage.byte_ports import KeptCorrection
from perdure.storage.segments import directory, ocfl, warc
from perdure.storage.segments.appender import Appender

_encode = msgspec.json.Encoder().encode
_Said = tuple[int, str, str, str | None, str | None]


class SegmentWriter:
    """Writes the segments of a registry directory, and recovers them when it is opened.

    Raises Corrupt if the growing segment is shorter than the registry says, OSError if a file
    cannot be opened.
    """

    def __init__(
        self,
        root: Path,
        known: Iterable[int],
        growing: tuple[int, int, str] | None,
        *,
        segment_bytes: int,
        now: str,
    ) -> None:
        self._root = root
        self._segment_bytes = segment_bytes
        self._now = now
        self._heads: dict[_Said, warc.Heads] = {}  # in this batch, by fields of content
        numbers = set(known)
        self._move_strays(numbers)
        following = max([*directory.list_segments(root), *numbers], default=0) + 1
        number, end, opened = growing or (0, 0, now)
        if number and self._is_sealed(number):
            number, end = 0, 0
        self._appender = Appender(root, number=number, end=end, next_number=following)
        self._segment_day = opened[:10]

    def _is_sealed(self, number: int) -> bool:
        return (
            ocfl.object_path(self._root, number).exists()
            or not directory.segment_path(self._root, number).exists()
        )

    def _move_strays(self, known: set[int]) -> None:
        for path in directory.list_loose(self._root):
            if int(path.stem) not in known:
                aside = self._root / "aside"
                aside.mkdir(exist_ok=True)
                path.replace(aside / f"{path.name}.{secrets.token_hex(4)}")

    # The batch
    # ---------

    def begin_batch(self, now: str) -> None:
        self._now = now
        self._heads.clear()
        end = self._appender.end
        if end and (end >= self._segment_bytes or self._segment_day != now[:10]):
            self._start_segment()

    def append(self, name: str, version: int, content: Content) -> tuple[int, int]:
        said = (version, content.format, content.media_type, content.charset, content.language)
        heads = self._heads.get(said)
        if heads is None:
            heads = self._heads[said] = warc.make_heads(self._make_block(name, version, content))
            self._find_appender()
        appender = self._appender  # with an open segment: `begin_batch` forgets the heads
        head = heads(
            next(appender.record_ids), name, content.length, content.sha512, content.blake3
        )
        return appender.append_record(head, content.data or b"")

    def adopt(self, name: str, version: int, content: Content, source: Path) -> tuple[int, int]:
        return self._appender.adopt_file(self._make_block(name, version, content), source)

    def append_tombstone(self, name: str, version: int, tombstone: Tombstone) -> None:
        self._append_metadata(name, version, warc.TOMBSTONE, _encode(tombstone))

    def append_correction(self, name: str, version: int, kept: KeptCorrection) -> None:
        self._append_metadata(name, version, warc.CORRECTION, _encode(kept))

    def _append_metadata(self, name: str, version: int, media_type: str, text: bytes) -> None:
        block = warc.WarcBlock(
            uri=name,
            at=self._now,
            media_type=media_type,
            length=len(text),
            sha512=hashlib.sha512(text).hexdigest(),
            version=version,
        )
        appender = self._find_appender()
        head = warc.make_head(block, id=next(appender.record_ids), type="metadata")
        appender.append_record(head, text)

    def send(self) -> None:
        self._appender.send_records()

    def flush(self) -> None:
        self._appender.flush_records()

    def list_lengths(self) -> list[tuple[int, int, bool]]:
        open_number = self._appender.number
        return [
            (number, length, number == open_number)
            for number, length in self._appender.list_lengths()
        ]

    def note_commit(self) -> None:
        self._appender.note_commit()

    def rewind_batch(self) -> None:
        self._appender.rewind_batch()

    # Between batches
    # ---------------

    def list_sealable(self, now: str) -> list[int]:
        if self._appender.end and self._segment_day != now[:10]:
            self._appender.retire_segment()
        loose = {int(path.stem) for path in directory.list_loose(self._root)}
        return sorted(loose - {self._appender.number})

    def close(self) -> None:
        self._appender.close()

    def _find_appender(self) -> Appender:
        """The appender, with an open segment."""
        if not self._appender.number:
            self._start_segment()
        return self._appender

    def _start_segment(self) -> None:
        self._appender.start_segment()
        self._segment_day = self._now[:10]

    def _make_block(self, name: str, version: int, content: Content) -> warc.WarcBlock:
        return warc.WarcBlock(
            uri=name,
            at=self._now,
            media_type=_spell_media_type(content),
            length=content.length,
            sha512=content.sha512,
            blake3=content.blake3,
            format=content.format,
            version=version,
            language=content.language,
        )


def _spell_media_type(content: Content) -> str:
    if content.charset and "charset=" not in content.media_type:
        return f"{content.media_type};charset={content.charset}"
    return content.media_type
