"""The WARC records of segments: this module writes them, and reads them for a rebuild.

How it works: content is a `resource` record of WARC/1.1 (ISO 28500:2017), uncompressed, so that a
byte range of a document is a byte range of a file. `WARC-Target-URI` is the identifier with format
and version; the named fields that begin with `Perdure-` hold what a rebuild cannot know from it.
A withdrawal is a `metadata` record whose block is the tombstone as JSON, so that a registry rebuilt
from its segments does not serve withdrawn content again. So is a correction of a media type or
charset.

What must stay true: any WARC reader can read a segment without our code; a reader reports an
incomplete record, and never invents one.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from perdure.errors import Corrupt
from perdure.errors.root import count_things
from perdure.errors.segment_corruption import (
    HeadFlaw,
    SegmentHeadAltered,
    SegmentHeadIncomplete,
    SegmentHeadMissing,
    SegmentRecordCutOff,
    SegmentRecordDamaged,
    SegmentRecordEndless,
)

VERSION = b"WARC/1.1\r\n"
TRAILER = b"\r\n\r\n"
LONGEST_HEAD = 64 * 1024
_USUAL_HEAD = 2048
_SEARCHED = 1024 * 1024
_RECORD_ID = re.compile(r"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
TOMBSTONE = "application/vnd.perdure.tombstone+json"
CORRECTION = "application/vnd.perdure.correction+json"
_OWN_HEAD = re.compile(
    r"WARC/1\.1\r\nWARC-Type: (resource|metadata)\r\nWARC-Record-ID: <urn:uuid:"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}>\r\n"
    rf"WARC-Date: ({_TIME.pattern})\r\n"
    r"WARC-Target-URI: (.*)\r\n"
    r"WARC-Block-Digest: sha512:(.*)\r\n"
    r"Content-Type: (.*)\r\n"
    r"Content-Length: (0|[1-9][0-9]{0,17})\r\n"
    r"(?:Perdure-Version: ([1-9][0-9]{0,17})\r\n)?"
    r"(?:Perdure-Format: (.+)\r\nPerdure-BLAKE3: (.*)\r\n)?"
    r"(?:Perdure-Language: (.+)\r\n)?"
    r"(?:Perdure-Padding: \.+\r\n)?\r\n",
    re.ASCII,
)
"""The heads that `make_head` makes. A head that matches has no flaw. The others are read field by
field, which takes eight times as long and says what is wrong."""


class WarcBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a block in the head of its record; digests as in the registry."""

    uri: str
    at: str
    media_type: str
    length: int
    sha512: str
    blake3: str = ""
    format: str = ""
    version: int = 0
    language: str | None = None


Heads = Callable[[str, str, int, str, str], bytes]
"""Makes the head of a record from its id, URI, length, SHA-512 and BLAKE3."""


class SegmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record in a segment, with the place of its block."""

    type: str
    block: WarcBlock
    offset: int
    end: int


def make_record_ids() -> Iterator[str]:
    """Unique names for records: UUIDs of version 8 (RFC 9562 section 5.8).

    Most of each name is random and drawn once; the last 48 bits are a counter. So a record needs no
    random numbers of its own. To ask the system for them would also let another thread run first.
    """
    drawn = str(uuid.uuid4())
    fixed = f"<urn:uuid:{drawn[:14]}8{drawn[15:24]}"
    return (f"{fixed}{number:012x}>" for number in range(1 << 48))


def make_heads(block: WarcBlock, *, type: str = "resource") -> Heads:
    """Return a function that makes heads like this one with other arguments of `Heads`.

    The caller makes sure that no field contains a line break: identifiers and media types are
    values of our own grammars.
    """
    version = f"\r\nPerdure-Version: {block.version}" if block.version else ""
    format = f"\r\nPerdure-Format: {block.format}\r\nPerdure-BLAKE3: " if block.format else ""
    language = f"\r\nPerdure-Language: {block.language}" if block.language else ""
    before = f"WARC/1.1\r\nWARC-Type: {type}\r\nWARC-Record-ID: "
    dated = f"\r\nWARC-Date: {block.at}\r\nWARC-Target-URI: "
    typed = f"\r\nContent-Type: {block.media_type}\r\nContent-Length: "
    known = version + format
    end = f"{language}\r\n\r\n"
    # Section 4 of the specification allows UTF-8 in field values; the names of some schemes use it.
    return lambda id, uri, length, sha512, blake3: (
        f"{before}{id}{dated}{uri}\r\nWARC-Block-Digest: sha512:{sha512}"
        f"{typed}{length}{known}{blake3}{end}"
    ).encode()


def make_head(
    block: WarcBlock, *, id: str, type: str = "resource", size: int | None = None
) -> bytes:
    """The head of a record with its blank line, padded to `size` bytes if `size` is given.

    `id` is one of `make_record_ids`. Raises ValueError if the head is longer than `size`.
    """
    text = make_heads(block, type=type)(id, block.uri, block.length, block.sha512, block.blake3)
    if size is None:
        return text
    label = b"\r\nPerdure-Padding: "
    missing = size - len(text) - len(label)
    if missing < 1:
        raise ValueError(f"a head of {count_things(len(text), 'byte')} does not fit into {size}")
    return text.removesuffix(TRAILER) + label + b"." * missing + TRAILER


def read_head(head: bytes) -> WarcBlock | None:
    """The description of a block in the head of its record; None if it is not a head of ours."""
    try:
        return read_block(read_fields(head[len(VERSION) :].removesuffix(TRAILER)))
    except (KeyError, ValueError):
        return None


def read_records(file: BinaryIO, *, where: str, start: int = 0) -> Iterator[SegmentRecord]:
    """The records of a segment, in order. Blocks are skipped, not read.

    Raises SegmentRecordDamaged at the first incomplete record, with its offset.
    """
    size = os.fstat(file.fileno()).st_size
    offset = start
    while offset < size:
        file.seek(offset)
        text = file.read(_USUAL_HEAD)
        length = text.find(TRAILER)
        if length < 0:
            text += file.read(LONGEST_HEAD - _USUAL_HEAD)
            length = text.find(TRAILER)
        if length < 0:
            raise SegmentHeadMissing(file=where, offset=offset)
        begin = offset + length + len(TRAILER)
        type, block = parse_head(text[: length + len(TRAILER)], where, offset)
        end = begin + block.length + len(TRAILER)
        if end > size:
            raise SegmentRecordCutOff(file=where, offset=offset, missing=end - size)
        file.seek(end - len(TRAILER))
        if file.read(len(TRAILER)) != TRAILER:
            raise SegmentRecordEndless(file=where, offset=offset)
        yield SegmentRecord(type=type, block=block, offset=begin, end=end)
        offset = end


def read_around_damage(file: BinaryIO, *, where: str) -> Iterator[SegmentRecord | Corrupt]:
    """The records of a segment, in order, and an error for each place that cannot be read.

    Behind the damage, reading goes on at the next complete record whose block has its digest.
    """
    start: int | None = 0
    while start is not None:
        problem = None
        try:
            for record in read_records(file, where=where, start=start):
                start = record.end
                yield record
        except SegmentRecordDamaged as error:
            problem = error
        if problem is None:
            return
        following = find_next_record(file, where, start + 1)
        yield problem.replace_fields(is_searched=True, following=following)
        start = following


def find_next_record(file: BinaryIO, where: str, start: int) -> int | None:
    """The place of the next complete record whose block has its digest, or None.

    A document can itself be a WARC file. Its records are not ours: behind the last one is the end
    of the record that contains the document.
    """
    inner = 0
    for place in _find_heads(file, start):
        if place < inner:
            continue
        end = place
        try:
            for record in read_records(file, where=where, start=place):
                if end == place and not _has_digest(file, record):
                    break
                end = record.end
        except SegmentRecordDamaged:
            file.seek(end)
            if file.read(len(TRAILER)) == TRAILER:
                inner = end
                continue
        if end > place:
            return place
    return None


def _find_heads(file: BinaryIO, start: int) -> Iterator[int]:
    """The places from `start` on at which a head may begin."""
    mark = VERSION + b"WARC-Type: "
    while True:
        file.seek(start)
        piece = file.read(_SEARCHED)
        found = piece.find(mark)
        if found >= 0:
            yield start + found
            start += found + 1
        elif len(piece) < _SEARCHED:
            return
        else:
            start += len(piece) - len(mark) + 1


def _has_digest(file: BinaryIO, record: SegmentRecord) -> bool:
    digest, left = hashlib.sha512(), record.block.length
    file.seek(record.offset)
    while left and (piece := file.read(min(left, _SEARCHED))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest() == record.block.sha512


def read_fields(text: bytes) -> dict[str, str]:
    """The fields of a head by their names in lower case."""
    pairs = (line.partition(": ") for line in text.decode("utf-8", "replace").split("\r\n"))
    return {name.lower(): value for name, _, value in pairs}


def read_block(fields: dict[str, str]) -> WarcBlock:
    """The block that a head describes. Raises KeyError or ValueError if it describes none."""
    algorithm, _, digest = fields["warc-block-digest"].partition(":")
    if algorithm != "sha512":
        raise ValueError("a sha512 digest")
    length = fields["content-length"]
    if not (length.isascii() and length.isdigit()):
        raise ValueError("a length")
    return WarcBlock(
        uri=fields["warc-target-uri"],
        at=fields["warc-date"],
        media_type=fields["content-type"],
        length=int(length),
        sha512=digest,
        blake3=fields.get("perdure-blake3", ""),
        format=fields.get("perdure-format", ""),
        version=int(fields.get("perdure-version", "0")),
        language=fields.get("perdure-language"),
    )


def match_head(text: bytes) -> tuple[str, WarcBlock] | None:
    """The type of a record and the block that its head describes, if the head is one of ours.

    None if it has a flaw, or is so unusual that only `parse_head` can tell.
    """
    try:
        found = _OWN_HEAD.fullmatch(text.decode())
    except UnicodeDecodeError:
        return None
    if found is None:
        return None
    type, at, uri, sha512, media_type, length, version, format, blake3, language = found.groups()
    if (type == "metadata") != (media_type in (TOMBSTONE, CORRECTION)):
        return None
    block = WarcBlock(
        uri=uri,
        at=at,
        media_type=media_type,
        length=int(length),
        sha512=sha512,
        blake3=blake3 or "",
        format=format or "",
        version=int(version or 0),
        language=language,
    )
    return type, block


def parse_head(text: bytes, where: str, offset: int) -> tuple[str, WarcBlock]:
    """The type and the block of a head with its end, which is at an offset of the file `where`.

    Raises SegmentRecordDamaged if it is not exactly the head that its fields make. So a damaged
    name of a field is found as well as a damaged value of most fields.
    """
    own = match_head(text)
    if own is not None:
        return own
    if not text.startswith(VERSION):
        raise SegmentHeadMissing(file=where, offset=offset)
    fields = read_fields(text[len(VERSION) :].removesuffix(TRAILER))
    try:
        type, block = fields["warc-type"], read_block(fields)
    except (KeyError, ValueError) as error:
        raise SegmentHeadIncomplete(file=where, offset=offset, lacks=str(error)) from error
    flaw = _find_head_flaw(text, fields, block)
    if flaw is not None:
        raise SegmentHeadAltered(file=where, offset=offset, flaw=flaw[0], value=flaw[1])
    return type, block


def _find_head_flaw(
    text: bytes, fields: dict[str, str], block: WarcBlock
) -> tuple[HeadFlaw, str] | None:
    """The first flaw of a head, and the value that has it, or None."""
    type = fields["warc-type"]
    if type != ("metadata" if block.media_type in (TOMBSTONE, CORRECTION) else "resource"):
        return "type", f"{type} with {block.media_type}"
    id = fields.get("warc-record-id", "")
    if not _RECORD_ID.fullmatch(id):
        return "id", id
    if not _TIME.fullmatch(block.at):
        return "date", block.at
    padded = len(text) if "perdure-padding" in fields else None
    made = make_head(block, id=id, type=type, size=padded)
    return None if made == text else ("text", "")
