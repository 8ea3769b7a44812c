"""The port of extractors: an extractor turns a selector into the bytes that it selects.

How it works: an `Extractor` gets a `Source` (immutable bytes, a window of a file) and a `Selector`
and returns a `Part`. The body of a part is a sequence of pieces, each either new bytes or a span of
the source, so that stored bytes are not copied and the length is known in advance. If neither is
possible, the body is a `Stream`. An extractor that runs third-party decoders sets `confined` and
runs in a separate process with bounds on its memory and time (`perdure.extractors.confined`).

An extractor is found by its entry point in the group `perdure.extractors`:

    image = "perdure.extractors.image.rectangle:EXTRACTOR"

What must stay true: importing the module of an extractor imports no heavy library. The same
selector applied to the same bytes always yields the same bytes. A part that cannot be cut is an
error, never the whole resource and never less than the selector asks for.
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypedDict, runtime_checkable

import msgspec

from perdure.errors.damage import DecoderFailed
from perdure.formats.essence import strip_parameters
from perdure.parts import PartSelector, Selector

CHUNK = 256 * 1024  # bytes


class Span(msgspec.Struct, frozen=True, gc=False):
    """Bytes [start, stop) of the source."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


class SubjectFields(TypedDict):
    """The fields of `Undecodable`."""

    identifier: str
    media_type: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that never change: `length` of them from `offset` in the file at `path`."""

    path: Path
    offset: int = 0
    length: int
    media_type: str
    charset: str | None = None
    sha512: str | None = None
    """The digest of these bytes, in lower-case hexadecimal, or None if it is not computed yet."""
    name: str = ""
    """The identifier or file name, for messages."""

    @property
    def essence(self) -> str:
        """The media type without parameters, in lower case."""
        return _find_essence(self.media_type)

    @property
    def subject(self) -> SubjectFields:
        """The fields of every error that says that these bytes cannot be decoded."""
        return SubjectFields(identifier=self.name, media_type=self.media_type)

    def quote_decoder(self, decoder: str, fault: object) -> DecoderFailed:
        """Return the error that a decoding library rejects these bytes, in its own words."""
        says = str(fault).strip()
        return DecoderFailed(
            identifier=self.name, media_type=self.media_type, decoder=decoder, fault=says
        )

    def read_bytes(self, start: int = 0, stop: int | None = None) -> bytes:
        """Return the bytes [start, stop), as far as they exist."""
        stop = self.length if stop is None else min(stop, self.length)
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)  # without the buffer of a file object
        try:
            return os.pread(fd, max(stop - start, 0), self.offset + start)
        finally:
            os.close(fd)

    def read_chunks(self, span: Span, most: int = CHUNK) -> Iterator[bytes]:
        """Yield a span in pieces of at most `most` bytes."""
        if 0 < span.length <= most:
            yield self.read_bytes(span.start, span.stop)
            return
        with self.path.open("rb") as file:
            for at in range(span.start, span.stop, most):
                length = min(most, span.stop - at)
                yield os.pread(file.fileno(), length, self.offset + at)

    def map_bytes(self) -> memoryview:
        """Map all bytes: this takes address space, not memory."""
        if not self.length:
            return memoryview(b"")
        start = self.offset - self.offset % mmap.ALLOCATIONGRANULARITY
        length = self.offset - start + self.length
        with self.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), length, offset=start, access=mmap.ACCESS_READ)
        return memoryview(mapped)[self.offset - start :]

    def open_file(self) -> io.BufferedReader:
        """Open the bytes as a seekable binary file, for libraries that need one."""
        return io.BufferedReader(_Window(self), CHUNK)


_find_essence = lru_cache(maxsize=1024)(strip_parameters)
"""Documents have few media types, and each of them is asked for it several times."""


class _Window(io.RawIOBase):
    """The bytes of a source as a file."""

    def __init__(self, source: Source) -> None:
        self._file = source.path.open("rb")
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.length}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any buffer
        length = min(len(buffer), max(self._source.length - self._at, 0))
        got = os.preadv(
            self._file.fileno(), [memoryview(buffer)[:length]], self._source.offset + self._at
        )
        self._at += got
        return got

    def close(self) -> None:
        self._file.close()
        super().close()


# the result
# ----------


class Stream:
    """A body of unknown length, or one that is generated while it is sent. It can be read once."""

    def __init__(self, chunks: Iterator[bytes], length: int | None = None) -> None:
        self.chunks = chunks
        self.length = length


Pieces = tuple[bytes | Span, ...]
Body = Pieces | Stream


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """The canonical decoded form of a part that is not a slice of stored bytes.
    # ruling: part-digest
    """

    form: str
    """The form that is digested: `rgb8 20x15` (pixels row by row), `s16le 8000 Hz 1 ch` (samples) …
    """
    sha512: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a source."""

    selector: Selector
    """The selector after clipping and choosing: it names the same bytes permanently."""
    media_type: str
    charset: str | None = None
    body: Body
    slices: tuple[Span, ...] = ()
    """The intervals of stored bytes that the part is, or that it was made from without decoding."""
    decoded: Decoded | None = None
    facts: dict[str, str] = {}
    """Further facts for a reader, by name: `namespaces`, `pre-roll` …"""

    @property
    def length(self) -> int | None:
        """Bytes of the body, or None if the length is known only at the end of the body."""
        if isinstance(self.body, Stream):
            return self.body.length
        return sum(len(one) if isinstance(one, bytes) else one.length for one in self.body)


def iterate_body(body: Body, source: Source) -> Iterator[bytes]:
    """Yield the bytes of a body, in pieces of bounded size."""
    if isinstance(body, Stream):
        yield from body.chunks
        return
    for piece in body:
        if isinstance(piece, Span):
            yield from source.read_chunks(piece)
        elif piece:
            yield piece


def join_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join short chunks, because sending a block costs as much as generating many chunks. No block
    is empty. None is longer than CHUNK, except for a single chunk that is.
    """
    waiting: list[bytes] = []
    length = 0
    for chunk in chunks:
        if length and length + len(chunk) > CHUNK:
            yield b"".join(waiting)
            waiting, length = [], 0
        waiting.append(chunk)
        length += len(chunk)
    if length:
        yield b"".join(waiting)


def slice_body(body: Pieces, start: int, stop: int) -> Pieces:
    """Return the bytes [start, stop) of a body, as far as they exist."""
    found: list[bytes | Span] = []
    at = 0
    for piece in body:
        length = len(piece) if isinstance(piece, bytes) else piece.length
        first, last = max(start - at, 0), min(stop - at, length)
        if first < last:
            if isinstance(piece, bytes):
                found.append(piece[first:last])
            else:
                found.append(Span(piece.start + first, piece.start + last))
        at += length
    return tuple(found)


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """One way to address parts of a resource, and how many there are."""

    syntax: str
    """An example of such a part: `char=0,14`."""
    what: str
    """The unit in words: `characters, with a line break as two (PDI)`."""
    size: int | None = None
    """The number of units."""
    items: tuple[str, ...] = ()
    """The names of the first units, if they have names: tags, tracks, destinations."""
    seconds: float | None = None
    """The duration of a sound or a film."""


# the port
# --------


class Indexes(Protocol):
    """Indexes computed from sources, kept for every process to use again."""

    def get_index(
        self, source: Source, kind: str, build: Callable[[Source], bytes]
    ) -> memoryview | bytes:
        """Return what `build` computes from the source; after the first time, map it from a file.

        `kind` names the format, with a number that grows when the format changes: `text-1`.
        """

    def get_large_index(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> memoryview | None:
        """Return the file that `write` wrote, of about `size` bytes, or None if it does not exist.

        The file is written at the second request, because an index that is used once is not worth
        its cost; the caller must be able to work without it. It is not written if there is too
        little room, if indexes are not kept, or if an earlier attempt to write it failed. `write`
        may raise any error of perdure.
        """

    def make_large_index(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> None:
        """Write the file now, so that `get_large_index` finds it. Do nothing if it exists or is
        being written. Raises OverBudget if there is too little room, StorageFailed if the disk
        fails, and what `write` raises.
        """


@runtime_checkable
class Extractor(Protocol):
    """Cuts parts out of resources of some media types. It has no state of its own."""

    media_types: tuple[str, ...]
    """`text/html`, `image/*`, `*/*`. The most specific extractor for a selector is used."""
    selectors: tuple[type[PartSelector], ...]
    """The kinds of selector that it supports."""
    confined: bool
    """Whether it runs third-party decoders, and therefore only in a process with bounds."""
    install: str | None
    """The extra that provides its library (`perdure[images]`), or None if it needs none."""

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        """Cut the part. Raises PartOutOfRange, PartNotFound, PartNotSupported, PartCheckFailed,
        Undecodable or OverBudget.
        """

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        """Return what can be addressed in a source. Raises Undecodable, OverBudget, or
        PartNotSupported if nothing in this document can be addressed, MissingLibrary if a library
        is not installed.
        """


@runtime_checkable
class Outlining(Protocol):
    """An extractor that decodes, and that can describe a part before it does."""

    def outline_part(self, source: Source, selector: Selector) -> Part | None:
        """Return what `extract_part` returns, without the body and without facts that need
        decoding. None if too little is known without decoding.

        The body is an empty `Stream`, with the length if it is known. Raises what `extract_part`
        raises, except for errors found while decoding.
        """


class ListedLink(msgspec.Struct, frozen=True, array_like=True):
    """A link of a document that is not in its text."""

    how: str
    """How the document refers to it: `href`, `src`, `pdf` …"""
    address: str
    place: int = 0
    """The page, from 1, or the first byte of the record; 0 if the document has no such places."""


MOST_LINKS = 100_000
"""Links of one document that an extractor lists."""


@runtime_checkable
class LinkLister(Protocol):
    """An extractor of a format with links of its own, which are not in its text."""

    def list_links(self, source: Source) -> list[ListedLink]:
        """Return the links of a document in order, up to `MOST_LINKS`.

        Raises Undecodable, OverBudget, or MissingLibrary.
        """


@runtime_checkable
class Preparing(Protocol):
    """An extractor that first makes a copy or an index, and then cuts parts faster from that."""

    def prepare_source(self, source: Source, indexes: Indexes) -> None:
        """Prepare the source now, if it is worth it. Raises Undecodable, OverBudget or
        StorageFailed.
        """


@runtime_checkable
class Selective(Protocol):
    """An extractor that can cut only some documents of its media types. The others go to an
    extractor that supports the same selectors and can cut all documents.
    """

    def can_cut(self, source: Source) -> bool:
        """Return whether it can cut this document, after a quick look. Raises Undecodable."""


@runtime_checkable
class Budgeted(Protocol):
    """An extractor that evaluates expressions of strangers. An expression that takes long is an
    attack, and short ones must not wait behind it.
    """

    def limit_seconds(self, source: Source) -> int:
        """Seconds of CPU for a part of this source, if fewer than the general limit."""


@runtime_checkable
class Lengthy(Protocol):
    """An extractor that reads the complete document the first time."""

    lengthy_from: int
    """From this many bytes it runs in a separate process, because it would block this one."""
