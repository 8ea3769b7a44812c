"""Mend a WACZ package in which records were erased: the same length, still valid.

How it works: blank records change the digests of their archive file, and the package says more
about them. `plan_mending` reads the package and returns what to overwrite:

    indexes/     in the lines of the records: digests, and forms that were sent
    pages/       titles and texts of the pages with the URLs of the records
    datapackage.json, datapackage-digest.json
                 the digests of all files that changed; a signature is removed, for it was of what
                 was erased
    ZIP          the CRC-32 of all files that changed

A file of the package keeps its length. If it is compressed, so does its compressed form: other
settings of deflate, and empty blocks, fill the difference.

What must stay true: offsets stay; a plan does not depend on how much of it was carried out before,
because it is made before anything of it is written, and kept until all of it is.
# ruling: tombstone-silence
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from perdure.archives.files import heads, wacz
from perdure.archives.files.blanking import BlankBlock, encode_member, hyphenate, renew_digest
from perdure.archives.files.blanking import RecordNotBlankable as NotBlankable
from perdure.archives.port import CaptureBlanking

_PACKAGE, _DIGEST = "datapackage.json", "datapackage-digest.json"
_LARGEST = 256 << 20
_CENTRAL, _CENTRAL_CRC = 46, 16
_LOCAL_CRC = 14
_DESCRIPTOR = b"PK\x07\x08"
_HAS_DESCRIPTOR = 8
_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
_BLOCK_BITS = 10
_FOUR_BLOCKS = sum(2 << _BLOCK_BITS * place for place in range(4)).to_bytes(5, "little")
"""Four empty blocks of fixed codes: each has type 1 and the end of a block, seven zeros."""
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY)
_FEW = 1 << 20
_ATTEMPTS, _MORE_ATTEMPTS = 64, 2048
"""For long indexes and short ones: of 600 digests, 2 needed more than 128 attempts."""
_SIGNED = "its package was signed: the signature is removed"
_DIGEST_NAMES = ("digest", "recordDigest")
_REQUEST_KEY = re.compile(rb"(__wb_method=[a-z]+&)([^ ]*)")


class PackagePatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes to write at an offset of a package."""

    offset: int
    data: bytes


class PackageMending(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plan of mending one package."""

    path: str
    """The package, relative to the directory of the index."""
    size: int
    """Its bytes: a package of another size is not the one that was planned for."""
    patches: tuple[PackagePatch, ...]
    unreached: tuple[str, ...] = ()
    """Places that it cannot reach, and other things that it removes."""


class _Member:
    """A file in the package."""

    def __init__(self, info: zipfile.ZipInfo, base: int, central: int) -> None:
        self.info = info
        self.name = info.filename
        self.base = base
        self.central = central
        """Offset of its entry in the central directory."""


class _ErasedRecord:
    """A record that was erased, as an index of the package names it."""

    def __init__(self, one: CaptureBlanking, member: _Member, stored: bytes) -> None:
        end = heads.find_end_of_head(one.head)
        fields = heads.parse_warc_fields(one.head[:end]) if one.head[:5] == b"WARC/" else []
        self.uri = heads.strip_brackets(heads.find_value(fields, "WARC-Target-URI")) or (
            one.head.partition(b" ")[0].decode("latin-1")  # the head of an ARC record
        )
        self.file = member.name.rpartition("/")[2]
        self.offset = one.offset - member.base
        self.block = BlankBlock(one.head[end:], one.zeros)
        self.stored = stored


def plan_mending(path: Path, name: str, blankings: Iterable[CaptureBlanking]) -> PackageMending:
    """Plan to mend a package whose records are blank already. Raises OSError.

    `name`: the package, as the index names it.
    """
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as package:
                work = _Mending(package, file, blankings)
                work.run()
        except (zipfile.BadZipFile, ValueError, zlib.error, NotImplementedError, EOFError) as error:
            return PackageMending(name, path.stat().st_size, (), (f"its package: {error}",))
    return PackageMending(name, path.stat().st_size, tuple(work.patches), tuple(work.unreached))


class _Mending:
    def __init__(
        self, package: zipfile.ZipFile, file: BinaryIO, blankings: Iterable[CaptureBlanking]
    ) -> None:
        self._package = package
        self._file = file
        self._members = {one.name: one for one in _list_members(package, file)}
        self._blankings = list(blankings)
        self._hashes: dict[str, Callable[[str], str]] = {}
        """For each file that changed, its digest in an algorithm."""
        self.patches: list[PackagePatch] = []
        self.unreached: list[str] = []

    def run(self) -> None:
        records = list(self._find_records())
        for member in {id(one): one for one, _ in records}.values():
            self._note_archive(member)
        erased = [record for _, record in records]
        for name in self._members:
            if name.endswith((".cdx", ".cdxj")):
                self._mend_listing(name, lambda text: _blank_lines(text, erased, renews=True))
            elif name.endswith(".jsonl"):
                self._mend_listing(
                    name, lambda text: _blank_pages(text, {one.uri for one in erased})
                )
        self._mend_blocks(erased)
        if self._hashes:
            self._mend_description()

    def _mend_listing(self, name: str, change: Callable[[bytes], bytes]) -> None:
        text = self._read_listing(name)
        changed = text if text is None else change(text)
        if changed is not None and changed != text and not self._write_member(name, changed):
            self.unreached.append(f"{name} in its package says something of it")

    def _mend_blocks(self, erased: list[_ErasedRecord]) -> None:
        """Mend the compressed indexes, and the digests of their blocks in other indexes.

        A digest may compress less well than the one before; then the blocks are written in another
        way, so that they have another.
        """
        packed = {one: self._read_listing(one) for one in self._members if one.endswith(".cdx.gz")}
        tables = {one: self._read_listing(one) for one in self._members if one.endswith(".idx")}
        size = sum(len(text or b"") for text in (packed | tables).values())
        for attempt in range(_MORE_ATTEMPTS if size <= _FEW else _ATTEMPTS):
            digests: dict[bytes, bytes] = {}
            made = {
                name: _blank_blocks(text, erased, digests, attempt)
                for name, text in packed.items()
                if text is not None
            } | {
                name: _replace_digests(text, digests)
                for name, text in tables.items()
                if text is not None
            }
            changed = {name: text for name, text in made.items() if text != (packed | tables)[name]}
            if all(self._pack_member(name, text) is not None for name, text in changed.items()):
                for name, text in changed.items():
                    self._write_member(name, text)
                return
        self.unreached.append("the index in its package has a digest of it")

    def _find_records(self) -> Iterator[tuple[_Member, _ErasedRecord]]:
        for one in self._blankings:
            for member in self._members.values():
                if member.base <= one.offset < member.base + member.info.compress_size:
                    self._file.seek(one.offset)
                    yield member, _ErasedRecord(one, member, self._file.read(one.length))

    def _read_listing(self, name: str) -> bytes | None:
        """Return an index or a list of pages; None for all other files."""
        member = self._members[name]
        if not name.endswith((".cdx", ".cdxj", ".cdx.gz", ".idx", ".jsonl")):
            return None
        if member.info.file_size > _LARGEST:
            self.unreached.append(f"{name} in its package is too large to be searched for it")
            return None
        return self._package.read(name)

    def _note_archive(self, member: _Member) -> None:
        """Mend the CRC-32 of an archive file, which is stored."""
        sum = 0
        for piece in self._read_stored(member):
            sum = zlib.crc32(piece, sum)
        self._patch_sum(member, sum)

        def hash_archive(algorithm: str) -> str:
            digest = hashlib.new(algorithm, usedforsecurity=False)
            for piece in self._read_stored(member):
                digest.update(piece)
            return digest.hexdigest()

        self._hashes[member.name] = hash_archive

    def _read_stored(self, member: _Member) -> Iterator[bytes]:
        self._file.seek(member.base)
        left = member.info.compress_size
        while left and (piece := self._file.read(min(left, _FEW))):
            left -= len(piece)
            yield piece

    def _pack_member(self, name: str, text: bytes) -> bytes | None:
        """Return a file of the same length as the package has it; None if it cannot."""
        info = self._members[name].info
        if info.compress_type == zipfile.ZIP_STORED:
            return text
        return deflate_to_length(text, info.compress_size)

    def _write_member(self, name: str, text: bytes) -> bool:
        """Overwrite a file by one of the same length. Return whether that was possible."""
        packed = self._pack_member(name, text)
        if packed is None:
            return False
        member = self._members[name]
        self.patches.append(PackagePatch(member.base, packed))
        self._patch_sum(member, zlib.crc32(text))
        self._hashes[name] = lambda algorithm: hashlib.new(
            algorithm, text, usedforsecurity=False
        ).hexdigest()
        return True

    def _patch_sum(self, member: _Member, sum: int) -> None:
        data, info = sum.to_bytes(4, "little"), member.info
        self.patches.append(PackagePatch(member.central + _CENTRAL_CRC, data))
        if not info.flag_bits & _HAS_DESCRIPTOR:
            self.patches.append(PackagePatch(info.header_offset + _LOCAL_CRC, data))
            return
        at = member.base + info.compress_size
        self._file.seek(at)
        if self._file.read(4) == _DESCRIPTOR:
            at += 4
        self.patches.append(PackagePatch(at, data))

    def _mend_description(self) -> None:
        """Mend the digests of the package's own description, and of that description."""
        if _PACKAGE not in self._members:
            return
        text = self._package.read(_PACKAGE)
        described = msgspec.json.decode(text, type=wacz.DataPackage)
        changed = text
        for resource in described.resources:
            promised = resource.hash or resource.stats.hash
            if resource.path in self._hashes and promised:
                changed = changed.replace(
                    promised.encode(), self._renew_hash(promised, self._hashes[resource.path])
                )
        if changed == text:
            return
        compact = msgspec.json.encode(msgspec.json.decode(changed))
        room = len(text) - len(compact)
        forms = [changed]
        forms += (
            (b" " * before + compact).ljust(len(text)) for before in range(min(room, _ATTEMPTS))
        )
        for form in forms:
            digest = self._make_digest(form)
            if self._pack_member(_PACKAGE, form) is None:
                continue
            if digest is None or self._pack_member(_DIGEST, digest) is not None:
                self._write_member(_PACKAGE, form)
                if digest is not None:
                    self._write_member(_DIGEST, digest)
                return
        self.unreached.append(f"{_PACKAGE} in its package has a digest of it")

    def _make_digest(self, description: bytes) -> bytes | None:
        """Return `datapackage-digest.json` for a description; None if the package has none."""
        if _DIGEST not in self._members:
            return None
        text = self._package.read(_DIGEST)
        held: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
        held["hash"] = self._renew_hash(
            str(held.get("hash", "")),
            lambda algorithm: hashlib.new(
                algorithm, description, usedforsecurity=False
            ).hexdigest(),
        ).decode()
        if held.pop("signedData", None) is not None and _SIGNED not in self.unreached:
            self.unreached.append(_SIGNED)
        return msgspec.json.encode(held).ljust(len(text))

    def _renew_hash(self, promised: str, hash_file: Callable[[str], str]) -> bytes:
        algorithm, colon, _ = promised.partition(":")
        if not colon:
            algorithm = wacz.BY_LENGTH.get(len(promised), "")
        if algorithm not in wacz.BY_LENGTH.values():
            return promised.encode()
        return f"{algorithm if colon else ''}{colon}{hash_file(algorithm)}".encode()


def _list_members(package: zipfile.ZipFile, file: BinaryIO) -> Iterator[_Member]:
    """Yield the files of a package, with the places of their entries in the central directory."""
    at: int = package.start_dir
    for info in package.infolist():  # in the order of the directory (APPNOTE.TXT 4.3.12)
        file.seek(at)
        entry = file.read(_CENTRAL)
        if len(entry) < _CENTRAL or entry[:4] != b"PK\x01\x02":
            raise zipfile.BadZipFile("its central directory cannot be read")
        if not info.is_dir():
            yield _Member(info, wacz.find_beginning(file, info.header_offset), at)
        at += _CENTRAL + sum(
            int.from_bytes(entry[start : start + 2], "little") for start in (28, 30, 32)
        )


def deflate_to_length(text: bytes, length: int) -> bytes | None:
    """Return a deflate stream (RFC 1951) of exactly this length; None if none was found.

    >>> zlib.decompress(deflate_to_length(b"a" * 99, 42), -zlib.MAX_WBITS) == b"a" * 99
    True
    """
    tries = 64 if len(text) <= _FEW else 8
    for cut, level in product(range(min(tries, len(text) + 1)), (9, 6)):
        packing = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
        begin = packing.compress(text[:cut]) + packing.flush(zlib.Z_FULL_FLUSH) if cut else b""
        end = packing.compress(text[cut:]) + packing.flush()
        padding = _pad_deflate(length - len(begin) - len(end))
        if padding is not None:
            return begin + padding + end
    for cut, strategy, level in product(range(min(tries, len(text) + 1)), _STRATEGIES, (9, 6, 1)):
        packing = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9, strategy)
        begin = packing.compress(text[:cut]) + packing.flush(zlib.Z_BLOCK) if cut else b""
        packed = begin + packing.compress(text[cut:]) + packing.flush()
        shifted = _shift_deflate(packed, text, length)
        if shifted is not None:
            return shifted
    return None


def _shift_deflate(packed: bytes, text: bytes, length: int) -> bytes | None:
    """Return a stream with empty blocks of fixed codes in front, or None if its length is another.

    Such a block has ten bits, so four of them end at a byte, and fewer shift the bits of the stream
    behind them. A block that is stored does not bear that: decompressing finds it.
    """
    bits = int.from_bytes(packed, "little")
    for fewer in range(4):
        groups, rest = divmod(length - len(packed) - fewer, len(_FOUR_BLOCKS))
        if groups < 0 or rest > 1:
            continue
        front = int.from_bytes(_FOUR_BLOCKS, "little") & ((1 << _BLOCK_BITS * fewer) - 1)
        room = length - groups * len(_FOUR_BLOCKS)
        moved = bits << _BLOCK_BITS * fewer | front
        if moved.bit_length() > 8 * room:
            continue
        stream = _FOUR_BLOCKS * groups + moved.to_bytes(room, "little")
        if _unpacks_to(stream, text):
            return stream
    return None


def _unpacks_to(stream: bytes, text: bytes) -> bool:
    unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        return unpacking.decompress(stream) == text and unpacking.eof and not unpacking.unused_data
    except zlib.error:
        return False


def _pad_deflate(room: int) -> bytes | None:
    """Return empty blocks of this length, before a block that begins at a byte; None if none are.

    An empty stored block has five bytes. After n blocks of fixed codes, with ten bits each, it
    begins later, and so ends one, two or four bytes later.
    """
    for counts in ((), (1,), (2,), (3,), (1, 2)):
        begin = b"".join(map(_delay_block, counts))
        rest = room - len(begin)
        if rest >= 0 and rest % len(_EMPTY_BLOCK) == 0:
            return begin + _EMPTY_BLOCK * (rest // len(_EMPTY_BLOCK))
    return None


def _delay_block(count: int) -> bytes:
    """Return some empty blocks of fixed codes, and an empty stored block."""
    bits = sum(2 << (10 * number) for number in range(count))  # not the last, type 01, end of block
    return bits.to_bytes((10 * count + 3 + 7) // 8, "little") + _EMPTY_BLOCK[1:]


# What a package says about its records
# -------------------------------------


def _blank_lines(text: bytes, erased: list[_ErasedRecord], *, renews: bool) -> bytes:
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


def _blank_line(line: bytes, erased: list[_ErasedRecord], *, renews: bool) -> bytes:
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
        rest = _replace_value(
            rest,
            name,
            lambda value, name=name: _renew_value(value, name, record, renews=renews),  # type: ignore[misc]
        )
    rest = _replace_value(rest, "requestBody", hyphenate)
    return _REQUEST_KEY.sub(lambda key: key[1] + b"-" * len(key[2]), head) + brace + rest


def _renew_value(value: bytes, name: str, record: _ErasedRecord, *, renews: bool) -> bytes:
    label, colon, digits = value.rpartition(b":")
    if not renews:
        return label + colon + b"-" * len(digits)
    if name == "recordDigest":
        renewed = hashlib.sha256(record.stored).hexdigest().encode()
        return label + colon + (renewed if len(renewed) == len(digits) else b"-" * len(digits))
    if not colon:  # SHA-1 without its name
        return renew_digest(b"sha1:" + value, record.block, is_payload=True)[5:]
    return renew_digest(value, record.block, is_payload=True)


def _blank_text_line(line: bytes, erased: list[_ErasedRecord]) -> bytes:
    """Blank a line of CDX with 9 to 12 fields: digest in the sixth, and the place at the end."""
    words = line.rstrip(b"\r\n").split(b" ")
    for one in erased:
        place = [str(one.offset).encode(), one.file.encode()]
        if len(words) > 8 and words[-2:] == place:
            words[5] = hyphenate(words[5])
            return b" ".join(words) + line[len(line.rstrip(b"\r\n")) :]
    return line


def _replace_value(text: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Change the text of a member of an object, as JSON writes it."""
    pattern = rb'("%b"\s*:\s*")((?:[^"\\]|\\.)*)(")' % name.encode()
    return re.sub(pattern, lambda found: found[1] + change(found[2]) + found[3], text)


def _blank_pages(text: bytes, uris: set[str]) -> bytes:
    """Return a list of pages without the titles and texts of those with some URLs."""
    lines = []
    for line in text.splitlines(keepends=True):
        try:
            held = msgspec.json.decode(line)
        except msgspec.DecodeError:
            held = None
        if isinstance(held, dict) and held.get("url") in uris:
            for name in ("title", "text"):
                line = _replace_value(line, name, lambda value: b"-" * len(value))
        lines.append(line)
    return b"".join(lines)


def _blank_blocks(
    text: bytes, erased: list[_ErasedRecord], blocks: dict[bytes, bytes], attempt: int
) -> bytes:
    """Return a ZipNum index, whose gzip members keep their lengths. Notes their digests.

    `attempt`: the time in the head of the members that change, which no reader looks at.
    """
    out, at = [], 0
    while at < len(text):
        inflate = zlib.decompressobj(31)
        inner = inflate.decompress(text[at:], _LARGEST)
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


def _blank_block(packed: bytes, inner: bytes, erased: list[_ErasedRecord], attempt: int) -> bytes:
    for renews in (True, False):
        changed = _blank_lines(inner, erased, renews=renews)
        if changed == inner:
            return packed
        try:
            made = b"".join(encode_member(changed, 0, b"", len(packed)))
        except NotBlankable:
            continue
        if len(made) == len(packed):
            return made[:4] + attempt.to_bytes(4, "little") + made[8:]
    raise ValueError("a block of its index cannot be written at the same length")


def _replace_digests(text: bytes, blocks: dict[bytes, bytes]) -> bytes:
    for old, new in blocks.items():
        text = text.replace(old, new)
    return text
