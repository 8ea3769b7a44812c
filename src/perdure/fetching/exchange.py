"""One request and its response, as they were on the wire, and the limits on time and size.

What must stay true: `sent` and `received` are the original bytes, so that they can go into an
archive file. `truncated` says why a response was cut off, in the words of WARC-Truncated.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.errors.servers import ServerUnreachable
from perdure.formats.essence import strip_parameters


class Cause(enum.Enum):
    """The reason why a server could not be reached; a closed list, for machines."""

    NAME = "name"
    """No name server knows the host."""
    CONNECTION = "connection"
    """The server does not accept the connection, or closes it without an answer."""
    TLS = "tls"
    """The certificate or the handshake is wrong."""
    TIME = "time"
    PROTOCOL = "protocol"
    """The answer is not HTTP/1."""
    REDIRECTS = "redirects"
    """There are too many redirects, or they form a circle."""


class Unreachable(ServerUnreachable):
    """The server could not be reached. `cause` says why, for machines."""

    cause: str
    """One of `Cause`, as text."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one request."""

    connect_seconds: float = 10.0
    """Time for the name, the connection and the handshake."""
    seconds: float = 60.0
    """Time for the complete exchange."""
    head: int = 64 << 10
    """Bytes of the head of a response."""
    body: int = 64 << 20
    """Bytes of a body on the wire; the rest is cut off. Held in memory, up to twice."""
    inflated: int = 64 << 20
    """Bytes of a body after its content coding is decoded."""
    redirects: int = 10


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its response."""

    url: str
    """The requested URL, in the form in which it was sent."""
    address: str
    """The network address of the server."""
    began: str
    """Time of the request, UTC: `2026-11-21T01:02:03Z`."""
    sent: bytes
    received: bytes
    """The response from its status line on, with its transfer coding; without interim responses."""
    head_length: int
    """Bytes of `received` up to and including the empty line."""
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """In order; bytes beyond ASCII are decoded as ISO 8859-1."""
    body: bytes
    """Without its transfer coding, with its content coding."""
    truncated: str | None = None
    """None if the response is complete, otherwise `length`, `time` or `disconnect`."""

    @property
    def head(self) -> bytes:
        """The head as received."""
        return self.received[: self.head_length]

    def find_header(self, name: str) -> str | None:
        """Return the first value of a header field, in any case of its name, or None."""
        folded = name.lower()
        return next((value for field, value in self.headers if field.lower() == folded), None)

    @property
    def media_type(self) -> str:
        """The media type in the response, in lower case, without parameters; empty if missing."""
        return strip_parameters(self.find_header("Content-Type") or "")
