"""HTTP/1.1 connections that pass on the request target byte for byte: the only file that does so.

An identifier is a request target: `GET pdi://…#char=37,51`, `GET pwid:…`, `GET /ark:/1/x?`. Servers
mangle such targets (they lose the scheme, cut at `#`, drop an empty `?`) or refuse them. Here the
application calls `get_raw_target(scope)` and gets the bytes between the two spaces.

How it works (`RawTargetProtocol`, uvicorn's httptools protocol, on llhttp):

1. Between two messages, bytes are held back until one complete head has arrived, up to its blank
   line. One regular expression splits the request line, strictly.
2. llhttp is fed the same head under a harmless request line, `GET / HTTP/1.x`. Method and target do
   not affect the framing of a request (except CONNECT, which is refused), so llhttp's judgement of
   the rest stays the same.
3. Only llhttp decides if there is a body and where it ends. A body is fed in pieces, cut so that
   its end is always the end of a piece (with a length: after the last byte; chunked: after each
   CRLFCRLF, since a chunked message ends with nothing else). If llhttp begins or ends a message at
   any other place, that is an error: so no request line ever bypasses step 1.
4. One message at a time: the next head is read when the previous answer is complete. Pipelined
   requests wait as bytes.
5. A GET or HEAD without a body may be answered at once, without scope, task or event, by a function
   passed to `make_protocol_class`, or later if the function must wait (`AnswerLater`). A PUT or
   POST whose body came with its head, or a DELETE without one, may go to another function, which
   answers later. llhttp is
   not fed again the header fields that it has just read on the same connection, since its input
   would be these fields and a constant. For such a write, the length may differ.
6. `perdure.server.protocol.ending` defines how a connection ends.

What must stay true: whatever llhttp refuses is answered 400 and the connection closed, and the
checks around it only refuse more (a second or malformed Host, any coding except chunked). A head is
never awaited longer than `head_seconds` or kept beyond `LONGEST_HEAD`; a client that neither reads
nor sends is cut off (`perdure.server.protocol.stalls`); bytes that wait for their
turn exceed uvicorn's high-water mark by at most one read.

This subclasses a semi-private class of uvicorn; so the minor version is pinned, and
vectors/targets.json tests it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, cast
from urllib.parse import unquote

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from perdure.errors.configuring import TargetsNotPassed
from perdure.errors.root import count_seconds
from perdure.server.protocol.ending import Ending, close_gently
from perdure.server.protocol.head import (
    BAD_HOST,
    EMPTY_LINES,
    HOST_FIELD,
    LONGEST_HEAD,
    REQUEST_LINE,
    Headers,
    Refusal,
    explain_refusal,
    find_early_refusal,
    is_target,
    split_fields,
)
from perdure.server.protocol.limits import ClientLimits
from perdure.server.protocol.stalls import StallWatch

Fast = Callable[[bytes, bytes, bytes], bytes | None]
"""`fast(method, target, fields)`: a complete HTTP/1.1 response, or None if the application should
answer. Called only for GET and HEAD without a body on a connection that stays open.

`fields` is the received text after the request line, from its CRLF to the empty line inclusive,
already found well-formed; `header_fields` splits it. Clients repeat the same fields, so a cache of
their meaning should use the complete text as its key.

The header fields that the server adds to every answer (Date, Server) are inserted after the status
line. `fast` must not block, must raise nothing but `AnswerLater`, must leave out the body for HEAD,
and must set Content-Length whenever its status allows a body."""

FastWrite = Callable[[bytes, bytes, bytes, bytes, Callable[[bytes], None]], bool]
"""`fast_write(method, target, fields, body, answer)`: True if it takes the message. It then calls
`answer` once, later, in the event loop, with a complete response as above. If False, the
application answers. Called only for PUT and POST, if the complete body has arrived together with
the head, and for DELETE without a body. The Content-Length among the fields may be that of an
earlier message whose other fields were the same."""

EXTENSION = "perdure.target"
"""`scope["extensions"][EXTENSION]["raw"]` is the request target as it was received; with
`"has_ended"` there, `sends_no_more` asks the connection."""

_UPGRADE_FIELD = re.compile(rb"\r\nupgrade:[^\r]*", re.IGNORECASE)
_LENGTH_FIELD = re.compile(rb"\r\ncontent-length:[ \t]*([1-9][0-9]*)[ \t]*\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"[1-9][0-9]{0,8}+")
_CHUNKED = -1
_LONGEST_FAMILIAR = 2048  # bytes, kept by each connection
_SAFE = frozenset((b"GET", b"HEAD"))
_WRITES = frozenset((b"PUT", b"POST"))


def get_raw_target(scope: Mapping[str, Any]) -> bytes:
    """Return the request target of an ASGI scope, byte for byte as it was sent: visible ASCII.

    Raises BadSettings under a server that does not pass it on, rather than guess from `path`.
    """
    try:
        return cast("bytes", scope["extensions"][EXTENSION]["raw"])
    except KeyError:
        raise TargetsNotPassed(setting="http", value=scope.get("type")) from None


def sends_no_more(scope: Mapping[str, Any]) -> bool:
    """Return True if the client has closed its sending side. It may have left; it may still read.

    Under a server that does not report it, this is False.
    """
    asked = scope["extensions"].get(EXTENSION, {}).get("has_ended")
    return asked is not None and bool(asked())


def _has_one_length(fields: bytes) -> bool:
    """Return True if there is one Content-Length. Two equal ones must not become different."""
    return fields.lower().count(b"\ncontent-length") == 1


class _Outlet:
    """The transport for uvicorn's response cycle. The protocol decides how it is closed."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close


class AnswerLater(Exception):
    """Raised by a `Fast` that must wait for something before it can answer.

    `start(again)` begins to wait, and later calls `again` once, in the event loop. Then the `Fast`
    is called again for the same message. It may raise this again.
    """

    def __init__(self, start: Callable[[Callable[[], None]], object]) -> None:
        self.start = start


class _UnexpectedMessage(Exception):
    """llhttp began a message at a place that is not the start of one."""


# In mypy's view uvicorn's eof_received returns nothing; asyncio's returns True to stay open.
class RawTargetProtocol(Ending, HttpToolsProtocol):  # type: ignore[misc]
    """uvicorn's httptools protocol, with raw request targets and fast answers (see the module)."""

    fast: ClassVar[Fast | None] = None
    fast_write: ClassVar[FastWrite | None] = None
    head_seconds: ClassVar[float] = 10.0
    watch: ClassVar[StallWatch | None] = None
    limits: ClassVar[ClientLimits | None] = None
    end_waits: ClassVar[Callable[[], None] | None] = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # uvicorn's own parser is lenient about bytes after the last message; none are fed here
        self.parser = httptools.HttpRequestParser(self)
        self._rest = b""  # received, not yet fed
        self._deaf = False  # a message was refused or the connection lost: read no more
        self._answering = False  # the application owes an answer
        self._promised = False  # that answer is a fast one, which is not written yet
        self._last = False  # the connection ends after it
        self._head_begun = False  # a part of a head has arrived
        self._deadline = 0.0  # on the loop's clock; valid while the application owes nothing
        self._limits = type(self).limits
        self._client: str | None = None  # whose limits hold for a message with the fields `_judged`
        self._judged: bytes | None = None
        self._unlimited: bytes | None = None  # the fields of a client without limits
        self._fast = type(self).fast
        self._fast_write = type(self).fast_write
        # The fields of the last message without a body that others could follow. llhttp is always
        # fed the same request line, and such a message does not change its state: if a client sends
        # the same fields again, as clients do, its judgement is known.
        self._familiar = b""
        self._familiar_end = b""  # what follows the target in a message with these fields
        # The same for the last fast write: its fields, and the parts of them before and after its
        # length, which differs from body to body.
        self._familiar_write = b"", b"", b""
        # of the message being read
        self._expected = False  # llhttp is about to begin it
        self._persistent: bool | None = None  # others may follow it; None until its head is read
        self._complete = False
        self._body_left = 0  # bytes of its body still to come, or _CHUNKED, or 0
        self._tail = b""  # of a chunked body: the last three bytes fed
        self._barren = 0  # of a chunked body: bytes fed since the last content
        # the fields that every answer gets, after a CRLF, and the list they were written from
        self._added = b"\r\n"
        self._added_from: Headers = []

    # bytes in
    # --------

    def data_received(self, data: bytes) -> None:
        if self._rest or self._answering or self._body_left or self._deaf or self.flow.write_paused:
            self._rest = self._rest + data if self._rest else data
            self._feed_received()
            return
        # Nearly always this is one complete head, with the same fields as the previous one.
        end = self._familiar_end
        if end and data.endswith(end) and data.startswith(b"GET "):
            target = data[4 : -len(end)]
            if is_target(target):
                self._complete = self._persistent = True
                self._take_message(b"GET", target, b"1", self._familiar)
                return
        line = REQUEST_LINE.match(data)
        if line is not None:
            method, target, minor = line.groups()
            if minor == b"1":
                if data[line.end() - 2 :] == self._familiar:
                    self._complete = self._persistent = True
                    self._take_message(method, target, minor, self._familiar)
                    return
                if method in _WRITES and self._take_familiar_write(data, line):
                    return
        self._rest = data
        self._feed_received()

    def _feed_received(self) -> None:
        """Feed llhttp as much as it may get now."""
        while self._rest:
            if self._deaf:
                self._rest = b""
            elif self._body_left:
                self._take_body()
            elif self._answering or self.flow.write_paused:
                if len(self._rest) > HIGH_WATER_LIMIT:
                    self.flow.pause_reading()
                return
            elif not self._take_head():
                return

    def _take_head(self) -> bool:
        """Take the head of the next message from the received bytes. Return False if incomplete."""
        rest = self._rest
        line = REQUEST_LINE.match(rest)
        if line is None:
            return self._wait_for_head()
        end = rest.find(b"\r\n\r\n", line.end() - 2) + 4
        if end < 4 or end > LONGEST_HEAD:
            return self._wait_for_head()
        self._rest = rest[end:]
        self._head_begun = False
        method, target, minor = line.groups()
        fields = rest[line.end() - 2 : end]
        refusal = self._judge_head(minor, fields)
        if refusal is not None:
            self._refuse_message(refusal)
            return False
        self._take_message(method, target, minor, fields)
        return True

    def _wait_for_head(self) -> bool:
        """Handle received bytes that do not begin with a complete, acceptable head."""
        rest = self._rest
        end = rest.find(b"\r\n\r\n") + 4
        if rest.startswith(b"\r\n"):
            self._rest = EMPTY_LINES.sub(b"", rest, count=1)
            self._head_begun = False
            return True
        refusal = find_early_refusal(rest) if end < 4 else explain_refusal(rest[:end])
        if refusal is not None:
            self._refuse_message(refusal)
        elif not self._head_begun:
            self._head_begun = True
            self._close_in(self.head_seconds)
        return False

    def _judge_head(self, minor: bytes, fields: bytes) -> Refusal | None:
        """Let llhttp read a head, and return the reason to refuse it, or None.

        `fields` is everything after the request line, including its CRLF and the empty line.
        """
        line = b"GET / HTTP/1." + minor
        try:
            try:
                self._feed_head(line + fields)
            except httptools.HttpParserUpgrade:
                # The server speaks only HTTP/1.1 and may ignore the field (RFC 9110 section 7.8).
                # llhttp cannot: it would take a body for bytes of the other protocol.
                self.parser = httptools.HttpRequestParser(self)
                self._feed_head(line + _UPGRADE_FIELD.sub(b"", fields))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            return Refusal(400, f"not HTTP/1.1: {error}")
        if self._persistent is None:
            return Refusal(400, "the header does not end at its first empty line")
        hosts = fields.lower().count(b"\nhost:")
        if hosts != 1 and (hosts or minor == b"1"):  # RFC 9112 section 3.2
            return Refusal(400, f"one Host field is needed, but there are {hosts}")
        if hosts and HOST_FIELD.search(fields) is None:
            return BAD_HOST
        if minor == b"0":
            self._persistent = False  # as in uvicorn; this costs little
        elif self._complete and self._persistent and len(fields) <= _LONGEST_FAMILIAR:
            self._familiar, self._familiar_end = fields, b" HTTP/1.1" + fields
        return None

    def _feed_head(self, head: bytes) -> None:
        self._expected, self._persistent, self._complete = True, None, False
        self.parser.feed_data(head)

    def _take_message(
        self, method: bytes, target: bytes, minor: bytes, fields: bytes, *, counted: bool = False
    ) -> None:
        """Continue after a head: with a fast answer, or with the application and the body.

        A message that was counted before is not counted again for the limits of its client.
        """
        # Nearly all clients repeat their fields, which then are the same value.
        if fields is not self._unlimited and not counted and self._exceeds_limits(fields):
            return
        fast = self._fast
        if fast is not None and self._complete and self._persistent and method in _SAFE:
            try:
                answer = fast(method, target, fields)
            except AnswerLater as later:
                self._answering = self._promised = True
                later.start(partial(self._take_again, method, target, minor, fields))
                return
            if answer is not None:
                self._write_answer(answer)
                if self._client is not None:
                    self._charge_bytes(len(answer))
                self.server_state.total_requests += 1
                self._deadline = self.loop.time() + self.timeout_keep_alive  # a timer is running
                if self.access_log:
                    self._log_answer(method, target, answer)
                return
        headers = split_fields(fields)
        refusal = None if self._complete else self._expect_body(minor, headers)
        if refusal is None and self._take_write(method, target, fields):
            return
        if refusal is None:
            self._hand_over(method, target, "1.1" if minor == b"1" else "1.0", headers)
        else:
            self._refuse_message(refusal)

    def _take_again(self, method: bytes, target: bytes, minor: bytes, fields: bytes) -> None:
        """Continue with a message for which a fast answer had to wait."""
        self._answering = self._promised = False
        if self._deaf or self.transport.is_closing():
            return
        self._take_message(method, target, minor, fields, counted=True)
        if not self._answering:
            self._go_on()
        if self._last:
            self.shutdown()

    def _exceeds_limits(self, fields: bytes) -> bool:
        """Count the request of a client, and refuse it if the client has used its share."""
        limits = self._limits
        if limits is None:
            self._unlimited = fields
            return False
        if fields is not self._judged:
            peer = self.client[0] if self.client else ""
            self._judged, self._client = fields, limits.find_client(peer, fields)
            self._unlimited = fields if self._client is None else None
        refusal = None if self._client is None else limits.judge_client(self._client)
        if refusal is None:
            return False
        self._refuse_message(refusal)
        return True

    def _charge_bytes(self, sent: int) -> None:
        if self._client is not None and self._limits is not None:
            self._limits.charge_bytes(self._client, sent)

    def _take_write(self, method: bytes, target: bytes, fields: bytes) -> bool:
        """Answer a small write without the application. Return False if the application should."""
        length = self._body_left
        if self._fast_write is None or not self._persistent or self.access_log:
            return False
        if method == b"DELETE" and self._complete:
            taken = self._fast_write(method, target, fields, b"", self._answer_write)
            if taken:
                self._answering = self._promised = True
            return taken
        if method not in _WRITES or not 0 < length <= len(self._rest):
            return False
        if not self._fast_write(method, target, fields, self._rest[:length], self._answer_write):
            return False
        self._take_body()
        self._answering = self._promised = True
        told = _LENGTH_FIELD.search(fields)
        if told is not None and len(fields) <= _LONGEST_FAMILIAR and _has_one_length(fields):
            self._familiar_write = fields, fields[: told.start(1)], fields[told.end(1) :]
        return True

    def _take_familiar_write(self, data: bytes, line: re.Match[bytes]) -> bool:
        """Do the same for a message like the last one, with a body of any length."""
        fields, before, behind = self._familiar_write
        if self._fast_write is None or not before or not data.startswith(before, line.end() - 2):
            return False
        length = _LENGTH.match(data, line.end() - 2 + len(before))
        if length is None or not data.startswith(behind, length.end()):
            return False
        body = data[length.end() + len(behind) :]
        if len(body) != int(length[0]):
            return False
        if self._exceeds_limits(fields):
            return True
        if not self._fast_write(line[1], line[2], fields, body, self._answer_write):
            return False
        self._complete = self._persistent = True
        self._answering = self._promised = True
        return True

    def _answer_write(self, answer: bytes) -> None:
        self._promised = False
        if not self._deaf and not self.transport.is_closing():
            self._write_answer(answer)
            self._charge_bytes(len(answer))
            if self._last:
                self.transport.close()
        self.on_response_complete()

    def shutdown(self) -> None:
        """Called by uvicorn when the server stops. An answer that is under way is finished."""
        if end_waits := type(self).end_waits:
            end_waits()
        if self._promised:
            self._last = True
        else:
            super().shutdown()

    def _expect_body(self, minor: bytes, headers: Headers) -> Refusal | None:
        """Set how the body of the message ends, now that llhttp has accepted its head."""
        self.expect_100_continue = minor == b"1" and any(  # RFC 9110 section 10.1.1
            name == b"expect" and value.lower() == b"100-continue" for name, value in headers
        )
        for name, value in headers:
            if name == b"content-length":  # llhttp allows it once, and not together with a coding
                self._body_left = int(value.lstrip(b"0"))
                return None
        codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
        if codings != [b"chunked"]:
            return Refusal(501, "chunked is the only transfer coding supported")
        if minor == b"0":  # RFC 9112 section 6.1
            return Refusal(400, "HTTP/1.0 has no transfer codings")
        self._body_left, self._tail, self._barren = _CHUNKED, b"", 0
        return None

    def _take_body(self) -> None:
        """Feed the received bytes of a body, never beyond its end."""
        if not self._answering:
            self._close_in(self.timeout_keep_alive)  # the answer came before the end of the body
        try:
            if self._body_left == _CHUNKED:
                self._take_chunks()
            else:
                piece = self._rest[: self._body_left]
                self._rest = self._rest[len(piece) :]
                self.parser.feed_data(piece)
                left = self._body_left - len(piece)
                if self._complete != (left == 0):
                    raise httptools.HttpParserError("the body does not end where it should")
                self._body_left = left
        except httptools.HttpParserError as error:
            self._refuse_message(Refusal(400, f"not HTTP/1.1: {error}"))
            return
        if self._barren > LONGEST_HEAD:
            self._refuse_message(Refusal(431, f"trailers are longer than {LONGEST_HEAD} bytes"))
        elif self._complete:
            self._body_left = 0

    def _take_chunks(self) -> None:
        """Feed a chunked body up to each CRLFCRLF, even inside a chunk: it can end only there."""
        received = self._tail + self._rest
        view = memoryview(received)
        fed = len(self._tail)
        while fed < len(received) and not self._complete:
            found = received.find(b"\r\n\r\n", max(fed - 3, 0))
            end = found + 4 if found >= 0 else len(received)
            self._barren += end - fed
            self.parser.feed_data(view[fed:end])
            fed = end
        self._tail = received[max(fed - 3, 0) : fed]
        self._rest = received[fed:]

    # llhttp's callbacks
    # ------------------

    # llhttp need not report fields: the head is read from the held back bytes, trailers are ignored
    on_url = None  # type: ignore[assignment]
    on_header = None  # type: ignore[assignment]

    def on_message_begin(self) -> None:
        if not self._expected:
            raise _UnexpectedMessage
        self._expected = False

    def on_headers_complete(self) -> None:
        # ask now: llhttp forgets it at the end of the message
        self._persistent = self.parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._barren = 0
        if self._answering:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._complete = True
        if self._answering:
            super().on_message_complete()

    # answers out
    # -----------

    def _write_answer(self, answer: bytes) -> None:
        """Send a complete response, with the fields that every answer gets."""
        if self._added_from is not self.server_state.default_headers:
            self._write_added_fields()
        self.transport.write(answer.replace(b"\r\n", self._added, 1))

    def _write_added_fields(self) -> None:
        """Write out the fields that every answer gets; uvicorn makes a new list each second."""
        self._added_from = self.server_state.default_headers
        self._added = b"\r\n" + b"".join(b"%s: %s\r\n" % field for field in self._added_from)

    def _log_answer(self, method: bytes, target: bytes, answer: bytes) -> None:
        """Log a fast answer in the way that uvicorn logs the application's answers."""
        client = ":".join(map(str, self.client or ()))
        line = b"%s %s HTTP/1.1" % (method, target)
        self.access_logger.info('%s - "%s" %d', client, line.decode(), int(answer[9:12]))

    def _hand_over(self, method: bytes, target: bytes, version: str, headers: Headers) -> None:
        """Start the application for a message whose head was read."""
        self._answering = True
        raw_path, _, query = target.partition(b"?")
        path = raw_path.decode()
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": method.decode(),
            "root_path": self.root_path,
            "path": self.root_path + (unquote(path) if "%" in path else path),
            "raw_path": self.root_path.encode() + raw_path,
            "query_string": query,
            "headers": headers,
            "state": self.app_state.copy(),
            "extensions": {EXTENSION: {"raw": target, "has_ended": self.has_ended}},
        }
        self.cycle = RequestResponseCycle(
            scope=self.scope,
            transport=cast("asyncio.Transport", _Outlet(self.transport, self._end_connection)),
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue and not self._complete,
            keep_alive=bool(self._persistent),
            on_response=self.on_response_complete,
        )
        if self._complete:
            self.cycle.more_body = False
            self.cycle.message_event.set()
        limit = self.limit_concurrency
        crowded = limit is not None and max(len(self.connections), len(self.tasks)) >= limit
        self._start_asgi_task(self.cycle, service_unavailable if crowded else self._run_application)

    def on_response_complete(self) -> None:
        self._answering = False
        self.server_state.total_requests += 1
        self._go_on()

    def _go_on(self) -> None:
        """Go on to the next message, if the connection has one."""
        if not self._deaf and not self.transport.is_closing():
            self._close_in(self.timeout_keep_alive)
            self.flow.resume_reading()
            self._feed_received()
            self._close_when_done()

    def _may_ask(self) -> bool:
        if not self._answering or self._promised or self.cycle is None:
            return False
        return not self.cycle.response_started and self.scope["http_version"] == "1.1"

    def _close_when_done(self) -> None:
        if not self._ended:
            return
        waiting = self._rest and self.flow.write_paused
        if self._deaf or not (self._answering or waiting):
            self.transport.close()
        elif self._body_left and self.cycle.response_started:
            self._refuse_message(Refusal(400, "the body breaks off"))
        elif self._body_left:
            self._body_left = 0
            self._break_off()

    def _end_connection(self) -> None:
        """End the connection after an answer, even if the client is still sending its message."""
        if not self._body_left:
            self.transport.close()
            return
        self._deaf, self._rest, self._body_left = True, b"", 0
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        self.timeout_keep_alive_task = close_gently(self.loop, self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._answering and not self.transport.is_closing():
            self.flow.resume_reading()
            self._feed_received()
            self._close_when_done()

    def _refuse_message(self, refusal: Refusal) -> None:
        """Refuse a malformed message, with an answer if one is due, and end the connection."""
        self.logger.info("refused: %s", refusal.detail)
        self._deaf, self._rest = True, b""
        in_body, self._body_left = self._body_left != 0, 0
        self._unset_keepalive_if_required()
        owed = not in_body or (self._answering and not self.cycle.response_started)
        if self._answering:
            self.cycle.disconnected = True  # the application sees this and writes no more
            self.cycle.message_event.set()
        if owed:
            self.flow.resume_reading()
            response = refusal.write_response(self.server_state.default_headers)
            self.transport.write(response)
            self.timeout_keep_alive_task = close_gently(self.loop, self.transport)
        else:
            self.transport.close()

    # time
    # ----

    @property
    def is_busy(self) -> bool:
        return self._answering or bool(self._body_left)

    @property
    def awaits_body(self) -> bool:
        return bool(self._body_left) and self._answering and not self.flow.read_paused

    def end_stalled_body(self) -> None:
        self._refuse_message(Refusal(408, "the body arrives too slowly"))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # uvicorn deviates from asyncio's signature, too: it knows only one kind of transport
        super().connection_made(transport)
        self._close_in(self.head_seconds)
        if self.watch is not None:
            self.watch.begin(self.loop, cast("set[RawTargetProtocol]", self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        self._deaf, self._rest = True, b""
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def _close_in(self, seconds: float) -> None:
        """Close at the deadline, unless it is moved or the application owes an answer.

        One timer serves a connection for its complete life and checks the deadline when it fires.
        While nothing is being answered, a timer is running that fires within `timeout_keep_alive`
        (or one second, if that is longer), so that a fast answer need only move the deadline.
        """
        self._deadline = self.loop.time() + seconds
        timer = self.timeout_keep_alive_task
        if timer is None or timer.when() > self._deadline:
            self._unset_keepalive_if_required()
            self._start_timer()

    def _start_timer(self) -> None:
        due = min(self._deadline, self.loop.time() + max(self.timeout_keep_alive, 1))
        self.timeout_keep_alive_task = self.loop.call_at(due, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self.transport.is_closing() or self._answering:
            return
        if self.loop.time() < self._deadline - 0.002:  # uvloop's clock ticks in milliseconds
            self._start_timer()
        elif self._head_begun:
            self._refuse_message(
                Refusal(408, f"no complete header within {count_seconds(self.head_seconds)}")
            )
        else:
            self.transport.close()


def make_protocol_class(
    fast: Fast | None,
    fast_write: FastWrite | None = None,
    *,
    head_seconds: float = 10.0,
    client_seconds: float | None = None,
    limits: ClientLimits | None = None,
    end_waits: Callable[[], None] | None = None,
) -> type[RawTargetProtocol]:
    """Make the class for uvicorn's `http=`, with fast answers and time limits.

    A head must be complete after `head_seconds`; a client that takes nothing of an answer, or sends
    nothing of its body, is cut off after `client_seconds`. A client beyond its `limits` is refused.
    When the server stops, `end_waits` has to let requests that wait for an event be answered.
    """

    class ConfiguredProtocol(RawTargetProtocol):
        pass

    ConfiguredProtocol.fast = fast
    ConfiguredProtocol.fast_write = fast_write
    ConfiguredProtocol.head_seconds = head_seconds
    ConfiguredProtocol.watch = StallWatch(client_seconds) if client_seconds else None
    ConfiguredProtocol.limits = limits
    ConfiguredProtocol.end_waits = end_waits
    return ConfiguredProtocol
