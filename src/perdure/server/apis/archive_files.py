"""Archive files for mirrors: `/archive-files`, for tokens with the right `mirror` for everything.

    GET /archive-files                          which there are, and all takedowns of captures
    GET /archive-files?name=a.warc.gz&start=0   bytes of one file

How it works: `perdure.archives.announcing` makes the listing. With `If-None-Match` and
`Prefer: wait=30`, the request waits until another one can be made; meanwhile, the server looks
every `_LOOK_EVERY` seconds whether files or takedowns have changed. `Perdure-Head` is the last
change, read after the listing was made: a mirror that has this change has every reading rule that
was set before one of the files was added.

What must stay true: a mirror of some series gets no archive file, since captures belong to none.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import msgspec

from perdure.archives.announcing import list_archive, stamp_archive
from perdure.errors.lookup import NoSuchArchiveFile
from perdure.errors.mirroring import MirrorsSome
from perdure.errors.processes import FileUnusable
from perdure.model.changes import ChainHead
from perdure.model.parameters import read_number
from perdure.server.common import mirrors
from perdure.server.common.answers import Answer, FileSpan, make_answer, make_empty_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

LARGEST = 1 << 53
MOST_WAITING = 64
LONGEST_WAIT = 60  # seconds
_HASHING = 5.0  # seconds
_LOOK_EVERY = 0.2  # seconds
_PIECE = 1 << 20
_BINARY = b"application/octet-stream"
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,4})", re.ASCII | re.IGNORECASE)
_PRIVATE = (b"cache-control", b"no-store")
_waiting: set[object] = set()
"""The requests of this process that wait."""


async def send_archive(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/archive-files`.

    Raises Unauthenticated, Forbidden, InvalidRequest, NotFound or Unavailable.
    """
    mirror = mirrors.check_mirror(service, request)
    if not mirror.covers_all:
        raise MirrorsSome(who=mirror.name)
    asked = request.parameters
    start = read_number("start", asked.get("start", "0"), 0, LARGEST)
    length = read_number("length", asked.get("length", str(LARGEST)), 1, LARGEST)
    if "name" not in asked:
        return await _send_listing(service, request)
    return await asyncio.to_thread(_send_file, service, asked["name"], start, length)


async def _send_listing(service: Service, request: Request) -> Answer:
    known = request.read_field(b"if-none-match").strip()
    matched = _WAIT.search(request.read_field(b"prefer"))
    seconds = min(int(matched[1]), LONGEST_WAIT) if matched else 0
    end, root = time.monotonic() + seconds, service.registry.root
    while True:
        seen = stamp_archive(root)
        body, head = await service.run_cutter(_write_listing, service)
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        fields = [(b"etag", tag.encode()), _PRIVATE]
        if head is not None:
            fields.append((b"perdure-head", f"{head.epoch}.{head.number}".encode()))
        if tag != known:
            return make_answer(HTTPStatus.OK, "application/json", body, *fields)
        if not await _wait_for_change(service, root, seen, end):
            return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)


def _write_listing(service: Service) -> tuple[bytes, ChainHead | None]:
    registry = service.registry
    settings = registry.settings
    found = list_archive(
        registry.archive,
        settings.archive_id,
        tuple(settings.archive_aliases),
        registry.capture_access,
        seconds=_HASHING,
    )
    return msgspec.json.encode(found), registry.records.find_head()


async def _wait_for_change(
    service: Service, root: Path, seen: tuple[tuple[int, int], ...], end: float
) -> bool:
    """Wait until files or takedowns have changed. Return False if the time is over."""
    if len(_waiting) >= MOST_WAITING:
        return False
    me = object()
    _waiting.add(me)
    try:
        while time.monotonic() < end and not service.stopping.is_set():
            await asyncio.sleep(_LOOK_EVERY)
            if stamp_archive(root) != seen:
                return True
        return False
    finally:
        _waiting.discard(me)


class _SentFile:
    """An open archive file. See `perdure.storage.byte_ports.LocalFile`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, length: int, offset: int) -> bytes:
        return os.pread(self.fd, length, offset)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.fd)


def _send_file(service: Service, name: str, start: int, length: int) -> Answer:
    """Send bytes of an archive file, but not of one inside a package. Raises NotFound, Unavailable.

    The digest of the whole tells whether the file changed meanwhile.
    """
    found = service.registry.archive.find_place(name)
    if found is None or found[1].base:
        raise NoSuchArchiveFile(identifier=name)
    try:
        file = _SentFile(Path(found[1].path))
        size = os.fstat(file.fd).st_size
    except OSError as error:
        fault = error.strerror or str(error)
        raise FileUnusable(file=f"archive file {name}", fault=fault) from error
    stop = min(size, start + length)
    start = min(start, stop)
    fields = [
        (b"content-type", _BINARY),
        (b"content-length", b"%d" % (stop - start)),
        _PRIVATE,
    ]
    span = FileSpan(file, start, stop - start)
    return Answer(HTTPStatus.OK, fields, stream=_read_file(file, start, stop), file=span)


async def _read_file(file: _SentFile, start: int, stop: int) -> AsyncIterator[bytes]:
    while start < stop:
        piece = await asyncio.to_thread(file.read, min(_PIECE, stop - start), start)
        if not piece:
            raise OSError("an archive file became shorter")
        start += len(piece)
        yield piece
