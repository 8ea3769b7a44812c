"""One request and the response to it, as they were on the wire; how long and how much at most.

What must stay true: `sent` and `received` are the bytes themselves, so that they can go into an
archive file. What was cut off says why (`truncated`), in the words of WARC-Truncated.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.errors.servers import ServerUnreachable
from perdure.parts.media_types import strip_parameters


class Cause(enum.Enum):
    """Why a server could not be asked; a closed list, for machines."""

    NAME = "name"
    """No name server knows the host."""
    CONNECTION = "connection"
    """Nobody answers at the address, or hangs up without an answer."""
    TLS = "tls"
    """The certificate or the handshake is wrong."""
    TIME = "time"
    PROTOCOL = "protocol"
    """What came is no HTTP/1."""
    REDIRECTS = "redirects"
    """They lead on and on, or in a circle."""


class Unreachable(ServerUnreachable):
    """A server that could not be asked. `cause` says why, for machines."""

    cause: str
    """One of `Cause`, as text."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one request may cost."""

    connect_seconds: float = 10.0
    """For the name, the connection and the handshake."""
    seconds: float = 60.0
    """For all of an exchange."""
    head: int = 64 << 10
    """Bytes of the head of a response."""
    body: int = 64 << 20
    """Bytes of a body on the wire; what is more is cut off. Held in memory, up to twice."""
    inflated: int = 64 << 20
    """Bytes that a body may have when its content coding is undone."""
    redirects: int = 10


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its response."""

    url: str
    """That was asked for, in the form in which it was."""
    address: str
    """The address of the server that was connected to."""
    began: str
    """When it was asked, UTC: `2026-11-21T01:02:03Z`."""
    sent: bytes
    received: bytes
    """The response from its status line on, with its transfer coding; without interim responses."""
    head_length: int
    """Bytes of `received` up to and with the empty line."""
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """In order; bytes beyond ASCII as in ISO 8859-1."""
    body: bytes
    """Without its transfer coding, with its content coding."""
    truncated: str | None = None
    """None where all of it is there, else `length`, `time` or `disconnect`."""

    @property
    def head(self) -> bytes:
        """The head as received."""
        return self.received[: self.head_length]

    def header(self, name: str) -> str | None:
        """The first value of a header field, whatever the case of its name."""
        folded = name.lower()
        return next((value for field, value in self.headers if field.lower() == folded), None)

    @property
    def media_type(self) -> str:
        """As the server says, in lower case and without parameters; empty where it says nothing."""
        return strip_parameters(self.header("Content-Type") or "")
