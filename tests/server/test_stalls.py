"""Clients that stop reading, or read or send byte by byte, do not keep a connection."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.deployment import SERIES, Deployment, deployed

LIMIT = 2  # seconds
LENGTH = 64 << 20  # more than the kernel takes for a client that does not read


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_CLIENT_SECONDS", str(LIMIT))
        with deployed(tmp_path_factory.mktemp("stalls") / "registry") as running:
            yield running


@pytest.fixture(scope="module")
def long(site: Deployment) -> str:
    whole = f"/pdi://{SERIES}/"
    kind = "Content-Type: application/octet-stream"
    made = site.put(whole, bytes(LENGTH), kind, token=site.token("long"))
    return str(made.headers["location"]).removeprefix(f"{site.base}/")


def count_connections(site: Deployment) -> int:
    """The sockets that the server has open."""
    places = Path(f"/proc/{site.process.pid}/fd").iterdir()
    found = 0
    for one in places:
        with contextlib.suppress(OSError):
            found += "socket:" in str(one.readlink())
    return found


def test_a_client_that_reads_nothing_is_cut_off(site: Deployment, long: str) -> None:
    before = count_connections(site)
    with site.connect() as wire:
        wire.sendall(f"GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        time.sleep(1)
        assert count_connections(site) > before
        time.sleep(2 * LIMIT)
        assert count_connections(site) == before
        got = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := wire.recv(1 << 20):
                got += len(piece)
        assert got < LENGTH


def test_a_client_that_drips_its_reading_is_cut_off(site: Deployment, long: str) -> None:
    """Half of this buffer is less than 4,096 bytes, and the client empties it once in a while."""
    before = count_connections(site)
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 11)
        wire.connect(("127.0.0.1", site.port))
        wire.sendall(f"GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        wire.settimeout(1)
        ends = time.monotonic() + 6 * LIMIT
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            while time.monotonic() < ends and wire.recv(600):
                time.sleep(LIMIT / 4)
        assert count_connections(site) == before


def test_a_slow_reader_gets_everything(site: Deployment, long: str) -> None:
    got = 0
    with site.connect() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        wire.sendall(f"GET /{long} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        for _ in range(3 * LIMIT * 4):
            got += len(wire.recv(1 << 16))
            time.sleep(0.25)
        while piece := wire.recv(1 << 20):
            got += len(piece)
    assert got > LENGTH


def test_a_body_that_drips_is_refused(site: Deployment) -> None:
    token = site.token("slow")
    head = (
        f"PUT /pdi://{SERIES}/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
        "Content-Length: 100000\r\n\r\n"
    )
    with site.connect() as wire:
        wire.sendall(head.encode())
        began = time.monotonic()
        wire.settimeout(0.25)
        answer = b""
        while not answer and time.monotonic() - began < 4 * LIMIT:
            wire.sendall(b"x")
            with contextlib.suppress(TimeoutError):
                answer = wire.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_steady_body_is_taken(site: Deployment) -> None:
    token = site.token("steady")
    body = b"y" * 60_000
    head = (
        f"PUT /pdi://{SERIES}/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with site.connect() as wire:
        wire.sendall(head.encode())
        for start in range(0, len(body), 5000):
            wire.sendall(body[start : start + 5000])
            time.sleep(0.5)
        assert wire.recv(1 << 16).startswith(b"HTTP/1.1 201 ")
