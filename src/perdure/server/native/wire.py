"""Messages of the native Handle protocol: envelope, header, body, credential. Pure.

How it works: a message is an envelope of 20 octets, a header of 24, a body, and a credential
(RFC 3652 section 2.2). Numbers are unsigned, with the most significant octet first; a text is its
length in 4 octets and UTF-8.

>>> read_envelope(bytes.fromhex("0201000000000000000000070000000000000018")).request_id
7

What must stay true: whatever arrives is read as a request or raises `MalformedMessage`; no length
in a message makes more memory be taken than the message has.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ENVELOPE, HEADER = 20, 24  # octets
PIECE = 492
"""Octets of a message in one datagram, after the envelope: a datagram has 512 (section 2.3)."""
MAJOR, MINOR = 2, 11
"""The version of the protocol. Its messages have been the same since 2.1, but for the digests."""
LONGEST = 65_536
"""Octets of a request, without its envelope."""
_SHA256_SINCE = 11  # the minor version of clients that know it
_ENVELOPE = struct.Struct("!BBHIIII")
_HEADER = struct.Struct("!IIIHBBII")
_NUMBER = struct.Struct("!I")
_MOST_LISTED = 1000


class Opcode(enum.IntEnum):
    """Operations (section 2.2.2.1). All others administer handles, which is for the REST API."""

    RESOLUTION = 1
    SITE_INFO = 2


class Flag(enum.IntFlag):
    """Flags of the header (section 2.2.2.3)."""

    AUTHORITATIVE = 1 << 31
    CERTIFY = 1 << 30
    RECURSIVE = 1 << 28
    KEEP_OPEN = 1 << 25
    PUBLIC_ONLY = 1 << 24
    DIGEST = 1 << 23


class EnvelopeFlag(enum.IntFlag):
    """Flags of the envelope (section 2.2.1.2)."""

    COMPRESSED = 1 << 15
    ENCRYPTED = 1 << 14
    TRUNCATED = 1 << 13


_VERSION = 0x1FFF
"""The bits of the envelope's flags in which newer clients suggest a version."""
_ECHOED = int(Flag.AUTHORITATIVE | Flag.RECURSIVE | Flag.KEEP_OPEN | Flag.PUBLIC_ONLY)


class MalformedMessage(Exception):
    """The octets are not a request of this protocol."""


class Envelope(NamedTuple):
    """The envelope of a message (section 2.2.1)."""

    major: int
    minor: int
    flags: int
    session: int
    request_id: int
    sequence: int
    length: int
    """Octets of the message without its envelope."""

    @property
    def suggests_version(self) -> bool:
        return bool(self.flags & _VERSION)

    @property
    def knows_sha256(self) -> bool:
        return self.minor >= _SHA256_SINCE or (self.flags & 0xFF) >= _SHA256_SINCE


class Header(NamedTuple):
    """The header of a message (section 2.2.2)."""

    opcode: int
    code: int
    flags: int
    serial: int
    recursion: int
    reserved: int
    expires: int
    length: int
    """Octets of the body."""


class ResolutionRequest(NamedTuple):
    """The body of a resolution request (section 3.2.1)."""

    handle: str
    indexes: tuple[int, ...]
    types: tuple[str, ...]


def read_envelope(data: bytes) -> Envelope:
    """Read an envelope. Raises MalformedMessage if it is too short or has another major version."""
    if len(data) < ENVELOPE:
        raise MalformedMessage("a message begins with an envelope of 20 octets")
    envelope = Envelope._make(_ENVELOPE.unpack_from(data))
    if envelope.major != MAJOR:
        raise MalformedMessage(f"this server speaks version {MAJOR} of the protocol")
    return envelope


def read_header(message: bytes) -> tuple[Header, bytes]:
    """Read the header and the body of a message without its envelope. Raises MalformedMessage."""
    if len(message) < HEADER:
        raise MalformedMessage("the header has 24 octets")
    header = Header._make(_HEADER.unpack_from(message))
    if header.length > len(message) - HEADER:
        raise MalformedMessage("the body is shorter than the header says")
    return header, message[HEADER : HEADER + header.length]


def read_resolution(body: bytes) -> ResolutionRequest:
    """Read the body of a resolution request. Raises MalformedMessage."""
    reader = _Reader(body)
    handle = reader.read_text()
    indexes = tuple(reader.read_number() for _ in range(reader.read_count()))
    types = tuple(reader.read_text() for _ in range(reader.read_count()))
    return ResolutionRequest(handle, indexes, types)


class _Reader:
    """Reads the fields of a body in order."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def read_number(self) -> int:
        if self._at + _NUMBER.size > len(self._body):
            raise MalformedMessage("the body ends inside a number")
        (number,) = _NUMBER.unpack_from(self._body, self._at)
        self._at += _NUMBER.size
        return int(number)

    def read_count(self) -> int:
        count = self.read_number()
        if count > _MOST_LISTED:
            raise MalformedMessage(f"a list has at most {_MOST_LISTED} entries")
        return count

    def read_text(self) -> str:
        end = self.read_number() + self._at
        if end > len(self._body):
            raise MalformedMessage("the body ends inside a text")
        octets, self._at = self._body[self._at : end], end
        try:
            return octets.decode()
        except UnicodeDecodeError:
            raise MalformedMessage("a text is not UTF-8") from None


# writing
# -------


def write_text(text: str | bytes) -> bytes:
    """Write a text, or octets, with their length.

    >>> write_text("URL").hex()
    '0000000355524c'
    """
    octets = text.encode() if isinstance(text, str) else text
    return _NUMBER.pack(len(octets)) + octets


def write_list(entries: Sequence[bytes]) -> bytes:
    """Write a list: the number of its entries, and the entries."""
    return _NUMBER.pack(len(entries)) + b"".join(entries)


def write_resolution(handle: str, values: Sequence[bytes]) -> bytes:
    """Write the body of the answer to a resolution request (section 3.2.2)."""
    return write_text(handle) + write_list(values)


def write_header(
    asked: Header, code: int, flags: int, serial: int, expires: int, body: int
) -> bytes:
    """Write the header of an answer. `flags` are added to those that an answer repeats."""
    kept = (asked.flags & _ECHOED) | flags
    return _HEADER.pack(asked.opcode, code, kept, serial, 0, 0, expires, body)


def write_envelope(asked: Envelope, length: int, *, flags: int = 0, sequence: int = 0) -> bytes:
    """Write the envelope of an answer, or of a piece of it; `length` is that of the whole."""
    if asked.suggests_version:
        flags |= MAJOR << 8 | MINOR
    return _ENVELOPE.pack(
        MAJOR, min(asked.minor, MINOR), flags, asked.session, asked.request_id, sequence, length
    )


def split_message(asked: Envelope, message: bytes) -> Iterable[bytes]:
    """Yield the datagrams of an answer (section 2.3): one, or several of `PIECE` octets each."""
    length = len(message)
    if length <= PIECE:
        yield write_envelope(asked, length) + message
        return
    for sequence, at in enumerate(range(0, length, PIECE)):
        envelope = write_envelope(asked, length, flags=EnvelopeFlag.TRUNCATED, sequence=sequence)
        yield envelope + message[at : at + PIECE]


def write_credential(algorithm: str, signature: bytes) -> bytes:
    """Write a credential with a signature by the key in the site information (section 2.2.4).

    The signer is left out: then it is the server (section 2.2.4, "Signer").
    """
    signed = write_text(algorithm) + write_text(signature)
    inner = b"\0\0\0\0" + write_text("") + _NUMBER.pack(0) + write_text("HS_SIGNED")
    inner += _NUMBER.pack(len(signed)) + signed
    return _NUMBER.pack(len(inner)) + inner


NO_CREDENTIAL = _NUMBER.pack(0)
