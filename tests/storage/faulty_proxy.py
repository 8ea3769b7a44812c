"""A proxy before an S3 server that does what networks and other servers do: for tests of faults.

It drops the condition of a creation, answers with an error before or after the server has stored,
waits, or cuts an answer off.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


class Fault(NamedTuple):
    """What happens to a request."""

    status: int = 0
    """Answer with this status."""
    is_stored: bool = False
    """Answer so after the server has carried out the request."""
    wait: float = 0
    """Seconds before the request is passed on."""
    drops: str = ""
    """A header field that is not passed on."""
    body: bytes | None = None
    """The body of the answer instead of that of the server."""


class FaultyProxy:
    """Passes requests on; `find_fault` says what happens to each, by method and path."""

    def __init__(self, endpoint: str) -> None:
        self._host = urlsplit(endpoint).netloc
        self.find_fault: Callable[[str, str], Fault | None] = lambda method, path: None
        self.requests: list[tuple[str, str]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                proxy.pass_on(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def pass_on(self, request: BaseHTTPRequestHandler) -> None:
        method, path = request.command, request.path
        self.requests.append((method, path))
        fault = self.find_fault(method, path) or Fault()
        data = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        time.sleep(fault.wait)
        if fault.status and not fault.is_stored:
            self._answer(request, fault.status, [], b"")
            return
        server = HTTPConnection(self._host, timeout=30)
        fields = {
            name: value for name, value in request.headers.items() if name.lower() != fault.drops
        }
        server.request(method, path, data, fields)
        answer = server.getresponse()
        body = answer.read()
        server.close()
        if fault.status:
            self._answer(request, fault.status, [], b"")
            return
        kept = [one for one in answer.getheaders() if one[0].lower() not in _HOP]
        if method == "HEAD":
            kept.append(("Content-Length", answer.getheader("Content-Length") or "0"))
        self._answer(request, answer.status, kept, body if fault.body is None else fault.body)

    @staticmethod
    def _answer(
        request: BaseHTTPRequestHandler, status: int, fields: list[tuple[str, str]], body: bytes
    ) -> None:
        try:
            request.send_response_only(status)
            for name, value in fields:
                request.send_header(name, value)
            if request.command != "HEAD":
                request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            if request.command != "HEAD":
                request.wfile.write(body)
        except OSError:
            request.close_connection = True

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def open_proxy(endpoint: str) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(endpoint)
    try:
        yield proxy
    finally:
        proxy.close()
