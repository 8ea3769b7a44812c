"""The fallback of `perdure.server.protocol.http` on h11, for `http_parser = "h11"` in the settings.

How it works: h11 keeps request targets as they are and frames messages by its own rules. What it
does not refuse and llhttp does is refused here. It is slower, gives no fast answers, and takes a
bare LF for the end of a line, as RFC 9112 section 2.2 allows.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, ClassVar, NoReturn

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from perdure.server.protocol.ending import Ending, close_gently
from perdure.server.protocol.head import BAD_HOST, HOST, LONGEST_HEAD, LONGEST_TARGET, Refusal
from perdure.server.protocol.http import EXTENSION

_QUOTED = re.compile(r": (?:bytearray\()?b['\"].*")
"""What h11 adds to a reason: the bytes that it could not read, which may be anybody's secret."""


class _TargetKeepingConnection(h11.Connection):
    """h11, noting each target and why a message was refused, and refusing a little more."""

    target = b""
    refusal = Refusal(400, "not HTTP/1.1")

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            event = super().next_event()
        except h11.RemoteProtocolError as error:
            reason = _QUOTED.sub("", str(error))
            self.refusal = Refusal(error.error_status_hint, f"not HTTP/1.1: {reason}")
            raise
        if isinstance(event, h11.Request):
            self._check(event)
            self.target = event.target
        return event

    def _check(self, request: h11.Request) -> None:
        names = {name for name, _ in request.headers}
        size = len(request.target) + sum(len(name) + len(value) for name, value in request.headers)
        coded = b"transfer-encoding" in names
        if request.http_version not in (b"1.0", b"1.1"):
            self._refuse(Refusal(505, "HTTP/1.1 and HTTP/1.0 are spoken here"))
        if request.method == b"CONNECT":
            self._refuse(Refusal(405, "this is an origin server, not a proxy"))
        if len(request.target) > LONGEST_TARGET:
            self._refuse(Refusal(414, f"the request target is longer than {LONGEST_TARGET} bytes"))
        if size > LONGEST_HEAD:  # h11 measures only what arrives in parts
            self._refuse(
                Refusal(431, f"request line and header are longer than {LONGEST_HEAD} bytes")
            )
        if coded and (b"content-length" in names or request.http_version == b"1.0"):
            self._refuse(Refusal(400, "a transfer coding in HTTP/1.0, or beside a Content-Length"))
        if not all(HOST.fullmatch(value) for name, value in request.headers if name == b"host"):
            self._refuse(BAD_HOST)

    def _refuse(self, refusal: Refusal) -> NoReturn:
        self.refusal = refusal
        raise h11.RemoteProtocolError(refusal.detail, error_status_hint=refusal.status)


# mypy sees that uvicorn's eof_received tells nothing; asyncio's tells whether to stay open.
class RawTargetH11Protocol(Ending, H11Protocol):  # type: ignore[misc]
    """uvicorn's h11 protocol, with raw request targets (see the module)."""

    head_seconds: ClassVar[float] = 10.0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.app = self._run
        self.conn: _TargetKeepingConnection = _TargetKeepingConnection(h11.SERVER, LONGEST_HEAD)
        self._deaf = False
        self._asked = False  # a whole head has been read
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # uvicorn's own deviation from asyncio's signature: of transports it knows one kind only
        super().connection_made(transport)
        self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deaf = True
        self._time_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._deaf:
            super().data_received(data)
            self._time_head()
            self._time_idleness()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._time_head()
        self._close_when_done()

    def _close_when_done(self) -> None:
        if not self._ended:
            return
        answering = self._asked and not self.cycle.response_complete
        if self._deaf or not answering:
            self.transport.close()
        elif self.conn.their_state is h11.SEND_BODY and self.cycle.response_started:
            self._refuse(Refusal(400, "the body breaks off"))
        elif self.conn.their_state is h11.SEND_BODY:
            self._break_off()

    def _time_head(self) -> None:
        """Have the timer run while a part of a head is waited for, and then only."""
        ended = self._deaf or self.transport.is_closing()
        waiting = self.conn.their_state is h11.IDLE and not ended
        begun = not self._asked or bool(self.conn.trailing_data[0])
        if waiting and begun and self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._too_slow)
        elif self._head_timer is not None and not (waiting and begun):
            self._head_timer.cancel()
            self._head_timer = None

    def _time_idleness(self) -> None:
        """Have uvicorn's timer run again, which it stops when bytes come and starts behind answers.

        They may have been of a body that was answered before it was sent.
        """
        idle = self._asked and self.cycle.response_complete and self._head_timer is None
        if idle and self.timeout_keep_alive_task is None and not self._deaf:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _too_slow(self) -> None:
        if self.conn.trailing_data[0]:
            detail = f"no whole header came within {self.head_seconds:g} seconds"
            self._refuse(Refusal(408, detail))
        else:
            self.transport.close()

    def _should_upgrade(self) -> bool:
        # uvicorn asks when the scope is complete and nothing has been started: the one place to
        # put the target in. Nothing but HTTP/1.1 is spoken here.
        self.scope["extensions"] = {EXTENSION: {"raw": self.conn.target}}
        self._asked = True
        return False

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  (uvicorn's signature)
        self._refuse(self.conn.refusal)

    def _refuse(self, refusal: Refusal) -> None:
        """Answer what cannot be read, where an answer is owed, and end the connection."""
        self.logger.info("refused: %s", refusal.detail)
        self._deaf = True
        self._time_head()
        self._unset_keepalive_if_required()
        owed = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if self._asked and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application reads this and writes no more
            self.cycle.message_event.set()
        if owed:
            self.flow.resume_reading()
            response = refusal.response(self.server_state.default_headers)
            self.transport.write(response)
            self.timeout_keep_alive_task = close_gently(self.loop, self.transport)
        else:
            self.transport.close()
