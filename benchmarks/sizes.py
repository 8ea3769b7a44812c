"""What grows with the number of names: bytes, memory, and the time that each operation takes.

How it works: for each size, a registry of redirects is imported in the order of their keys, and
then asked for everything: opened, looked up at random, cold and warm, minted in, listed, verified,
and backed up twice. `python -m benchmarks.sizes COUNT …` prints a row for each size and makes no
ratio; `python -m benchmarks sizes` compares 10⁵ and 10⁶ names with the targets and with each other.
Seconds of commands are seconds of processor time, of all their processes.

What must stay true: a size that does not fit on the disk is refused before anything is written
(`needed_bytes`); everything that was written is removed.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks import fixture
from benchmarks.measure import Ratio
from benchmarks.servers import perdure, wrk
from perdure.ids import parse
from perdure.model.commands import Mint
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.storage.sqlite.opening import FILE

SIZES = (100_000, 1_000_000)
_BYTES = 600
"""Of disk for each name while it is measured: the lines, the registry, its log, and a backup."""
_COLD, _WARM, _MINTS = 2_000, 100_000, 5_000
_MOST_BYTES = 250  # of a name
_MOST_MEMORY = 300  # megabytes of the server


class SizeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured with a number of names."""

    names: int
    imported: float
    """Lines per second of processor time."""
    bytes: float
    """Of the registry, for each name."""
    opened: float
    """Seconds to open the registry and to find a name, by the clock."""
    cold: float
    """Look-ups per second that one client gets if nothing is in memory, by the clock."""
    warm: float
    """Look-ups per second of processor time, through the library."""
    redirects: float
    """Redirects at random per second of the server's processor time."""
    memory: float
    """Megabytes of the server's own, after the redirects."""
    mints: float
    """Names minted per second of processor time, one after the other."""
    day: float
    """Milliseconds of processor time to list 10,000 names of a day."""
    verified: float
    """Names per second of processor time."""
    backed_up: float
    """Seconds of processor time of a first backup."""
    backed_up_again: float
    """Seconds of processor time of a second one."""


def needed_bytes(count: int) -> int:
    """Return the bytes of disk that measuring this number of names takes."""
    return count * _BYTES + (1 << 30)


def measure_size(count: int, place: Path) -> SizeFigures:
    """Measure everything with a registry in a directory, which must not exist."""
    place.mkdir(parents=True)
    registry = place / "registry"
    try:
        imported = count / _import_names(registry, place, count)
        size = (registry / FILE).stat().st_size / count
        opened = _open(registry, count)
        cold = _look_up_cold(registry, count)
        warm = _look_up(registry, count)
        redirects, memory = _ask_server(registry, place, count)
        mints = _mint(registry)
        day = _list_day(registry)
        verified = count / _run(registry, "verify")
        backups = [_run(registry, "backup", str(place / "backup")) for _ in range(2)]
    finally:
        shutil.rmtree(place)
    return SizeFigures(
        names=count,
        imported=imported,
        bytes=size,
        opened=opened,
        cold=cold,
        warm=warm,
        redirects=redirects,
        memory=memory,
        mints=mints,
        day=day,
        verified=verified,
        backed_up=backups[0],
        backed_up_again=backups[1],
    )


# one measurement each
# --------------------


def _run(registry: Path, *words: str) -> float:
    """Run a command. Return the processor seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "perdure.cli", "-C", str(registry), *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _import_names(registry: Path, place: Path, count: int) -> float:
    initialise(registry, series=(fixture.SERIES,))
    source = place / "lines.jsonl"
    with source.open("w") as file:
        file.writelines(fixture.lines(count))
    try:
        return _run(registry, "import", str(source))
    finally:
        source.unlink()


def _names(count: int, asked: int, seed: int) -> list[str]:
    """Names at random."""
    chance, days = random.Random(seed), fixture.days(count)
    last = min(fixture.PER_DAY, count)
    return [
        f"pdi://{fixture.SERIES}/{chance.choice(days)}/{chance.randint(1, last)}.html.1"
        for _ in range(asked)
    ]


def _find(registry: Registry, names: list[str]) -> None:
    for name in names:
        if registry.listings.find_record(parse(name)) is None:
            raise RuntimeError(f"{name} is not there")


def _open(registry: Path, count: int) -> float:
    [name] = _names(count, 1, seed=1)
    start = time.perf_counter()
    with Registry(registry) as opened:
        _find(opened, [name])
    return time.perf_counter() - start


def _look_up_cold(registry: Path, count: int) -> float:
    keys = [parse(name).key for name in _names(count, _COLD, seed=2)]
    with (registry / FILE).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with Registry(registry) as opened:
        lookup = opened.records.open_lookup(cold=True)
        start = time.perf_counter()
        for key in keys:
            lookup.find_stored(key)
        return _COLD / (time.perf_counter() - start)


def _look_up(registry: Path, count: int) -> float:
    names = _names(count, _WARM, seed=3)
    with Registry(registry) as opened:
        _find(opened, names)  # fills the page cache
        start = time.process_time()
        _find(opened, names)
        return _WARM / (time.process_time() - start)


def _ask_server(registry: Path, place: Path, count: int) -> tuple[float, float]:
    script = fixture.wrk_script(place / "anywhere.lua", count=count)
    with perdure(registry) as server:
        wrk(server, script, seconds=2)
        rates = [wrk(server, script, seconds=2) for _ in range(3)]
        return max(rates), server.own_memory()


def _mint(registry: Path) -> float:
    place = (Location(uri="https://clintonwhitehouse.archives.gov/"),)
    with Registry(registry) as opened:
        start = time.process_time()
        for _ in range(_MINTS):
            opened.door.execute_command(
                Mint(authority=fixture.SERIES, format="html", locations=place)
            )
        return _MINTS / (time.process_time() - start)


def _list_day(registry: Path) -> float:
    with Registry(registry) as opened:
        day = parse(f"pdi://{fixture.SERIES}/{fixture.days()[0]}/")
        start = time.process_time()
        opened.listings.list_page(day, limit=10_000)
        return (time.process_time() - start) * 1000


# results
# -------


def run() -> list[Ratio]:
    """Compare two sizes with the targets, and the larger with the smaller."""
    figures = []
    for count in SIZES:
        with _own_place() as place:
            figures.append(measure_size(count, place))
        print(write_row(figures[-1]), file=sys.stderr)
    small, large = figures
    return [
        _compare("import, sorted redirects / target", large.imported, 300_000, "ids/CPU-s"),
        _compare(f"bytes of a name, at most {_MOST_BYTES}", _MOST_BYTES, large.bytes, "bytes"),
        _compare(f"memory, at most {_MOST_MEMORY} MB", _MOST_MEMORY, large.memory, "MB"),
        _compare("redirects among ten times as many", large.redirects, small.redirects, "1/s", 0.8),
        _compare("mints among ten times as many", large.mints, small.mints, "1/s", 0.8),
        _compare("a day among ten times as many", 1 / large.day, 1 / small.day, "1/ms", 0.8),
    ]


def _compare(name: str, ours: float, other: float, unit: str, target: float = 1.0) -> Ratio:
    return Ratio(name=name, ours=ours, other=other, unit=unit, ratio=ours / other, target=target)


def write_row(figures: SizeFigures) -> str:
    """Write the figures of one size in one line."""
    values = msgspec.structs.asdict(figures)
    return ", ".join(
        f"{name} {value:,.4g}" for name, value in values.items() if name != "names"
    ) + (f" ({figures.names:,} names)")


@contextmanager
def _own_place() -> Iterator[Path]:
    fixture.OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=fixture.OUT, prefix="sizes-") as parent:
        yield Path(parent) / "size"


def main(counts: list[int]) -> None:
    for count in counts:
        fixture.OUT.mkdir(exist_ok=True)
        free = shutil.disk_usage(fixture.OUT).free
        if free < needed_bytes(count):
            sys.exit(f"{count:,} names need {needed_bytes(count):,} bytes; {free:,} are free")
        with _own_place() as place:
            print(write_row(measure_size(count, place)), flush=True)


if __name__ == "__main__":
    main([int(float(word)) for word in sys.argv[1:]] or list(SIZES))
