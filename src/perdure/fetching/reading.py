"""Read a response from the bytes of a connection, and keep these bytes unchanged.

How it works: `ResponseReader` is fed the bytes that arrive. It parses the head itself, because an
archive also needs responses with header fields that a strict parser rejects, and drops interim
responses (RFC 9110 section 15.2). llhttp then gets the fields that delimit the body, and the body.
It finds the end of the body and removes the transfer coding. Nothing here does I/O.

What must stay true: `received` has the bytes that were fed, without interim responses and without
bytes after the end; no more is kept than the limits allow.
"""

from __future__ import annotations

import re
from typing import Any

from perdure.errors.root import count_things
from perdure.fetching.exchange import Limits

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/1\.[0-9] ([1-9][0-9]{2})(?: ([^\r\n]*))?\r?\n")
# matches only from the start of a line, so each line is read once; a line may be folded
_FIELD = re.compile(
    rb"^([^\r\n:]*):((?:[^\r\n]|\r(?!\n)|\r?\n[ \t])*)",
    re.MULTILINE,
)
_INTERIM = range(100, 200)


class NotHttp(ValueError):
    """The server's answer is not an HTTP/1 response."""


class ResponseReader:
    """One response while it arrives."""

    def __init__(self, limits: Limits, *, method: str) -> None:
        self._limits = limits
        self._bodiless = method == "HEAD"
        self._parser: Any = None
        self._received = bytearray()
        self._body = bytearray()
        self._searched = 0
        self.head_length = 0
        self.status = 0
        self.reason = ""
        self.headers: list[tuple[str, str]] = []
        self.done = False
        """Whether the response is complete, or no more of it is wanted."""
        self.truncated: str | None = None

    @property
    def received_bytes(self) -> bytes:
        return bytes(self._received)

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    def feed_piece(self, piece: bytes) -> None:
        """Read a piece of the response. Raises NotHttp."""
        if not self.done:
            self._received += piece
            if self._parser is None:
                self._read_head()
            else:
                self._parse_piece(piece)

    def end_response(self) -> None:
        """Handle the end of the connection. Raises NotHttp if there was no complete head."""
        if self._parser is None:
            raise NotHttp("it closed the connection before the end of the head")
        if not self.done:
            self._note_disconnect()
            self.done = True

    def stop_reading(self, why: str) -> None:
        """Stop reading: the response is cut off here, for the reason given."""
        self.truncated, self.done = why, True

    def _note_disconnect(self) -> None:
        names = {name.lower() for name, _ in self.headers}
        if names & {"content-length", "transfer-encoding"}:
            self.truncated = "disconnect"  # otherwise the body ends with the connection

    def _read_head(self) -> None:
        while found := _END_OF_HEAD.search(self._received, self._searched):
            line = _STATUS.match(self._received)
            if line is None:
                break
            if int(line[1]) in _INTERIM and int(line[1]) != 101:
                del self._received[: found.end()]
                self._searched = 0
                continue
            self._begin_body(line, found.end())
            return
        self._searched = max(0, len(self._received) - 3)
        if not b"HTTP/1.".startswith(bytes(self._received[:7])):
            raise NotHttp("its answer does not begin with HTTP/1")
        if len(self._received) > self._limits.head or found:
            raise NotHttp("its answer has no status line, or an endless head")

    def _begin_body(self, line: re.Match[bytes], end: int) -> None:
        from httptools import HttpResponseParser

        if end > self._limits.head:
            raise NotHttp(
                f"the head of its answer is longer than {count_things(self._limits.head, 'byte')}"
            )
        self.head_length = end
        self.status = int(line[1])
        self.reason = (line[2] or b"").decode("latin-1")
        received = bytes(self._received)
        del self._received[end:]
        self.headers = [
            (name.strip().decode("latin-1"), b" ".join(value.split()).decode("latin-1"))
            for name, value in _FIELD.findall(received, line.end(), end)
        ]
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_optional_lf_after_cr=True,
            lenient_optional_cr_before_lf=True,
            lenient_data_after_close=True,
        )
        self._parse_piece(self._make_framing())
        if self._bodiless:
            self.done = True
        elif not self.done:
            self._received += received[end:]
            self._parse_piece(received[end:])

    def _make_framing(self) -> bytes:
        """Make a head with only the fields of this one that delimit the body."""
        lengths: dict[str, None] = {}
        codings: list[str] = []
        for name, value in self.headers:
            if name.lower() == "content-length":
                lengths |= dict.fromkeys(value.replace(" ", "").split(","))
            elif name.lower() == "transfer-encoding":
                codings.append(value)
        lines = [f"HTTP/1.1 {self.status} OK", "Connection: close"]
        if codings:  # overrides a length, RFC 9112 section 6.3
            lines.append(f"Transfer-Encoding: {', '.join(codings)}")
        else:
            lines += [f"Content-Length: {length}" for length in lengths]
        return "\r\n".join((*lines, "", "")).encode("latin-1")

    def _parse_piece(self, piece: bytes) -> None:
        from httptools import HttpParserError, HttpParserUpgrade

        try:
            self._parser.feed_data(piece)
        except HttpParserUpgrade:
            self.done = True
        except HttpParserError as error:
            if not self.done:
                raise NotHttp(str(error)) from error
        over = len(self._received) - self.head_length - self._limits.body
        if over > 0:
            del self._received[-over:]
            del self._body[self._limits.body :]
            self.stop_reading("length")

    # called by llhttp

    def on_body(self, piece: bytes) -> None:
        if not self.done:
            self._body += piece

    def on_message_complete(self) -> None:
        self.done = True
