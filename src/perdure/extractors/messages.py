"""What is said between the server and its decoding workers, as values and as bytes.

How it works: MessagePack with a schema. A `Job` goes to the worker; a `Cut`, `Extents` or `Failed`
comes back, and after a `Cut` without pieces the chunks of its body, then the end. In front of each
message stand its length and what it is.

What must stay true: a worker may have fallen to what it decodes, so nothing that comes from one can
be more than a value of these types: what does not fit the schema, or is longer than it may be, is
refused, and no code is ever read from it.
"""

from __future__ import annotations

import re
import socket
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.errors.tree import pack, unpack
from perdure.extractors.port import CHUNK, Decoded, Extent, Part, Pieces, Source, Span, Stream
from perdure.parts import PluginSelector, Selector
from perdure.parts.annotation import find_reader

JOB, REPLY, CHUNKS, END = range(4)
_HEAD = struct.Struct(">IB")
_LONGEST = 256 << 20  # bytes of a message
_FRACTION = re.compile("(-?[0-9]{1,40})/([0-9]{1,40})", re.ASCII)


class Budget(msgspec.Struct, frozen=True):
    """What one part may take."""

    seconds: int = 20
    """Of CPU; and of waiting for each piece of it."""
    memory: int = 1 << 30
    """Bytes of private memory of the process."""


class WrittenSelector(msgspec.Struct, frozen=True, tag=True):
    """A selector of a plug-in: the two processes share its syntax, and not its type."""

    specification: str
    text: str


class Job(msgspec.Struct, frozen=True):
    """What a worker is asked to do."""

    extractor: str
    """`module:attribute` of its entry point."""
    source: Source
    selector: Selector | WrittenSelector | None
    """None: say what can be addressed."""
    indexes: Path | None
    budget: Budget
    outline: bool = False
    """Whether what is known of the part without decoding will do."""
    prepare: bool = False
    """Whether to make what parts are cut from, and to say nothing."""


class Cut(msgspec.Struct, frozen=True, tag=True):
    """A part; where it has no pieces its chunks follow."""

    selector: Selector | WrittenSelector
    media_type: str
    charset: str | None
    pieces: Pieces | None
    length: int | None
    slices: tuple[Span, ...]
    decoded: Decoded | None
    facts: dict[str, str]
    outline: bool = False
    """Whether the body is left out."""


class Extents(msgspec.Struct, frozen=True, tag=True):
    """What can be addressed."""

    found: tuple[Extent, ...]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """An error of our tree, by the names of its classes, the nearest first, and its fields."""

    kinds: tuple[str, ...]
    fields: dict[str, str | int | tuple[str, ...] | None]


Reply = Cut | Extents | Failed


def reply_of(part: Part, *, outline: bool = False) -> Cut:
    """A part as a message."""
    streams = isinstance(part.body, Stream)
    pieces = None if isinstance(part.body, Stream) else part.body
    return Cut(
        selector=write_selector(part.selector),
        media_type=part.media_type,
        charset=part.charset,
        pieces=() if outline else pieces,
        length=part.length if streams else None,
        slices=part.slices,
        decoded=part.decoded,
        facts=part.facts,
        outline=outline,
    )


def write_selector(selector: Selector) -> Selector | WrittenSelector:
    """A selector as it stands in a message."""
    if isinstance(selector, PluginSelector):
        return WrittenSelector(selector.conforms_to, str(selector))
    return selector


def read_selector(given: Selector | WrittenSelector) -> Selector:
    """The selector that stands in a message. Raises ValueError if no installed syntax reads it."""
    if not isinstance(given, WrittenSelector):
        return given
    read = find_reader(given.specification)
    if read is None:
        raise ValueError(f"no syntax is installed for {given.specification!r}")
    return read(given.text)


def failure_of(error: PerdureError) -> Failed:
    """An error as a message; what is neither text nor number in it becomes text."""
    kinds, members = pack(error)
    fields: dict[str, str | int | tuple[str, ...] | None] = {}
    for name, value in members.items():
        if isinstance(value, tuple):
            fields[name] = tuple(map(str, value))
        else:
            fields[name] = value if isinstance(value, (str, int)) or value is None else str(value)
    return Failed(kinds, fields)


def error_of(failed: Failed) -> PerdureError:
    """The error that a message tells of. Raises ValueError for one that we do not have."""
    return unpack(failed.kinds, failed.fields)


# bytes
# -----


def _plain(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


def _rich(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    found = _FRACTION.fullmatch(value) if kind is Fraction and isinstance(value, str) else None
    if found is None or not int(found[2]):
        raise ValueError(kind.__name__)
    return Fraction(int(found[1]), int(found[2]))


encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode
read_job = msgspec.msgpack.Decoder(Job, dec_hook=_rich).decode
read_reply = msgspec.msgpack.Decoder(Reply, dec_hook=_rich).decode


def send(to: socket.socket, kind: int, data: bytes) -> None:
    """Send a message. Raises OSError."""
    to.sendall(_HEAD.pack(len(data), kind))
    to.sendall(data)


def receive(wire: socket.socket) -> tuple[int, bytes]:
    """The next message. Raises OSError, EOFError, or ValueError for one that is too long."""
    length, kind = _HEAD.unpack(_exactly(wire, _HEAD.size))
    if length > (CHUNK if kind == CHUNKS else _LONGEST):
        raise ValueError("a message is too long")
    return kind, bytes(_exactly(wire, length))


def _exactly(wire: socket.socket, length: int) -> bytearray:
    received = bytearray(length)
    view, got = memoryview(received), 0
    while got < length:
        count = wire.recv_into(view[got:])
        if not count:
            raise EOFError
        got += count
    return received
