"""Held bytes: a 2 GB stream and random ranges of 64 KiB, against nginx on the same file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import Server, nginx, perdure, rounds, wrk
from perdure.model.commands import Mint
from perdure.registry import Registry, initialise

SIZE = 2_000_000_000  # bytes
_RANGE = 64 * 1024


def run() -> list[Ratio]:
    registry = fixture.OUT / "held"
    path = make_document(registry)
    files = fixture.OUT / "files"
    files.mkdir(exist_ok=True)
    twin = files / "twin"
    if not twin.exists():
        with twin.open("wb") as file:
            for _ in range(SIZE // 1_000_000):
                file.write(b"\xa5" * 1_000_000)
    ranges = _range_script(fixture.OUT / "ranges.lua", path)
    twin_ranges = _range_script(fixture.OUT / "twin.lua", "/twin")
    with (
        nginx(fixture.OUT / "nginx", f"location / {{ root {files}; }}") as static,
        perdure(registry) as ours,
    ):
        before = ours.own_memory()
        results = rounds(
            "2 GB stream",
            lambda: _stream(ours, path),
            {"nginx sendfile": (lambda: _stream(static, "/twin"), 1 / 1.7)},
            unit="MB/CPU-s",
            count=3,
        )
        results += rounds(
            "64 KiB ranges",
            lambda: wrk(ours, ranges),
            {"nginx sendfile": (lambda: wrk(static, twin_ranges), 0.3)},
            unit="ranges/CPU-s",
        )
        grown = ours.own_memory() - before
    results.append(
        Ratio(
            name="memory grown while streaming, at most 32 MB / target",
            ours=grown,
            other=32,
            unit="MB",
            ratio=32 / max(grown, 0.1),
            target=1.0,
        )
    )
    return results


def make_document(registry: Path) -> str:
    """A registry with one document of 2 GB; the path to ask for it."""
    name = registry / "name"
    if not name.exists():
        initialise(registry, series=(fixture.SERIES,))
        with Registry(registry) as opened, opened.spool() as spool:
            for _ in range(SIZE // 1_000_000):
                spool.write(b"\xa5" * 1_000_000)
            content = spool.finish_content(
                format="octet-stream", media_type="application/octet-stream"
            )
            receipt = opened.door.execute_command(
                Mint(authority=fixture.SERIES, contents=(content,))
            )
        name.write_text(receipt.identifier)
    return "/" + name.read_text()


def _stream(server: Server, path: str) -> float:
    before = server.seconds()
    url = f"http://127.0.0.1:{server.port}{path}"
    subprocess.run(["curl", "-sf", "-o", "/dev/null", "--path-as-is", url], check=True)
    return SIZE / 1e6 / (server.seconds() - before)


def _range_script(script: Path, path: str) -> Path:
    script.write_text(
        f"""math.randomseed(1997)
        request = function()
          local first = math.random(0, {SIZE - _RANGE - 1})
          local range = "bytes=" .. first .. "-" .. first + {_RANGE - 1}
          return wrk.format("GET", "{path}", {{ ["Range"] = range }})
        end
        {fixture.expect("status ~= 206")}
        """
    )
    return script
