"""Read all records of an archive file in order; quickly if the file follows the standard.

How it works: FastWARC reads a WARC file. Each record is checked against the bytes between its
offset and the next. They must be exactly one record, by its lengths and because nothing else begins
in between. If they are not, or if FastWARC stops, `careful` reads that stretch. FastWARC silently
drops records that are cut off or have a wrong length, so `careful` always reads the last record.

What must stay true: the result is the same as from `careful` alone; memory does not grow with the
file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure.archives.files import careful, heads
from perdure.archives.files.careful import Flaw, Met, describe_record
from perdure.archives.files.entities import EntityDigest, lacks_digest
from perdure.archives.files.heads import LONGEST_HEAD, ArchivedBlock, ArchivedHead
from perdure.archives.files.pairing import pair_requests
from perdure.archives.files.request_bodies import LONGEST_BODY
from perdure.archives.files.windows import (
    CODECS,
    PIECE,
    DamagedBytes,
    Readable,
    Window,
    begins_record,
    begins_within,
    compile_needle,
    detect_codec,
    find_first_frame,
    open_member,
    open_whole,
    read_pieces,
    search_codec,
)
from perdure.archives.libraries import import_library
from perdure.errors.root import count_things

_LARGEST_SHARED = 64 << 30
_AT_ONCE = 256 << 10
_LONG_HEAD = 8 << 10
"""Bytes of a block; few HTTP messages have a longer head."""
_GET = b"GET "
_PLAIN_REQUEST = ArchivedBlock()
_STEEPEST = 1100
"""Largest ratio of inflated to compressed bytes; deflate cannot exceed 1,032."""


class ArchivePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The place of an archive file: a file, or a stretch of one."""

    path: str
    base: int = 0
    size: int | None = None
    shared: bool = False
    """Whether it is compressed as one stream; offsets then count inflated bytes."""

    def open_window(self) -> Window:
        return Window(self.path, self.base, self.size)


def scan_file(place: ArchivePlace, name: str) -> Iterator[Met]:
    """Yield the records and flaws of a file. `name` is its name in the captures.

    Raises Shared, perhaps after some of them, if the file must be read with `shared` set instead.
    """
    if place.shared:
        yield from pair_requests(_scan_inflated(place, name))
        return
    with place.open_window() as window:
        yield from pair_requests(_scan_window(window, name))


def _scan_window(window: Window, name: str) -> Iterator[Met]:
    codec = detect_packing(window)
    try:
        start = open_member(window, codec, 0).read(5)
    except DamagedBytes:
        start = b""
    if start == b"WARC/":
        yield from _scan_fast(window, codec, name)
    else:
        yield from careful.read_records(window, codec, name)


def detect_packing(window: Window) -> str:
    """Return how a file is compressed, even if its beginning is damaged."""
    codec = detect_codec(window)
    try:
        start = open_member(window, codec, 0).read(5)
    except DamagedBytes:
        start = b""
    if start == b"WARC/" or (codec and start):
        return codec
    found = search_codec(window)
    return found if found or begins_within(window) else codec


def _scan_fast(window: Window, codec: str, name: str) -> Iterator[Met]:
    warc: Any = import_library("fastwarc.warc")
    # FastWARC reuses one object for all records, so each is read before the next is requested.
    records = warc.ArchiveIterator(window, parse_http=False, quirks_mode=True, inplace=True)
    offset = find_first_frame(window)
    size, head, block = 0, _UNREAD, ArchivedBlock()
    while True:
        try:
            record = next(records, None)
        except OSError:  # the careful reader reports it again, with its place
            record = None
        if record is None:
            break
        after = record.stream_pos
        if after > offset:
            if head is not _UNREAD and _is_one_record(window, codec, offset, after, size, head):
                yield describe_record(head, block, name, offset, after - offset)
            else:
                yield from careful.read_records(window, codec, name, offset, after)
        elif head is not _UNREAD or after < offset:
            break  # records without offsets of their own
        offset = after
        size, head = _convert_head(record.headers)
        block = _read_block(head, record.reader)
    yield from careful.read_records(window, codec, name, offset)


def _read_block(head: ArchivedHead, reader: Readable) -> ArchivedBlock:
    """Return the properties of a block. Only a block without a digest is read to its end."""
    begin = b""
    if heads.speaks_http(head.kind, head.uri, head.content_type):
        if head.kind == "request":
            begin = reader.read(len(_GET))
            if begin == _GET:
                return _PLAIN_REQUEST
            begin = _read_more(reader, begin, LONGEST_HEAD + LONGEST_BODY)
            return heads.summarise_block(head, begin)
        begin = reader.read(_LONG_HEAD)
        if len(begin) == _LONG_HEAD and b"\r\n\r\n" not in begin:
            begin += reader.read(LONGEST_HEAD - _LONG_HEAD)
    if not lacks_digest(head):
        return heads.summarise_block(head, begin)
    digest = EntityDigest(head)
    digest.add_piece(begin)
    while piece := reader.read(PIECE):
        digest.add_piece(piece)
    return heads.summarise_block(head, begin, digest.format_digest())


def _read_more(reader: Readable, begin: bytes, most: int) -> bytes:
    """Return the first `most` bytes of a block, or all of it."""
    pieces, size = [begin], len(begin)
    while size < most and (piece := reader.read(min(PIECE, most - size))):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


_UNREAD = ArchivedHead("", "", "", None, "", "", "", "", "")
_AMBIGUOUS = ArchivedHead("", "", "", None, "", "", "", "", "")


def _convert_head(headers: Any) -> tuple[int, ArchivedHead]:
    """Return the bytes of a head that FastWARC read, and the head itself.

    The bytes are 0 if the head is unusual, with fields that are repeated, in another case or not
    in ASCII. `careful` reads such heads.
    """
    pairs = headers.to_tuples()
    values = dict(pairs)
    if len(values) < len(pairs) or "WARC-Type" not in values or "WARC-Date" not in values:
        return 0, _AMBIGUOUS
    text = "".join(values) + "".join(values.values())
    if not text.isascii():
        return 0, _AMBIGUOUS
    size = len(headers.status_line) + 4 + 4 * len(pairs) + len(text)
    get = values.get
    head = ArchivedHead(
        get("WARC-Type", ""),
        heads.strip_brackets(get("WARC-Target-URI", "")),
        get("WARC-Date", ""),
        heads.parse_length(get("Content-Length", "")),
        get("Content-Type", ""),
        get("WARC-Payload-Digest", ""),
        heads.strip_brackets(get("WARC-Refers-To-Target-URI", "")),
        get("WARC-Refers-To-Date", ""),
        heads.strip_brackets(get("WARC-Record-ID", "")),
        heads.strip_brackets(get("WARC-Concurrent-To", "")),
    )
    return size, head


def _is_one_record(
    window: Window, codec: str, offset: int, after: int, size: int, head: ArchivedHead
) -> bool:
    """Return whether the bytes between two offsets are exactly one complete record."""
    if head.length is None or not size:
        return False
    extent = size + head.length + 4
    if not codec:
        if after - offset != extent or window.read_at(after - 4, 4) != b"\r\n\r\n":
            return False
        text = window.read_at(offset, min(size, LONGEST_HEAD))
        return text.find(b"\r\n\r\n") == size - 4
    if after - offset <= _AT_ONCE:
        packed = window.read_at(offset, after - offset)
        end, once = packed[-4:], compile_needle(CODECS[codec]).search(packed, 1) is None
    else:
        end, once = window.read_at(after - 4, 4), False
    if codec == "gzip" and end != (extent & 0xFFFFFFFF).to_bytes(4, "little"):
        return False  # a member ends with its inflated size (RFC 1952 section 2.3.1)
    if once:
        return True
    found = offset
    while (found := window.find_bytes(CODECS[codec], found + 1, after)) >= 0:
        if begins_record(window, codec, found):
            return False
    return True


def _scan_inflated(place: ArchivePlace, name: str) -> Iterator[Met]:
    """Scan a file that was compressed as one stream, inflated into a temporary file."""
    yield Flaw(
        0,
        "compressed as one stream, not record by record: to read a record, perdure must inflate "
        "everything before it; 'fastwarc recompress' makes a better file",
    )
    with place.open_window() as window, tempfile.NamedTemporaryFile(prefix="perdure-") as plain:
        limit = min(_LARGEST_SHARED, max(window.size, 1 << 16) * _STEEPEST)
        problem = ""
        try:
            for piece in read_pieces(open_whole(window, detect_codec(window))):
                plain.write(piece)
                if plain.tell() > limit:
                    problem = (
                        f"inflates to more than {count_things(limit, 'byte')}; "
                        "the rest was not read"
                    )
                    break
        except DamagedBytes as error:
            problem = str(error)
        plain.flush()
        if problem:
            yield Flaw(plain.tell(), problem)
        with Window(Path(plain.name)) as inflated:
            yield from _scan_window(inflated, name)
