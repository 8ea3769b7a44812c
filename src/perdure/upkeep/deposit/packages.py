"""Packages whose members become documents: ZIP, tar and mbox.

How it works: `list_package` lists the members of a package, as far as its limits allow. A
`PackageOpener` keeps the last package open, because the members of one package follow each other in
a plan.

What must stay true: a member is only ever a stream of bytes here: no name leads to a file, nothing
is unpacked to disk, and a package in a package is one member. What a package promises to expand to
is bounded before a byte of it is expanded.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, NamedTuple

from perdure.errors import PerdureError
from perdure.errors.depositing import (
    MemberAbsent,
    MemberNotTaken,
    PackageNotOpened,
    PackageTooLarge,
)
from perdure.formats.zip_faults import ZIP_FAULTS
from perdure.upkeep.deposit.spelling import spell_path
from perdure.upkeep.deposit.taking import FileRoot

ZIP, TAR, MBOX = "zip", "tar", "mbox"
MOST_MEMBERS = 100_000
MOST_BYTES = 64 << 30
"""Bytes to which all members of a package may expand."""
_SURE = 256 << 20
"""Bytes up to which a package may expand, however small it is."""
_RATIO = 200
"""Times its size to which a larger one may expand. Texts rarely exceed 20; bombs begin at 1,000."""
_LONGEST_LINE = 1 << 20
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tbz2", ".tar.xz", ".txz")
_FAULTS = (*ZIP_FAULTS, tarfile.TarError)


class PackageMember(NamedTuple):
    """A member of a package."""

    name: str
    size: int
    problem: str = ""
    """Why it cannot be taken; empty if it can."""
    offset: int = -1
    """Of a message: its first byte."""


def find_kind(name: str, media_type: str) -> str:
    """Return the kind of package that a file is; empty if it is none that is opened."""
    lower = name.lower()
    if media_type == "application/zip":
        return ZIP
    compressed = ("application/gzip", "application/x-bzip2", "application/x-xz")
    if media_type == "application/x-tar" or (media_type in compressed and lower.endswith(_TARS)):
        return TAR
    return MBOX if media_type == "application/mbox" or lower.endswith(".mbox") else ""


def list_package(root: FileRoot, path: bytes, kind: str) -> list[PackageMember]:
    """List the members of a package. Raises FileNotTaken, PackageNotOpened if it is a bomb."""
    try:
        with root.open_file(path) as file:
            return list(_check_limits(path, file, _list_members(file, kind)))
    except _FAULTS as error:
        if isinstance(error, PerdureError):  # some of them are ValueErrors, too
            raise
        raise PackageNotOpened(path=spell_path(path), fault=str(error)) from None


def _check_limits(
    path: bytes, file: BinaryIO, members: Iterator[PackageMember]
) -> Iterator[PackageMember]:
    """Pass members on, as long as they are not more than a package may have."""
    own = file.seek(0, io.SEEK_END)
    file.seek(0)
    most = min(max(_SURE, own * _RATIO), MOST_BYTES)
    known: set[str] = set()
    total = 0
    for number, one in enumerate(members, 1):
        total += one.size
        if number > MOST_MEMBERS or total > most:
            raise PackageTooLarge(path=spell_path(path), most_bytes=most, most_members=MOST_MEMBERS)
        if one.name in known:
            yield one._replace(problem="another member has this name")
        else:
            known.add(one.name)
            yield one


def _list_members(file: BinaryIO, kind: str) -> Iterator[PackageMember]:
    if kind == MBOX:
        yield from _list_messages(file)
    elif kind == ZIP:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    locked = "it is encrypted" if info.flag_bits & 1 else ""
                    yield PackageMember(info.filename, info.file_size, locked)
    else:
        with tarfile.open(fileobj=file) as tar:
            for entry in tar:
                if entry.isfile():
                    yield PackageMember(entry.name, entry.size)
                elif not entry.isdir():
                    yield PackageMember(entry.name, 0, "a link or a device")


def _list_messages(file: BinaryIO) -> Iterator[PackageMember]:
    """List the messages of an mbox: `From ` at the beginning of a line, with a year, begins one."""
    start, number, at, before = -1, 0, 0, 0
    blank = True
    while line := file.readline(_LONGEST_LINE):
        if blank and line.startswith(b"From ") and re.search(rb"[0-9]{4}", line):
            if start >= 0:
                yield _make_message(number, start, before)
            number += 1
            start = at + len(line)
        blank = line in (b"\n", b"\r\n")
        before = at if blank else at + len(line)  # a blank line before a message belongs to none
        at += len(line)
    if start >= 0:
        yield _make_message(number, start, at)


def _make_message(number: int, start: int, stop: int) -> PackageMember:
    return PackageMember(f"message-{number}.eml", max(stop - start, 0), "", start)


class PackageOpener:
    """Opens members of packages."""

    def __init__(self, root: FileRoot) -> None:
        self._root = root
        self._opened = ExitStack()
        self._path = b""
        self._package: zipfile.ZipFile | tarfile.TarFile | _Mailbox | None = None

    def close(self) -> None:
        """Close the package that is open. Its members were compared with their digests."""
        self._package, self._path = None, b""
        opened, self._opened = self._opened, ExitStack()
        with suppress(PerdureError):  # it has changed meanwhile
            opened.close()

    @contextmanager
    def open_member(self, path: bytes, name: str) -> Iterator[BinaryIO]:
        """Open a member. Raises FileNotTaken."""
        shown = spell_path(path)
        try:
            if self._path != path or self._package is None:
                self.close()
                self._package = self._open_package(path)
                self._path = path
            with _open_in(self._package, name) as file:
                yield file
        except KeyError:
            raise MemberAbsent(path=shown, member=name) from None
        except _FAULTS as error:
            if isinstance(error, PerdureError):  # some of them are ValueErrors, too
                raise
            raise MemberNotTaken(path=shown, member=name, fault=str(error)) from None

    def _open_package(self, path: bytes) -> zipfile.ZipFile | tarfile.TarFile | _Mailbox:
        file = self._opened.enter_context(self._root.open_file(path))
        signature = file.read(4)
        file.seek(0)
        if signature[:2] == b"PK":
            return self._opened.enter_context(zipfile.ZipFile(file))
        if signature[:4] == b"From":
            return _Mailbox(file)
        return self._opened.enter_context(tarfile.open(fileobj=file))


class _Mailbox:
    """The messages of an mbox, by their names."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._messages = {one.name: one for one in _list_messages(file)}

    def open_message(self, name: str) -> BinaryIO:
        """Raises KeyError if there is none of this name."""
        one = self._messages[name]
        return io.BufferedReader(_Window(self._file, one.offset, one.size))


class _Window(io.RawIOBase):
    """A stretch of a file as a stream of its own."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        self._file, self._offset, self._left = file, offset, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._file.seek(self._offset)
        piece = self._file.read(min(len(buffer), self._left))
        buffer[: len(piece)] = piece
        self._offset += len(piece)
        self._left -= len(piece)
        return len(piece)


@contextmanager
def _open_in(
    package: zipfile.ZipFile | tarfile.TarFile | _Mailbox, name: str
) -> Iterator[BinaryIO]:
    """Open a member of an open package. Raises KeyError, and what the formats raise."""
    if isinstance(package, _Mailbox):
        with package.open_message(name) as message:
            yield message
    elif isinstance(package, zipfile.ZipFile):
        with package.open(name) as member:
            yield member  # type: ignore[misc]  # it reads as any stream
    else:
        entry = package.getmember(name)
        found = package.extractfile(entry) if entry.isfile() else None
        if found is None:
            raise KeyError(name)
        with found as file:
            yield file  # type: ignore[misc]  # likewise
