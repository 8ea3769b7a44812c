"""Squid resolves URNs by THTTP through us: `GET urn:pdi:…` at the proxy.

Squid takes the namespace identifier for the name of the resolver's host and asks it on port 80, so
the resolver listens on port 80 of a loopback address that the hosts file calls `pdi`; that needs
a user who may bind it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.model.commands import Mint
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

RESOLVER = "127.0.0.80"
SQUID = shutil.which("squid") or shutil.which("squid", path="/usr/sbin")


@contextlib.contextmanager
def running(command: list[str], host: str, port: int, log: Path) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            for _ in range(600):
                if process.poll() is not None:
                    pytest.fail(f"{command[0]} ended: {log.read_text()[-2000:]}")
                with contextlib.suppress(OSError), socket.create_connection((host, port), 1):
                    break
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def port_80() -> None:
    if SQUID is None:
        pytest.skip("squid is not installed")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((RESOLVER, 80))
        except OSError as error:
            pytest.skip(f"port 80 of {RESOLVER} cannot be bound: {error}")


def through_squid(tmp_path: Path, name: str) -> bytes:
    """What Squid answers to a request for a URN."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    work = tmp_path / "squid"
    work.mkdir()
    if os.geteuid() == 0:
        for path in (tmp_path, *tmp_path.parents[:3], work):
            path.chmod(0o755)
        shutil.chown(work, "proxy", "proxy")
    (work / "hosts").write_text(f"{RESOLVER} pdi\n")
    (work / "squid.conf").write_text(
        f"""http_port 127.0.0.1:{port}
        pid_filename {work}/squid.pid
        cache_log {work}/cache.log
        access_log none
        cache_store_log none
        cache deny all
        netdb_filename none
        hosts_file {work}/hosts
        coredump_dir {work}
        http_access allow all
        visible_hostname localhost
        shutdown_lifetime 1 second
        """
    )
    command = [str(SQUID), "-f", str(work / "squid.conf"), "-N", "-n", f"pdi{port}"]
    answer = b""
    with (
        running(command, "127.0.0.1", port, tmp_path / "squid.log"),
        socket.create_connection(("127.0.0.1", port), 30) as wire,
    ):
        wire.sendall(f"GET urn:{name} HTTP/1.1\r\nHost: pdi\r\nConnection: close\r\n\r\n".encode())
        while piece := wire.recv(65536):
            answer += piece
    return answer


@pytest.mark.usefixtures("port_80")
def test_squid_resolves_a_urn_through_us(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    initialise(root, series=("oma.eop.gov.us",))
    with Registry(root) as registry:
        locations = (Location(uri="http://127.0.0.1/one"), Location(uri="http://127.0.0.1/two"))
        mint = Mint(authority="oma.eop.gov.us", format="text", locations=locations)
        bound = registry.door.execute_command(mint).identifier
        data = make_content(
            b"held here\r\n", format="text", media_type="text/plain", charset="us-ascii"
        )
        held = registry.door.execute_command(
            Mint(authority="oma.eop.gov.us", contents=(data,))
        ).identifier
    command = [sys.executable, "-m", "perdure.cli", "-C", str(root), "serve"]
    with running(
        [*command, "--host", RESOLVER, "--port", "80"], RESOLVER, 80, tmp_path / "serve.log"
    ):
        answer = through_squid(tmp_path, bound)
        assert answer.startswith(b"HTTP/1.1 302")
        assert b"Location: http://127.0.0.1/one\r\n" in answer
        assert b"http://127.0.0.1/two" in answer  # Squid's menu of all locations
        (tmp_path / "squid").rename(tmp_path / "before")
        answer = through_squid(tmp_path, held)
        assert answer.startswith(b"HTTP/1.1 302")
        assert f"Location: http://pdi/{held}\r\n".encode() in answer
