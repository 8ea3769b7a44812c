"""Incoming bytes: hashed as they stream, and kept in memory or, if they are many, in a file.

How it works: up to 8 MiB stay in memory, to be appended to the open segment later. Longer content
goes to a file in `incoming/`, 16 KiB after its start. The finished file then needs only a WARC head
at its start to be a segment of its own.

What must stay true: memory is bounded for any length; an unfinished spool leaves no file behind;
promised lengths and digests are checked before the content is handed on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import blake3

from perdure.errors import DigestMismatch, Incomplete, StorageFailed
from perdure.errors.limits import ContentTooLarge, UploadTooLarge
from perdure.model.commands import Content
from perdure.storage.durable import write_all

IN_MEMORY = 8 * 1024 * 1024
HEAD_ROOM = 16 * 1024
_PIECE = 256 * 1024
_LONGEST_PAUSE = 24 * 3600  # seconds


class Spool:
    """Collects one upload. Use it as a context manager; without `finish` nothing remains."""

    def __init__(self, incoming: Path, *, limit: int | None = None) -> None:
        self._incoming = incoming
        self._limit = limit
        self._pieces: list[bytes] = []
        self._path: Path | None = None
        self._fd = -1
        self.length = 0
        self._sha512 = hashlib.sha512()
        self._blake3 = blake3.blake3()
        self._sha256 = hashlib.sha256()
        self._finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._path and not self._finished:
            self._path.unlink(missing_ok=True)

    def write(self, piece: bytes) -> None:
        """Add bytes. Raises TooLarge beyond the limit, StorageFailed if the disk is full."""
        self.length += len(piece)
        if self._limit is not None and self.length > self._limit:
            raise UploadTooLarge(limit=self._limit)
        self._sha512.update(piece)
        self._sha256.update(piece)
        self._blake3.update(piece)
        if self._fd < 0 and self.length <= IN_MEMORY:
            self._pieces.append(piece)
            return
        try:
            if self._fd < 0:
                self._open_file()
            write_all(self._fd, piece)
        except OSError as error:
            raise StorageFailed(what="the upload", reason=error.strerror or str(error)) from error

    @property
    def head(self) -> bytes:
        """At least the first 64 KiB, or all bytes, for the detection of type and charset."""
        if self._fd >= 0:
            return os.pread(self._fd, 64 * 1024, HEAD_ROOM)
        return b"".join(self._pieces)[: 64 * 1024]

    def expect_length(self, expected: int) -> None:
        """Raise Incomplete if a different number of bytes arrived."""
        if expected != self.length:
            raise Incomplete(expected=expected, received=self.length)

    def expect_digest(self, algorithm: str, promised: bytes) -> None:
        """Raise DigestMismatch if the bytes have another digest.

        `algorithm` is `sha-256` or `sha-512` (RFC 9530).
        """
        found = {"sha-512": self._sha512, "sha-256": self._sha256}[algorithm].digest()
        if found != promised:
            raise DigestMismatch(algorithm=algorithm, promised=promised.hex(), found=found.hex())

    def finish_content(
        self,
        *,
        format: str,
        media_type: str,
        charset: str | None = None,
        language: str | None = None,
        stated: tuple[str, ...] = (),
    ) -> Content:
        """The content, ready for a command. A file in `incoming` is durable when this returns."""
        if self._fd >= 0:
            try:
                os.fsync(self._fd)
            except OSError as error:
                raise StorageFailed(what="the upload", reason=str(error)) from error
        self._finished = True
        return Content(
            format=format,
            media_type=media_type,
            charset=charset,
            language=language,
            length=self.length,
            sha512=self._sha512.hexdigest(),
            blake3=self._blake3.hexdigest(),
            data=None if self._path else b"".join(self._pieces),
            spooled=self._path.name if self._path else None,
            stated=stated,
        )

    def _open_file(self) -> None:
        self._path = self._incoming / f"{os.getpid()}-{uuid.uuid4().hex}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o644)  # as segments have; it may become one
        os.lseek(self._fd, HEAD_ROOM, os.SEEK_SET)
        for piece in self._pieces:
            write_all(self._fd, piece)
        self._pieces.clear()


def read_content(incoming: Path, content: Content) -> Iterator[bytes]:
    """Yield the bytes of a content in pieces. Raises OSError."""
    if content.spooled is None:
        yield content.data or b""
        return
    with (incoming / content.spooled).open("rb") as file:
        file.seek(HEAD_ROOM)
        while piece := file.read(_PIECE):
            yield piece


def discard_content(incoming: Path, content: Content) -> None:
    """Remove the file of a content, if it has one."""
    if content.spooled is not None:
        (incoming / content.spooled).unlink(missing_ok=True)


def clear_away(incoming: Path) -> None:
    """Remove files that were not touched for a day: the process that wrote them is gone."""
    for path in incoming.glob("*"):
        with contextlib.suppress(FileNotFoundError):  # another process has just removed it
            if path.is_file() and path.stat().st_mtime < time.time() - _LONGEST_PAUSE:
                path.unlink()


def make_content(
    data: bytes,
    *,
    format: str,
    media_type: str,
    charset: str | None = None,
    language: str | None = None,
    stated: tuple[str, ...] = (),
) -> Content:
    """Content from bytes that are already in memory (at most 8 MiB). Raises TooLarge."""
    if len(data) > IN_MEMORY:
        raise ContentTooLarge(limit=IN_MEMORY)
    return Content(
        format=format,
        media_type=media_type,
        charset=charset,
        language=language,
        length=len(data),
        sha512=hashlib.sha512(data).hexdigest(),
        blake3=blake3.blake3(data).digest().hex(),  # faster than its own hexdigest
        data=data,
        stated=stated,
    )
