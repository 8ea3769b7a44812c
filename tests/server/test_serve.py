"""Starting and stopping: when the server listens, and what becomes of what is under way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
import uvicorn
from tests.server.conftest import parse_answers, received
from tests.server.deployment import SERIES, Deployment, deployed, start, text, wait_until

from perdure.registry import initialise
from perdure.server import serve
from perdure.server.serve import count_workers

LETTER = b"To whom it may concern.\r\n"


def upload(site: Deployment, token: str, *framing: str) -> bytes:
    """The head of an upload that mints."""
    fields = (f"Host: 127.0.0.1:{site.port}", f"Authorization: Bearer {token}", *framing)
    return "\r\n".join([f"PUT /pdi://{SERIES}/ HTTP/1.1", *fields, "", ""]).encode()


def test_who_finds_it_listening_is_answered(tmp_path: Path) -> None:
    """As soon as it says so: whoever connects waits for a worker, and is not refused."""
    initialise(tmp_path / "registry", series=(SERIES,))
    process, port = start(tmp_path / "registry", workers=2)
    try:
        while b'"event": "listening"' not in (tmp_path / f"{port}.log").read_bytes():
            assert process.poll() is None
            time.sleep(0.005)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert parse_answers(received(wire))[0].status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_worker_that_gets_no_time_is_not_replaced(tmp_path: Path) -> None:
    """On a busy machine a worker may be silent for seconds, also while it starts."""
    with deployed(tmp_path / "registry", workers=2) as site:
        children = Path(f"/proc/{site.process.pid}/task/{site.process.pid}/children")
        if not children.exists():
            pytest.skip("no list of child processes here")
        before = children.read_text()
        stopped = int(before.split()[-1])
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(6.5)  # uvicorn would give it 5
        os.kill(stopped, signal.SIGCONT)
        assert children.read_text() == before
        assert site.get("/healthz").status == 200


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_listens_after_the_server_was_killed(tmp_path: Path, workers: int) -> None:
    """Its workers and the commands that they started must not keep the port, or answer on it."""
    initialise(tmp_path / "registry", series=(SERIES,))
    process, port = start(tmp_path / "registry", workers=workers, is_fresh=True)
    while b'"event": "listening"' not in (tmp_path / f"{port}.log").read_bytes():
        assert process.poll() is None
        time.sleep(0.005)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        wire.sendall(b"GET /search?q=x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received(wire)  # which starts the command that keeps the index
    words = (b"--follow", str(tmp_path).encode())
    wait_until(lambda: bool(list_processes(*words)))
    followers = list_processes(*words)
    assert not any(has_listener(one, port) for one in followers)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    wait_until(lambda: is_free(port))
    wait_until(lambda: not list_processes(str(tmp_path).encode()))


def list_processes(*words: bytes) -> list[Path]:
    """The processes whose command has all of these words."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if all(word in command for word in words):
            found.append(place)
    return found


def has_listener(process: Path, port: int) -> bool:
    """Whether a process has a socket that listens on a port (proc(5), /proc/net/tcp)."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listeners = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(f":{port:04X}")}
    held = {str(one.readlink()) for one in (process / "fd").iterdir()}
    return not listeners.isdisjoint(held)


def is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@pytest.mark.parametrize("workers", [1, 2])
def test_it_can_be_stopped_as_soon_as_it_listens(tmp_path: Path, workers: int) -> None:
    initialise(tmp_path / "registry", series=(SERIES,))
    process, port = start(tmp_path / "registry", workers=workers, is_fresh=True)
    while b'"event": "listening"' not in (tmp_path / f"{port}.log").read_bytes():
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_it_does_not_listen_if_it_cannot_write(tmp_path: Path, workers: int) -> None:
    """What each worker opens is opened first: here it cannot, whoever runs the test."""
    initialise(tmp_path / "registry", series=(SERIES,))
    (tmp_path / "registry" / "generation").unlink(missing_ok=True)
    (tmp_path / "registry" / "generation").mkdir()
    process, port = start(tmp_path / "registry", workers=workers, is_fresh=True)
    assert process.wait(60) != 0
    assert "listening" not in (tmp_path / f"{port}.log").read_text()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "statement", ["user_version=99; PRAGMA application_id=99", "user_version=99"]
)
def test_it_does_not_listen_if_it_cannot_read_the_registry(
    tmp_path: Path, workers: int, statement: str
) -> None:
    """Its copy is not opened for writing, so only the readers notice the format."""
    initialise(tmp_path / "registry", series=(SERIES,))
    shutil.copytree(tmp_path / "registry", tmp_path / "copy")
    connection = apsw.Connection(str(tmp_path / "copy" / "registry.sqlite"))
    connection.execute(f"PRAGMA {statement}")
    connection.close()
    process, port = start(tmp_path / "copy", workers=workers, is_fresh=True)
    assert process.wait(60) != 0
    assert "listening" not in (tmp_path / f"{port}.log").read_text()


def test_a_stop_does_not_wait_for_ever(tmp_path: Path) -> None:
    """A client that stalls is told so, as a problem like others, and the log has no traceback."""
    with deployed(tmp_path / "registry", grace=1) as site:
        secret = site.token("writer")
        with site.connect() as wire:
            wire.sendall(upload(site, secret, "Content-Length: 100") + b"half")
            time.sleep(0.5)
            site.process.send_signal(signal.SIGTERM)
            [answer] = parse_answers(received(wire))
        assert site.process.wait(60) == 0
        assert answer.status == 503
        assert answer.headers["content-type"] == "application/problem+json"
        assert json.loads(answer.body)["code"] == "unavailable"
        assert "retry-after" in answer.headers
        assert not any("exception" in line for line in site.log())


def test_requests_that_wait_at_a_stop_are_one_line_of_the_log(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry", grace=1) as site:
        secret = site.token("writer")
        wires = [site.connect() for _ in range(3)]
        for wire in wires:
            wire.sendall(upload(site, secret, "Content-Length: 100") + b"half")
        time.sleep(0.5)
        site.process.send_signal(signal.SIGTERM)
        for wire in wires:
            with wire:
                assert [one.status for one in parse_answers(received(wire))] == [503]
        assert site.process.wait(60) == 0
        assert [one["count"] for one in site.log() if one["event"] == "stopped requests"] == [3]
        assert not [one for one in site.log() if one["event"] == "failed"]


def test_a_stop_cuts_off_who_does_not_read(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry", grace=1) as site:
        name = site.mint(text(bytes(3_000_000), "octet-stream", "application/octet-stream"))
        with site.connect() as wire:
            wire.sendall(f"GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 8)
            time.sleep(0.5)
            assert site.stop() == 0
        assert not any("exception" in line for line in site.log())


def test_an_upload_that_breaks_off_is_told_so(tmp_path: Path) -> None:
    """And leaves nothing; one that is complete is carried out and answered."""
    with deployed(tmp_path / "registry") as site:
        secret = site.token("writer")

        def sent(framing: str, body: bytes) -> tuple[int, dict[str, object]]:
            with site.connect() as wire:
                wire.sendall(upload(site, secret, framing) + body)
                wire.shutdown(socket.SHUT_WR)
                [answer] = parse_answers(received(wire))
            return answer.status, json.loads(answer.body)

        status, problem = sent("Content-Length: 26", LETTER)
        assert (status, problem["code"]) == (400, "incomplete")
        assert (problem["expected"], problem["received"]) == (26, 25)
        status, problem = sent("Transfer-Encoding: chunked", b"19\r\n" + LETTER + b"\r\n")
        assert (status, problem["code"]) == (400, "incomplete")
        for framing, body in (
            ("Content-Length: 25", LETTER),
            ("Transfer-Encoding: chunked", b"19\r\n" + LETTER + b"\r\n0\r\n\r\n"),
        ):
            status, receipt = sent(framing, body)
            assert status == 201
            assert site.get(f"/{receipt['identifier']}").body == LETTER


def test_there_is_a_worker_for_each_usable_core(monkeypatch: pytest.MonkeyPatch) -> None:
    for usable, expected in ({5}, 1), ({0, 2, 3}, 3), (set(range(64)), 8):
        monkeypatch.setattr(os, "sched_getaffinity", {0: usable}.__getitem__)
        assert count_workers() == expected


@pytest.mark.parametrize(
    ("option", "setting", "expected"), [(None, 0, 3), (None, 2, 2), (4, 2, 4), (1, 0, 1)]
)
def test_the_number_of_workers(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: int | None,
    setting: int,
    expected: int,
) -> None:
    """That of the command line, or else of the settings, or else of the machine."""

    def note_config(config: uvicorn.Config, _: socket.socket) -> Callable[[], None]:
        numbers.append(config.workers)
        return lambda: None

    numbers: list[int] = []
    initialise(tmp_path / "registry", series=(SERIES,))
    monkeypatch.setenv("PERDURE_WORKERS", str(setting))
    monkeypatch.setattr(os, "sched_getaffinity", {0: {1, 2, 3}}.__getitem__)
    monkeypatch.setattr(serve, "_prepare_single", note_config)
    monkeypatch.setattr(serve, "_prepare_several", note_config)
    serve.run(tmp_path / "registry", port=0, workers=option)
    assert numbers == [expected]
