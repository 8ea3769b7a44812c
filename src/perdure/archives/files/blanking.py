"""Erase the content of a record in an archive file: the same length, still a valid record.

How it works: `plan_blanking` reads a record and says what will be written over it. The head of the
record stays, with the digests of the bytes that are left in the same algorithm and notation; fields
that ISO 28500 does not define are filled with hyphens. Zeros replace the block, after the version
and status of an HTTP response, or the method of a request, so that every reader still finds a
message. A gzip member gets exactly its old length:

    gzip head | head, some zeros: deflated | other zeros: stored | end: deflated | CRC, length

The more zeros are stored, the longer it is; empty blocks and a comment add the last few bytes.

What must stay true: no byte outside the record changes, so all offsets stay; a plan has
everything that will be written, so that it can be repeated after a crash at any point; a record
that is already blank needs no plan (None).  # ruling: tombstone-silence
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import msgspec

from perdure.archives.digests import ALGORITHMS, algorithm_of
from perdure.archives.files import heads
from perdure.archives.files.blank_frames import encode_frame, list_beginnings
from perdure.archives.files.blank_members import (
    PIECE,
    RecordNotBlankable,
    encode_member,
    list_zeros,
)
from perdure.archives.files.records import WarcRecord
from perdure.archives.files.scanning import ArchivePlace
from perdure.archives.files.windows import (
    DamagedBytes,
    GzipMember,
    Window,
    detect_codec,
    open_member,
    read_dictionary,
    read_pieces,
)
from perdure.archives.port import CaptureBlanking
from perdure.errors import Corrupt

_MOST_TAIL = 16
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? {1,8}\d{3}(?!\d)")
_METHOD = re.compile(rb"([A-Za-z]{1,20}) ")
_ONE_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_LINE = re.compile(rb"([^:\r\n]+):([ \t]*)(.*?)([ \t]*\r*\n)", re.DOTALL)
_DIGESTS = (b"warc-block-digest", b"warc-payload-digest")
_STANDARD = frozenset(
    (
        b"warc-type",
        b"warc-record-id",
        b"warc-date",
        b"content-length",
        b"content-type",
        b"warc-concurrent-to",
        b"warc-ip-address",
        b"warc-refers-to",
        b"warc-refers-to-target-uri",
        b"warc-refers-to-date",
        b"warc-target-uri",
        b"warc-truncated",
        b"warc-warcinfo-id",
        b"warc-filename",
        b"warc-profile",
        b"warc-identified-payload-type",
        b"warc-segment-number",
        b"warc-segment-origin-id",
        b"warc-segment-total-length",
    )
)
"""The fields of ISO 28500:2017 section 5, without the digests."""


def plan_blanking(
    place: ArchivePlace, path: str, record: WarcRecord, offset: int, length: int
) -> CaptureBlanking | None:
    """Plan to erase the content of a record. Return None if it is erased already.

    `path`: the file, as its index names it; `length`: the bytes of the record in the file, as
    indexed. Raises RecordNotBlankable, or OSError if the file cannot be read.
    """
    if place.shared:
        raise RecordNotBlankable("its file is compressed as one stream, not record by record")
    with place.open_window() as window:
        codec = detect_codec(window, offset)
        if codec not in ("", "gzip", "zstd"):
            raise RecordNotBlankable(f"its file is compressed with {codec}")
        text, count = record.head_text, record.head.length
        if count is None:
            raise RecordNotBlankable("its head does not say how long it is")
        try:
            measure = _measure_frame if codec == "zstd" else _measure_record
            size, tail = measure(window, codec, offset, length, len(text) + count)
            start = _read_start(record)
            left = _keep_http(record.head, start)
        except (Corrupt, DamagedBytes) as error:
            raise RecordNotBlankable(f"it is damaged: {error}") from None
        if not codec and window.read_at(offset, len(text)) != text:
            raise RecordNotBlankable("it does not begin where its index says")
        left = left if len(left) <= count else b""
        block = BlankBlock(left, count - len(left))
        new_text = _blank_head(text, block)
        if _read_identity(new_text) != _read_identity(text):
            raise RecordNotBlankable("its head cannot be read for certain")
        blanking = CaptureBlanking(
            path=path,
            size=Path(place.path).stat().st_size,
            offset=place.base + offset,
            length=size,
            codec=codec,
            head=new_text + left,
            zeros=block.zeros,
            tail=tail,
        )
        if _is_blank(record, text, blanking):
            return None
        return _check_fit(blanking, window) if codec else blanking


def _read_identity(text: bytes) -> tuple[str, str, str, int | None, str, str] | None:
    """Return what must stay the same in the head of a WARC record; None for an ARC record."""
    if not text.startswith(b"WARC/"):
        return None
    head = heads.parse_warc_head(heads.parse_warc_fields(text))
    return head.kind, head.uri, head.date, head.length, head.id, head.concurrent_to


def _measure_record(
    window: Window, codec: str, offset: int, length: int, extent: int
) -> tuple[int, bytes]:
    """Return the bytes to overwrite, and what follows the block in a compressed member.

    Raises RecordNotBlankable if something else is there, too.
    """
    if not codec:
        rest = window.read_at(offset + extent, max(length - extent, 0))
        if offset + extent > window.size or len(rest) > _MOST_TAIL or rest.strip(b"\r\n"):
            raise RecordNotBlankable("it does not have the length that its head says")
        return extent, b""
    member = GzipMember(window, offset)
    total, tail = 0, b""
    while piece := member.read(PIECE):
        total += len(piece)
        tail = (tail + piece)[-_MOST_TAIL:]
    after = total - extent
    if not 0 <= after <= _MOST_TAIL or (tail := tail[len(tail) - after :]).strip(b"\r\n"):
        raise RecordNotBlankable("it does not have the length that its head says")
    size = member.end - offset
    rest = window.read_at(member.end, max(length - size, 0))
    if length and (length < size or rest.strip(b"\0\r\n")):
        raise RecordNotBlankable("its compressed member does not have the length that is indexed")
    return size, tail


def _measure_frame(
    window: Window, codec: str, offset: int, length: int, extent: int
) -> tuple[int, bytes]:
    """Measure a record in frames whose end only the index knows. See `_measure_record`."""
    if not length or offset + length > window.size:
        raise RecordNotBlankable("its index does not say how long it is")
    total, tail = 0, b""
    for piece in read_pieces(open_member(window, codec, offset, length)):
        total += len(piece)
        tail = (tail + piece)[-_MOST_TAIL:]
    after = total - extent
    if not 0 <= after <= _MOST_TAIL or (tail := tail[len(tail) - after :]).strip(b"\r\n"):
        raise RecordNotBlankable("it does not have the length that its head says")
    return length, tail


def _read_start(record: WarcRecord) -> bytes:
    """Return the first bytes of the block."""
    start = b""
    for piece in record.read_block():
        start += piece
        if len(start) >= 64:
            break
    return start


def _keep_http(head: heads.ArchivedHead, start: bytes) -> bytes:
    """Return the beginning of an HTTP head that stays, or nothing if the block has no such head."""
    if not heads.speaks_http(head.kind, head.uri, head.content_type):
        return b""
    if head.kind == "request":
        found = _METHOD.match(start)
        return (found[1] if found else b"GET") + b" / HTTP/1.1\r\n\r\n"
    found = _STATUS.match(start)
    return found[0] + b" \r\n\r\n" if found else b""


class BlankBlock:
    """A blank block: what is left of an HTTP head, and zeros."""

    def __init__(self, left: bytes, zeros: int) -> None:
        self._left = left
        self.zeros = zeros

    def digest(self, algorithm: str, *, is_payload: bool) -> bytes:
        found = hashlib.new(algorithm, usedforsecurity=False)
        if not is_payload:
            found.update(self._left)
        for piece in list_zeros(self.zeros):
            found.update(piece)
        return found.digest()


def _blank_head(text: bytes, block: BlankBlock) -> bytes:
    """Return a head of the same length that says nothing of the erased block.

    The head of an ARC record stays as it is: it has no digest.
    """
    if not text.startswith(b"WARC/"):
        return text
    lines = _ONE_LINE.findall(text)
    blanked = [lines[0]]
    keeps = True
    for line in lines[1:]:
        if line[:1] in (b" ", b"\t"):  # goes on with the field before it
            blanked.append(line if keeps else hyphenate(line))
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            keeps = not line.strip()
            blanked.append(line if keeps else hyphenate(line))
            continue
        name = found[1].strip().lower()
        keeps = name in _STANDARD
        value = found[3]
        if name in _DIGESTS:
            value = renew_digest(value, block, is_payload=name == _DIGESTS[1])
        elif not keeps:
            value = hyphenate(value)
        blanked.append(found[1] + b":" + found[2] + value + found[4])
    return b"".join(blanked)


def hyphenate(text: bytes) -> bytes:
    """Replace everything but spaces."""
    return re.sub(rb"[^\s]", b"-", text)


def renew_digest(value: bytes, block: BlankBlock, *, is_payload: bool) -> bytes:
    """Return the digest of the blank block in the notation of another; hyphens if it is unknown."""
    label, colon, text = value.partition(b":")
    algorithm = algorithm_of(value.decode("latin-1"))
    if algorithm in ALGORITHMS:
        digest = block.digest(algorithm, is_payload=is_payload)
        for write in _NOTATIONS:
            written = write(digest)
            bare = written.rstrip(b"=")
            for one in (written, bare):
                if len(one) == len(text):
                    is_lower = text == text.lower() and write is not base64.b64encode
                    return label + colon + (one.lower() if is_lower else one)
    return label + colon + b"-" * len(text)


_NOTATIONS: tuple[Callable[[bytes], bytes], ...] = (
    base64.b32encode,
    lambda digest: digest.hex().encode(),
    base64.b64encode,
)


def _is_blank(record: WarcRecord, text: bytes, blanking: CaptureBlanking) -> bool:
    """Return whether a record already is what its plan says."""
    if not blanking.head.startswith(text):
        return False
    at, start = 0, blanking.head[len(text) :]
    for piece in record.read_block():
        own = start[at : at + len(piece)]
        if not piece.startswith(own) or any(piece[len(own) :].strip(b"\0")):
            return False
        at += len(piece)
    return True


# Writing
# -------


def write_blanking(fd: int, blanking: CaptureBlanking) -> None:
    """Overwrite a record in a file. It is durable once the file is flushed. Raises OSError."""
    offset = blanking.offset
    for piece in _encode_blanking(blanking):
        write_at(fd, offset, piece)
        offset += len(piece)


def write_at(fd: int, offset: int, data: bytes) -> None:
    """Write all of some bytes at an offset. Raises OSError."""
    left = memoryview(data)
    while left:
        written = os.pwrite(fd, left, offset)
        left, offset = left[written:], offset + written


def _encode_blanking(blanking: CaptureBlanking) -> Iterator[bytes]:
    if blanking.codec == "zstd":
        frame = encode_frame(blanking.begin, blanking.zeros, blanking.tail, blanking.length)
        if frame is None:
            raise RecordNotBlankable("no frame has its length")
        return frame
    if blanking.codec:
        return encode_member(blanking.head, blanking.zeros, blanking.tail, blanking.length)
    return chain((blanking.head,), list_zeros(blanking.zeros))


def _check_fit(blanking: CaptureBlanking, window: Window) -> CaptureBlanking:
    """Return a plan that fits into its member: if need be, without the digests of the blank record.

    Raises RecordNotBlankable.
    """
    dictionary = read_dictionary(window) if blanking.codec == "zstd" else None
    for head in (blanking.head, _drop_digests(blanking.head)):
        is_zstd = blanking.codec == "zstd"
        for begin in list_beginnings(head, dictionary) if is_zstd else (b"",):
            one = msgspec.structs.replace(blanking, head=head, begin=begin)
            try:
                total = sum(map(len, _encode_blanking(one)))
            except RecordNotBlankable:
                continue
            if total == one.length:  # otherwise it would overwrite the next record
                return one
    raise RecordNotBlankable("it is compressed so well that no blank record has the same length")


def _drop_digests(head: bytes) -> bytes:
    """Return a head without the lines of its digests."""
    end = heads.find_end_of_head(head)
    lines = _ONE_LINE.findall(head[:end])
    kept = (one for one in lines if one.partition(b":")[0].strip().lower() not in _DIGESTS)
    return b"".join(kept) + head[end:]
