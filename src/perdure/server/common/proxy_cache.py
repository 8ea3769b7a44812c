"""Documents of other resolvers, kept by their names and digests, below a bound.

How it works: only names with format and version are kept, whose bytes never change. An entry is two
files, called by the hash of the name: the bytes, and a JSON document with their SHA-512 and header
fields. The bytes are written while they stream through, and the entry appears after their digest
was compared. If all entries together are larger than the bound, those that were used least recently
are removed. After `pinned_seconds` the resolver is asked again, since it may have withdrawn the
document; the digest is remembered, and another one is a contradiction.

What must stay true: an entry has the digest that was promised for it. The directory can be deleted
at any time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

DIRECTORY = "proxied"
_RECENT = 60.0  # seconds in which a use is not noted again
_LONGEST_HEAD = 1 << 16


class KeptDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document of another resolver."""

    name: str
    url: str
    """The address that sent it."""
    sha512: str
    length: int
    fields: tuple[tuple[str, str], ...]
    """The header fields of the answer that describe it."""
    at: float
    """The time when it was fetched, in seconds."""


class KeptFile:
    """The open file of a kept document. See `perdure.storage.byte_ports.LocalFile`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, length: int, offset: int) -> bytes:
        return os.pread(self.fd, length, offset)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self.fd)


class ProxyCache:
    """The kept documents of one registry. Several processes may use a directory."""

    def __init__(
        self, root: Path, *, bound: int, seconds: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._place = root / DIRECTORY
        self._bound = bound
        self._seconds = seconds
        self._clock = clock

    @property
    def is_on(self) -> bool:
        return self._bound > 0

    def find_document(self, name: str) -> KeptDocument | None:
        """Return the entry of a name, also if its resolver has to be asked again."""
        try:
            head = self._find_path(name, "json").read_bytes()[:_LONGEST_HEAD]
            found = msgspec.json.decode(head, type=KeptDocument)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if found.name == name else None

    def open_document(self, kept: KeptDocument) -> KeptFile | None:
        """Open the bytes of a document that is still current, or return None."""
        now = self._clock()
        if not 0 <= now - kept.at < self._seconds:
            return None
        path = self._find_path(kept.name, "bytes")
        try:
            file = KeptFile(path)
            about = os.fstat(file.fd)
            if about.st_size != kept.length:
                return None
            if now - about.st_mtime > _RECENT:
                os.utime(path, (now, now))
        except OSError:
            return None
        return file

    def begin_document(self, length: int | None) -> DocumentWriter | None:
        """Begin to write a document, or return None if it is larger than the bound."""
        if not self.is_on or (length or 0) > self._bound:
            return None
        try:
            self._place.mkdir(exist_ok=True)
            fd, path = tempfile.mkstemp(prefix="new-", dir=self._place)
        except OSError:
            return None  # a full disk stops no reader
        return DocumentWriter(self, fd, Path(path), self._bound)

    def add_document(self, kept: KeptDocument, path: Path) -> None:
        """Make an entry of a written file. It replaces an older one."""
        path.replace(self._find_path(kept.name, "bytes"))
        head = path.with_name(f"{path.name}.json")
        head.write_bytes(msgspec.json.encode(kept))
        head.replace(self._find_path(kept.name, "json"))
        self._drop_oldest()

    def _find_path(self, name: str, kind: str) -> Path:
        return self._place / f"{hashlib.sha256(name.encode()).hexdigest()}.{kind}"

    def _drop_oldest(self) -> None:
        """Remove the documents that were used least recently, until the others fit."""
        found: list[tuple[float, int, Path]] = []
        for path in self._place.glob("*.bytes"):
            with suppress(OSError):
                about = path.stat()
                found.append((about.st_mtime, about.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._bound:
                break
            with suppress(OSError):
                path.unlink()
                path.with_suffix(".json").unlink()
            total -= size


class DocumentWriter:
    """A document that is being written."""

    def __init__(self, cache: ProxyCache, fd: int, path: Path, bound: int) -> None:
        self._cache = cache
        self._file = os.fdopen(fd, "wb")
        self._path = path
        self._left = bound

    def write(self, piece: bytes) -> None:
        """Write a piece. A document that does not fit, or a full disk, gives the document up."""
        self._left -= len(piece)
        if self._file.closed:
            return
        try:
            if self._left < 0:
                raise OSError("too large")
            self._file.write(piece)
        except OSError:
            self.give_up()

    def keep(self, kept: KeptDocument) -> None:
        """Keep the document, whose digest was compared."""
        if self._file.closed:
            return
        try:
            self._file.close()
            self._cache.add_document(kept, self._path)
        except OSError:
            self.give_up()

    def give_up(self) -> None:
        """Remove what was written. Does nothing after `keep`."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._path.unlink()
