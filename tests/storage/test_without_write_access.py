"""Copies that may only be read, such as the backups of another user.

SQLite cannot keep its log there, so the file is opened as one that never changes. A backup that
writes only the pages that differ must then leave the file alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Desk, text

from perdure.registry import load_bytes
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.transfer.backup import back_up

_READ = """
import ctypes, os, struct, sys
from pathlib import Path
from perdure.errors import Unavailable
from perdure.registry import Registry
if os.getuid() == 0:  # root may write anywhere, unless it has no capabilities (capset(2))
    assert ctypes.CDLL(None).capset(struct.pack("II", 0x20080522, 0), bytes(24)) == 0
assert not os.access(sys.argv[1], os.W_OK)
with Registry(Path(sys.argv[1]), environment={}) as registry:
    try:
        print(registry.records.count_records(), flush=True)
        sys.stdin.readline()
        faults = list(registry.records.check_integrity())
        print(registry.records.count_records(), faults, flush=True)
    except Unavailable as error:
        print("unavailable:", error)
"""


@pytest.fixture
def copy(place: Path) -> Path:
    return place / "copy"


def make_backup(desk: Desk, copy: Path) -> None:
    if copy.exists():
        protect(copy, writable=True)
    list(back_up(desk.root, copy, SqliteStore(), load_bytes("segments")))
    protect(copy, writable=False)


def protect(copy: Path, *, writable: bool) -> None:
    for place, _, files in os.walk(copy):
        for file in files:
            Path(place, file).chmod(0o644 if writable else 0o444)
        Path(place).chmod(0o755 if writable else 0o555)


def start_reader(copy: Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", _READ, str(copy)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_reader_keeps_its_state_while_a_backup_is_made_again(desk: Desk, copy: Path) -> None:
    desk.mint(text("one"))
    make_backup(desk, copy)
    with start_reader(copy) as reader:
        assert reader.stdout is not None
        assert reader.stdin is not None
        assert reader.stdout.readline() == "1\n"
        before = (copy / FILE).stat().st_ino
        for number in range(5):
            desk.mint(text(f"document {number}"))
        make_backup(desk, copy)
        assert (copy / FILE).stat().st_ino != before
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "1 []\n"
    with start_reader(copy) as reader:
        assert reader.communicate("\n")[0] == "6\n6 []\n"
    inode = (copy / FILE).stat().st_ino
    desk.mint(text("last"))
    make_backup(desk, copy)
    assert (copy / FILE).stat().st_ino == inode, "nobody reads it now"
    protect(copy, writable=True)


def test_a_copy_that_was_cut_off_is_not_read_as_it_lies_there(desk: Desk, copy: Path) -> None:
    """Only SQLite can roll back a journal, and needs write access for that."""
    desk.mint(text("one"))
    make_backup(desk, copy)
    copy.chmod(0o755)
    (copy / f"{FILE}-journal").write_bytes(b"x" * 1024)
    copy.chmod(0o555)
    with start_reader(copy) as reader:
        said, _ = reader.communicate("\n")
    assert said.startswith("unavailable:"), said
    protect(copy, writable=True)
