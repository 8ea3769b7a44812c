"""The documents of one ResourceSync package (ANSI/NISO Z39.99-2017 sections 12.2, 14.2).

How it works: `manifest.xml` says which file of the package is which document. The name of a
document is in its address, as in a list of links. Short documents go into the line of an import,
longer ones into files that are removed once their line is imported.

What must stay true: the name of a file in a package is never that of a file here; memory is
bounded, and so is the space that a package takes when it is unpacked; bytes that do not have the
stated digest or length are not taken.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from perdure.errors import DigestMismatch, PerdureError, StorageFailed
from perdure.errors.harvesting import AnswerUnread, PackagedLengthWrong, PackageLacksFile
from perdure.formats.zip_faults import ZIP_FAULTS
from perdure.policy.naming import read_qualifiers
from perdure.upkeep.harvesting import sitemaps
from perdure.upkeep.harvesting.dumps import is_moment
from perdure.upkeep.harvesting.lines import NAME_THERE, SOURCE, HarvestedLine
from perdure.upkeep.harvesting.maps import MapEntry, MapMalformed, read_map
from perdure.upkeep.harvesting.taking import HarvestedItem

LONGEST = 64 << 30
"""Bytes of a package, packed or not."""
_SURE = 256 << 20
"""Bytes to which a package may expand, however small it is."""
_RATIO = 200
"""Times its length to which a larger one may expand."""
_MANIFEST = "manifest.xml"
_LONGEST_MANIFEST = 64 << 20
_LONGEST_DIRECTORY = 64 << 20
_IN_LINE = 64 << 10  # bytes of a document that need no file of its own
_AT_ONCE = 2000  # documents
_MOST_AT_ONCE = 64 << 20  # their bytes
_PIECE = 1 << 20
_ALGORITHMS = {"sha-512": "sha512", "sha-256": "sha256", "sha-1": "sha1", "md5": "md5"}
_DIGEST = re.compile(r"(?:^|\s)(sha-512|sha-256|sha-1|md5):([0-9A-Fa-f]{32,128})(?=\s|$)")
_TAIL = 128 << 10  # bytes in which the end of a package is found
_IN_ZIP64 = 0xFFFFFFFF


class PackageReading:
    """Reads the documents of one package. Use it as a context manager."""

    def __init__(self, file: IO[bytes], url: str, *, source: str, incoming: Path, now: str) -> None:
        """`source` is the address of the harvest; long documents wait in `incoming`."""
        self._file = file
        self._url = url
        self._source = source
        self._incoming = incoming
        self._now = now
        self._left = min(max(_SURE, file.seek(0, os.SEEK_END) * _RATIO), LONGEST)
        self._files: list[Path] = []

    def __enter__(self) -> PackageReading:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop_files()

    def list_items(self) -> Iterator[list[HarvestedItem]]:
        """Yield the documents, and what was deleted, some at a time.

        The files of some documents are gone when the next ones are yielded. Raises AnswerUnread,
        StorageFailed.
        """
        try:
            self._check_directory()
            with zipfile.ZipFile(self._file) as package:
                yield from self._list_items(package)
        except (*ZIP_FAULTS, OSError) as error:
            if isinstance(error, PerdureError):
                raise
            raise self._make_unread(f"its package is damaged: {error}") from None

    def _make_unread(self, fault: str) -> AnswerUnread:
        return AnswerUnread(url=self._url, fault=fault)

    def _check_directory(self) -> None:
        """Refuse a package whose list of files does not fit into memory, before it is read."""
        length = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(0, length - _TAIL))
        tail = self._file.read(_TAIL)
        end = tail.rfind(b"PK\x05\x06")
        larger = tail.rfind(b"PK\x06\x06", 0, max(end, 0))
        sizes = [int.from_bytes(tail[end + 12 : end + 16], "little")] if end >= 0 else []
        if larger >= 0:
            sizes.append(int.from_bytes(tail[larger + 40 : larger + 48], "little"))
        if any(one > _LONGEST_DIRECTORY for one in sizes if one != _IN_ZIP64):
            raise self._make_unread("the list of files in its package is too long")

    def _list_items(self, package: zipfile.ZipFile) -> Iterator[list[HarvestedItem]]:
        items: list[HarvestedItem] = []
        length = 0
        for entry in self._read_manifest(package):
            if entry.said.get("change") == sitemaps.GONE:
                items.append(HarvestedItem(entry.address))
            else:
                before = self._left
                items.append(self._make_item(package, entry))
                length += before - self._left
            if len(items) >= _AT_ONCE or length >= _MOST_AT_ONCE:
                yield items
                self._drop_files()
                items, length = [], 0
        yield items

    def _read_manifest(self, package: zipfile.ZipFile) -> tuple[MapEntry, ...]:
        try:
            found = package.getinfo(_MANIFEST)
        except KeyError:
            raise self._make_unread(f"its package has no {_MANIFEST}") from None
        with package.open(found) as file:
            body = file.read(_LONGEST_MANIFEST + 1)
        if len(body) > _LONGEST_MANIFEST:
            raise self._make_unread("the manifest of its package is too long")
        try:
            return read_map(body).entries
        except MapMalformed as error:
            raise self._make_unread(f"in {_MANIFEST}, {error}") from None

    def _make_item(self, package: zipfile.ZipFile, entry: MapEntry) -> HarvestedItem:
        try:
            name = sitemaps.find_name(entry.address)
            version, format = read_qualifiers(name)
            content = self._read_content(package, entry)
        except (AnswerUnread, StorageFailed):
            raise
        except PerdureError as error:
            return HarvestedItem(entry.address, fault=error)
        content["version"] = version or 1
        if format is not None:
            content["format"] = format
        if kind := entry.said.get("type"):
            content["type"] = kind
        if is_moment(entry.lastmod) and entry.lastmod <= self._now:  # their clock may be fast
            content["at"] = entry.lastmod
        line = {
            "id": str(name.resource),
            "contents": [content],
            "metadata": {SOURCE: self._source, NAME_THERE: str(name.resource)},
        }
        return HarvestedItem(entry.address, HarvestedLine(name, line))

    def _read_content(self, package: zipfile.ZipFile, entry: MapEntry) -> dict[str, Any]:
        """Read the bytes of a document into a line, or into a file.

        Raises PackageLacksFile, PackagedLengthWrong, DigestMismatch, AnswerUnread, StorageFailed.
        """
        path = entry.said.get("path", "").removeprefix("/")
        try:
            member = package.getinfo(path)
        except KeyError:
            raise PackageLacksFile(url=self._url, path=path) from None
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self._make_unread("a file of its package is compressed in an unusual way")
        digests = _StatedDigest.read(entry)
        length = 0
        with package.open(member) as file:
            first = self._read_piece(file, _IN_LINE + 1)
            if len(first) <= _IN_LINE:
                content: dict[str, Any] = {"base64": first}
                digests.update(first)
                length = len(first)
            else:
                content = {"path": self._open_file().name}
                length = self._write_file(first, file, digests)
        stated = entry.said.get("length", "")
        if stated.isdecimal() and stated != str(length):
            raise PackagedLengthWrong(
                url=self._url, path=path, stated=int(stated[:20]), found=length
            )
        digests.check()
        return content

    def _read_piece(self, file: IO[bytes], most: int) -> bytes:
        """Read the next bytes of a file. Raises AnswerUnread if the package expands too much."""
        piece = file.read(most)
        self._left -= len(piece)
        if self._left < 0:
            raise self._make_unread("its package expands to too many bytes")
        return piece

    def _open_file(self) -> Path:
        self._files.append(self._incoming / f"{os.getpid()}-{uuid.uuid4().hex}")
        return self._files[-1]

    def _write_file(self, first: bytes, file: IO[bytes], digests: _StatedDigest) -> int:
        """Write a document into the last file. Return its length. Raises StorageFailed."""
        length, piece = 0, first
        try:
            with self._files[-1].open("xb") as out:
                while piece:
                    digests.update(piece)
                    out.write(piece)
                    length += len(piece)
                    piece = self._read_piece(file, _PIECE)
        except OSError as error:
            raise StorageFailed(what="a document", reason=error.strerror or str(error)) from error
        return length

    def _drop_files(self) -> None:
        for one in self._files:
            with suppress(OSError):
                one.unlink()
        self._files.clear()


class _StatedDigest:
    """Compares bytes with the strongest digest that a manifest states of them."""

    def __init__(self, algorithm: str, stated: str) -> None:
        self._algorithm = algorithm
        self._stated = stated.lower()
        name = _ALGORITHMS[algorithm] if algorithm else "sha512"
        self._hash = hashlib.new(name, usedforsecurity=False)

    @classmethod
    def read(cls, entry: MapEntry) -> _StatedDigest:
        found = dict(_DIGEST.findall(entry.said.get("hash", "")))
        algorithm = next((one for one in _ALGORITHMS if one in found), "")
        return cls(algorithm, found.get(algorithm, ""))

    def update(self, piece: bytes) -> None:
        if self._algorithm:
            self._hash.update(piece)

    def check(self) -> None:
        """Raise DigestMismatch if the bytes have another digest."""
        found = self._hash.hexdigest()
        if self._algorithm and found != self._stated:
            raise DigestMismatch(algorithm=self._algorithm, promised=self._stated, found=found)
