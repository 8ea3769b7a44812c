"""A polite client beside hostile ones: how long it waits, alone and beside each of them.

How it works: the polite client asks for redirects on one connection, one after the other. Beside
it, in processes of their own, clients do one of the things that hurt a server: they read slowly or
not at all, drip bodies, ask for sparse patterns, expensive parts or thousands of ranges, download
at full speed, send bombs, or keep many connections. Several short runs alternate with the polite
client alone; the best run of each counts, because other work on the machine only adds to it.

What must stay true: load goes to the loopback only, for a bounded time; the ratio compares waiting
times of one run on one machine, and the memory of the server is printed beside it.
"""

from __future__ import annotations

import contextlib
import gzip
import multiprocessing
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import Server, measure_waits, perdure
from perdure.ids import parse
from perdure.model.commands import Bind, Mint, SaveToken
from perdure.model.records import Location, Token
from perdure.policy.operations import OPERATIONS
from perdure.policy.tokens import make_token
from perdure.registry import Registry, initialise

_SERIES = "oma.eop.gov.us"
_SHOULDER = "99999/fk4"
POLITE = f"/pdi://{_SERIES}/1997/09/01/7.html.1"
XPATH = f"%23xpointer={quote('//row[a=following::a]', safe='')}"
"""A part of the rows for which each is compared with all that follow; it never ends in time."""
_SECONDS = 1.5
_RUNS = 3
_CLIENTS = 4
_PIECE = 1 << 20
_LARGEST = 512 << 20
"""Bytes of the document that slow clients read."""
_LIMIT = 0.050
"""Seconds that a polite client's slowest of a hundred requests may take on a quiet machine."""

Attack = Callable[[int, "TargetSite"], None]
"""Does one hostile thing, on a port, once; it is repeated until the run ends."""


class TargetSite:
    """The names of what the registry holds; `largest` is the length of its longest document."""

    def __init__(self, root: Path, *, largest: int = _LARGEST) -> None:
        initialise(root, series=(_SERIES,), shoulders=(_SHOULDER,))
        self.secret, digest = make_token()
        with Registry(root) as registry:
            door = registry.door
            token = Token(name="hostile", digest=digest, operations=OPERATIONS, authorities=("*",))
            door.execute_command(SaveToken(token=token))
            place = (Location(uri="https://archive.example.org/7"),)
            for number in range(1, 2000):
                name = f"pdi://{_SERIES}/{1990 + number % 30}/{number % 12 + 1:02}/01/x{number}"
                door.execute_command(Bind(identifier=parse(name), locations=place, register=True))
            door.execute_command(Bind(identifier=parse(POLITE[1:]), locations=place, register=True))
            self.stem = door.execute_command(Mint(authority=_SHOULDER, locations=place)).identifier
            self.text = _mint(registry, b"A line of text that is read in parts.\r\n" * 100_000)
            rows = b"".join(b"<row n='%d'><a>%d</a></row>" % (n, n) for n in range(20_000))
            self.markup = _mint(registry, b"<?xml version='1.0'?><all>" + rows + b"</all>", "xml")
            self.huge = _mint(registry, bytes(largest), "octet-stream")


def _mint(registry: Registry, data: bytes, format: str = "text") -> str:
    kinds = {"text": "text/plain", "xml": "text/xml"}
    media_type = kinds.get(format, "application/octet-stream")
    with registry.spool() as spool:
        for start in range(0, len(data), _PIECE):
            spool.write(data[start : start + _PIECE])
        content = spool.finish_content(format=format, media_type=media_type)
        minted = registry.door.execute_command(Mint(authority=_SERIES, contents=(content,)))
    return minted.identifier


# hostile clients
# ---------------


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 5)


def _ask(port: int, target: str, *fields: str, body: bytes = b"", method: str = "GET") -> None:
    """Send a request, and read the answer to its end."""
    length = (f"Content-Length: {len(body)}",) if body else ()
    lines = (f"{method} {target} HTTP/1.1", "Host: a", "Connection: close", *fields, *length)
    with contextlib.suppress(OSError), _connect(port) as wire:
        wire.sendall("\r\n".join((*lines, "", "")).encode() + body)
        while wire.recv(1 << 20):
            pass


def _read_slowly(port: int, site: TargetSite) -> None:
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        for _ in range(50):
            wire = open_.enter_context(_connect(port))
            wire.sendall(f"GET /{site.huge} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        time.sleep(_SECONDS / 3)


def _write_slowly(port: int, site: TargetSite) -> None:
    head = f"PUT /pdi://{_SERIES}/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {site.secret}\r\n"
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        wires = [open_.enter_context(_connect(port)) for _ in range(50)]
        for wire in wires:
            wire.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
        for _ in range(20):
            time.sleep(_SECONDS / 60)
            for wire in wires:
                wire.sendall(b"x")


def _read_fast(port: int, site: TargetSite) -> None:
    _ask(port, f"/{site.huge}")


def _ask_many_ranges(port: int, site: TargetSite) -> None:
    ranges = ",".join(f"{number % 9}-{number % 9}" for number in range(10_000))
    _ask(port, f"/{site.text}", f"Range: bytes={ranges}")


def _ask_many_parts(port: int, site: TargetSite) -> None:
    _ask(port, f"/{site.text}?part=char=1000000,3000000")


def _ask_sparse_pattern(port: int, _: TargetSite) -> None:
    _ask(port, f"/pdi://{_SERIES}/*/*/31/*.*.9")


def _ask_xpath(port: int, site: TargetSite) -> None:
    _ask(port, f"/{site.markup}{XPATH}")


def _ask_unfolding(port: int, site: TargetSite) -> None:
    for number in range(50):
        _ask(port, f"/{site.stem}/{'a/.b/' * 200}{number}")


def _send_deep_json(port: int, site: TargetSite) -> None:
    for target in (f"/pdi://{_SERIES}/?mint", f"{POLITE}?describe"):
        fields = (f"Authorization: Bearer {site.secret}", "Content-Type: application/json")
        _ask(port, target, *fields, body=b'{"a":' * 150_000, method="POST")


def _send_bomb(port: int, site: TargetSite) -> None:
    fields = (f"Authorization: Bearer {site.secret}", "Content-Type: application/gzip")
    bomb = gzip.compress(bytes(64 << 20), 6)
    _ask(port, f"/pdi://{_SERIES}/", *fields, body=bomb, method="PUT")


def _keep_connections(port: int, _: TargetSite) -> None:
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        for _number in range(200):
            open_.enter_context(_connect(port)).sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(_SECONDS / 3)


ATTACKS: dict[str, Attack] = {
    "slow readers": _read_slowly,
    "slow writers": _write_slowly,
    "full-speed readers": _read_fast,
    "10,000 ranges": _ask_many_ranges,
    "long parts": _ask_many_parts,
    "sparse patterns": _ask_sparse_pattern,
    "XPath": _ask_xpath,
    "names that unfold": _ask_unfolding,
    "deep JSON": _send_deep_json,
    "gzip bombs": _send_bomb,
    "many connections": _keep_connections,
}


def _repeat(attack: Attack, port: int, site: TargetSite) -> None:
    while True:
        attack(port, site)


@contextlib.contextmanager
def attacking(attack: Attack, port: int, site: TargetSite) -> Iterator[None]:
    """Several clients of one kind, until the block ends."""
    clients = [
        multiprocessing.Process(target=_repeat, args=(attack, port, site), daemon=True)
        for _ in range(_CLIENTS)
    ]
    for one in clients:
        one.start()
    time.sleep(0.3)
    try:
        yield
    finally:
        for one in clients:
            one.kill()
            one.join()


# the polite client
# -----------------


def run() -> list[Ratio]:
    root = fixture.OUT / "hostile"
    shutil.rmtree(root, ignore_errors=True)
    site = TargetSite(root)
    with perdure(root) as server:
        return [_measure(server, site, name, attack) for name, attack in ATTACKS.items()]


def _measure(server: Server, site: TargetSite, name: str, attack: Attack) -> Ratio:
    alone, beside = [], []
    for _ in range(_RUNS):
        alone.append(measure_waits(server.port, POLITE, seconds=_SECONDS))
        with attacking(attack, server.port, site):
            beside.append(measure_waits(server.port, POLITE, seconds=_SECONDS))
    usual, slowest = (min(waits[len(waits) * part // 100] for waits in beside) for part in (50, 99))
    before = min(waits[len(waits) * 99 // 100] for waits in alone)
    print(
        f"  beside {name}: half of the requests within {usual * 1000:.1f} ms, 99 % within "
        f"{slowest * 1000:.1f} ms (alone {before * 1000:.1f} ms); {server.own_memory():.0f} MB",
        file=sys.stderr,
    )
    return Ratio(
        name=f"polite client beside {name}",
        ours=1 / slowest,
        other=1 / before,
        unit="1/s, slowest of 100",
        ratio=_LIMIT / slowest,
        target=1,
    )
