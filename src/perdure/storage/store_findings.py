"""Findings of stores about what they depend on: disks, database servers, clocks, rights.

A store promises that nothing acknowledged is lost. It can keep this only if what lies below it
keeps its promises, too: `Store.examine` looks whether it does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

Severity = Literal["ok", "note", "warning", "error"]
"""error: what is acknowledged can be lost, or names can be wrong. warning: it is safe only as long
as nothing else fails. note: something to know."""

_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = frozenset(("ramfs", "tmpfs"))
_OVER_NETWORK = re.compile(
    r"9p|afs|ceph|cifs|fuse\.(glusterfs|s3fs|sshfs)|gfs2|lustre|ncpfs|nfs4?|ocfs2|smb3|smbfs"
)


class StoreFinding(msgspec.Struct, frozen=True):
    """One promise that a store needs, and whether it is kept."""

    name: str
    """What was looked at, such as `standbys`."""
    severity: Severity
    seen: str
    advice: str = ""
    """How to repair it; empty if there is nothing to do."""

    @property
    def ok(self) -> bool:
        return self.severity in ("ok", "note")


def examine_file_system(directory: Path, mounts: Path = _MOUNTS) -> StoreFinding:
    """Tell whether a directory is on a disk of this machine.

    Locks and memory maps are not kept alike by all clients of a network file system, and a file
    system in memory forgets everything. `mounts` is in the form of proc_pid_mountinfo(5). A system
    without it is not examined.
    """
    kind = _find_file_system(directory.resolve(), mounts)
    if kind in _IN_MEMORY:
        advice = "move the directory to a disk: all of it is lost when the machine stops"
        return StoreFinding("file system", "warning", f"{kind}, in memory", advice)
    if kind and _OVER_NETWORK.fullmatch(kind):
        advice = (
            "move the directory to a disk of this machine: not every client of a network file "
            "system keeps locks, flushes and memory maps as the store needs them"
        )
        return StoreFinding("file system", "warning", f"{kind}, over the network", advice)
    return StoreFinding("file system", "ok" if kind else "note", kind or "not known")


def _find_file_system(directory: Path, mounts: Path) -> str | None:
    """The type of the file system of a directory, or None if the system does not tell."""
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return None
    found, longest = None, -1
    for line in lines:
        before, _, behind = line.partition(b" - ")
        point = _read_path(before.split(b" ")[4])
        # of equal mount points, the last one covers the others
        if directory.is_relative_to(point) and len(point.parts) >= longest:
            found, longest = behind.split(b" ")[0].decode("ascii", "replace"), len(point.parts)
    return found


def _read_path(written: bytes) -> Path:
    """Read a path in which space, tab, line feed and backslash are octal escapes."""
    text = written
    for byte in b" \t\n\\":
        text = text.replace(b"\\%03o" % byte, bytes((byte,)))
    return Path(text.decode("utf-8", "surrogateescape"))
