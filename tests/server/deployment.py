"""A resolver as it is deployed: `perdure serve` in a process of its own, asked over a raw socket.

`deployed` starts one over a registry in a directory; `Deployment.ask` sends one request, written
byte for byte, and reads the answer with Python's own client. Tests write to the registry through
the same door as the server, or over HTTP with one of the tokens made here.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.server.conftest import Answer, parse_answers
from tests.server.nursery import ForkedProcess, fork_server

from perdure.ids import parse
from perdure.model.commands import Bind, Command, Commit, Content, Mint, Receipt, SaveToken
from perdure.model.records import Location, Token
from perdure.policy.operations import OPERATIONS
from perdure.policy.tokens import make_token
from perdure.registry import Registry, initialise
from perdure.server.serve import GRACE
from perdure.storage.spool import make_content

SERIES = "oma.eop.gov.us"
OTHER_SERIES = "archive.nara.gov.us"
SHOULDER = "99999/fk4"
AUTHORITY = "IANA:42117"
Process = subprocess.Popen[bytes] | ForkedProcess
_START = """
import sys
from pathlib import Path
from perdure.server.serve import run
port, workers, grace = sys.argv[2:]
run(Path(sys.argv[1]), port=int(port), workers=int(workers), grace=int(grace))
"""


def text(data: bytes, format: str = "text", media_type: str = "text/plain", **more: Any) -> Content:
    """Content for a command."""
    return make_content(data, format=format, media_type=media_type, **more)


class Deployment:
    """A running resolver."""

    def __init__(self, root: Path, port: int, process: Process) -> None:
        self.root = root
        self.port = port
        self.process = process
        self.base = f"http://127.0.0.1:{port}"
        self.registry = Registry(root)

    # asking
    # ------

    def connect(self) -> socket.socket:
        wire = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire

    def send(self, data: bytes, *methods: str) -> list[Answer]:
        """Send bytes on a connection of their own and read answers until it is closed."""
        with self.connect() as wire:
            wire.sendall(data)
            return parse_answers(_rest(wire), methods)

    def ask(
        self, method: str, target: str, *fields: str, body: bytes = b"", version: str = "1.1"
    ) -> Answer:
        """The answer to one request. A body gets its length unless a field says otherwise."""
        lines = [f"{method} {target} HTTP/{version}", f"Host: 127.0.0.1:{self.port}", *fields]
        if body and not any(
            one.lower().startswith(("content-length:", "transfer-encoding:")) for one in fields
        ):
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")
        return self.send(head + body, method)[-1]

    def get(self, target: str, *fields: str) -> Answer:
        return self.ask("GET", target, *fields)

    def get_each(self, targets: Iterable[str], *fields: str) -> Iterator[tuple[str, Answer]]:
        """Ask for many things one after another, on one connection while the server keeps it."""
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(wire):
            for target in targets:
                wire.putrequest("GET", target, skip_accept_encoding=True)
                for field in fields:
                    wire.putheader(*field.split(": ", 1))
                wire.endheaders()
                with wire.getresponse() as response:
                    body = response.read()
                    headers = {name.lower(): value for name, value in response.getheaders()}
                yield target, Answer(response.status, headers, body)

    def put(self, target: str, body: bytes, *fields: str, token: str | None = None) -> Answer:
        bearer = (f"Authorization: Bearer {token}",) if token else ()
        return self.ask("PUT", target, *bearer, *fields, body=body)

    def post(self, target: str, body: object, *fields: str, token: str | None = None) -> Answer:
        bearer = (f"Authorization: Bearer {token}",) if token else ()
        return self.ask("POST", target, *bearer, *fields, body=json.dumps(body).encode())

    # writing behind its back
    # -----------------------

    def do(self, command: Command) -> Receipt:
        return self.registry.door.execute_command(command)

    def mint(self, *contents: Content, **fields: Any) -> str:
        """A new PDI, fully qualified."""
        receipt = self.do(Mint(**{"authority": SERIES, "contents": contents} | fields))
        return receipt.identifier

    def commit(self, name: str, *contents: Content, **fields: Any) -> str:
        return self.do(Commit(identifier=parse(name), contents=contents, **fields)).identifier

    def bind(self, name: str, *locations: str | Location) -> str:
        bound = tuple(Location(uri=one) if isinstance(one, str) else one for one in locations)
        return self.do(Bind(identifier=parse(name), locations=bound, register=True)).identifier

    def token(self, name: str, **fields: Any) -> str:
        """A secret with this scope; with all operations on all authorities if not said."""
        secret, digest = make_token()
        scope = {"operations": OPERATIONS, "authorities": ("*",)} | fields
        self.do(SaveToken(token=Token(name=name, digest=digest, **scope)))
        return secret

    # ending
    # ------

    def stop(self) -> int:
        """End it in good order; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def log(self) -> list[dict[str, Any]]:
        """What it has logged, line by line."""
        lines = (self.root.parent / f"{self.port}.log").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]


def resource(name: str) -> str:
    """A PDI without format and version."""
    return name.rsplit(".", 2)[0]


def today() -> str:
    return datetime.now(UTC).strftime("%Y/%m/%d")


def _rest(wire: socket.socket) -> bytes:
    received = bytearray()
    while part := wire.recv(1 << 16):
        received += part
    return bytes(received)


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def start(
    root: Path,
    *,
    workers: int = 1,
    grace: int = GRACE,
    port: int = 0,
    is_fresh: bool = False,
    **settings: object,
) -> tuple[Process, int]:
    """A process over a registry that is there, which need not listen yet, and its port.

    One with several workers is started from nothing, and so is a fresh one; others are forked.
    """
    port = port or find_free_port()
    environment = os.environ | {f"PERDURE_{name.upper()}": str(settings[name]) for name in settings}
    log = root.parent / f"{port}.log"
    with log.open("wb") as errors:
        if workers == 1 and not is_fresh:
            options = {"root": str(root), "port": port, "workers": 1, "grace": grace}
            return fork_server(environment, log, **options), port
        command = [sys.executable, "-c", _START, str(root), str(port), str(workers), str(grace)]
        return subprocess.Popen(command, stderr=errors, env=environment), port


@contextlib.contextmanager
def deployed(
    root: Path,
    *,
    workers: int = 1,
    grace: int = GRACE,
    port: int = 0,
    **settings: object,
) -> Iterator[Deployment]:
    """A resolver over a registry with two series, a shoulder and a naming authority."""
    initialise(
        root,
        series=(SERIES, OTHER_SERIES),
        shoulders=(SHOULDER,),
        naming_authorities=(AUTHORITY,),
    )
    process, port = start(root, workers=workers, grace=grace, port=port, is_fresh=False, **settings)
    deployment = Deployment(root, port, process)
    try:
        wait_for(deployment)
        yield deployment
    finally:
        deployment.registry.close()
        if deployment.process.poll() is None:  # a test may have restarted it
            deployment.stop()


def wait_for(deployment: Deployment) -> None:
    while True:
        assert deployment.process.poll() is None, deployment.log()
        with contextlib.suppress(OSError):
            deployment.get("/healthz")
            return
        time.sleep(0.02)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so. A busy machine may take long: only the test's limit ends it."""
    while not is_so():
        time.sleep(0.05)


def receipt(answer: Answer, status: int = 201) -> dict[str, Any]:
    """The receipt of a write; its identifier and its URL stand in the header fields, too."""
    assert answer.status == status, answer.body
    found: dict[str, Any] = json.loads(answer.body)
    assert found["url"] == answer.headers["location"]
    assert found["identifier"] == answer.headers["content-location"]
    return found


def problem(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """The problem document of an answer with this status and code (RFC 9457)."""
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = json.loads(answer.body)
    assert (answer.status, found["status"], found["code"]) == (status, status, code), found
    assert found["detail"]
    return found
