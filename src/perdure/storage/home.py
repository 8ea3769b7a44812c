"""The home of a registry: its place, so that a copy of its directory can be recognised.

How it works: `home.json` in the registry directory describes the place in which the registry was
created, opened first, or promoted: the machine, the file system, and the inode number and birth
time of three files: the directory, `home.json` itself, and the file of the records. A copy has the
same description and another place. A backup has no home, but a mark, `backup.json`.

The machine is a hash of its id, because machine-id(5) calls the id confidential. Birth times tell
files apart that got the same inode number one after the other. Device numbers are not compared: on
some systems they change at every start.

What must stay true: a restart, a remount and `mv` on the same file system change none of these; a
value that the system does not tell is not compared.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from perdure.errors import Corrupt
from perdure.errors.corruption import FileUnreadable
from perdure.storage.durable import replace_durably, sync_directory, write_durably

FILE = "home.json"
MARK = "backup.json"
_MACHINE_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"), Path("/etc/hostid"))
_MACHINE_ID = re.compile(rb"[0-9a-f-]{32,36}")
_Read = TypeVar("_Read", bound=msgspec.Struct)


class FileBirth(msgspec.Struct, frozen=True, array_like=True):
    """Identity of a file among all files of its file system, earlier ones included."""

    inode: int
    born: int | None = None
    """Birth time in nanoseconds, if the file system keeps it."""

    def is_same(self, other: FileBirth) -> bool:
        born = self.born is None or other.born is None or self.born == other.born
        return self.inode == other.inode and born


class RegistryHome(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a registry."""

    registry: str
    """A random id, which a promotion replaces."""
    machine: str | None = None
    file_system: int | None = None
    directory: FileBirth
    file: FileBirth | None = None
    """`home.json` itself."""
    records: tuple[FileBirth, ...] = ()
    """The file of the records: two while a rebuild replaces it, none if the store has no file."""


class BackupMark(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of a directory that is a copy, whatever its place."""

    registry: str
    """The id of the registry, or an empty text if it has none yet."""
    at: str
    """When the copy was begun, or when another registry took over."""
    replaced: bool = False
    """True if another registry has taken over from this one."""


# What the system tells
# ---------------------


def read_machine() -> str | None:
    """A hash of the id of this machine, or None if it has no id."""
    for path in _MACHINE_FILES:
        try:
            text = path.read_bytes().strip().lower()
        except OSError:
            continue
        if _MACHINE_ID.fullmatch(text):
            return hashlib.sha256(b"perdure home " + text).hexdigest()
    return None


def read_file_system(path: Path) -> int | None:
    """The id of a file system, or None if it has none that stays the same.

    Some file systems pass off the number of their device as an id (`huge_encode_dev` of Linux).
    """
    number, device = os.statvfs(path).f_fsid, path.stat().st_dev
    major, minor = os.major(device), os.minor(device)
    of_device = (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)
    return None if number in (0, of_device, device) else number


class _StatxTime(ctypes.Structure):
    _fields_ = (
        ("seconds", ctypes.c_int64),
        ("nanoseconds", ctypes.c_uint32),
        ("_", ctypes.c_int32),
    )


class _Statx(ctypes.Structure):
    """`struct statx` of statx(2), as far as the birth time."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("_before", ctypes.c_uint8 * 60),
        ("accessed", _StatxTime),
        ("born", _StatxTime),
        ("_behind", ctypes.c_uint8 * 160),
    )


_STATX_BTIME = 0x800
_AT_FDCWD = -100


def read_birth(path: Path) -> FileBirth:
    """Inode number and birth time of a file. Raises OSError."""
    inode = path.stat().st_ino
    statx = getattr(ctypes.CDLL(None), "statx", None)
    found = _Statx()
    name = os.fsencode(path)
    if statx is None or statx(_AT_FDCWD, name, 0, _STATX_BTIME, ctypes.byref(found)) != 0:
        return FileBirth(inode)
    if not found.mask & _STATX_BTIME:
        return FileBirth(inode)
    return FileBirth(inode, found.born.seconds * 10**9 + found.born.nanoseconds)


# The files
# ---------


def load_home(root: Path) -> RegistryHome | None:
    """The home that a registry directory describes, or None. Raises Corrupt."""
    return _load_file(root / FILE, RegistryHome)


def find_id(root: Path) -> str:
    """The id of the registry that is at home here, or an empty text."""
    try:
        here = load_home(root)
    except Corrupt:
        return ""
    return here.registry if here else ""


def load_mark(root: Path) -> BackupMark | None:
    """The mark of a backup, or None. Raises Corrupt."""
    return _load_file(root / MARK, BackupMark)


def _load_file(path: Path, kind: type[_Read]) -> _Read | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FileUnreadable(
            file=path.name, directory=str(path.parent), contents="a place", fault=str(error)
        ) from error


def settle_home(root: Path, records: Path | None, *, registry: str | None = None) -> RegistryHome:
    """Make this directory the home of its registry, durably, and remove the mark of a backup.

    `records`: the file of the records, if they are in one. `registry`: the id; None draws one.
    """
    here = RegistryHome(
        registry=registry or secrets.token_hex(16),
        machine=read_machine(),
        file_system=read_file_system(root),
        directory=read_birth(root),
        records=(read_birth(records),) if records is not None and records.exists() else (),
    )
    settled = _write_home(root, here)
    (root / MARK).unlink(missing_ok=True)
    sync_directory(root)
    return settled


def expect_records(root: Path, *files: Path) -> None:
    """Note that the file of the records is one of these, for a rebuild that replaces it."""
    here = load_home(root)
    if here is not None:
        born = tuple(read_birth(one) for one in files if one.exists())
        _write_home(root, msgspec.structs.replace(here, records=born))


def _write_home(root: Path, here: RegistryHome) -> RegistryHome:
    """Replace `home.json` by one that knows its own birth."""
    beside = root / f".{FILE}.{os.getpid()}"
    with beside.open("wb") as file:
        here = msgspec.structs.replace(here, file=read_birth(beside))
        file.write(msgspec.json.encode(here))
        file.flush()
        os.fsync(file.fileno())
    replace_durably(beside, root / FILE)
    return here


def mark_copy(root: Path, mark: BackupMark) -> None:
    """Mark a directory as a copy, durably; it is the home of no registry any more."""
    write_durably(root / MARK, msgspec.json.encode(mark))
    (root / FILE).unlink(missing_ok=True)
    sync_directory(root)


# Signs of a copy
# ---------------


def list_signs(
    root: Path, records: Path | None, *, machine: bool = True, directory: bool = True
) -> list[str]:
    """Why this directory looks like a copy; empty if it is the home of its registry, or has none.

    `machine` and `directory` say what is compared beside the mark of a backup. A file that is
    damaged is a sign, too, so that a promotion replaces it.
    """
    signs: list[str] = []
    try:
        signs += _list_signs_of_mark(root)
        signs += _list_signs_of_place(root, records, machine, directory)
    except Corrupt as error:
        signs.append(f"its {error.identifier} is damaged")
    return signs


def _list_signs_of_mark(root: Path) -> Iterator[str]:
    mark = load_mark(root)
    if mark is not None and mark.replaced:
        yield f"another registry took over from it at {mark.at}"
    elif mark is not None:
        yield f"it is a backup that was begun at {mark.at}"


def _list_signs_of_place(
    root: Path, records: Path | None, machine: bool, directory: bool
) -> Iterator[str]:
    here = load_home(root)
    if here is None:
        return
    if machine and _differ(here.machine, read_machine()):
        yield "it is on another machine than before"
    if not directory:
        return
    if _differ(here.file_system, read_file_system(root)):
        yield "it is on another file system than before"
    if not here.directory.is_same(read_birth(root)):
        yield "its directory has changed"
    elif here.file is not None and not here.file.is_same(read_birth(root / FILE)):
        yield "its files were copied into the directory"
    if records is not None and here.records and records.exists():
        found = read_birth(records)
        if not any(one.is_same(found) for one in here.records):
            yield f"its {records.name} is another file than before"


def _differ(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other
