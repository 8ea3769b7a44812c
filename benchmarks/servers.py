"""Servers under load: started, pinned to one core, loaded with wrk from the other, and accounted.

How it works: a server's work is counted per second of processor time that it used (its children
included), read from /proc, because the wall clock of a shared machine says little. Rivals run one
after the other in each round, and the median of the rounds' ratios counts.

What must stay true: load goes to the loopback only, for a bounded time; every process that was
started here is stopped here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Ratio

SERVER_CORE, CLIENT_CORE = "0", "1"
_TICKS = os.sysconf("SC_CLK_TCK")


class Missing(Exception):
    """A program to compare with is not installed."""


def need(program: str) -> str:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"{program} is not installed (see 'make debian')")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """All threads of this process share a core meanwhile; not the first, which serves the disk."""
    allowed = os.sched_getaffinity(0)
    _allow({max(allowed)})
    try:
        yield
    finally:
        _allow(allowed)


def _allow(cores: set[int]) -> None:
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # a thread that has just ended
            os.sched_setaffinity(int(task.name), cores)


class Server:
    """A running server and its processor time."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    def _processes(self) -> list[int]:
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += map(int, children.read_text().split())
        return found

    def seconds(self) -> float:
        """Processor seconds used so far, with all children."""
        total = 0
        for pid in self._processes():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS

    def own_memory(self) -> float:
        """Resident megabytes of all processes, without mapped files."""
        total = 0
        for pid in self._processes():
            status = Path(f"/proc/{pid}/status").read_text()
            for name in ("RssAnon", "RssShmem"):
                found = re.search(rf"{name}:\s+(\d+) kB", status)
                total += int(found[1]) if found else 0
        return total / 1024


@contextlib.contextmanager
def serving(
    command: list[str], port: int, cores: str = SERVER_CORE, **environment: str
) -> Iterator[Server]:
    """Runs a server on the server's core, or on others, until the block ends."""
    process = subprocess.Popen(
        ["taskset", "-c", cores, *command],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield Server(process, port)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen on {port}")


@contextlib.contextmanager
def nginx(directory: Path, locations: str) -> Iterator[Server]:
    """nginx with one worker and this inside its `server` block."""
    port = free_port()
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "nginx.conf"
    config.write_text(
        f"""daemon off; worker_processes 1; pid {directory}/nginx.pid;
        error_log {directory}/error.log;
        events {{ worker_connections 1024; }}
        http {{
          access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
          client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
          fastcgi_temp_path {directory}/fcgi; uwsgi_temp_path {directory}/uwsgi;
          scgi_temp_path {directory}/scgi; default_type application/octet-stream;
          server {{ listen 127.0.0.1:{port}; {locations} }}
        }}"""
    )
    command = [need("nginx"), "-c", str(config), "-p", str(directory)]
    with serving(command, port) as server:
        yield server


_NO_INDEXES = {"PERDURE_SEARCH": "off", "PERDURE_INDEX_SECONDS": "0"}


@contextlib.contextmanager
def perdure(
    registry: Path, *, workers: int = 1, cores: str = SERVER_CORE, **settings: str
) -> Iterator[Server]:
    """Our own server, with one worker or several.

    Its processor time is that of its answers alone: unless settings say otherwise, it does not
    index new names beside them, which `benchmarks/searching.py` measures.
    """
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "perdure.cli",
        "-C",
        str(registry),
        "serve",
        "--port",
        str(port),
        "--workers",
        str(workers),
    ]
    with serving(command, port, cores, **(_NO_INDEXES | settings)) as server:
        yield server


def wrk(server: Server, script: Path, *, seconds: float = 3, connections: int = 32) -> float:
    """Requests per processor second of the server, all answered as the script expects.

    Raises RuntimeError where any answer was an error of the socket or of the protocol.
    """
    before = server.seconds()
    command = ["taskset", "-c", CLIENT_CORE, need("wrk"), "-t1", f"-c{connections}"]
    command += [f"-d{seconds}s", "-s", str(script), f"http://127.0.0.1:{server.port}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    used = server.seconds() - before
    done = re.search(r"(\d+) requests in", output)
    failed = re.search(r"unexpected answers: (\d+)|Socket errors|Non-2xx or 3xx", output)
    if not done or (failed and failed[1] != "0"):
        raise RuntimeError(f"wrk: {output}")
    return int(done[1]) / used


def rounds(
    name: str,
    ours: Callable[[], float],
    others: dict[str, tuple[Callable[[], float], float]],
    *,
    unit: str,
    count: int = 5,
) -> list[Ratio]:
    """Rates of ours and each other in turn; one ratio for each other, with its target."""
    ours()
    for warm_up, _ in others.values():
        warm_up()
    mine: list[float] = []
    theirs: dict[str, list[float]] = {other: [] for other in others}
    for _ in range(count):
        mine.append(ours())
        for other, (rate, _) in others.items():
            theirs[other].append(rate())
    return [
        Ratio(
            name=f"{name} / {other}",
            ours=statistics.median(mine),
            other=statistics.median(rates),
            unit=unit,
            ratio=statistics.median(a / b for a, b in zip(mine, rates, strict=True)),
            target=others[other][1],
        )
        for other, rates in theirs.items()
    ]


def measure_waits(port: int, path: str, *, seconds: float) -> list[float]:
    """The waiting times, sorted, of a polite client that asks for one redirect after the other."""
    waits: list[float] = []
    request = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), 30) as wire:
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            wire.sendall(request)
            if not wire.recv(1 << 16).startswith(b"HTTP/1.1 302 "):
                raise RuntimeError("the polite client got no redirect")
            waits.append(time.perf_counter() - start)
            time.sleep(0.001)
    return sorted(waits)
