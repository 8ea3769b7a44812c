"""A node over PostgreSQL against the embedded registry: `make bench-cluster`.

Look-ups of one turn of the event loop, per second of the client's processor time, and redirects
among a million names (`PERDURE_BENCH_IDENTIFIERS`), per second of the node's. The database server
is started for it, on a socket alone, and removed afterwards; its own processor time is not counted.
Run it on a quiet machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import uvloop

from benchmarks import fixture
from benchmarks.loading import import_lines
from benchmarks.measure import Ratio, compare
from benchmarks.servers import Missing, perdure, rounds, wrk
from perdure.registry import Registry
from perdure.storage.ports import RecordLookUp
from perdure.storage.turn_ports import TurnReader, TurnState, Wants

_COUNT = min(fixture.COUNT, int(os.environ.get("PERDURE_BENCH_IDENTIFIERS", "1000000")))
_KEYS = 64  # of one turn
_TURNS = 400
_CLIENTS = 64
_PROGRAMS = Path("/usr/lib/postgresql")


def run() -> list[Ratio]:
    work = fixture.OUT / "cluster"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    source = work / "identifiers.jsonl"
    with source.open("w") as file:
        file.writelines(line for line, _ in zip(fixture.lines(), range(_COUNT), strict=False))
    with _serve_database() as address:
        registries = {"sqlite": work / "sqlite", "postgresql": work / "postgresql"}
        for store, place in registries.items():
            import_lines(place, source, address if store == "postgresql" else "")
        source.unlink()
        results = _compare_look_ups(registries["postgresql"], registries["sqlite"])
        results += _compare_redirects(registries["postgresql"], registries["sqlite"], work)
    shutil.rmtree(work)
    return results


def _compare_redirects(node: Path, embedded: Path, work: Path) -> list[Ratio]:
    results = []
    anywhere = fixture.wrk_script(work / "anywhere.lua", count=_COUNT)
    hot = fixture.wrk_script(work / "hot.lua", distinct=1000)
    for name, script in (("among all", anywhere), ("hot", hot)):
        with perdure(node) as ours, perdure(embedded) as other:
            ask = partial(wrk, script=script, connections=_CLIENTS)
            results += rounds(
                f"redirect {name}, PostgreSQL",
                partial(ask, ours),
                {"SQLite": (partial(ask, other), 0.5)},
                unit="requests/CPU-s",
            )
    return results


def _compare_look_ups(node: Path, embedded: Path) -> list[Ratio]:
    with Registry(node) as shared, Registry(embedded) as alone:
        keys = [key for key, _ in alone.records.scan_lines("", None, limit=_COUNT) or ()]
        chosen = random.Random(1994)
        turns = [chosen.sample(keys, _KEYS) for _ in range(_TURNS)]
        reader, lookup = shared.records.open_turns(), alone.records.open_lookup()
        if reader is None:
            raise Missing("the store of records is not PostgreSQL")
        loop = uvloop.new_event_loop()  # as in a node
        try:
            return [
                compare(
                    f"look-ups in turns of {_KEYS}, PostgreSQL / SQLite",
                    lambda: loop.run_until_complete(_look_up(reader, turns)),
                    lambda: _look_up_alone(lookup, turns),
                    work=_TURNS * _KEYS,
                    unit="look-ups/CPU-s",
                    target=1.5,
                )
            ]
        finally:
            reader.close()
            loop.close()


async def _look_up(reader: TurnReader, turns: Sequence[Sequence[str]]) -> None:
    for keys in turns:
        done: asyncio.Future[TurnState | None] = asyncio.get_running_loop().create_future()
        reader.read_state(Wants(frozenset(keys)), done.set_result)
        state = await done
        if state is None or None in state.records.values():
            raise RuntimeError("a record was not found")


def _look_up_alone(lookup: RecordLookUp, turns: Sequence[Sequence[str]]) -> None:
    for keys in turns:
        lookup.hold_state()
        for key in keys:
            if lookup.find_stored(key) is None:
                raise RuntimeError("a record was not found")
        lookup.release_state()


@contextlib.contextmanager
def _serve_database() -> Iterator[str]:
    """The address of a PostgreSQL server that ends with the block. It runs as a plain user."""
    versions = [path for path in _PROGRAMS.glob("*/bin") if int(path.parent.name) >= 15]
    if not versions:
        raise Missing("PostgreSQL 15 or newer is not installed (see 'make debian')")
    programs = max(versions, key=lambda path: int(path.parent.name))
    directory = Path(tempfile.mkdtemp(prefix="perdure-bench-"))
    user = None
    if os.getuid() == 0:
        known = {one.pw_name for one in pwd.getpwall()}
        user = "postgres" if "postgres" in known else "nobody"
        shutil.chown(directory, user)

    def order(program: str, *words: str) -> None:
        subprocess.run(
            [str(programs / program), "-D", str(directory / "data"), *words],
            user=user,
            cwd=directory,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    order("initdb", "-A", "trust", "-U", "perdure", "-E", "UTF8", "--locale", "C")
    options = f"-c listen_addresses='' -c unix_socket_directories='{directory}'"
    options += " -c shared_buffers=256MB -c max_wal_size=4GB"
    try:
        order("pg_ctl", "-w", "-l", str(directory / "log"), "-o", options, "start")
        yield f"postgresql://perdure@/postgres?host={directory}"
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            order("pg_ctl", "-w", "-m", "fast", "stop")
        shutil.rmtree(directory, ignore_errors=True)
