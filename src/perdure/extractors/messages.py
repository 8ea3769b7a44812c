"""Messages between the server and its decoding workers, as values and as bytes.

How it works: messages are MessagePack with a schema. The server sends a `Job`; the worker answers
with a `CutReply`, `Extents`, `TextReply` or `FailedReply`. After a `CutReply` without pieces come
the chunks of its body, after a `TextReply` those of an index, then the end. The length and
the kind precede each message.

What must stay true: the bytes that a worker decodes may have taken it over, so a message from a
worker can only be a value of these types. A message that does not fit the schema, or that is too
long, is refused. No code is ever read from a message.
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
from perdure.errors.tree import pack_error, unpack_error
from perdure.extractors.port import CHUNK, Decoded, Extent, Part, Pieces, Source, Span, Stream
from perdure.parts import PluginSelector, Selector
from perdure.parts.annotation import find_reader

JOB, REPLY, CHUNKS, END = range(4)
_HEAD = struct.Struct(">IB")
LONGEST = 256 << 20  # bytes of a message
_FRACTION = re.compile("(-?[0-9]{1,40})/([0-9]{1,40})", re.ASCII)


class Budget(msgspec.Struct, frozen=True):
    """Limits for one part."""

    seconds: int = 20
    """Seconds of CPU; also the base for the waiting time for each message."""
    memory: int = 1 << 30
    """Bytes of private memory of the process."""


class WrittenSelector(msgspec.Struct, frozen=True, tag=True):
    """A selector of a plug-in: the two processes share its syntax, but not its type."""

    specification: str
    text: str


class Job(msgspec.Struct, frozen=True):
    """A job for a worker."""

    extractor: str
    """`module:attribute` of its entry point."""
    source: Source
    selector: Selector | WrittenSelector | None
    """None asks for the extents."""
    indexes: Path | None
    budget: Budget
    outline: bool = False
    """Whether an outline of the part, known without decoding, is enough."""
    prepare: bool = False
    """Whether to prepare the source, with no part as the answer."""
    text: bool = False
    """Whether to make the index of the plain text."""
    links: bool = False
    """Whether to list the links, as JSON."""


class CutReply(msgspec.Struct, frozen=True, tag=True):
    """A part. If it has no pieces, its chunks follow."""

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
    """The extents of a source."""

    found: tuple[Extent, ...]


class TextReply(msgspec.Struct, frozen=True, tag=True):
    """The index of a plain text, whose bytes follow in chunks."""

    length: int


class FailedReply(msgspec.Struct, frozen=True, tag=True):
    """An error of perdure: the names of its classes, the most derived first, and its fields."""

    kinds: tuple[str, ...]
    fields: dict[str, str | int | tuple[str, ...] | None]


Reply = CutReply | Extents | TextReply | FailedReply


def build_reply(part: Part, *, outline: bool = False) -> CutReply:
    """Return a part as a message."""
    streams = isinstance(part.body, Stream)
    pieces = None if isinstance(part.body, Stream) else part.body
    return CutReply(
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
    """Return a selector in the form that a message carries."""
    if isinstance(selector, PluginSelector):
        return WrittenSelector(selector.conforms_to, str(selector))
    return selector


def read_selector(given: Selector | WrittenSelector) -> Selector:
    """Return the selector of a message. Raises ValueError if no installed syntax reads it."""
    if not isinstance(given, WrittenSelector):
        return given
    read = find_reader(given.specification)
    if read is None:
        raise ValueError(f"no syntax is installed for {given.specification!r}")
    return read(given.text)


def build_failure(error: PerdureError) -> FailedReply:
    """Return an error as a message; fields that are neither text nor numbers become text."""
    kinds, members = pack_error(error)
    fields: dict[str, str | int | tuple[str, ...] | None] = {}
    for name, value in members.items():
        if isinstance(value, tuple):
            fields[name] = tuple(map(str, value))
        else:
            fields[name] = value if isinstance(value, (str, int)) or value is None else str(value)
    return FailedReply(kinds, fields)


def rebuild_error(failed: FailedReply) -> PerdureError:
    """Return the error that a message describes. Raises ValueError if its class is unknown."""
    return unpack_error(failed.kinds, failed.fields)


# bytes
# -----


def _encode_value(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, Path):
        return str(value)
    raise TypeError(type(value).__name__)


def _decode_value(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    found = _FRACTION.fullmatch(value) if kind is Fraction and isinstance(value, str) else None
    if found is None or not int(found[2]):
        raise ValueError(kind.__name__)
    return Fraction(int(found[1]), int(found[2]))


encode = msgspec.msgpack.Encoder(enc_hook=_encode_value).encode
read_job = msgspec.msgpack.Decoder(Job, dec_hook=_decode_value).decode
read_reply = msgspec.msgpack.Decoder(Reply, dec_hook=_decode_value).decode


def send_message(to: socket.socket, kind: int, data: bytes) -> None:
    """Send a message. Raises OSError."""
    to.sendall(_HEAD.pack(len(data), kind))
    to.sendall(data)


def receive_message(wire: socket.socket) -> tuple[int, bytes]:
    """Receive the next message. Raises OSError, EOFError, or ValueError if it is too long."""
    length, kind = _HEAD.unpack(_receive_exactly(wire, _HEAD.size))
    if length > (CHUNK if kind == CHUNKS else LONGEST):
        raise ValueError("a message is too long")
    return kind, bytes(_receive_exactly(wire, length))


def _receive_exactly(wire: socket.socket, length: int) -> bytearray:
    received = bytearray(length)
    view, got = memoryview(received), 0
    while got < length:
        count = wire.recv_into(view[got:])
        if not count:
            raise EOFError
        got += count
    return received
