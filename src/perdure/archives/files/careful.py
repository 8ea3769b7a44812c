"""Read archive files byte by byte, if they are damaged or not written according to the standard.

How it works: a record begins at an offset, and its head says how long it is. If that is correct,
the next record follows. If not, the next place where a record can begin is searched, and the bytes
in between are reported. Members of compressed files are read one by one. A file that was compressed
as one stream is reported as such (`SharedMember`) and read inflated.

What must stay true: every byte of a file belongs to a record or to a flaw that is yielded; a record
with a readable head is yielded even if its block is damaged, because the capture is known to have
been made; memory is bounded, whatever lengths a file claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from perdure.archives.files import heads
from perdure.archives.files.entities import EntityDigest, lacks_digest
from perdure.archives.files.heads import LONGEST_HEAD, ArchivedBlock, ArchivedHead, FaultyRecord
from perdure.archives.files.request_bodies import LONGEST_BODY
from perdure.archives.files.windows import (
    PIECE,
    DamagedBytes,
    GzipMember,
    Readable,
    Window,
    find_next_frame,
    open_member,
)
from perdure.archives.port import Capture
from perdure.errors.root import count_things

_BITE = 32
_GAP = b"\r\n"
_LONGEST_END = len(b"\r\n\r\n")  # of a head
_LINE_ENDS = "its lines do not end with CRLF"
_HARMLESS = re.compile(
    f"^{_LINE_ENDS}|^compressed |^not indexed|^no valid Content-Length| stray bytes | more bytes "
)
_BEGINNING = re.compile(rb"\nWARC/\d")
_FIRST = re.compile(rb"WARC/\d")


class Flaw(msgspec.Struct, frozen=True):
    """A fault of an archive file, and its offset."""

    offset: int
    what: str


def is_damage(flaw: str) -> bool:
    """Return whether a flaw of a record means that its payload cannot be read completely."""
    return _HARMLESS.search(flaw) is None


class UnindexedRecord(msgspec.Struct, frozen=True):
    """A complete record without a URI, usually `warcinfo`."""

    offset: int
    kind: str


class SharedMember(Exception):
    """One compressed member holds several records, so they have no offsets of their own.

    This is not an error. It tells the caller to read the file as one stream.
    """


Met = Capture | Flaw | UnindexedRecord


class _OpenedHead(msgspec.Struct):
    """A head that was read, with the bytes that were read after it."""

    head: ArchivedHead
    rest: bytes
    size: int
    """Bytes of the head."""
    newline_only: bool


def read_records(
    window: Window, codec: str, file: str, start: int = 0, stop: int | None = None
) -> Iterator[Met]:
    """Yield the records and flaws in [start, stop), in order.

    Raises Shared before it yields anything of a shared member.
    """
    end = window.size if stop is None else stop
    if codec:
        yield from _read_members(window, codec, file, start, end)
    else:
        yield from _read_plain(window, file, start, end)


def describe_record(
    head: ArchivedHead, block: ArchivedBlock, file: str, offset: int, length: int
) -> Met:
    """Return the capture, flaw or unindexed record to yield for a record."""
    try:
        found = heads.make_capture(head, block, file=file, offset=offset, length=length)
    except FaultyRecord as error:
        return Flaw(offset, f"not indexed: {error}")
    return UnindexedRecord(offset, head.kind) if found is None else found


def open_head(source: Readable) -> _OpenedHead:
    """Read up to the end of a head. Raises Damaged if there is none."""
    text = b""
    while True:
        piece = source.read(PIECE)
        text += piece
        opened = _parse_head(text.lstrip(b"\r\n") if len(text) < PIECE else text)
        if opened:
            return opened
        if not piece or len(text) > LONGEST_HEAD:
            raise DamagedBytes("no record head found")


def _parse_head(text: bytes) -> _OpenedHead | None:
    if _FIRST.match(text):
        end = heads.find_end_of_head(text[: LONGEST_HEAD + 4])
        if end < 0:
            return None
        return _OpenedHead(
            heads.parse_warc_head(heads.parse_warc_fields(text[:end])),
            text[end:],
            end,
            text[end - 4 : end] != b"\r\n\r\n",
        )
    found = heads.parse_arc_head(text)
    return _OpenedHead(found[0], text[found[2] :], found[2], False) if found else None


# Compressed, record by record
# ----------------------------


def _read_members(window: Window, codec: str, file: str, start: int, stop: int) -> Iterator[Met]:
    while start < stop:
        source = open_member(window, codec, start)
        if not isinstance(source, GzipMember):
            after = min(find_next_frame(window, codec, start + 1), stop)
            source = open_member(window, codec, start, after - start)
        try:
            source, opened = _open_member_head(window, start, source)
        except DamagedBytes as error:
            after = _find_next_member(window, codec, start + 1, stop)
            yield Flaw(
                start, f"{count_things(after - start, 'byte')} cannot be read as a record: {error}"
            )
            start = after
            continue
        begin, digest, flaw = _read_through_block(source, opened)
        if isinstance(source, GzipMember):
            after = source.end if not flaw.startswith("gzip") else start + 1
            if after > stop or (after < stop and window.read_at(after, 3) != b"\x1f\x8b\x08"):
                found = _find_next_member(window, codec, start + 1, stop)
                if not flaw:
                    yield Flaw(after, f"{found - after} stray bytes between records")
                after = found
            elif flaw.startswith("gzip"):
                after = _find_next_member(window, codec, start + 1, stop)
        if flaw:
            yield Flaw(start, flaw)
        yield describe_record(
            opened.head,
            heads.summarise_block(opened.head, begin, digest),
            file,
            start,
            after - start,
        )
        start = after


def _open_member_head(window: Window, start: int, source: Readable) -> tuple[Readable, _OpenedHead]:
    """Open the record in a member; if the member is damaged, inflate it in small steps."""
    try:
        return source, open_head(source)
    except DamagedBytes:
        if not isinstance(source, GzipMember):
            raise
    source = GzipMember(window, start, feed=_BITE)
    return source, open_head(source)


def _find_next_member(window: Window, codec: str, start: int, stop: int) -> int:
    """Return the offset of the next member that holds a WARC or ARC record, or `stop`."""
    magic = {"gzip": b"\x1f\x8b\x08"}.get(codec)
    if magic is None:
        return min(find_next_frame(window, codec, start), stop)
    while (start := window.find_bytes(magic, start, stop)) >= 0:
        try:
            open_head(open_member(window, codec, start))
        except DamagedBytes:
            start += 1
        else:
            return start
    return stop


def _read_through_block(source: Readable, opened: _OpenedHead) -> tuple[bytes, str, str]:
    """Read a block. Return its first bytes, its digest if the head has none, and its fault.

    Both are empty if there is nothing to say. Raises SharedMember.
    """
    digest = EntityDigest(opened.head) if lacks_digest(opened.head) else None
    begin, flaw = _read_and_hash(source, opened, digest)
    return begin, digest.format_digest() if digest else "", flaw


def _read_and_hash(
    source: Readable, opened: _OpenedHead, digest: EntityDigest | None
) -> tuple[bytes, str]:
    most = _count_needed(opened.head)
    begin = opened.rest[: opened.head.length] if opened.head.length is not None else opened.rest
    left = opened.head.length
    if digest:
        digest.add_piece(begin)
    try:
        if left is None:
            total = len(opened.rest)
            while piece := source.read(PIECE):
                total += len(piece)
            return begin[:most], "no valid Content-Length"
        have = opened.rest
        while len(have) < left:
            left -= len(have)
            have = source.read(PIECE)
            if digest:
                digest.add_piece(have)
            if len(begin) < most:
                begin += have[:left]
            if not have:
                return begin[:most], (
                    f"the block lacks {count_things(left, 'byte')} of the {opened.head.length} "
                    "that Content-Length announces"
                )
        behind = have[left:]
        while len(behind) < 64 and (piece := source.read(PIECE)):
            behind += piece
        rest = behind.lstrip(_GAP)
        if _begins_with_head(rest):
            raise SharedMember
        more = len(rest)
        while piece := source.read(PIECE):
            more += len(piece)
    except DamagedBytes as error:
        return begin[:most], str(error)
    if more:
        return begin[:most], (
            f"{count_things(more, 'more byte')} follow the {opened.head.length} that "
            "Content-Length announces"
        )
    if opened.newline_only:
        return begin[:most], _LINE_ENDS
    return begin[:most], ""


def _count_needed(head: ArchivedHead) -> int:
    """Return the bytes at the beginning of a block that `summarise_block` needs."""
    return LONGEST_HEAD + (LONGEST_BODY if head.kind == "request" else 0)


def _begins_with_head(text: bytes) -> bool:
    return bool(_FIRST.match(text) or heads.parse_arc_head(text[:LONGEST_HEAD]))


# Not compressed
# --------------


def _read_plain(window: Window, file: str, start: int, stop: int) -> Iterator[Met]:
    while start < stop:
        text = window.read_at(start, LONGEST_HEAD + 8)
        blank = len(text) - len(text.lstrip(_GAP))
        if blank:
            start += blank
            continue
        opened = _parse_head(text)
        if opened is None:
            after = _find_next_record(window, start + 1, stop)
            yield Flaw(start, f"{count_things(after - start, 'byte')} cannot be read as a record")
            start = after
            continue
        body = start + opened.size
        after, flaw = _find_extent(window, opened, body, stop)
        if flaw:
            yield Flaw(start, flaw)
        begin = window.read_at(body, min(_count_needed(opened.head), after - body))
        if opened.head.length is not None:
            begin = begin[: opened.head.length]
        digest = "" if flaw else _hash_plain(window, opened.head, body)
        block = heads.summarise_block(opened.head, begin, digest)
        yield describe_record(opened.head, block, file, start, after - start)
        start = after


def _hash_plain(window: Window, head: ArchivedHead, body: int) -> str:
    """Return the digest of the payload of a sound record, if its head has none."""
    if not lacks_digest(head):
        return ""
    digest, end = EntityDigest(head), body + (head.length or 0)
    digest.add_piece(b"")
    for at in range(body, end, PIECE):
        digest.add_piece(window.read_at(at, min(PIECE, end - at)))
    return digest.format_digest()


def _find_extent(window: Window, opened: _OpenedHead, body: int, stop: int) -> tuple[int, str]:
    """Return the offset of the next record, and the fault of this one, empty if it is sound."""
    length = opened.head.length
    if length is not None and body + length <= stop:
        end = body + length
        gap = window.read_at(end, 64)
        rest = gap.lstrip(_GAP)
        after = end + len(gap) - len(rest)
        if after >= stop or _record_follows(window, after):
            return min(after, stop), _LINE_ENDS if opened.newline_only else ""
    after = _find_next_record(window, body, stop)
    if length is None:
        return after, "no valid Content-Length"
    missing = body + length - after
    if missing < 0:
        return after, (
            f"{count_things(-missing, 'more byte')} follow the {length} that Content-Length "
            "announces"
        )
    return (
        after,
        (
            f"the block lacks {count_things(missing, 'byte')} of the {length} that Content-Length "
            "announces"
        ),
    )


def _record_follows(window: Window, place: int) -> bool:
    """Return whether a record begins at the expected place.

    If a length is wrong by a few bytes, the place is inside the first line of an ARC record, and
    `ttp://…` would pass for a head, too.
    """
    text = window.read_at(place, LONGEST_HEAD)
    if not _begins_with_head(text):
        return False
    return bool(_FIRST.match(text) or heads.ARC_START.match(text)) or (
        window.read_at(place - 1, 1) == b"\n"
    )


def _find_next_record(window: Window, start: int, stop: int) -> int:
    """Return the offset of the next line that can begin a record, or `stop`."""
    overlap = 8 << 10
    at = max(start - 1, 0)
    endless = 0  # no head ends before this offset, so no head that begins before it does either
    while at < stop:
        piece = window.read_at(at, min(4 * PIECE, stop - at))
        for found in sorted(
            [*_BEGINNING.finditer(piece), *heads.ARC_START.finditer(piece)],
            key=lambda one: one.start(),
        ):
            place = at + found.start() + 1
            if place < start:
                continue
            if found.re is _BEGINNING:
                begin = max(place, endless - _LONGEST_END)
                rest = window.read_at(begin, place + LONGEST_HEAD - begin)
                if heads.find_end_of_head(rest) < 0:
                    endless = begin + len(rest)
                    continue
            if _parse_head(window.read_at(place, LONGEST_HEAD)):
                return place
        if at + len(piece) >= stop or len(piece) <= overlap:
            break
        at += len(piece) - overlap
    return stop
