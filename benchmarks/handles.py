"""Handles as JSON, of four values each, against the same bytes as files that nginx serves."""

from __future__ import annotations

import asyncio
import http.client
import shutil
from pathlib import Path

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import Server, nginx, perdure, rounds, wrk
from perdure.ids import parse
from perdure.model.commands import Assign
from perdure.model.records import Value
from perdure.registry import Registry, initialise

_COUNT = 20_000
_PREFIX = "21.T14999"
_BATCH = 500
_ADMIN = '{"handle":"21.T14999/ADMIN","index":300,"permissions":"011111110011"}'


def run() -> list[Ratio]:
    root = fixture.OUT / "handles"
    registry, files = root / "registry", root / "files"
    shutil.rmtree(root, ignore_errors=True)
    initialise(registry, handle_prefixes=(_PREFIX,))
    asyncio.run(_fill(registry))
    script = _script(root / "handles.lua", distinct=_COUNT)
    hot = _script(root / "hot.lua", distinct=1000)
    with (
        perdure(registry) as ours,
        nginx(fixture.OUT / "nginx", f"location / {{ root {files}; }}") as static,
    ):
        _copy(ours, files)
        return rounds(
            "Handle-JSON among all",
            lambda: wrk(ours, script),
            {"nginx static file": (lambda: wrk(static, script), 0.45)},
            unit="requests/CPU-s",
        ) + rounds(
            "Handle-JSON, hot",
            lambda: wrk(ours, hot),
            {"nginx static file": (lambda: wrk(static, hot), 0.25)},
            unit="requests/CPU-s",
        )


async def _fill(registry: Path) -> None:
    with Registry(registry) as opened:
        for start in range(0, _COUNT, _BATCH):
            commands = (_handle(number) for number in range(start, start + _BATCH))
            await asyncio.gather(*(opened.door.submit_command(command) for command in commands))


def _handle(number: int) -> Assign:
    values = (
        Value(index=1, type="URL", data=f"https://archive.example.org/objects/{number}"),
        Value(index=2, type="CHECKSUM", data=f"{number:032x}"),
        Value(index=3, type="EMAIL", data="archive@example.org"),
        Value(index=100, type="HS_ADMIN", format="admin", data=_ADMIN),
    )
    return Assign(identifier=parse(f"hdl:{_PREFIX}/{number}"), values=values)


def _copy(ours: Server, files: Path) -> None:
    """The answers as files, which nginx then serves under the same paths."""
    directory = files / "api" / "handles" / _PREFIX
    directory.mkdir(parents=True)
    connection = http.client.HTTPConnection("127.0.0.1", ours.port)
    for number in range(_COUNT):
        connection.request("GET", f"/api/handles/{_PREFIX}/{number}")
        (directory / str(number)).write_bytes(connection.getresponse().read())


def _script(path: Path, *, distinct: int) -> Path:
    path.write_text(
        f"""math.randomseed(1994)
        request = function()
          return wrk.format("GET", "/api/handles/{_PREFIX}/" .. (math.random({distinct}) - 1))
        end
        {fixture.expect("status ~= 200")}
        """
    )
    return path
