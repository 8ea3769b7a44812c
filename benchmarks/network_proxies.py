"""Documents that are passed on from another resolver, against nginx's `proxy_pass`.

How it works: the same perdure holds the documents. In front of it stands our own resolver, to which
they are delegated, or nginx. Each document has a digest, so ours hashes what passes. Without a
cache, every document is fetched again; a warm cache is compared with the same documents held.
Memory must not grow with what passes.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from benchmarks import fixture
from benchmarks.fixture import OUT, SERIES
from benchmarks.measure import Ratio
from benchmarks.network import run_command
from benchmarks.servers import Server, nginx, perdure, rounds, wrk
from perdure.ids import parse
from perdure.model.commands import Register
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

_DAY = "1993/01/20"
_DOCUMENTS = 200
_LENGTH = 1 << 20
_SMALL = 4096
_MOST_GROWTH = 30  # megabytes
_NETWORKS = "127.0.0.0/8"


def run() -> list[Ratio]:
    root = OUT / "proxies"
    shutil.rmtree(root, ignore_errors=True)
    held, passing, caching = (root / one for one in ("held", "passing", "caching"))
    initialise(held, series=(SERIES,))
    asyncio.run(_fill(held))
    large = _write_script(root / "large.lua", "l")
    small = _write_script(root / "small.lua", "s")
    with perdure(held) as origin:
        for directory in (passing, caching):
            initialise(directory, series=("pid.example.us",))
            there = f"http://127.0.0.1:{origin.port}"
            run_command(
                directory, "delegate", f"pdi://{SERIES}/1993/", "--to", there, "--how", "proxy"
            )
        rows = _measure_passing(origin, passing, root, large)
        with perdure(caching, PERDURE_PRIVATE_NETWORKS=_NETWORKS) as ours:
            rows += rounds(
                "documents of 4 KiB, warm proxy cache",
                lambda: wrk(ours, small),
                {"held": (lambda: wrk(origin, small), 0.9)},
                unit="requests/CPU-s",
            )
    return rows


def _measure_passing(origin: Server, passing: Path, root: Path, large: Path) -> list[Ratio]:
    rule = f"merge_slashes off; location / {{ proxy_pass http://127.0.0.1:{origin.port}; }}"
    with (
        perdure(passing, PERDURE_PRIVATE_NETWORKS=_NETWORKS, PERDURE_PROXY_CACHE_BYTES="0") as ours,
        nginx(root / "nginx", rule) as other,
    ):
        wrk(ours, large, connections=8)
        before = ours.own_memory()
        rows = rounds(
            "documents of 1 MiB passed on and verified",
            lambda: wrk(ours, large, connections=8),
            {"nginx proxy_pass": (lambda: wrk(other, large, connections=8), 0.25)},
            unit="documents/CPU-s",
        )
        growth = max(1.0, ours.own_memory() - before)
    rows.append(
        Ratio(
            name=f"memory while they pass, at most {_MOST_GROWTH} MB more / target",
            ours=growth,
            other=_MOST_GROWTH,
            unit="MB",
            ratio=_MOST_GROWTH / growth,
            target=1.0,
        )
    )
    return rows


async def _fill(registry: Path) -> None:
    with Registry(registry) as opened:
        for kind, length in (("l", _LENGTH), ("s", _SMALL)):
            for number in range(_DOCUMENTS):
                data = number.to_bytes(8, "big").hex().encode() * (length // 16)
                content = make_content(data, format="text", media_type="text/plain")
                name = parse(f"pdi://{SERIES}/{_DAY}/{kind}{number}")
                await opened.door.submit_command(Register(identifier=name, contents=(content,)))


def _write_script(path: Path, kind: str) -> Path:
    path.write_text(
        f"""math.randomseed(1994)
        request = function()
          local number = math.random({_DOCUMENTS}) - 1
          return wrk.format("GET", "/pdi://{SERIES}/{_DAY}/{kind}" .. number .. ".text.1")
        end
        {fixture.expect("status ~= 200")}
        """
    )
    return path
