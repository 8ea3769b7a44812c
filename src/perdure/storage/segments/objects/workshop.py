"""Segments of a bucket as files, for work that needs all of a segment: checks, seals, erasures.

How it works: the objects of one segment are fetched into an empty directory of the same form as a
registry directory. There, the functions for segments in files do their work, and what has changed
is put into the bucket. A part that is missing is a hole of zeros in the file, which a check finds.

What must stay true: a sealed segment is complete in the archive before its parts are deleted; every
step can be repeated after a crash at any point.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from perdure.errors import Corrupt
from perdure.errors.corruption import FileEndsEarly
from perdure.errors.segment_corruption import SegmentMissing
from perdure.model.records import Representation
from perdure.storage.byte_ports import INCOMING, Blanking
from perdure.storage.segments import blanking, directory, ocfl
from perdure.storage.segments.objects.client import ObjectAbsent, ObjectClient
from perdure.storage.segments.objects.layout import (
    DECLARATION,
    Layout,
    SegmentPart,
    find_layout,
    list_parts,
    make_archive_key,
    make_part_key,
)
from perdure.storage.segments.store import Segments

_PIECE = 1 << 20
_PREFIX = "objects-"
_LONGEST_WORK = 86_400  # seconds
_RECEIVED = 8 << 20
"""Bytes of each part of a segment that a move brings."""
_LAST = (DECLARATION,)
"""The files of a sealed segment that are written after all others."""


class Workshop:
    """Does work on whole segments of a bucket, in directories below `incoming/`."""

    def __init__(self, client: ObjectClient, root: Path) -> None:
        self._client = client
        self._incoming = root / INCOMING

    @contextmanager
    def fetch_segment(self, number: int, layout: Layout) -> Iterator[Path]:
        """A directory with the files of one segment, as those of a registry directory."""
        with self._make_directory() as root:
            self._fetch_files(root, number, layout)
            yield root

    @contextmanager
    def fetch_root(self, names: Iterable[str]) -> Iterator[Path]:
        """A directory with files of the archive that belong to no segment."""
        with self._make_directory() as root:
            for name in names:
                self._fetch_file(f"{ocfl.ARCHIVE}/{name}", root / ocfl.ARCHIVE / name)
            yield root

    def clear_away(self) -> None:
        """Remove directories that were not touched for a day: their process is gone."""
        limit = time.time() - _LONGEST_WORK
        for path in self._incoming.glob(f"{_PREFIX}*"):
            if path.stat().st_mtime < limit:
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def _make_directory(self) -> Iterator[Path]:
        self._incoming.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=self._incoming) as made:
            root = Path(made)
            for name in (directory.SEGMENTS, ocfl.ARCHIVE, INCOMING):
                (root / name).mkdir()
            yield root

    def _fetch_files(self, root: Path, number: int, layout: Layout) -> None:
        if not layout.is_sealed:
            self._fetch_parts(directory.segment_path(root, number), layout.parts)
            return
        base = make_archive_key(number, "")
        for key in self._client.list_objects(base.rstrip("/")):
            self._fetch_file(key, ocfl.object_path(root, number) / key.removeprefix(base))

    def _fetch_file(self, key: str, path: Path) -> None:
        size = self._client.find_size(key)
        if size is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fetch_parts(path, (SegmentPart(0, size, key),))

    def _fetch_parts(self, path: Path, parts: Iterable[SegmentPart]) -> None:
        """Write parts to their places in a file."""
        with path.open("wb") as file:
            for part in parts:
                file.seek(part.start)
                try:
                    for piece in self._client.read_pieces(part.key, 0, part.length):
                        file.write(piece)
                except ObjectAbsent:
                    continue  # a hole; if the last ones are missing, the file is too short

    # Sealing
    # -------

    def seal_segment(self, number: int, layout: Layout, at: str) -> None:
        """Make the parts of a segment an object of the archive, and delete them."""
        if not layout.is_sealed:
            check_gaps(number, layout)
            with self.fetch_segment(number, layout) as root:
                loose = directory.segment_path(root, number)
                ocfl.seal_segment(root, number, loose, at=at)
                self._put_object(root, number)
        self._client.delete_objects([part.key for part in list_parts(self._client, number)])

    def _put_object(self, root: Path, number: int) -> list[str | None]:
        """Put the files of an object of the archive, its declaration last.

        Return their versions, if the bucket keeps any.
        """
        place = ocfl.object_path(root, number)
        files = sorted(path for path in place.rglob("*") if path.is_file())
        files.sort(key=lambda path: path.name in _LAST)
        return [
            self._client.replace_object(
                make_archive_key(number, str(path.relative_to(place))), read_again(path)
            )
            for path in files
        ]

    # Changing bytes
    # --------------

    def blank_segment(self, number: int, layout: Layout, some: Sequence[Blanking], at: str) -> bool:
        """Erase bytes of a segment. Return False if the bucket keeps their old version."""

        def blank(root: Path) -> None:
            blanking.blank_segment(root, number, some, at=at)

        return self._change_segment(number, layout, [one.held for one in some], blank)

    def mend_segment(self, layout: Layout, held: Representation, pieces: Iterable[bytes]) -> None:
        """Write the promised bytes of a representation in their place again."""

        def mend(root: Path) -> None:
            Segments(root).mend_bytes(held, pieces)

        self._change_segment(held.segment, layout, [held], mend)

    def _change_segment(
        self,
        number: int,
        layout: Layout,
        places: Sequence[Representation],
        change: Callable[[Path], None],
    ) -> bool:
        """Change bytes of a segment. Return False if the bucket keeps their old version."""
        if layout.is_sealed:
            with self.fetch_segment(number, layout) as root:
                change(root)
                return not any(self._put_object(root, number))
        found = {part for one in places if (part := layout.find_part(one.offset))}
        with self.fetch_segment(number, Layout(tuple(sorted(found)), is_sealed=False)) as root:
            change(root)
            path = directory.segment_path(root, number)
            versions = [
                self._client.replace_object(part.key, read_again(path, part.start, part.length))
                for part in sorted(found)
            ]
            return not any(versions)

    # Copying to another prefix
    # -------------------------

    def copy_segment(self, number: int, layout: Layout, length: int, target: ObjectClient) -> None:
        """Copy a segment up to a length. What the target has already is compared with it."""
        there = find_layout(target, number)
        if layout.is_sealed:
            self._copy_object(number, layout, target)
            return
        if there is not None and there.is_sealed:
            return
        known = {part.start: part for part in there.parts} if there else {}
        for part in layout.parts:
            size = min(part.length, length - part.start)
            if size <= 0:
                break
            data = b"".join(self._client.read_pieces(part.key, 0, size))
            if len(data) != size:
                missing = size - len(data)
                raise FileEndsEarly(file=f"segment {number}", at=part.start, missing=missing)
            old = known.get(part.start)
            if old is None or b"".join(target.read_pieces(old.key, 0, old.length)) != data:
                target.replace_object(make_part_key(number, part.start), partial(_give_once, data))

    def receive_segment(self, number: int, length: int, root: Path) -> None:
        """Put a segment of a directory into the bucket, up to a length. Safe to repeat."""
        if ocfl.object_path(root, number).exists():
            self._put_object(root, number)
            self._client.delete_objects([part.key for part in list_parts(self._client, number)])
            return
        path = directory.segment_path(root, number)
        if not path.exists():
            raise make_missing(number)
        size = path.stat().st_size
        if size < length:
            raise FileEndsEarly(file=path.name, at=size, missing=length - size)
        known = {part.start: part for part in list_parts(self._client, number)}
        wanted = list(_divide_records(root, number, length))
        starts = {start for start, _ in wanted}
        self._client.delete_objects([one.key for at, one in known.items() if at not in starts])
        for start, end in wanted:
            if start not in known or known[start].length != end - start:
                pieces = read_again(path, start, end - start)
                self._client.replace_object(make_part_key(number, start), pieces)

    def drop_segment(self, number: int) -> None:
        """Remove a segment that a move has brought, because it has changed since."""
        for folder in (make_archive_key(number, ""), make_part_key(number, 0).rpartition("/")[0]):
            self._client.delete_objects(list(self._client.list_objects(folder.rstrip("/"))))

    def _copy_object(self, number: int, layout: Layout, target: ObjectClient) -> None:
        with self.fetch_segment(number, layout) as root:
            Workshop(target, root)._put_object(root, number)
        target.delete_objects([part.key for part in list_parts(target, number)])

    def is_same_object(self, number: int, other: Workshop) -> bool:
        """Return True if two sealed segments differ in nothing but what was erased in ours."""
        ours, theirs = (make_archive_key(number, "inventory.json"),) * 2
        if self._client.read_object(ours) == other._client.read_object(theirs):
            return True
        layouts = [find_layout(one._client, number) for one in (self, other)]
        if layouts[0] is None or layouts[1] is None:
            return False
        with (
            self.fetch_segment(number, layouts[0]) as left,
            other.fetch_segment(number, layouts[1]) as right,
        ):
            paths = [ocfl.content_path(root, number) for root in (left, right)]
            return _read_digest(left, number) == _read_digest(right, number) or (
                blanking.is_only_erased(paths[0], paths[1])
            )


def _divide_records(root: Path, number: int, length: int) -> Iterator[tuple[int, int]]:
    """Start and end of each part of a segment file: no record is in two of them."""
    start = end = 0
    for kept in Segments(root).read_records(number):
        if isinstance(kept, Corrupt):
            continue
        if kept.end > length:
            break
        end = kept.end
        if end - start >= _RECEIVED:
            yield start, end
            start = end
    if start < length:
        yield start, length


def _give_once(data: bytes) -> Iterator[bytes]:
    yield data


def _read_digest(root: Path, number: int) -> str:
    return ocfl.read_promised_digest(root, number)


def check_gaps(number: int, layout: Layout) -> None:
    """Raise Corrupt if a part of a segment is missing between two others."""
    end = 0
    for part in layout.parts:
        if part.start != end:
            raise FileEndsEarly(file=f"segment {number}", at=end, missing=part.start - end)
        end = part.end


def read_again(
    path: Path, start: int = 0, length: int | None = None
) -> Callable[[], Iterator[bytes]]:
    """A function that reads a stretch of a file from its beginning each time."""
    end = start + (path.stat().st_size - start if length is None else length)

    def read() -> Iterator[bytes]:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for offset in range(start, end, _PIECE):
                yield os.pread(fd, min(_PIECE, end - offset), offset)
        finally:
            os.close(fd)

    return read


def require_layout(client: ObjectClient, number: int) -> Layout:
    """The parts of a segment. Raises Corrupt if there is no such segment."""
    layout = find_layout(client, number)
    if layout is None:
        raise make_missing(number)
    return layout


def make_missing(number: int) -> Corrupt:
    """The error that a segment does not exist."""
    return SegmentMissing(segment=number)
