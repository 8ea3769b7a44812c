"""Read WACZ packages (Web Archive Collection Zipped, version 1.1): archive files in a ZIP file.

How it works: the package stores archive files without further compression, so they are read in
place, at an offset of the package. `datapackage.json` lists the files with their sizes and SHA-256
digests, and `datapackage-digest.json` has the digest of `datapackage.json`. All of it is checked.
If an archive file is compressed nevertheless, it is inflated into the registry.

What must stay true: names in a package are compared and shown, but never become paths; no more is
inflated than the headers say and deflate can reach; entries that overlap are refused, because a
ZIP file can present one stretch as many.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from perdure.archives.files.careful import Flaw
from perdure.archives.files.wacz_signing import SignedData, verify_signature
from perdure.errors.archive_corruption import PackageSignatureWrong
from perdure.errors.root import count_things
from perdure.formats.zip_faults import ZIP_FAULTS

MOST_ENTRIES = 100_000
LARGEST_DESCRIPTION = 64 << 20
_STEEPEST = 1100
_STEEPEST_TAKEN = 100  # times; text from the Web reaches a tenth of that
_UNMEASURED = 64 << 20  # bytes; an entry may always inflate to this size
_LOCAL_HEADER = 30
_PIECE = 1 << 20
BY_LENGTH = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 128: "sha512"}
_PACKAGE = "datapackage.json"
_DIGEST = "datapackage-digest.json"


class Stats(msgspec.Struct, frozen=True):
    """The digest and size of a file, in packages before version 1.1."""

    hash: str = ""
    bytes: int | None = None


class PackageResource(msgspec.Struct, frozen=True):
    """A file that belongs to the package."""

    path: str
    hash: str = ""
    bytes: int | None = None
    stats: Stats = Stats()


class DataPackage(msgspec.Struct, frozen=True):
    """The fields of `datapackage.json` that perdure needs."""

    resources: tuple[PackageResource, ...] = ()
    wacz_version: str = ""


class _PackageDigest(msgspec.Struct, frozen=True):
    path: str = _PACKAGE
    hash: str = ""
    signed: SignedData | None = msgspec.field(name="signedData", default=None)


class PackageEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file in the package."""

    name: str
    base: int
    """Offset of its bytes in the package."""
    size: int
    """Bytes in the package, compressed or not."""
    inflated: int
    """Bytes when inflated."""
    stored: bool


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a WACZ file, and its flaws."""

    entries: tuple[PackageEntry, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    signature: str = ""
    """A sentence about its signature; empty if it has none."""


def read_package(path: Path, suffixes: tuple[str, ...]) -> Package:
    """Return the archive files of a package, recognised by their suffixes. Raises OSError."""
    flaws: list[Flaw] = []
    signature = ""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as package:
            entries = list(_read_entries(package, file, path.stat().st_size, flaws))
            try:
                named = {entry.name: entry for entry in entries}
                signature = _describe_signature(package, path.name, named, flaws)
                _check_package(package, named, flaws)
            except ZIP_FAULTS as error:
                flaws.append(Flaw(0, f"the package cannot be compared with {_PACKAGE}: {error}"))
    except ZIP_FAULTS as error:
        flaws.append(Flaw(0, f"not a readable ZIP file: {error}"))
        return Package(flaws=tuple(flaws))
    archives = [
        entry
        for entry in entries
        if entry.name.lower().endswith(suffixes) and not entry.name.lower().endswith(".wacz")
    ]
    if not archives:
        flaws.append(Flaw(0, "the package has no archive file"))
    return Package(entries=tuple(archives), flaws=tuple(flaws), signature=signature)


def _read_entries(
    package: zipfile.ZipFile, file: BinaryIO, size: int, flaws: list[Flaw]
) -> Iterator[PackageEntry]:
    infos = package.infolist()
    if len(infos) > MOST_ENTRIES:
        raise ValueError(
            f"it has {count_things(len(infos), 'entry')}; at most {MOST_ENTRIES} are read"
        )
    if sum(info.compress_size for info in infos) > size:
        raise ValueError("its entries overlap")
    end = -1
    for info in sorted(infos, key=lambda one: one.header_offset):
        if not info.filename:
            raise ValueError(f"the entry at {info.header_offset} has no name")
        if info.header_offset < 0:
            raise ValueError(f"{_show_name(info)} begins before the package")
        if info.is_dir():
            continue
        base = find_beginning(file, info.header_offset)
        if info.header_offset < end or base + info.compress_size > size:
            raise ValueError(f"the entries at {info.header_offset} overlap")
        end = base + info.compress_size
        if _leads_outside(info.filename):
            flaws.append(
                Flaw(info.header_offset, f"the name {_show_name(info)} leads outside the package")
            )
            continue
        if info.flag_bits & 1:
            flaws.append(Flaw(info.header_offset, f"{_show_name(info)} is encrypted"))
            continue
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            text = f"{_show_name(info)} is compressed in an unknown way"
            flaws.append(Flaw(info.header_offset, text))
            continue
        if info.file_size > max(info.compress_size, 64) * _STEEPEST:
            flaws.append(
                Flaw(
                    info.header_offset, f"{_show_name(info)} claims to inflate to more than it can"
                )
            )
            continue
        if info.file_size > max(info.compress_size * _STEEPEST_TAKEN, _UNMEASURED):
            times = info.file_size // max(info.compress_size, 1)
            text = (
                f"{_show_name(info)} inflates to {times} times its size in the package: not taken"
            )
            flaws.append(Flaw(info.header_offset, text))
            continue
        yield PackageEntry(
            name=info.filename,
            base=base,
            size=info.compress_size,
            inflated=info.file_size,
            stored=info.compress_type == zipfile.ZIP_STORED,
        )


def find_beginning(file: BinaryIO, offset: int) -> int:
    """Return the offset of an entry's bytes: its local header has lengths of its own (4.3.7)."""
    file.seek(offset)
    head = file.read(_LOCAL_HEADER)
    if len(head) < _LOCAL_HEADER or head[:4] != b"PK\x03\x04":
        raise ValueError(f"there is no local header at {offset}")
    return (
        offset
        + _LOCAL_HEADER
        + int.from_bytes(head[26:28], "little")
        + int.from_bytes(head[28:30], "little")
    )


def _leads_outside(name: str) -> bool:
    return (
        name.startswith("/")
        or ".." in name.replace("\\", "/").split("/")
        or any(ord(character) < 32 for character in name)
    )


def _show_name(info: zipfile.ZipInfo) -> str:
    return ascii(info.filename[:120])


def _check_package(
    package: zipfile.ZipFile, entries: dict[str, PackageEntry], flaws: list[Flaw]
) -> None:
    """Compare the package with its description and append the differences to `flaws`."""
    if _PACKAGE not in entries:
        flaws.append(Flaw(0, f"no {_PACKAGE}, so the contents of the package cannot be checked"))
        return
    text = _read_description(package, entries[_PACKAGE])
    try:
        described = msgspec.json.decode(text, type=DataPackage)
        if _DIGEST in entries:
            signed = msgspec.json.decode(
                _read_description(package, entries[_DIGEST]), type=_PackageDigest
            )
            problem = _find_mismatch(signed.hash, lambda: iter([text]))
            if problem:
                flaws.append(Flaw(entries[_PACKAGE].base, f"{_PACKAGE}: {problem}"))
    except msgspec.DecodeError as error:
        flaws.append(Flaw(entries[_PACKAGE].base, f"{_PACKAGE}: {error}"))
        return
    for resource in described.resources:
        entry = entries.get(resource.path)
        if entry is None:
            flaws.append(Flaw(0, f"{resource.path[:120]!a} is missing"))
            continue
        promised = resource.hash or resource.stats.hash
        if resource.bytes not in (None, entry.inflated):
            flaws.append(
                Flaw(
                    entry.base,
                    f"{entry.name[:120]!a} has {count_things(entry.inflated, 'byte')}, not "
                    f"{resource.bytes}",
                )
            )
        problem = _find_mismatch(promised, lambda entry=entry: read_contents(package, entry))  # type: ignore[misc]  # the default binds the loop's value
        if problem:
            flaws.append(Flaw(entry.base, f"{entry.name[:120]!a}: {problem}"))
    listed = {resource.path for resource in described.resources} | {_PACKAGE, _DIGEST}
    flaws.extend(
        Flaw(entry.base, f"{name[:120]!a} is not in {_PACKAGE}")
        for name, entry in entries.items()
        if name not in listed
    )


def _describe_signature(
    package: zipfile.ZipFile, name: str, entries: dict[str, PackageEntry], flaws: list[Flaw]
) -> str:
    """Verify the signature of a package; append to `flaws` if it is wrong, or of another one."""
    if _DIGEST not in entries or _PACKAGE not in entries:
        return ""
    try:
        digest = msgspec.json.decode(
            _read_description(package, entries[_DIGEST]), type=_PackageDigest
        )
    except msgspec.DecodeError:
        return ""  # reported when the package is checked
    signed = digest.signed
    if signed is None:
        return ""
    text = _read_description(package, entries[_PACKAGE])
    problem = _find_mismatch(signed.hash, lambda: iter([text]))
    if problem:
        flaws.append(Flaw(entries[_DIGEST].base, f"its signature is not of {_PACKAGE}: {problem}"))
    report = verify_signature(signed)
    if report.fault:
        error = PackageSignatureWrong(package=name, fault=report.fault)
        flaws.append(Flaw(entries[_DIGEST].base, str(error)))
    return report.text


def _read_description(package: zipfile.ZipFile, entry: PackageEntry) -> bytes:
    if entry.inflated > LARGEST_DESCRIPTION:
        raise ValueError(
            f"{entry.name} has {count_things(entry.inflated, 'byte')}; at most "
            f"{LARGEST_DESCRIPTION} are read"
        )
    return b"".join(read_contents(package, entry))


def _find_mismatch(promised: str, pieces: Callable[[], Iterator[bytes]]) -> str:
    algorithm, colon, digits = promised.partition(":")
    if not colon:  # the form before version 1.1
        algorithm, digits = BY_LENGTH.get(len(promised), ""), promised
    if algorithm not in BY_LENGTH.values():
        return f"its digest is of an unknown kind ({promised[:40]!a})"
    digest = hashlib.new(algorithm, usedforsecurity=False)
    try:
        for piece in pieces():
            digest.update(piece)
    except (*ZIP_FAULTS, OSError) as error:
        return f"it cannot be read: {error}"
    found = digest.hexdigest()
    return "" if found == digits.lower() else f"its {algorithm} is {found}, not {digits[:128]}"


def read_contents(package: zipfile.ZipFile, entry: PackageEntry) -> Iterator[bytes]:
    """Yield the bytes of an entry, inflated. Raises BadZipFile if they are damaged."""
    left = entry.inflated
    with package.open(entry.name) as file:
        while left > 0 and (piece := file.read(min(_PIECE, left))):
            left -= len(piece)
            yield piece
        if not left and not file.read(1):
            return
    raise zipfile.BadZipFile(
        f"{entry.name} does not have the {count_things(entry.inflated, 'byte')} it claims"
    )


def extract_entry(path: Path, entry: PackageEntry, target: BinaryIO) -> None:
    """Inflate an entry into a file. Raises BadZipFile or OSError."""
    try:
        with zipfile.ZipFile(path) as package:
            target.writelines(read_contents(package, entry))
    except ZIP_FAULTS as error:
        raise zipfile.BadZipFile(str(error)) from error
