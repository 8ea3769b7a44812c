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
from perdure.archives.files.careful import Flaw, Met, line_of
from perdure.archives.files.heads import LONGEST_HEAD, Head
from perdure.archives.files.windows import (
    CODECS,
    Damaged,
    Window,
    begins_record,
    begins_within,
    codec_of,
    codec_within,
    member,
    pattern,
    pieces,
    whole,
)
from perdure.archives.libraries import library

_LARGEST_SHARED = 64 << 30
_AT_ONCE = 256 << 10
_LONG_HEAD = 8 << 10
"""Bytes of a block; few HTTP messages have a longer head."""
_STEEPEST = 1100
"""Largest ratio of inflated to compressed bytes; deflate cannot exceed 1,032."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of an archive file: a file, or a stretch of one."""

    path: str
    base: int = 0
    size: int | None = None
    shared: bool = False
    """Whether it is compressed as one stream; offsets then count inflated bytes."""

    def window(self) -> Window:
        return Window(self.path, self.base, self.size)


def scan(place: Place, name: str) -> Iterator[Met]:
    """Yield the records and flaws of a file. `name` is its name in the captures.

    Raises Shared, perhaps after some of them, if the file must be read with `shared` set instead.
    """
    if place.shared:
        yield from _inflated(place, name)
        return
    with place.window() as window:
        yield from _scan(window, name)


def _scan(window: Window, name: str) -> Iterator[Met]:
    codec = packing(window)
    try:
        start = member(window, codec, 0).read(5)
    except Damaged:
        start = b""
    if start == b"WARC/":
        yield from _fast(window, codec, name)
    else:
        yield from careful.read(window, codec, name)


def packing(window: Window) -> str:
    """Return how a file is compressed, even if its beginning is damaged."""
    codec = codec_of(window)
    try:
        start = member(window, codec, 0).read(5)
    except Damaged:
        start = b""
    if start == b"WARC/" or (codec and start):
        return codec
    found = codec_within(window)
    return found if found or begins_within(window) else codec


def _fast(window: Window, codec: str, name: str) -> Iterator[Met]:
    warc: Any = library("fastwarc.warc")
    # FastWARC reuses one object for all records, so each is read before the next is requested.
    records = warc.ArchiveIterator(window, parse_http=False, quirks_mode=True, inplace=True)
    offset, size, head, begin = 0, 0, _UNREAD, b""
    while True:
        try:
            record = next(records, None)
        except OSError:  # the careful reader reports it again, with its place
            record = None
        if record is None:
            break
        after = record.stream_pos
        if after > offset:
            if head is not _UNREAD and _is_one(window, codec, offset, after, size, head):
                block = heads.block_of(head, begin)
                yield line_of(head, block, name, offset, after - offset)
            else:
                yield from careful.read(window, codec, name, offset, after)
        elif head is not _UNREAD or after < offset:
            break  # records without offsets of their own
        offset = after
        size, head = _head_of(record.headers)
        begin = b""
        if head.kind != "request" and heads.speaks_http(head.kind, head.uri, head.content_type):
            begin = record.reader.read(_LONG_HEAD)
            if len(begin) == _LONG_HEAD and b"\r\n\r\n" not in begin:
                begin += record.reader.read(LONGEST_HEAD - _LONG_HEAD)
    yield from careful.read(window, codec, name, offset)


_UNREAD = Head("", "", "", None, "", "", "", "", "")
_AMBIGUOUS = Head("", "", "", None, "", "", "", "", "")


def _head_of(headers: Any) -> tuple[int, Head]:
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
    head = Head(
        get("WARC-Type", ""),
        heads.unbracketed(get("WARC-Target-URI", "")),
        get("WARC-Date", ""),
        heads.length_of(get("Content-Length", "")),
        get("Content-Type", ""),
        get("WARC-Payload-Digest", ""),
        heads.unbracketed(get("WARC-Refers-To-Target-URI", "")),
        get("WARC-Refers-To-Date", ""),
        heads.unbracketed(get("WARC-Record-ID", "")),
    )
    return size, head


def _is_one(window: Window, codec: str, offset: int, after: int, size: int, head: Head) -> bool:
    """Return whether the bytes between two offsets are exactly one complete record."""
    if head.length is None or not size:
        return False
    extent = size + head.length + 4
    if not codec:
        if after - offset != extent or window.at(after - 4, 4) != b"\r\n\r\n":
            return False
        text = window.at(offset, min(size, LONGEST_HEAD))
        return text.find(b"\r\n\r\n") == size - 4
    if after - offset <= _AT_ONCE:
        packed = window.at(offset, after - offset)
        end, once = packed[-4:], pattern(CODECS[codec]).search(packed, 1) is None
    else:
        end, once = window.at(after - 4, 4), False
    if codec == "gzip" and end != (extent & 0xFFFFFFFF).to_bytes(4, "little"):
        return False  # a member ends with its inflated size (RFC 1952 section 2.3.1)
    if once:
        return True
    found = offset
    while (found := window.find(CODECS[codec], found + 1, after)) >= 0:
        if begins_record(window, codec, found):
            return False
    return True


def _inflated(place: Place, name: str) -> Iterator[Met]:
    """Scan a file that was compressed as one stream, inflated into a temporary file."""
    yield Flaw(
        0,
        "compressed as one stream, not record by record: to read a record, perdure must inflate "
        "everything before it; 'warcio recompress' makes a better file",
    )
    with place.window() as window, tempfile.NamedTemporaryFile(prefix="perdure-") as plain:
        limit = min(_LARGEST_SHARED, max(window.size, 1 << 16) * _STEEPEST)
        problem = ""
        try:
            for piece in pieces(whole(window, codec_of(window))):
                plain.write(piece)
                if plain.tell() > limit:
                    problem = f"inflates to more than {limit} bytes; the rest was not read"
                    break
        except Damaged as error:
            problem = str(error)
        plain.flush()
        if problem:
            yield Flaw(plain.tell(), problem)
        with Window(Path(plain.name)) as inflated:
            yield from _scan(inflated, name)
