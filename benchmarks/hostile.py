"""A polite client beside hostile ones: how long it waits, alone and beside each of them.

How it works: the polite client asks for redirects on one connection, one after the other. Beside
it, in processes of their own, clients do one of the things that hurt a server
(`benchmarks.hostile_attacks`). Each attack must first be answered as it is meant to be, so that it
reaches the code that it is for. Several short runs alternate with the polite client alone; the best
run of each counts, because other work on the machine only adds to it. The server watches its own
event loop meanwhile (`benchmarks.watched_server`): the longest pauses are counted in processor time
and say, on a busy machine, too, what others had to wait for.

What must stay true: load goes to the loopback only, for a bounded time; the ratio compares waiting
times of one run on one machine, and the memory of the server is printed beside it.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from benchmarks import fixture
from benchmarks.hostile_attacks import ATTACKS, Attack, connect
from benchmarks.hostile_site import POLITE, TargetSite
from benchmarks.measure import Ratio
from benchmarks.servers import Server, free_port, measure_waits

_SECONDS = 1.5
_RUNS = 3
_CLIENTS = 4
_SETTLED = 0.5
"""Seconds for which nothing is asked, after an attack and after the start."""
_LIMIT = 0.050
"""Seconds that a polite client's slowest of a hundred requests may take on a quiet machine."""
_SETTINGS = {"PERDURE_SEARCH": "on", "PERDURE_SPARQL": "on"}


class WatchedServer(Server):
    """A server that reports on its event loop."""

    def read_report(self) -> dict[str, Any]:
        """What the event loop did since the last report."""
        asked, told = self.process.stdin, self.process.stdout
        assert asked is not None and told is not None  # noqa: PT018 - both are pipes
        asked.write(b"\n")
        asked.flush()
        report: dict[str, Any] = json.loads(told.readline())
        return report


@contextlib.contextmanager
def watching(root: Path) -> Iterator[WatchedServer]:
    """A watched server of a registry, until the block ends."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.watched_server", str(root), str(port)],
        env=os.environ | _SETTINGS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    server = WatchedServer(process, port)
    try:
        _wait_for(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(server: WatchedServer) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            connect(server.port).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            time.sleep(_SETTLED)
            return


def _repeat(attack: Attack, port: int, site: TargetSite, count: Synchronized[int]) -> None:
    while True:
        for _ in attack.run(port, site):
            with count.get_lock():
                count.value += 1


@contextlib.contextmanager
def attacking(attack: Attack, port: int, site: TargetSite) -> Iterator[Synchronized[int]]:
    """Several clients of one kind, until the block ends; counts the requests that they ended."""
    count: Synchronized[int] = multiprocessing.Value("i", 0)
    clients = [
        multiprocessing.Process(target=_repeat, args=(attack, port, site, count), daemon=True)
        for _ in range(_CLIENTS)
    ]
    for one in clients:
        one.start()
    time.sleep(0.3)
    try:
        yield count
    finally:
        for one in clients:
            one.kill()
            one.join()
        time.sleep(_SETTLED)


def run(*names: str) -> list[Ratio]:
    """Measure all attacks, or those with a word of `names` in their names."""
    root = fixture.OUT / "hostile"
    shutil.rmtree(root, ignore_errors=True)
    site = TargetSite(root)
    chosen = [one for one in ATTACKS if not names or any(word in one.name for word in names)]
    with watching(root) as server:
        return [_measure(server, site, attack) for attack in chosen]


def _measure(server: WatchedServer, site: TargetSite, attack: Attack) -> Ratio:
    statuses = set(attack.run(server.port, site))
    if not statuses <= attack.expected:
        raise RuntimeError(f"{attack.name}: answered {statuses}, not {set(attack.expected)}")
    alone, beside = [], []
    longest = seconds = 0.0
    done, places = 0, []
    for _ in range(_RUNS):
        alone.append(measure_waits(server.port, POLITE, seconds=_SECONDS))
        server.read_report()
        with attacking(attack, server.port, site) as count:
            beside.append(measure_waits(server.port, POLITE, seconds=_SECONDS))
            report = server.read_report()
            done += count.value
        seconds += report["seconds"]
        if report["longest"] > longest:
            longest, places = report["longest"], report["places"]
    usual, slowest = (min(waits[len(waits) * part // 100] for waits in beside) for part in (50, 99))
    before = min(waits[len(waits) * 99 // 100] for waits in alone)
    print(
        f"  beside {attack.name}: half of the requests within {usual * 1000:.1f} ms, 99 % within "
        f"{slowest * 1000:.1f} ms (alone {before * 1000:.1f} ms); {done} bad requests ended; "
        f"the event loop computed for {seconds:.2f} s, at most {longest * 1000:.1f} ms in one go; "
        f"{server.own_memory():.0f} MB",
        *(f"\n    {place}" for place, _ in places),
        file=sys.stderr,
    )
    return Ratio(
        name=f"polite client beside {attack.name}",
        ours=1 / slowest,
        other=1 / before,
        unit="1/s, slowest of 100",
        ratio=_LIMIT / slowest,
        target=1,
    )


if __name__ == "__main__":
    run(*sys.argv[1:])
