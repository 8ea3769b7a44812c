"""A polite client beside busy neighbours: how long it waits, and how long it would wait for nginx.

How it works: the polite client asks for one redirect after the other on one connection. Beside it
there are 32 clients that ask for redirects as fast as they can, a stream of 2 GB, an import, a
backup, or 32 clients whose names must be read from the disk. perdure and nginx take turns, each on
the same core with the same neighbour; import and backup work on our registry in both turns. Before
the stream, the documents of both are read once: else only one of them would have to wait for the
disk. The names on the disk have no counterpart, so nginx stays alone there; a second row compares
with nginx beside as many clients, which it answers from memory. The best run of each counts,
because other work on the machine only adds to it.

What must stay true: load goes to the loopback only, for a bounded time; every neighbour is ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks import fixture, held
from benchmarks.measure import Ratio
from benchmarks.servers import CLIENT_CORE, Server, measure_waits, need, nginx, perdure
from perdure.ids import parse
from perdure.model.commands import Bind
from perdure.model.records import Location
from perdure.registry import Registry
from perdure.storage.sqlite.opening import FILE

_NAME = f"pdi://{fixture.SERIES}/1992/01/01/7.html.1"
_ADDRESS = "https://archive.example.org/7"
_SECONDS = 2.0
_RUNS = 3
_GREEDY = 32
_KNOWN = 1_000_000  # names that are imported before
_NEW = 3_000_000  # names for the neighbour that imports: more than it manages
_TARGET = 1 / 3
"""Of nginx's waiting time: the slowest of a hundred requests may take three times as long."""

Neighbour = Callable[[Server], contextlib.AbstractContextManager[None]]


def run() -> list[Ratio]:
    root = fixture.OUT / "neighbours"
    shutil.rmtree(root, ignore_errors=True)
    registry, files = root / "registry", root / "files"
    files.mkdir(parents=True)
    document = held.make_document(registry)
    _write_lines(root)
    subprocess.run(_command(registry, "import", str(root / "known.jsonl")), check=True)
    with Registry(registry) as opened:
        place = (Location(uri=_ADDRESS),)
        opened.door.execute_command(Bind(identifier=parse(_NAME), locations=place, register=True))
    _write_twin(files, document)
    locations = f"location / {{ root {files}; }} location = /{_NAME} {{ return 302 {_ADDRESS}; }}"
    locations += f" location /pdi: {{ return 302 {_ADDRESS}; }} merge_slashes off;"
    results = []
    with nginx(fixture.OUT / "nginx", locations) as static:
        for title, neighbour in _list_neighbours(root, registry, document).items():
            _evict(registry)
            _read_files(registry / "segments", files)
            with perdure(registry) as ours:
                _await_answer(ours)
                results.append(_measure(title, neighbour, ours, static))
        results += _measure_cold(root, registry, static)
    shutil.rmtree(root)
    return results


# neighbours
# ----------


def _list_neighbours(root: Path, registry: Path, document: str) -> dict[str, Neighbour]:
    script = fixture.wrk_script(root / "greedy.lua", count=_KNOWN)

    def ask_greedily(server: Server) -> contextlib.AbstractContextManager[None]:
        return _running(_wrk(server, script))

    def stream(server: Server) -> contextlib.AbstractContextManager[None]:
        url = f"http://127.0.0.1:{server.port}{document}"
        return _running(["curl", "-sf", "--path-as-is", "-o", os.devnull, *[url] * 20])

    def import_names(_: Server) -> contextlib.AbstractContextManager[None]:
        return _running(_command(registry, "import", str(root / "new.jsonl")))

    @contextlib.contextmanager
    def back_up(_: Server) -> Iterator[None]:
        with (
            tempfile.TemporaryDirectory(dir=root) as copy,
            _running(_command(registry, "backup", f"{copy}/backup")),
        ):
            yield

    return {
        f"{_GREEDY} greedy clients": ask_greedily,
        "a stream of 2 GB": stream,
        "an import": import_names,
        "a backup": back_up,
    }


def _wrk(server: Server, script: Path) -> list[str]:
    command = [need("wrk"), "-t1", f"-c{_GREEDY}", "-d60s", "-s", str(script)]
    return [*command, f"http://127.0.0.1:{server.port}"]


def _command(registry: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "perdure.cli", "-C", str(registry), *words]


@contextlib.contextmanager
def _running(command: list[str]) -> Iterator[None]:
    """A neighbour on the clients' core, until the block ends."""
    process = subprocess.Popen(
        ["taskset", "-c", CLIENT_CORE, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait(60)


# what there is
# -------------


def _write_lines(root: Path) -> None:
    lines = fixture.lines(_KNOWN + _NEW)
    for name, count in ("known", _KNOWN), ("new", _NEW):
        with (root / f"{name}.jsonl").open("w") as file:
            file.writelines(islice(lines, count))


def _write_twin(files: Path, document: str) -> None:
    twin = files / document[1:].replace("//", "/")
    twin.parent.mkdir(parents=True)
    with twin.open("wb") as file:
        for _ in range(held.SIZE // 1_000_000):
            file.write(b"\xa5" * 1_000_000)


def _evict(registry: Path) -> None:
    """Drop the registry from the page cache, as far as nobody has it open."""
    with (registry / FILE).open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read_files(*places: Path) -> None:
    """Have all files in these places in the page cache."""
    for place in places:
        for path in filter(Path.is_file, place.rglob("*")):
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass


# the polite client
# -----------------


def _await_answer(server: Server) -> None:
    """Wait until a server answers: it listens before it has loaded its modules."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz", timeout=60) as answer:
        answer.read()


def _measure(title: str, neighbour: Neighbour, ours: Server, static: Server) -> Ratio:
    mine: list[list[float]] = []
    theirs: list[list[float]] = []
    for _ in range(_RUNS):
        for server, waits in (ours, mine), (static, theirs):
            with neighbour(server):
                waits.append(measure_waits(server.port, f"/{_NAME}", seconds=_SECONDS))
    return _compare(title, mine, theirs)


def _measure_cold(root: Path, registry: Path, static: Server) -> list[Ratio]:
    """Beside clients whose names are not in memory, at the start of a server."""
    script = fixture.wrk_script(root / "cold.lua", count=_KNOWN)
    mine: list[list[float]] = []
    theirs: list[list[float]] = []
    beside: list[list[float]] = []
    for _ in range(_RUNS):
        _evict(registry)
        with perdure(registry) as ours:
            _await_answer(ours)
            with _running(_wrk(ours, script)):
                mine.append(measure_waits(ours.port, f"/{_NAME}", seconds=_SECONDS))
        theirs.append(measure_waits(static.port, f"/{_NAME}", seconds=_SECONDS))
        with _running(_wrk(static, script)):
            beside.append(measure_waits(static.port, f"/{_NAME}", seconds=_SECONDS))
    return [
        _compare("names on the disk", mine, theirs),
        _compare("names on the disk, where nginx has them in memory,", mine, beside),
    ]


def _compare(title: str, mine: list[list[float]], theirs: list[list[float]]) -> Ratio:
    half, slowest = (_best(mine, part) for part in (50, 99))
    other_half, other = (_best(theirs, part) for part in (50, 99))
    print(
        f"  beside {title}: half within {half * 1000:.2f} ms, 99 % within {slowest * 1000:.2f} ms; "
        f"nginx {other_half * 1000:.2f} and {other * 1000:.2f} ms",
        file=sys.stderr,
    )
    return Ratio(
        name=f"polite client beside {title} / nginx",
        ours=1 / slowest,
        other=1 / other,
        unit="1/s, slowest of 100",
        ratio=other / slowest,
        target=_TARGET,
    )


def _best(runs: list[list[float]], part: int) -> float:
    return min(waits[len(waits) * part // 100] for waits in runs)
