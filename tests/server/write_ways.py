"""The two ways of a write to a deployed resolver: without ASGI, and through the application."""

from __future__ import annotations

import re

from tests.server.conftest import Answer, parse_answers, received
from tests.server.deployment import Deployment


def ask(site: Deployment, *requests: bytes) -> list[Answer]:
    """The answers on one connection, which stays open until the last request asks to end it."""
    with site.connect() as wire:
        wire.sendall(b"".join(requests))
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return parse_answers(received(wire), ["PUT"] * len(requests))[:-1]


def ask_plainly(site: Deployment, request: bytes) -> Answer:
    """The answer on a connection that ends with it, which is never given without ASGI."""
    head, _, body = request.partition(b"\r\n\r\n")
    with site.connect() as wire:
        wire.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
        return parse_answers(received(wire), ["PUT"])[0]


def count_fast(site: Deployment, kind: str) -> int:
    """The number of writes of a kind that were carried out without ASGI."""
    return read_counter(site, f'perdure_fast_answers_total{{kind="{kind}"}}')


def read_counter(site: Deployment, name: str) -> int:
    """The value of a counter at `/metrics`; 0 before the first event."""
    exposed = site.get("/metrics").body.decode()
    found = re.search(rf"^{re.escape(name)} ([0-9.]+)$", exposed, re.MULTILINE)
    return int(float(found[1])) if found else 0
