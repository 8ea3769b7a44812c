"""Mirrors: how fast one catches up with names, documents and bytes, and how far behind it stays.

How it works: the origin is served by a process of its own, and the mirror follows it in another one
(`perdure mirror run --once`), so both work at the same time; what counts is the clock, without the
start of the process. To find out how far behind a mirror stays, names are bound at the origin at a
steady rate; each is looked for in the mirror from the moment at which it was acknowledged.

All targets are absolute. `PERDURE_BENCH_MIRRORED` sets the number of names.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.fixture import OUT, SERIES
from benchmarks.measure import Ratio
from benchmarks.network import fill, run_command, state_rate
from benchmarks.servers import Server, perdure
from perdure.ids import parse
from perdure.model.commands import Bind, Command, Mint
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

COUNT = int(os.environ.get("PERDURE_BENCH_MIRRORED", "100000"))
_AT_ONCE = 500
_RATE = 1000  # writes/s
_SECONDS = 20
_MOST_LAG = 1.0  # seconds
_LOOK_EVERY = 0.005  # seconds


def run() -> list[Ratio]:
    root = OUT / "mirrors"
    shutil.rmtree(root, ignore_errors=True)
    names, documents, bytes_ = (_Origin(root / one) for one in ("names", "documents", "bytes"))
    asyncio.run(fill(names.directory, COUNT))
    few, large = COUNT // 5, max(1, COUNT // 1000)
    asyncio.run(_mint(documents.directory, few, 2048))
    asyncio.run(_mint(bytes_.directory, large, 8 << 20))
    rows = [
        state_rate("mirrored names", COUNT / names.time_mirror(), 20_000, "changes/s"),
        state_rate("mirrored documents of 2 KiB", few / documents.time_mirror(), 3000, "changes/s"),
        state_rate("mirrored bytes", large * 8.388608 / bytes_.time_mirror(), 100, "MB/s"),
    ]
    lag = names.measure_lag()
    rows.append(
        Ratio(
            name=f"lag at {_RATE:,} writes/s, at most {_MOST_LAG:.0f} s / target",
            ours=lag * 1000,
            other=_MOST_LAG * 1000,
            unit="ms",
            ratio=_MOST_LAG / lag,
            target=1.0,
        )
    )
    return rows


async def _mint(registry: Path, count: int, length: int) -> None:
    """Mint documents of one length, each of other bytes."""
    with Registry(registry) as opened:
        at_once = max(1, min(_AT_ONCE, (32 << 20) // length))
        for start in range(0, count, at_once):
            numbers = range(start, min(start + at_once, count))
            commands = [_make_mint(number, length) for number in numbers]
            await asyncio.gather(*map(opened.door.submit_command, commands))


def _make_mint(number: int, length: int) -> Command:
    data = number.to_bytes(8, "big").hex().encode() * (length // 16)
    content = make_content(data, format="text", media_type="text/plain", charset="us-ascii")
    return Mint(authority=SERIES, contents=(content,))


class _Origin:
    """A registry that is mirrored."""

    def __init__(self, root: Path) -> None:
        self.directory, self._mirror = root / "origin", root / "mirror"
        initialise(self.directory, series=(SERIES,))
        self._token = root / "token"

    def _add_mirror(self, origin: Server) -> None:
        name = f"mirror-{origin.port}"
        words = ("token", "create", name, "--operation", "mirror", "--authority", "*")
        self._token.write_text(run_command(self.directory, *words))
        url = f"http://127.0.0.1:{origin.port}"
        run_command(self._mirror, "mirror", "add", url, "--token-file", str(self._token))

    def time_mirror(self) -> float:
        """The seconds in which a new mirror takes over everything."""
        with perdure(self.directory) as origin:
            self._add_mirror(origin)
            begun = time.perf_counter()
            run_command(self._mirror, "mirror", "run", "--once")
            took = time.perf_counter() - begun
            begun = time.perf_counter()
            run_command(self._mirror, "mirror", "run", "--once")  # there is nothing left
            return took - (time.perf_counter() - begun)

    def measure_lag(self) -> float:
        """The longest time, in seconds, from an acknowledged write to its copy in the mirror."""
        shutil.rmtree(self._mirror)
        with perdure(self.directory) as origin:
            self._add_mirror(origin)
            run_command(self._mirror, "mirror", "run", "--once")
            with perdure(self._mirror, cores="0,1"):
                return asyncio.run(self._measure_lag())

    async def _measure_lag(self) -> float:
        waiting: dict[str, float] = {}
        lags: list[float] = []
        with Registry(self.directory) as origin, Registry(self._mirror) as mirror:
            begun = time.perf_counter()
            writing = asyncio.create_task(self._write_steadily(origin, waiting))
            while not writing.done() or waiting:
                for key, acknowledged in list(waiting.items())[:20]:
                    if mirror.records.find_record(key) is None:
                        break
                    lags.append(time.perf_counter() - acknowledged)
                    del waiting[key]
                await asyncio.sleep(_LOOK_EVERY)
                if time.perf_counter() - begun > 10 * _SECONDS:
                    raise RuntimeError("the mirror does not follow")
            await writing
        return max(lags)

    async def _write_steadily(self, origin: Registry, waiting: dict[str, float]) -> None:
        """Bind names at a steady rate, ten at once; of each ten, the last is noted."""
        begun = time.perf_counter()
        for turn, commands in enumerate(_list_binds(_RATE * _SECONDS // 10)):
            await asyncio.sleep(max(0.0, begun + turn * 10 / _RATE - time.perf_counter()))
            await asyncio.gather(*map(origin.door.submit_command, commands))
            waiting[commands[-1].identifier.key] = time.perf_counter()


def _list_binds(count: int) -> Iterator[list[Bind]]:
    for turn in range(count):
        yield [
            Bind(
                identifier=parse(f"pdi://{SERIES}/1995/01/20/{10 * turn + at + 1}.html.1"),
                locations=(Location(uri=f"https://a.example/{turn}-{at}"),),
                register=True,
            )
            for at in range(10)
        ]
