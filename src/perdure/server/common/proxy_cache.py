"""Documents of other resolvers, kept by their names and digests, below a bound.

How it works: only names with format and version are kept, whose bytes never change. An entry is one
file, called by the hash of the name: the bytes, and behind them a JSON document with their SHA-512
and header fields, its length and a mark. The bytes are written while they stream through, and the
entry appears, whole, by a rename after their digest was compared. After `pinned_seconds` the
resolver is asked again, since it may have withdrawn the document; the digest is remembered, and
another one is a contradiction.

Entries that were used least recently are removed before all together are larger than the bound. To
look at all of them for each new one would take ever longer, so as many are removed as leave an
eighth of the bound free. A process reads the directory again when it has used up an eighth of that.

Who has opened an entry reads that one, whatever happens to its name. The number of links of the
open file says whether it is still the entry (`KeptFile.is_in_place`).

What must stay true: an entry has the digest that was promised for it. The directory can be deleted
at any time.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.settings import Settings

DIRECTORY = "proxied"
_RECENT = 60.0  # seconds in which a use is not noted again
_END = struct.Struct(">I4s")
"""The end of a file: the length of the JSON document before it, and `_MARK`."""
_MARK = b"pdk1"
_USUAL_END = 4096  # bytes: nearly always more than the JSON document has
_LONGEST_JSON = 1 << 16
_FREED = 8
"""The part of the bound that stays free, and the number of processes that may use it up."""


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
        """Open a file. Raises OSError, or ValueError if it is not a whole entry."""
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._size = os.fstat(self.fd).st_size
        self.document = self._read_document()

    def read(self, length: int, offset: int) -> bytes:
        return os.pread(self.fd, length, offset)

    def is_in_place(self, now: float, *, is_use: bool = True) -> bool:
        """Return True unless the file was removed, replaced or cut off, by whichever process.

        If this is a use, its time is noted.
        """
        try:
            about = os.fstat(self.fd)
            if not about.st_nlink or about.st_size != self._size:
                return False
            if is_use and now - about.st_mtime > _RECENT:
                os.utime(self.fd, (now, now))
        except OSError:
            return False
        return True

    def _read_document(self) -> KeptDocument:
        end = self._read_end(_USUAL_END)
        length, mark = _END.unpack(end[-_END.size :])
        if mark != _MARK or length > _LONGEST_JSON:
            raise ValueError("the end of an entry is missing")
        length += _END.size
        if length > len(end):
            end = self._read_end(length)
        found = msgspec.json.decode(end[-length : -_END.size], type=KeptDocument)
        if found.length + length != self._size:
            raise ValueError("an entry has another length")
        return found

    def _read_end(self, length: int) -> bytes:
        """Read the last bytes of the file. Raises ValueError if there are too few."""
        end = self.read(length, max(0, self._size - length))
        if len(end) < _END.size:
            raise ValueError("an entry is too short")
        return end

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
        self.clock = clock
        self._left = 0
        """Bytes that may be added before the directory is read again."""

    @property
    def is_on(self) -> bool:
        return self._bound > 0

    def open_document(self, name: str) -> KeptFile | None:
        """Open the entry of a name, also if its resolver must be asked again (`find_rest`)."""
        try:
            file = KeptFile(self._find_path(name))
        except (OSError, ValueError, msgspec.DecodeError):
            return None
        return file if file.document.name == name else None

    def find_rest(self, document: KeptDocument, now: float) -> int | None:
        """Return the seconds for which a document is still current, or None if it is not."""
        age = now - document.at
        return int(self._seconds - age) if 0 <= age < self._seconds else None

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

    def add_document(self, name: str, path: Path) -> None:
        """Make an entry of a written file. It replaces an older one."""
        length = path.stat().st_size
        path.replace(self._find_path(name))
        self._left -= length
        if self._left < 0:
            self._drop_oldest()

    def _find_path(self, name: str) -> Path:
        return self._place / f"{hashlib.sha256(name.encode()).hexdigest()}.kept"

    def _drop_oldest(self) -> None:
        """Remove the files that were used least recently, until the others leave enough free.

        Among them may be those that a process left which ended while it wrote, and those of
        earlier releases.
        """
        found: list[tuple[float, int, Path]] = []
        for path in self._place.iterdir():
            with suppress(OSError):
                about = path.stat()
                found.append((about.st_mtime, about.st_size, path))
        total = sum(size for _, size, _ in found)
        free = self._bound // _FREED
        for number, (_, size, path) in enumerate(sorted(found), 1):
            if total <= (self._bound - free if number < len(found) else self._bound):
                break  # the newest entry may take all
            with suppress(OSError):
                path.unlink()
            total -= size
        self._left = min(free // _FREED, self._bound - total)


def make_proxy_cache(root: Path, settings: Settings) -> ProxyCache:
    """Return the cache of a registry directory."""
    return ProxyCache(root, bound=settings.proxy_cache_bytes, seconds=settings.pinned_seconds)


def write_end(document: KeptDocument) -> bytes:
    """Write what an entry has behind the bytes of its document."""
    text = msgspec.json.encode(document)
    return text + _END.pack(len(text), _MARK)


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
            self._file.write(write_end(kept))
            self._file.close()
            self._cache.add_document(kept.name, self._path)
        except OSError:
            self.give_up()

    def give_up(self) -> None:
        """Remove what was written. Does nothing after `keep`."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._path.unlink()
