"""Uploads on their way in: hashed, bounded in memory, checked, and gone when they fail."""

from __future__ import annotations

import hashlib
import tracemalloc
from pathlib import Path

import blake3
import pytest

from perdure.errors import DigestMismatch, Incomplete, TooLarge
from perdure.storage.spool import HEAD_ROOM, IN_MEMORY, Spool, make_content

PIECE = bytes(range(256)) * 4096  # 1 MiB


def test_a_few_bytes_stay_in_memory(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        for _ in range(8):
            spool.write(PIECE)
        assert spool.head == PIECE[: 64 * 1024]
        made = spool.finish_content(format="text", media_type="text/plain")
    data = PIECE * 8
    assert len(data) == IN_MEMORY
    assert (made.data, made.spooled, made.length) == (data, None, IN_MEMORY)
    assert made.sha512 == hashlib.sha512(data).hexdigest()
    assert made.blake3 == blake3.blake3(data).hexdigest()
    assert list(tmp_path.iterdir()) == []
    assert make_content(data, format="text", media_type="text/plain") == made


def test_many_bytes_go_to_a_file_behind_room_for_their_head(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        for _ in range(8):
            spool.write(PIECE)
        spool.write(b"!")
        assert spool.head == PIECE[: 64 * 1024]
        made = spool.finish_content(
            format="text", media_type="text/plain", charset="utf-8", language="en"
        )
    [file] = tmp_path.iterdir()
    assert made.spooled == file.name
    assert made.data is None
    assert file.read_bytes()[HEAD_ROOM:] == PIECE * 8 + b"!"
    assert (made.length, made.charset, made.language) == (IN_MEMORY + 1, "utf-8", "en")
    assert made.sha512 == hashlib.sha512(PIECE * 8 + b"!").hexdigest()


def test_memory_is_bounded(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        with Spool(tmp_path) as spool:
            for _ in range(64):
                spool.write(PIECE)
            _, peak = tracemalloc.get_traced_memory()
            assert peak < 2 * IN_MEMORY
    finally:
        tracemalloc.stop()


def test_what_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        for _ in range(9):
            spool.write(PIECE)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_limit(tmp_path: Path) -> None:
    with Spool(tmp_path, limit=10) as spool:
        spool.write(b"0123456789")
        with pytest.raises(TooLarge):
            spool.write(b"!")
    with pytest.raises(TooLarge):
        make_content(bytes(IN_MEMORY + 1), format="text", media_type="text/plain")


def test_promises_are_checked(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.write(b"hello")
        spool.expect_length(5)
        with pytest.raises(Incomplete, match="5 of 6 bytes"):
            spool.expect_length(6)
        spool.expect_digest("sha-256", hashlib.sha256(b"hello").digest())
        spool.expect_digest("sha-512", hashlib.sha512(b"hello").digest())
        with pytest.raises(DigestMismatch):
            spool.expect_digest("sha-512", hashlib.sha512(b"hallo").digest())
        with pytest.raises(DigestMismatch):
            spool.expect_digest("sha-256", b"")


def test_nothing_is_something(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        made = spool.finish_content(format="text", media_type="text/plain")
    assert (made.data, made.length) == (b"", 0)
    assert made.sha512.startswith("cf83e1357eefb8bd")  # FIPS 180-4, of the empty message
