"""Creates of handles with three values through the Handle API, 64 clients.

Measured against mints through HTTP in the same run, as POST to a series and as plain uploads, and
with two workers against one, where both and the clients share two cores. The slowest of a hundred
creates has an absolute target, because the issue gives it so.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import CLIENT_CORE, SERVER_CORE, Server, need, perdure
from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.policy.tokens import make_token
from perdure.registry import Registry, initialise

_CLIENTS = 64
_SECONDS = 3
_ROUNDS = 5
_PREFIX = "21.T14999"
_SLOWEST = 10.0  # milliseconds
_BOTH_CORES = f"{SERVER_CORE},{CLIENT_CORE}"
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_VALUES = (
    '{"values":[{"index":1,"type":"URL","data":{"format":"string","value":'
    '"https://archive.example.org/objects/%s"}},{"index":2,"type":"EMAIL","data":'
    '{"format":"string","value":"archive@example.org"}},{"index":100,"type":"HS_ADMIN","data":'
    '{"format":"admin","value":{"handle":"21.T14999/ADMIN","index":300,'
    '"permissions":"011111110011"}}}]}'
)
_run_numbers = count(1)


class _Load(NamedTuple):
    """The answers of a server under load: how many in a second, and the times in milliseconds."""

    rate: float
    middle: float
    slowest: float
    """The slowest of a hundred."""


def run() -> list[Ratio]:
    with _served(workers=1, cores=SERVER_CORE) as (server, secret):
        scripts = [_mint_script(secret, *how) for how in (_POSTED, _UPLOADED)]
        _load(server, _create_script(secret), CLIENT_CORE)
        rounds = [
            (
                _load(server, _create_script(secret), CLIENT_CORE),
                *(_load(server, script, CLIENT_CORE) for script in scripts),
            )
            for _ in range(_ROUNDS)
        ]
    created, posted, uploaded = zip(*rounds, strict=True)
    middle, slowest = (
        statistics.median(one) for one in zip(*(load[1:] for load in created), strict=True)
    )
    alone, together = zip(*(_load_workers() for _ in range(_ROUNDS)), strict=True)
    return [
        _compare("creates of handles / POST to a series", created, posted, 0.7),
        _compare("creates of handles / mints by upload", created, uploaded, 0.7),
        Ratio(
            name=f"a create, p99 (p50 is {middle:.1f} ms), at most {_SLOWEST:.0f} ms / target",
            ours=slowest,
            other=_SLOWEST,
            unit="ms",
            ratio=_SLOWEST / slowest,
            target=1.0,
        ),
        _compare("creates of handles, two workers / one", together, alone, 1.0),
    ]


def _compare(name: str, ours: tuple[_Load, ...], others: tuple[_Load, ...], target: float) -> Ratio:
    return Ratio(
        name=f"{name}, {_CLIENTS} clients",
        ours=statistics.median(one.rate for one in ours),
        other=statistics.median(one.rate for one in others),
        unit="1/s",
        ratio=statistics.median(
            one.rate / other.rate for one, other in zip(ours, others, strict=True)
        ),
        target=target,
    )


def _load_workers() -> tuple[_Load, _Load]:
    """Creates with one worker, then with two."""
    found = []
    for workers in (1, 2):
        with _served(workers=workers, cores=_BOTH_CORES) as (server, secret):
            _load(server, _create_script(secret), _BOTH_CORES)
            found.append(_load(server, _create_script(secret), _BOTH_CORES))
    return found[0], found[1]


@contextmanager
def _served(*, workers: int, cores: str) -> Iterator[tuple[Server, str]]:
    """A server of a new registry, and the secret of a token for all of it."""
    root = fixture.OUT / "handle-writing"
    shutil.rmtree(root, ignore_errors=True)
    initialise(root, series=(fixture.SERIES,), handle_prefixes=(_PREFIX,))
    secret, digest = make_token()
    operations = ("mint", "register", "bind")
    token = Token(name="bench", digest=digest, operations=operations, authorities=("*",))
    with Registry(root) as registry:
        registry.door.execute_command(SaveToken(token=token))
    settings = {"PERDURE_LOG_LEVEL": "warning"}
    with perdure(root, workers=workers, cores=cores, **settings) as server:
        _await_workers(server, workers)
        yield server, secret
    shutil.rmtree(root)


def _await_workers(server: Server, workers: int) -> None:
    """Wait until workers answer: they share a socket that takes connections before."""
    address = f"http://127.0.0.1:{server.port}/healthz"
    for _ in range(2 * workers):
        with urllib.request.urlopen(address, timeout=30) as answer:
            answer.read()
    time.sleep(workers - 1)  # the other may be a moment later


_POSTED = ("POST", "?mint", "application/json", '{"locations":["https://archive.example.org/1"]}')
_UPLOADED = ("PUT", "", "text/plain; charset=us-ascii", "To whom it may concern.")


def _mint_script(secret: str, method: str, query: str, kind: str, body: str) -> Path:
    path = fixture.OUT / f"mint-{method}.lua"
    path.write_text(
        f"""wrk.method = "{method}"
        wrk.path = "/pdi://{fixture.SERIES}/{query}"
        wrk.body = [[{body}]]
        wrk.headers["Content-Type"] = "{kind}"
        wrk.headers["Authorization"] = "Bearer {secret}"
        {fixture.expect("status ~= 201")}
        """
    )
    return path


def _create_script(secret: str) -> Path:
    """A script that creates handles which no other run creates."""
    path, number = fixture.OUT / "create.lua", next(_run_numbers)
    path.write_text(
        f"""local last = 0
        local fields = {{["Content-Type"] = "application/json",
          ["Authorization"] = "Bearer {secret}"}}
        request = function()
          last = last + 1
          local name = "{number}-" .. last
          local path = "/api/handles/{_PREFIX}/" .. name .. "?overwrite=false"
          return wrk.format("PUT", path, fields, string.format([[{_VALUES}]], name))
        end
        {fixture.expect("status ~= 201")}
        """
    )
    return path


def _load(server: Server, script: Path, cores: str) -> _Load:
    command = ["taskset", "-c", cores, need("wrk"), "-t1", f"-c{_CLIENTS}", f"-d{_SECONDS}s"]
    command += ["--latency", "-s", str(script), f"http://127.0.0.1:{server.port}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", output)
    times = re.findall(r"(?:50|99)%\s+([0-9.]+)(us|ms|s)\n", output)
    if rate is None or len(times) != 2 or "unexpected answers: 0" not in output:
        raise RuntimeError(f"wrk: {output}")
    middle, slowest = (float(number) * _MILLISECONDS[unit] for number, unit in times)
    return _Load(float(rate[1]), middle, slowest)
