"""Names whose records must be read from the disk: what 32 clients get, against one alone.

How it works: before each turn the registry is dropped from the page cache, and a server is started
that has read nothing. One client asks for one redirect after the other, so one disk read is under
way at a time; then 32 clients ask, and their reads wait for the disk together. Answers are counted
by the clock, since waiting takes no processor time.

What must stay true: nobody has the registry open while it is dropped, or it would stay in memory.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import urllib.request
from pathlib import Path

from benchmarks import fixture, loading
from benchmarks.measure import Ratio
from benchmarks.servers import CLIENT_CORE, need, perdure
from perdure.storage.sqlite.opening import FILE

_CLIENTS = 32
_SECONDS = 2
_ROUNDS = 5
_TARGET = 8.0


def run() -> list[Ratio]:
    registry, _ = loading.make_registry()
    script = fixture.wrk_script(fixture.OUT / "cold-disk.lua")
    pairs = [
        (_ask_cold(registry, script, _CLIENTS), _ask_cold(registry, script, 1))
        for _ in range(_ROUNDS)
    ]
    return [
        Ratio(
            name=f"redirects from a cold disk, {_CLIENTS} clients / one",
            ours=statistics.median(many for many, _ in pairs),
            other=statistics.median(one for _, one in pairs),
            unit="1/s",
            ratio=statistics.median(many / one for many, one in pairs),
            target=_TARGET,
        )
    ]


def _ask_cold(registry: Path, script: Path, clients: int) -> float:
    """Redirects per second in the first seconds of a server."""
    drop_pages(registry)
    with perdure(registry) as server:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz", timeout=30) as ready:
            ready.read()
        command = ["taskset", "-c", CLIENT_CORE, need("wrk"), "-t1", f"-c{clients}"]
        command += [f"-d{_SECONDS}s", "-s", str(script), f"http://127.0.0.1:{server.port}"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", output)
    if rate is None or "unexpected answers: 0" not in output:
        raise RuntimeError(f"wrk: {output}")
    return float(rate[1])


def drop_pages(registry: Path) -> None:
    """Drop the registry from the page cache, as far as nobody has it open."""
    with (registry / FILE).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
