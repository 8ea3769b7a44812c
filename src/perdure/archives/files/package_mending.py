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
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from perdure.archives.files import wacz
from perdure.archives.files.exact_deflate import FEW, deflate_to_length
from perdure.archives.files.package_indexes import (
    LARGEST,
    ErasedRecord,
    PackageFile,
    blank_blocks,
    blank_lines,
    blank_pages,
)
from perdure.archives.port import CaptureBlanking
from perdure.formats.zip_faults import ZIP_FAULTS

_PACKAGE, _DIGEST = "datapackage.json", "datapackage-digest.json"
_CENTRAL, _CENTRAL_CRC = 46, 16
_LOCAL_CRC = 14
_DESCRIPTOR = b"PK\x07\x08"
_HAS_DESCRIPTOR = 8
_ATTEMPTS, _MORE_ATTEMPTS = 64, 2048
"""For long indexes and short ones: of 600 digests, 2 needed more than 128 attempts."""
_SIGNED = "its package was signed: the signature is removed"


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


def plan_mending(path: Path, name: str, blankings: Iterable[CaptureBlanking]) -> PackageMending:
    """Plan to mend a package whose records are blank already. Raises OSError.

    `name`: the package, as the index names it.
    """
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as package:
                work = _Mending(package, file, blankings)
                work.run()
        except ZIP_FAULTS as error:
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
                self._mend_listing(name, lambda text: blank_lines(text, erased, renews=True))
            elif name.endswith(".jsonl"):
                self._mend_listing(
                    name, lambda text: blank_pages(text, {one.uri for one in erased})
                )
        self._mend_blocks(erased)
        if self._hashes:
            self._mend_description()

    def _mend_listing(self, name: str, change: Callable[[bytes], bytes]) -> None:
        text = self._read_listing(name)
        changed = text if text is None else change(text)
        if changed is not None and changed != text and not self._write_member(name, changed):
            self.unreached.append(f"{name} in its package says something of it")

    def _mend_blocks(self, erased: list[ErasedRecord]) -> None:
        """Mend the compressed indexes, and the digests of their blocks in other indexes.

        A digest may compress less well than the one before; then the blocks are written in another
        way, so that they have another.
        """
        packed = {one: self._read_listing(one) for one in self._members if one.endswith(".cdx.gz")}
        tables = {one: self._read_listing(one) for one in self._members if one.endswith(".idx")}
        size = sum(len(text or b"") for text in (packed | tables).values())
        for attempt in range(_MORE_ATTEMPTS if size <= FEW else _ATTEMPTS):
            digests: dict[bytes, bytes] = {}
            made = {
                name: blank_blocks(text, erased, digests, attempt)
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

    def _find_records(self) -> Iterator[tuple[PackageFile, ErasedRecord]]:
        for one in self._blankings:
            for member in self._members.values():
                if member.base <= one.offset < member.base + member.info.compress_size:
                    self._file.seek(one.offset)
                    yield member, ErasedRecord(one, member, self._file.read(one.length))

    def _read_listing(self, name: str) -> bytes | None:
        """Return an index or a list of pages; None for all other files."""
        member = self._members[name]
        if not name.endswith((".cdx", ".cdxj", ".cdx.gz", ".idx", ".jsonl")):
            return None
        if member.info.file_size > LARGEST:
            self.unreached.append(f"{name} in its package is too large to be searched for it")
            return None
        return self._package.read(name)

    def _note_archive(self, member: PackageFile) -> None:
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

    def _read_stored(self, member: PackageFile) -> Iterator[bytes]:
        self._file.seek(member.base)
        left = member.info.compress_size
        while left and (piece := self._file.read(min(left, FEW))):
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

    def _patch_sum(self, member: PackageFile, sum: int) -> None:
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
        for form in islice(list_forms(changed), _MORE_ATTEMPTS):
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


def _list_members(package: zipfile.ZipFile, file: BinaryIO) -> Iterator[PackageFile]:
    """Yield the files of a package, with the places of their entries in the central directory."""
    at: int = package.start_dir
    for info in package.infolist():  # in the order of the directory (APPNOTE.TXT 4.3.12)
        file.seek(at)
        entry = file.read(_CENTRAL)
        if len(entry) < _CENTRAL or entry[:4] != b"PK\x01\x02":
            raise zipfile.BadZipFile("its central directory cannot be read")
        if not info.is_dir():
            yield PackageFile(info, wacz.find_beginning(file, info.header_offset), at)
        at += _CENTRAL + sum(
            int.from_bytes(entry[start : start + 2], "little") for start in (28, 30, 32)
        )


# What a package says about its records
# -------------------------------------


def list_forms(text: bytes) -> Iterator[bytes]:
    """Yield a JSON object as it is, and then with its spaces elsewhere, always of the same length.

    >>> list(list_forms(b'{ "a": 1}'))[:3]
    [b'{ "a": 1}', b'{"a":1}  ', b' {"a":1} ']
    """
    yield text
    compact = msgspec.json.encode(msgspec.json.decode(text))
    room = len(text) - len(compact)
    for within in range(room + 1):
        for before in range(room + 1 - within):
            form = b" " * before + compact[:1] + b" " * within + compact[1:]
            yield form.ljust(len(text))


def _replace_digests(text: bytes, blocks: dict[bytes, bytes]) -> bytes:
    for old, new in blocks.items():
        text = text.replace(old, new)
    return text
