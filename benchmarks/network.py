"""Several resolvers: redirects to others, harvesters, changes, discovery, and the Handle protocol.

How it works: the rates of redirects are compared with those of names that are bound here; all other
targets are absolute, in what a second of the server's processor time does. `PERDURE_BENCH_NETWORK`
sets the number of names. `benchmarks.network_mirrors` and `benchmarks.network_proxies` measure
mirrors and proxying.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import fixture
from benchmarks.fixture import OUT, SERIES
from benchmarks.measure import Ratio
from benchmarks.servers import Server, free_port, need, perdure, rounds, serving, wrk
from perdure.fetching.discovery.discovering import Discoverer
from perdure.fetching.discovery.lookups import NameServers
from perdure.fetching.fetcher import Fetcher
from perdure.ids import parse
from perdure.model.commands import Assign, Bind
from perdure.model.records import Location, Value
from perdure.registry import Registry, initialise

COUNT = int(os.environ.get("PERDURE_BENCH_NETWORK", "100000"))
PREFIX = "21.T14999"
_SEVERAL = 500  # commands at once
_HANDLES = 1000
_HARVESTED = 20_000
_AWAY = "press.oma.eop.gov.us"


def run() -> list[Ratio]:
    root = OUT / "network"
    shutil.rmtree(root, ignore_errors=True)
    registry = root / "registry"
    initialise(registry, series=(SERIES,), handle_prefixes=(PREFIX,))
    asyncio.run(fill(registry, COUNT))
    run_command(registry, "delegate", f"pdi://{_AWAY}/", "--to", "https://archives.example")
    native = free_port()
    with perdure(registry, PERDURE_HANDLE_PORT=str(native)) as ours:
        rows = _measure_redirects(ours, root)
        rows += [_measure_changes(ours), _measure_harvest(ours), _measure_handles(ours, native)]
    return [*rows, _measure_discovery(registry, root)]


async def fill(registry: Path, count: int) -> None:
    """Bind names, each by a change of its own, and make some handles."""
    with Registry(registry) as opened:
        for start in range(0, count, _SEVERAL):
            numbers = range(start, min(start + _SEVERAL, count))
            await asyncio.gather(*(opened.door.submit_command(_bind(one)) for one in numbers))
        for number in range(_HANDLES):
            value = Value(index=1, type="URL", data=f"https://archive.example.org/{number}")
            name = parse(f"hdl:{PREFIX}/{number}")
            await opened.door.submit_command(Assign(identifier=name, values=(value,)))


def _bind(number: int) -> Bind:
    name = parse(f"pdi://{SERIES}/1993/01/20/{number + 1}.html.1")
    location = Location(uri=f"https://clintonwhitehouse.archives.gov/release-{number}.html")
    return Bind(identifier=name, locations=(location,), register=True)


def run_command(registry: Path, *words: str) -> str:
    """Run a command of perdure in a registry, and return what it prints."""
    command = [sys.executable, "-m", "perdure.cli", "-C", str(registry), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def state_rate(name: str, rate: float, target: float, unit: str) -> Ratio:
    """A row with an absolute target."""
    return Ratio(f"{name} / target", rate, target, unit, rate / target, 1.0)


def measure_work(server: Server, work: Callable[[], int]) -> float:
    """What a server does in a second of its processor time."""
    work()
    before = server.seconds()
    done = work()
    return done / (server.seconds() - before)


# redirects
# ---------


def _measure_redirects(ours: Server, root: Path) -> list[Ratio]:
    """New names each time, then few names again and again."""
    rows: list[Ratio] = []
    for words, last in (("new names", COUNT), ("hot", 1000)):
        here = _write_script(root / f"here-{last}.lua", SERIES, last, 302)
        away = _write_script(root / f"away-{last}.lua", _AWAY, last, 307)
        rows += rounds(
            f"delegated redirect, {words}",
            lambda: wrk(ours, away),  # noqa: B023  (called at once)
            {"bound redirect": (lambda: wrk(ours, here), 0.8)},  # noqa: B023
            unit="requests/CPU-s",
        )
    return rows


def _write_script(path: Path, series: str, last: int, status: int) -> Path:
    path.write_text(
        f"""math.randomseed(1994)
        request = function()
          local serial = math.random({last})
          return wrk.format("GET", "/pdi://{series}/1993/01/20/" .. serial .. ".html.1")
        end
        {fixture.expect(f"status ~= {status}")}
        """
    )
    return path


# harvesters
# ----------


def _get(wire: http.client.HTTPConnection, path: str) -> bytes:
    wire.request("GET", path)
    answer = wire.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return body


def _measure_changes(ours: Server) -> Ratio:
    wire = http.client.HTTPConnection("127.0.0.1", ours.port)

    def walk() -> int:
        since, rows = "0.0", 0
        while body := _get(wire, f"/changes?since={since}&limit=10000"):
            rows += body.count(b"\n")
            last = json.loads(body[body.rstrip().rfind(b"\n") + 1 :])
            since = f"{last['epoch']}.{last['number']}"
        return rows

    return state_rate("/changes", measure_work(ours, walk), 50_000, "rows/CPU-s")


def _measure_harvest(ours: Server) -> Ratio:
    wire = http.client.HTTPConnection("127.0.0.1", ours.port)

    def harvest() -> int:
        asked, records = "metadataPrefix=oai_dc", 0
        while asked and records < _HARVESTED:
            body = _get(wire, f"/oai?verb=ListRecords&{asked}")
            records += body.count(b"</record>")
            token = re.search(rb"<resumptionToken[^>]*>([^<]+)<", body)
            asked = f"resumptionToken={quote(token[1].decode())}" if token else ""
        return records

    return state_rate("OAI ListRecords", measure_work(ours, harvest), 2000, "records/CPU-s")


# the Handle protocol
# -------------------


def _make_question(number: int, request: int) -> bytes:
    """A request for all values of a handle (RFC 3652 sections 2.2 and 3.2.1)."""
    handle = f"{PREFIX}/{number}".encode()
    body = struct.pack("!I", len(handle)) + handle + bytes(8)
    message = struct.pack("!IIIHBBII", 1, 0, 0, 0, 0, 0, 0, len(body)) + body + bytes(4)
    return struct.pack("!BBHIIII", 2, 11, 0, 0, request, 0, len(message)) + message


def _measure_handles(ours: Server, port: int) -> Ratio:
    """Ask by UDP, with several questions under way."""
    questions = [_make_question(number, number + 1) for number in range(_HANDLES)]

    def ask() -> int:
        answers = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
            wire.settimeout(5)
            wire.connect(("127.0.0.1", port))
            for start in range(0, 20 * _HANDLES, 32):
                for at in range(start, start + 32):
                    wire.send(questions[at % _HANDLES])
                for _ in range(32):
                    reply = wire.recv(4096)
                    if struct.unpack_from("!I", reply, 24)[0] != 1:
                        raise RuntimeError(f"a handle was not resolved: {reply[:60]!r}")
                    answers += 1
        return answers

    return state_rate("Handle by UDP, unsigned", measure_work(ours, ask), 10_000, "answers/CPU-s")


# discovery
# ---------


def _measure_discovery(registry: Path, root: Path) -> Ratio:
    """Discoveries a second, by the clock, as nothing is kept: each asks a name server."""
    zone = run_command(registry, "dns", SERIES, "--resolver", "https://id.example")
    with _serve_names(root / "names", zone) as address:
        asyncio.run(_discover(address, 20))
        begun = time.perf_counter()
        count = 1000
        asyncio.run(_discover(address, count))
        rate = count / (time.perf_counter() - begun)
    return state_rate("discovery, uncached", rate, 500, "discoveries/s")


async def _discover(address: str, count: int) -> None:
    names = NameServers((address,))
    fetcher = Fetcher(user_agent="benchmark", networks=("127.0.0.0/8",))
    for number in range(count):
        discoverer = Discoverer(fetcher=fetcher, name_servers=lambda: names)  # with a new cache
        found = await discoverer.discover(parse(f"pdi://{SERIES}/1993/01/20/{number + 1}"))
        if not found.resolvers:
            raise RuntimeError("no resolver was found")


@contextmanager
def _serve_names(place: Path, lines: str) -> Any:
    """Knot with the zone of the series."""
    place.mkdir(parents=True)
    soa = "@ 60 IN SOA ns hostmaster 1 3600 600 86400 60\n@ 60 IN NS ns\nns 60 IN A 127.0.0.1\n"
    (place / "zone").write_text(f"$ORIGIN {SERIES}.\n$TTL 60\n{soa}{lines}\n")
    port = free_port()
    (place / "knot.conf").write_text(
        f"server:\n    listen: 127.0.0.1@{port}\n    rundir: {place}\n    udp-workers: 1\n"
        f"    tcp-workers: 1\n    background-workers: 1\ndatabase:\n    storage: {place}\n"
        f"zone:\n  - domain: {SERIES}\n    storage: {place}\n    file: zone\n"
        "    zonefile-load: whole\n"
    )
    with serving([need("knotd"), "-c", str(place / "knot.conf")], port):
        yield f"127.0.0.1:{port}"
