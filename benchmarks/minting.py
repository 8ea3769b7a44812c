"""Durable mints, against what the disk itself can flush.

The disk's own rate is that of appending 4 KiB to a file and calling `fdatasync`, over and over, in
the same directory: what a log of durable writes does if it does nothing else. (Overwriting what is
allocated already would be up to half as fast again, for nothing new is kept then.)

The registry and its clients run on one core, as the servers of the other benchmarks do: Python has
one to give, and what a virtual machine needs to wake the other for each batch (a tenth to a fifth)
is not what is asked. The disk is as fast from one core as from all.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import on_one_core
from perdure.model.commands import Content, Mint, Receipt
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

_SECONDS = 1.5
_CLIENTS = 64
_P99 = 5.0  # milliseconds


def run() -> list[Ratio]:
    root = fixture.OUT / "minting"
    shutil.rmtree(root, ignore_errors=True)
    initialise(root, series=(fixture.SERIES,))
    with Registry(root) as registry:
        receipts: list[Receipt] = []
        late: list[float] = []
        results = [
            _compare("1 client", lambda: _one(registry, receipts), root, 0.6),
            _compare("64 clients", lambda: _many(registry, receipts, late, size=0), root, 8),
            _compare(
                "64 clients, 2 KiB each", lambda: _many(registry, receipts, [], size=2048), root, 2
            ),
        ]
        _check_dense(receipts)
    results.append(
        Ratio(
            name=f"p99 of 64 clients, at most {_P99} ms / target",
            ours=statistics.median(late),
            other=_P99,
            unit="ms",
            ratio=_P99 / statistics.median(late),
            target=1.0,
        )
    )
    shutil.rmtree(root)
    return results


def flushes(directory: Path, seconds: float = _SECONDS) -> float:
    """How often a second the disk makes 4 KiB more of a file durable."""
    path = directory / "flushes"
    with path.open("wb", buffering=0) as file:
        block = os.urandom(4096)
        count, start = 0, time.perf_counter()
        while (passed := time.perf_counter() - start) < seconds:
            file.write(block)
            os.fdatasync(file.fileno())
            count += 1
    path.unlink()
    return count / passed


def _compare(name: str, ours: Callable[[], float], root: Path, target: float) -> Ratio:
    ours()
    pairs = [(ours(), flushes(root)) for _ in range(5)]
    return Ratio(
        name=f"durable mints, {name} / fdatasync",
        ours=statistics.median(mine for mine, _ in pairs),
        other=statistics.median(theirs for _, theirs in pairs),
        unit="1/s",
        ratio=statistics.median(mine / theirs for mine, theirs in pairs),
        target=target,
    )


@on_one_core()
def _one(registry: Registry, receipts: list[Receipt]) -> float:
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < _SECONDS:
        receipts.append(registry.door.execute_command(Mint(authority=fixture.SERIES)))
        count += 1
    return count / passed


@on_one_core()
def _many(registry: Registry, receipts: list[Receipt], late: list[float], *, size: int) -> float:
    waits: list[float] = []
    pool = os.urandom(size + 65536)  # what clients send exists before they send it

    async def client(end: float) -> None:
        while (start := time.perf_counter()) < end:
            at = len(receipts) % 65536
            mint = Mint(authority=fixture.SERIES, contents=_contents(pool[at : at + size]))
            receipts.append(await registry.door.submit_command(mint))
            waits.append(time.perf_counter() - start)

    async def clients() -> None:
        end = time.perf_counter() + _SECONDS
        await asyncio.gather(*(client(end) for _ in range(_CLIENTS)))

    start = time.perf_counter()
    uvloop.run(clients())
    passed = time.perf_counter() - start
    late.append(sorted(waits)[len(waits) * 99 // 100] * 1000)
    return len(waits) / passed


def _contents(data: bytes) -> tuple[Content, ...]:
    if not data:
        return ()
    return (make_content(data, format="octet-stream", media_type="application/octet-stream"),)


def _check_dense(receipts: list[Receipt]) -> None:
    """Serials start at 1 on each day and have no gaps and no doubles, or the rates mean nothing."""
    days: dict[str, list[int]] = {}
    for receipt in receipts:
        day, _, name = receipt.identifier.rpartition("/")
        days.setdefault(day, []).append(int(name.partition(".")[0]))
    for day, numbers in days.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            raise RuntimeError(f"serials of {day} are not dense")
