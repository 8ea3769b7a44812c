"""Open the records of registered archive files.

How it works: an index names files by a short name; their paths are stored with the index. A record
is read with two or three `pread` calls from a file that is opened for it.

What must stay true: a file that has changed since it was indexed never yields the bytes of another
capture; a name from an outside source (a CDXJ file, a ZIP file, another server) is only looked up
among the registered names, and never becomes a path.
"""

from __future__ import annotations

from typing import Protocol

from perdure.archives.dates import parse_second
from perdure.archives.digests import compare_digests
from perdure.archives.files.careful import is_damage
from perdure.archives.files.heads import ArchivedHead
from perdure.archives.files.records import WarcRecord
from perdure.archives.files.scanning import ArchivePlace
from perdure.archives.files.windows import (
    DamagedBytes,
    Readable,
    Window,
    detect_codec,
    open_member,
    open_whole,
)
from perdure.archives.port import Capture
from perdure.errors.archive_corruption import CaptureReplaced, OffsetOutside
from perdure.errors.lookup import NoSuchArchiveFile
from perdure.errors.processes import FileUnusable
from perdure.ids.urlkey import make_url_key


class Places(Protocol):
    """The places of the registered files."""

    def find_place(self, file: str) -> ArchivePlace | None: ...

    def list_flaws_at(self, file: str, offset: int) -> list[str]: ...


class RegisteredFiles:
    """Implements `perdure.archives.port.ArchiveFiles`."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def open_record(self, capture: Capture) -> WarcRecord:
        """Open the record of a capture.

        Raises NotFound if the file is not registered, Unavailable if it cannot be read now,
        Corrupt if the record at the offset is not that of the capture.
        """
        place = self._places.find_place(capture.file)
        if place is None:
            raise NoSuchArchiveFile(identifier=capture.file)
        record = self.open_at(place, capture.file, capture.offset, capture.length)
        if not is_record_of(record.head, capture):
            record.close()
            raise CaptureReplaced(
                file=capture.file,
                offset=capture.offset,
                uri=capture.uri,
                date=capture.date,
                found_uri=record.head.uri,
                found_date=record.head.date,
            )
        return record

    def is_damaged(self, capture: Capture) -> bool:
        """See `ArchiveFiles`. Flaws that leave a record readable are not damage."""
        return any(map(is_damage, self._places.list_flaws_at(capture.file, capture.offset)))

    def open_at(self, place: ArchivePlace, name: str, offset: int, length: int = 0) -> WarcRecord:
        """Open the record at an offset. `length`: its bytes in the file, if known."""
        try:
            window = place.open_window()
        except OSError as error:
            fault = error.strerror or str(error)
            raise FileUnusable(file=f"archive file {name}", fault=fault) from error
        try:
            return _open_record(window, place, f"{name}@{offset}", offset, length)
        except BaseException:
            window.close()
            raise


def is_record_of(head: ArchivedHead, capture: Capture) -> bool:
    """Return whether a record is the one in the index, by its URI, second and digest.

    Another index may spell a URI in another way, and has no fractions of a second.
    """
    if not capture.key:  # not from an index: the first record of a file
        return True
    same_uri = head.uri == capture.uri or make_url_key(head.uri) in (
        capture.key,
        make_url_key(capture.uri),
    )
    try:
        same_time = head.date == capture.date or parse_second(head.date) == capture.time
    except ValueError:
        same_time = False
    known = head.digest and capture.digest
    return (
        same_uri
        and same_time
        and not (known and compare_digests(head.digest, capture.digest) is False)
    )


def _open_record(
    window: Window, place: ArchivePlace, where: str, offset: int, length: int
) -> WarcRecord:
    if offset < 0 or (offset >= window.size and not place.shared):
        raise OffsetOutside(record=where, offset=offset, size=window.size)

    codec = detect_codec(window, 0 if place.shared else offset)

    def open_source() -> Readable:
        if place.shared:
            return _SkippingReader(open_whole(window, codec), offset)
        return open_member(window, codec, offset, length)

    return WarcRecord(window, open_source, where, length or window.size - offset)


class _SkippingReader:
    """A file compressed as one stream, read from an offset in the inflated data."""

    def __init__(self, source: Readable, offset: int) -> None:
        self._source = source
        self._left = offset

    def read(self, size: int) -> bytes:
        while self._left:
            piece = self._source.read(min(self._left, 1 << 20))
            if not piece:
                raise DamagedBytes("the file ends before the record begins")
            self._left -= len(piece)
        return self._source.read(size)
