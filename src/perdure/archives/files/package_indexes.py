"""Blank the lines of erased records in the indexes of a WACZ package.

They are CDX, CDXJ, ZipNum, and lists of pages.

What must stay true: a line keeps its length.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable

import msgspec

from perdure.archives.files import heads
from perdure.archives.files.blank_members import RecordNotBlankable as NotBlankable
from perdure.archives.files.blank_members import encode_member
from perdure.archives.files.blanking import BlankBlock, hyphenate, renew_digest
from perdure.archives.port import CaptureBlanking

LARGEST = 256 << 20
"""The most bytes of an index that is changed."""
_DIGEST_NAMES = ("digest", "recordDigest")


_REQUEST_KEY = re.compile(rb"(__wb_method=[a-z]+&)([^ ]*)")


class PackageFile:
    """A file in the package."""

    def __init__(self, info: zipfile.ZipInfo, base: int, central: int) -> None:
        self.info = info
        self.name = info.filename
        self.base = base
        self.central = central
        """Offset of its entry in the central directory."""


class ErasedRecord:
    """A record that was erased, as an index of the package names it."""

    def __init__(self, one: CaptureBlanking, member: PackageFile, stored: bytes) -> None:
        end = heads.find_end_of_head(one.head)
        fields = heads.parse_warc_fields(one.head[:end]) if one.head[:5] == b"WARC/" else []
        self.uri = heads.strip_brackets(heads.find_value(fields, "WARC-Target-URI")) or (
            one.head.partition(b" ")[0].decode("latin-1")  # the head of an ARC record
        )
        self.file = member.name.rpartition("/")[2]
        self.offset = one.offset - member.base
        self.block = BlankBlock(one.head[end:], one.zeros)
        self.stored = stored


def blank_lines(text: bytes, erased: list[ErasedRecord], *, renews: bool) -> bytes:
    """Return an index (CDX, CDXJ) with blank lines of erased records, in order.

    `renews`: with the digests of the blank records, otherwise with hyphens.
    """
    lines = text.splitlines(keepends=True)
    changed = [_blank_line(line, erased, renews=renews) for line in lines]
    if changed == lines:
        return text
    keys = [line.split(b" ", 1)[0] for line in lines]
    moved = any(one.split(b" ", 1)[0] != key for one, key in zip(changed, keys, strict=True))
    return b"".join(sorted(changed) if moved else changed)


def _blank_line(line: bytes, erased: list[ErasedRecord], *, renews: bool) -> bytes:
    head, brace, rest = line.partition(b"{")
    if not brace:
        return _blank_text_line(line, erased)
    try:
        held = msgspec.json.decode(brace + rest)
    except msgspec.DecodeError:
        return line
    place = (str(held.get("filename", "")), str(held.get("offset", "")))
    record = next((one for one in erased if (one.file, str(one.offset)) == place), None)
    if record is None:
        return line
    for name in _DIGEST_NAMES:
        rest = replace_value(
            rest,
            name,
            lambda value, name=name: _renew_value(value, name, record, renews=renews),  # type: ignore[misc]
        )
    rest = replace_value(rest, "requestBody", hyphenate)
    return _REQUEST_KEY.sub(lambda key: key[1] + b"-" * len(key[2]), head) + brace + rest


def _renew_value(value: bytes, name: str, record: ErasedRecord, *, renews: bool) -> bytes:
    label, colon, digits = value.rpartition(b":")
    if not renews:
        return label + colon + b"-" * len(digits)
    if name == "recordDigest":
        renewed = hashlib.sha256(record.stored).hexdigest().encode()
        return label + colon + (renewed if len(renewed) == len(digits) else b"-" * len(digits))
    if not colon:  # SHA-1 without its name
        return renew_digest(b"sha1:" + value, record.block, is_payload=True)[5:]
    return renew_digest(value, record.block, is_payload=True)


def _blank_text_line(line: bytes, erased: list[ErasedRecord]) -> bytes:
    """Blank a line of CDX with 9 to 12 fields: digest in the sixth, and the place at the end."""
    words = line.rstrip(b"\r\n").split(b" ")
    for one in erased:
        place = [str(one.offset).encode(), one.file.encode()]
        if len(words) > 8 and words[-2:] == place:
            words[5] = hyphenate(words[5])
            return b" ".join(words) + line[len(line.rstrip(b"\r\n")) :]
    return line


def replace_value(text: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Change the text of a member of an object, as JSON writes it."""
    pattern = rb'("%b"\s*:\s*")((?:[^"\\]|\\.)*)(")' % name.encode()
    return re.sub(pattern, lambda found: found[1] + change(found[2]) + found[3], text)


def blank_pages(text: bytes, uris: set[str]) -> bytes:
    """Return a list of pages without the titles and texts of those with some URLs."""
    lines = []
    for line in text.splitlines(keepends=True):
        try:
            held = msgspec.json.decode(line)
        except msgspec.DecodeError:
            held = None
        if isinstance(held, dict) and held.get("url") in uris:
            for name in ("title", "text"):
                line = replace_value(line, name, lambda value: b"-" * len(value))
        lines.append(line)
    return b"".join(lines)


def blank_blocks(
    text: bytes, erased: list[ErasedRecord], blocks: dict[bytes, bytes], attempt: int
) -> bytes:
    """Return a ZipNum index, whose gzip members keep their lengths. Notes their digests.

    `attempt`: the time in the head of the members that change, which no reader looks at.
    """
    out, at = [], 0
    while at < len(text):
        inflate = zlib.decompressobj(31)
        inner = inflate.decompress(text[at:], LARGEST)
        if not inflate.eof:
            raise ValueError("a block of its index is damaged")
        size = len(text) - at - len(inflate.unused_data)
        packed = text[at : at + size]
        out.append(_blank_block(packed, inner, erased, attempt))
        if out[-1] != packed:
            for name in ("sha256", "sha1", "md5"):
                old, new = (
                    hashlib.new(name, one, usedforsecurity=False) for one in (packed, out[-1])
                )
                blocks[old.hexdigest().encode()] = new.hexdigest().encode()
        at += size
    return b"".join(out)


def _blank_block(packed: bytes, inner: bytes, erased: list[ErasedRecord], attempt: int) -> bytes:
    for renews in (True, False):
        changed = blank_lines(inner, erased, renews=renews)
        if changed == inner:
            return packed
        try:
            made = b"".join(encode_member(changed, 0, b"", len(packed)))
        except NotBlankable:
            continue
        if len(made) == len(packed):
            return made[:4] + attempt.to_bytes(4, "little") + made[8:]
    raise ValueError("a block of its index cannot be written at the same length")
