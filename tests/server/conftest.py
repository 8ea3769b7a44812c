"""A server that says what it was asked for: every answer is the request as the application saw it.

`targets_server` runs it on a real socket; `exchange` is a client that
sends bytes and reads answers, and knows nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import uvicorn
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.server import ServerState

from perdure.server.protocol.doctor import make_echo_answer
from perdure.server.protocol.http import RawTargetProtocol, get_raw_target

if TYPE_CHECKING:
    from tests.server.deployment import Deployment

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "targets.json").read_text()
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A resolver with the settings of a new registry; a module that needs others has its own."""
    from tests.server.deployment import deployed  # which needs this module

    with deployed(tmp_path_factory.mktemp("site") / "registry") as running:
        yield running


class Answer(msgspec.Struct, frozen=True):
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def line(self) -> tuple[str, str]:
        """Method and target that the application saw."""
        method, target = json.loads(self.headers["mirrored-line"])
        return method, target

    @property
    def seen(self) -> dict[str, Any]:
        """All that the application saw."""
        seen: dict[str, Any] = json.loads(self.body)
        return seen


async def mirror(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer with method, target, body and header fields as received; a doctor gets his echo."""
    assert scope["type"] == "http"
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return
        body += message["body"]
        if not message["more_body"]:
            break
    echo = make_echo_answer(scope)
    if echo is None:
        line = json.dumps([scope["method"], get_raw_target(scope).decode("latin-1")]).encode()
        seen = {
            "path": scope["path"],
            "raw_path": scope["raw_path"].decode("latin-1"),
            "query_string": scope["query_string"].decode("latin-1"),
            "version": scope["http_version"],
            "headers": [[n.decode("latin-1"), v.decode("latin-1")] for n, v in scope["headers"]],
            "body": body.decode("latin-1"),
        }
        content = json.dumps(seen).encode()
        headers = [(b"content-length", b"%d" % len(content)), (b"mirrored-line", line)]
    else:
        headers, content = echo
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})


class Running(msgspec.Struct, frozen=True):
    """A server on a loopback port."""

    port: int
    server: uvicorn.Server
    protocol: type[asyncio.Protocol]

    def connect(self) -> socket.socket:
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire

    def exchange(self, *pieces: bytes, methods: Sequence[str] = ()) -> list[Answer]:
        """Send pieces one by one on one connection, then read answers until it is closed."""
        with self.connect() as wire:
            for piece in pieces:
                wire.sendall(piece)
            return parse_answers(received(wire), methods)


class _Replay:
    """Bytes in the shape that http.client reads from."""

    def __init__(self, data: bytes) -> None:
        self.file = io.BytesIO(data)
        self.file.close = lambda: None  # type: ignore[method-assign]  # one answer after another

    def makefile(self, mode: str) -> io.BytesIO:
        return self.file


def received(wire: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    parts = []
    while part := wire.recv(65536):
        parts.append(part)
    return b"".join(parts)


def parse_answers(data: bytes, methods: Sequence[str] = ()) -> list[Answer]:
    """Responses as Python's own client reads them, none of which may be cut off.

    `methods` are those of the requests, GET where they run out.
    """
    replay = _Replay(data)
    method = chain(methods, repeat("GET"))
    answers = []
    while replay.file.tell() < len(data):
        response = http.client.HTTPResponse(replay, method=next(method))  # type: ignore[arg-type]
        response.begin()
        body = response.read()
        headers = {name.lower(): value for name, value in response.getheaders()}
        answers.append(Answer(response.status, headers, body))
    return answers


class Wire(asyncio.Transport):
    """A transport in memory: what the protocol wrote, and whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.ended = False  # in our direction
        self.closed = False
        self.reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.ended = self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


async def settle(wire: Wire) -> None:
    """Let the event loop turn until nothing is written any more."""
    quiet, before = 0, -1
    while quiet < 10:
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(wire.written) == before else 0
        before = len(wire.written)


def drive(
    protocol_class: type[RawTargetProtocol],
    pieces: Iterable[bytes],
    app: Callable[..., Any] = mirror,
) -> list[Answer]:
    """The answers to bytes that arrive in exactly these pieces, on the event loop but no socket."""

    async def run() -> list[Answer]:
        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None)
        wire = Wire()
        loop = asyncio.get_running_loop()
        protocol = protocol_class(config, ServerState(), {}, loop)
        protocol.connection_made(wire)
        for piece in filter(None, pieces):  # no transport delivers nothing
            if not wire.reading:
                await settle(wire)
            if wire.closed:
                break
            protocol.data_received(piece)
            await asyncio.sleep(0)
        await settle(wire)
        protocol.connection_lost(None)
        await asyncio.gather(*protocol.tasks)
        return parse_answers(bytes(wire.written))

    return asyncio.run(run())


@contextlib.contextmanager
def serving(
    protocol: type[asyncio.Protocol], app: Callable[..., Any] = mirror, **settings: Any
) -> Iterator[Running]:
    """uvicorn with one protocol class on a free port of the loopback, stopped gracefully."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=protocol, loop="uvloop", ws="none", lifespan="off", log_config=None, **settings
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Running(listener.getsockname()[1], server, protocol)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def targets_server() -> Iterator[Running]:
    """The mirror."""
    with serving(RawTargetProtocol) as running:
        yield running
