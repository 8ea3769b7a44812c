"""Durable mints through HTTP: 64 clients, one worker, against what the disk itself can flush."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.minting import flushes
from benchmarks.servers import Server, need, perdure
from perdure.registry import initialise

_CLIENTS = 64
_SECONDS = 3


def run() -> list[Ratio]:
    root = fixture.OUT / "http-minting"
    shutil.rmtree(root, ignore_errors=True)
    initialise(root, series=(fixture.SERIES,))
    token = _token(root)
    script = fixture.OUT / "mint.lua"
    script.write_text(
        f"""wrk.method = "PUT"
        wrk.path = "/pdi://{fixture.SERIES}/"
        wrk.body = "To whom it may concern.\\r\\n"
        wrk.headers["Content-Type"] = "text/plain; charset=us-ascii"
        wrk.headers["Authorization"] = "Bearer {token}"
        {fixture.expect("status ~= 201")}
        """
    )
    with perdure(root, PERDURE_LOG_LEVEL="warning") as server:
        _mints(server, script)
        pairs = [(_mints(server, script), flushes(root)) for _ in range(5)]
    shutil.rmtree(root)
    return [
        Ratio(
            name=f"durable mints through HTTP, {_CLIENTS} clients / fdatasync",
            ours=statistics.median(mine for mine, _ in pairs),
            other=statistics.median(theirs for _, theirs in pairs),
            unit="1/s",
            ratio=statistics.median(mine / theirs for mine, theirs in pairs),
            target=1.0,
        )
    ]


def _token(root: Path) -> str:
    command = [sys.executable, "-m", "perdure.cli", "-C", str(root), "token", "create", "bench"]
    command += ["--series", fixture.SERIES]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.split()[-1]


def _mints(server: Server, script: Path) -> float:
    command = ["taskset", "-c", "1", need("wrk"), "-t1", f"-c{_CLIENTS}", f"-d{_SECONDS}s"]
    command += ["-s", str(script), f"http://127.0.0.1:{server.port}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", output)
    if rate is None or "unexpected answers: 0" not in output:
        raise RuntimeError(f"wrk: {output}")
    return float(rate[1])
