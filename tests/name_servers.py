"""Real name servers on the loopback, for tests: bind, knot and nsd, on ports of their own.

How it works: `running` writes a zone and a configuration into a directory, starts the program in
the foreground, and waits until it answers. A test whose program is not installed is skipped.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PROGRAMS = {"bind": "named", "knot": "knotd", "nsd": "nsd"}
SOA = "@ 60 IN SOA ns hostmaster 1 3600 600 86400 60\n@ 60 IN NS ns\nns 60 IN A 127.0.0.1\n"


def find_program(name: str) -> str:
    """The path of a program of the system. Skips the test if it is not installed."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{name} is not installed (make debian)")
    return found


def find_free_port() -> int:
    """A port that is free for both UDP and TCP."""
    for _ in range(50):
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            port: int = tcp.getsockname()[1]
            with contextlib.suppress(OSError):
                udp.bind(("127.0.0.1", port))
                return port
    raise OSError("no port is free")


def _configure_bind(
    place: Path, port: int, zones: dict[str, str], more: str, extra: str = ""
) -> list[str]:
    stanzas = "".join(
        f'zone "{zone}" {{ type primary; file "{place / file}"; }};\n'
        for zone, file in zones.items()
    )
    (place / "named.conf").write_text(
        f'options {{ directory "{place}"; pid-file "{place}/named.pid"; '
        f"listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; "
        f'session-keyfile none; managed-keys-directory "{place}"; '
        f"{more or 'recursion no; dnssec-validation no;'} }};\ncontrols {{}};\n{extra}\n{stanzas}"
    )
    return [find_program("named"), "-g", "-c", str(place / "named.conf"), "-n", "1"]


def _configure_knot(place: Path, port: int, zones: dict[str, str], *_: str) -> list[str]:
    stanzas = "".join(
        f"  - domain: {zone}\n    storage: {place}\n    file: {file}\n    zonefile-load: whole\n"
        for zone, file in zones.items()
    )
    (place / "knot.conf").write_text(
        f"server:\n    listen: 127.0.0.1@{port}\n    rundir: {place}\n    udp-workers: 1\n"
        f"    tcp-workers: 1\n    background-workers: 1\ndatabase:\n    storage: {place}\n"
        f"zone:\n{stanzas}"
    )
    return [find_program("knotd"), "-c", str(place / "knot.conf")]


def _configure_nsd(place: Path, port: int, zones: dict[str, str], *_: str) -> list[str]:
    stanzas = "".join(
        f'zone:\n  name: "{zone}"\n  zonefile: "{place}/{file}"\n' for zone, file in zones.items()
    )
    (place / "nsd.conf").write_text(
        f"server:\n  rrl-ratelimit: 0\n  ip-address: 127.0.0.1@{port}\n  port: {port}\n"
        "  server-count: 1\n"
        f'  username: ""\n  pidfile: "{place}/nsd.pid"\n  database: ""\n  zonesdir: "{place}"\n'
        f'  xfrdfile: "{place}/xfrd.state"\n  zonelistfile: "{place}/zone.list"\n'
        f'  xfrdir: "{place}"\nremote-control:\n  control-enable: no\n{stanzas}'
    )
    return [find_program("nsd"), "-d", "-c", str(place / "nsd.conf")]


_CONFIGURE: dict[str, Callable[..., list[str]]] = {
    "bind": _configure_bind,
    "knot": _configure_knot,
    "nsd": _configure_nsd,
}


@contextlib.contextmanager
def running(
    place: Path,
    kind: str,
    zones: dict[str, str],
    *,
    more: str = "",
    extra: str = "",
    signed: bool = False,
) -> Iterator[str]:
    """Serve zones, each given by its lines, and yield the address of the name server.

    `more` are options of bind instead of the usual ones, `extra` further statements. With `signed`,
    the texts are files that exist already.
    """
    place.mkdir(parents=True, exist_ok=True)
    files = {}
    for zone, lines in zones.items():
        files[zone] = lines if signed else f"{zone}.zone"
        if not signed:
            (place / files[zone]).write_text(f"$ORIGIN {zone}.\n$TTL 60\n{SOA}{lines}\n")
    port = find_free_port()
    command = _CONFIGURE[kind](place, port, files, more, extra)
    log = (place / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        _wait(process, port, place)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


def _wait(process: subprocess.Popen[bytes], port: int, place: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError((place / "log").read_text("utf-8", "replace"))
