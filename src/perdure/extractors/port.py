"""What an extractor is: the port between a selector and the bytes that it selects.

How it works: an `Extractor` gets a `Source` (immutable bytes, a window of a file) and a `Selector`
and gives a `Part`. The body of a part is a row of pieces, each of them bytes made here or a span of
the source, so that nothing is copied that lies there already and the length is known ahead; where
neither holds, it is a `Stream`. An extractor that runs foreign decoders says `confined`, and is run
in a process of its own with bounds on its memory and time (`perdure.extractors.confined`).

An extractor is found by entry point, in the group `perdure.extractors`:

    image = "perdure.extractors.image.rectangle:EXTRACTOR"

What must stay true: importing the module of an extractor imports no heavy library; extracting the
same selector from the same bytes gives the same bytes, always; a part that cannot be given is an
error, never the whole resource and never less than was asked for.
"""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

from perdure.errors import Undecodable
from perdure.parts import Selected, Selector
from perdure.parts.media_types import strip_parameters

CHUNK = 256 * 1024  # bytes


class Span(msgspec.Struct, frozen=True, gc=False):
    """Bytes [start, stop) of the source."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        return self.stop - self.start


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that never change: `length` of them from `offset` in the file at `path`."""

    path: Path
    offset: int = 0
    length: int
    media_type: str
    charset: str | None = None
    sha512: str | None = None
    """Of these bytes, in lower-case hexadecimal; None where nobody has computed it yet."""
    name: str = ""
    """The identifier or file name, for messages."""

    @property
    def essence(self) -> str:
        """The media type without parameters, in lower case."""
        return strip_parameters(self.media_type)

    def undecodable(self, reason: str) -> Undecodable:
        """The error that these bytes are not what their media type says."""
        return Undecodable(identifier=self.name, media_type=self.media_type, reason=reason)

    def read(self, start: int = 0, stop: int | None = None) -> bytes:
        """The bytes [start, stop) as far as they exist."""
        stop = self.length if stop is None else min(stop, self.length)
        with self.path.open("rb") as file:
            return os.pread(file.fileno(), max(stop - start, 0), self.offset + start)

    def chunks(self, span: Span, most: int = CHUNK) -> Iterator[bytes]:
        """A span in pieces of at most so many bytes."""
        with self.path.open("rb") as file:
            for at in range(span.start, span.stop, most):
                length = min(most, span.stop - at)
                yield os.pread(file.fileno(), length, self.offset + at)

    def map(self) -> memoryview:
        """All of it, mapped: it takes address space, not memory."""
        if not self.length:
            return memoryview(b"")
        start = self.offset - self.offset % mmap.ALLOCATIONGRANULARITY
        length = self.offset - start + self.length
        with self.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), length, offset=start, access=mmap.ACCESS_READ)
        return memoryview(mapped)[self.offset - start :]

    def open(self) -> io.BufferedReader:
        """It as a seekable binary file, for libraries that want one."""
        return io.BufferedReader(_Window(self), CHUNK)


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


# what comes out
# --------------


class Stream:
    """A body of unknown length, or one that is made while it is sent. It is read once."""

    def __init__(self, chunks: Iterator[bytes], length: int | None = None) -> None:
        self.chunks = chunks
        self.length = length


Pieces = tuple[bytes | Span, ...]
Body = Pieces | Stream


class Decoded(msgspec.Struct, frozen=True, kw_only=True):
    """The canonical decoded form of a part that is no slice of stored bytes.
    # ruling: part-digest
    """

    form: str
    """What is digested: `rgb8 20x15` (pixels row by row), `s16le 8000 Hz 1 ch` (samples) …"""
    sha512: str


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a source."""

    selector: Selector
    """What was selected, after clipping and choosing: it names the same bytes for ever."""
    media_type: str
    charset: str | None = None
    body: Body
    slices: tuple[Span, ...] = ()
    """The intervals of stored bytes that the part is, or that it was made of without decoding."""
    decoded: Decoded | None = None
    facts: dict[str, str] = {}
    """What else a reader should know, by name: `namespaces`, `pre-roll` …"""

    @property
    def length(self) -> int | None:
        """Bytes of the body; None where that is known only at its end."""
        if isinstance(self.body, Stream):
            return self.body.length
        return sum(len(one) if isinstance(one, bytes) else one.length for one in self.body)


def body_chunks(body: Body, source: Source) -> Iterator[bytes]:
    """The bytes of a body, in pieces of bounded size."""
    if isinstance(body, Stream):
        yield from body.chunks
        return
    for piece in body:
        if isinstance(piece, Span):
            yield from source.chunks(piece)
        elif piece:
            yield piece


def blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks, joined while they are short: to send one costs as much as to make many. No block is
    empty, and none longer than CHUNK but for a chunk that is so by itself.
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


def body_within(body: Pieces, start: int, stop: int) -> Pieces:
    """The bytes [start, stop) of a body, as far as they exist."""
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
    """One way to point into a resource, with what there is to point at."""

    syntax: str
    """How such a part is written, by example: `char=0,14`."""
    what: str
    """What it counts, in words: `characters, a line break being two`."""
    size: int | None = None
    """How many there are."""
    items: tuple[str, ...] = ()
    """The first of them, where they have names: tags, tracks, destinations."""


# the port
# --------


class Indexes(Protocol):
    """Where what was computed about a source is kept, to be had again by any process."""

    def get(
        self, source: Source, kind: str, build: Callable[[Source], bytes]
    ) -> memoryview | bytes:
        """What `build` gives for the source, mapped from a file after the first time.

        `kind` names the form, with a number that grows when the form changes: `text-1`.
        """

    def get_large(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> memoryview | None:
        """What `write` has written to a file, of about `size` bytes, or None where there is none.

        It is written when it is asked for the second time: what is used once is not worth it, and
        can do without. Nor is it where there is little room, where indexes are not kept, and where
        writing was begun before and has failed, as `write` may, with any error of ours.
        """

    def make_large(
        self, source: Source, kind: str, size: int, write: Callable[[Path], None]
    ) -> None:
        """Has it written now, so that `get_large` finds it; nothing where it is there, or is just
        being written. Raises OverBudget where there is too little room, StorageFailed where the
        disk refuses, and what `write` raises.
        """


@runtime_checkable
class Extractor(Protocol):
    """Cuts parts out of resources of some media types. It has no state of its own."""

    media_types: tuple[str, ...]
    """`text/html`, `image/*`, `*/*`. The most specific extractor that knows a selector is asked."""
    selectors: tuple[type[Selected], ...]
    """The kinds of selector that it knows."""
    confined: bool
    """Whether it runs foreign decoders, and so only in a process with bounds."""
    install: str | None
    """The extra that its library comes with (`perdure[images]`); None where it needs none."""

    def extract(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        """The part. Raises PartOutOfRange, PartNotFound, PartNotSupported, PartCheckFailed,
        Undecodable or OverBudget.
        """

    def extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        """What of a source can be addressed. Raises Undecodable, OverBudget, or PartNotSupported
        where nothing of this document can be, or something is not installed.
        """


@runtime_checkable
class Outlining(Protocol):
    """What an extractor is besides, that decodes, and knows much of a part before it does."""

    def outline(self, source: Source, selector: Selector) -> Part | None:
        """What `extract` gives, but for the body and what only decoding tells; None where too
        little is known without.

        The body is a `Stream` of nothing, with the length if that is known. Raises what `extract`
        raises, but for what is found out while decoding.
        """


@runtime_checkable
class Preparing(Protocol):
    """What an extractor is besides, that can cut parts faster out of something it makes first."""

    def prepare(self, source: Source, indexes: Indexes) -> None:
        """Makes it now, where it is worth it. Raises Undecodable, OverBudget or StorageFailed."""


@runtime_checkable
class Selective(Protocol):
    """What an extractor is besides, that can cut only some documents of its media types: of the
    others, the one that knows the same selectors and can cut them all is asked."""

    def cuts(self, source: Source) -> bool:
        """Whether it can cut this one, at a glance. Raises Undecodable."""


@runtime_checkable
class Budgeted(Protocol):
    """What an extractor is besides, that evaluates what others have thought up: an expression that
    takes long is an attack, and those that take a moment do not wait behind it."""

    def seconds(self, source: Source) -> int:
        """Of CPU that a part of this source may take, where that is less than others may."""


@runtime_checkable
class Lengthy(Protocol):
    """What an extractor is besides, that looks through a whole document the first time."""

    lengthy_from: int
    """Bytes from which on that is done in a process of its own: it would hold up this one."""
