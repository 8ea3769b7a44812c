"""Assertions: stored in batches by one client, and looked up by a part among ten million names.

How it works: the registry has the identifiers of the fixture, so that its records and references
are in trees as deep as they ask for, and a document with ten thousand assertions about its parts.
Batches are about another document, so that a run leaves the next one as much to look up.
`PERDURE_BENCH_IDENTIFIERS` sets another number of identifiers. The registry is made once and kept
in benchmarks/out, which may be deleted at any time.

A batch has a thousand lines of JSON. What counts is the processor time of server and client
together and, in a row of its own, the clock, which includes the disk. A look-up asks for the first
ten assertions about a part that ten or so overlap: in this process, and over HTTP.
"""

from __future__ import annotations

import http.client
import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from http import HTTPStatus
from pathlib import Path

import msgspec

from benchmarks import fixture
from benchmarks.loading import import_lines
from benchmarks.measure import Ratio, show
from benchmarks.servers import Server, perdure
from perdure.ids import parse
from perdure.model.commands import Mint, SaveToken
from perdure.model.records import Token
from perdure.policy.tokens import make_token
from perdure.reading.assertions import AssertionQuery
from perdure.registry import Registry
from perdure.storage.spool import make_content
from perdure.upkeep.asserting import store_assertions

_WORDS = 40_000
_LAST = 5 * _WORDS - 1000  # characters
_KEPT = 10_000
_BATCH, _BATCHES = 1000, 3
_WANTED = 1000  # a second
_ROWS, _WIDTH = 10, 160
_MOST_SECONDS = 2e-3
_ASKED = 100
_ROUNDS = 5


def run() -> list[Ratio]:
    root, name, other, secret = _make_registry()
    with Registry(root) as registry:
        inside = _measure_inside(registry, name)
    with perdure(root, PERDURE_LOG_LEVEL="warning") as server:
        over = _measure_over_http(server, name)
        return [inside, over, *_measure_batches(server, other, secret)]


def _make_registry() -> tuple[Path, str, str, str]:
    """Return a registry, a document with assertions about its parts, another document, and the
    secret of a token."""
    root = fixture.OUT / f"assertions-{fixture.COUNT}"
    noted = root / "documents"
    if not noted.exists():
        source = fixture.OUT / "identifiers.jsonl"
        fixture.write_lines(source)
        import_lines(root, source)
        source.unlink()
        secret, digest = make_token()
        token = Token(name="bench", digest=digest, operations=("assert",), authorities=("*",))
        content = make_content(
            b"word " * _WORDS, format="text", media_type="text/plain", charset="us-ascii"
        )
        with Registry(root) as registry:
            registry.door.execute_command(SaveToken(token=token))
            mint = Mint(authority=fixture.SERIES, contents=(content,))
            name, other = (str(registry.door.execute_command(mint).identifier) for _ in range(2))
            lines = _write_lines(name, _KEPT)
            stored = store_assertions(registry, lines, series=fixture.SERIES)
            if any(one.receipt is None for one in stored):
                raise RuntimeError("an assertion was refused")
        noted.write_text(f"{name}\n{other}\n{secret}")
    name, other, secret = noted.read_text().split("\n")
    return root, name, other, secret


def _write_lines(name: str, count: int, seed: int = 1) -> list[bytes]:
    choose = random.Random(seed)
    starts = [choose.randrange(_LAST) for _ in range(count)]
    return [
        msgspec.json.encode(
            {
                "@context": "http://www.w3.org/ns/anno.jsonld",
                "type": "Annotation",
                "motivation": "commenting",
                "body": {"type": "TextualBody", "value": f"Remark {seed} {number}"},
                "target": f"{name}#char={start},{start + 40}",
            }
        )
        for number, start in enumerate(starts)
    ]


# looking up
# ----------


def _choose_parts(name: str) -> list[str]:
    choose = random.Random(2)
    starts = [choose.randrange(_LAST) for _ in range(_ASKED)]
    return [f"{name}#char={start},{start + _WIDTH}" for start in starts]


def _measure_inside(registry: Registry, name: str) -> Ratio:
    queries = [AssertionQuery(name=parse(one)) for one in _choose_parts(name)]

    def look_up(query: AssertionQuery) -> float:
        start = time.process_time()
        registry.assertions.list_page(query, limit=_ROWS)
        return time.process_time() - start

    rounds = [statistics.median(map(look_up, queries)) for _ in range(_ROUNDS)]
    return _rate("look-up by part, in process", min(rounds), _MOST_SECONDS)


def _measure_over_http(server: Server, name: str) -> Ratio:
    targets = [
        f"/{one.replace('#', '%23')}?assertions&limit={_ROWS}" for one in _choose_parts(name)
    ]
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:

        def ask_all() -> None:
            for target in targets:
                connection.request("GET", target, headers={"Accept": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status != HTTPStatus.OK:
                    raise RuntimeError(f"{target}: {answer.status}")

        rounds = [_count_seconds(server, ask_all) / _ASKED for _ in range(_ROUNDS)]
    return _rate("look-up by part, over HTTP", min(rounds), _MOST_SECONDS)


# storing
# -------


def _measure_batches(server: Server, name: str, secret: str) -> list[Ratio]:
    costs, waits = [], []
    for number in range(_BATCHES):
        body = b"\n".join(_write_lines(name, _BATCH, time.time_ns() + number))
        own, start = time.process_time(), time.perf_counter()
        spent = _count_seconds(server, partial(_post_batch, server, secret, body))
        waits.append((time.perf_counter() - start) / _BATCH)
        costs.append((spent + time.process_time() - own) / _BATCH)
    return [
        _rate("assertions in batches", min(costs), 1 / _WANTED),
        _rate("assertions in batches, by the clock", min(waits), 1 / _WANTED, "answers/s"),
    ]


def _post_batch(server: Server, secret: str, body: bytes) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        fields = {"Authorization": f"Bearer {secret}", "Content-Type": "application/jsonl"}
        connection.request("POST", f"/annotations/{fixture.SERIES}/", body, fields)
        lines = connection.getresponse().read().splitlines()
    made = [one for one in map(msgspec.json.decode, lines) if one["status"] == HTTPStatus.CREATED]
    if len(made) != _BATCH:
        raise RuntimeError(f"{len(made)} of {_BATCH} assertions were stored: {lines[:1]}")


def _count_seconds(server: Server, work: Callable[[], None]) -> float:
    before = server.seconds()
    work()
    return max(server.seconds() - before, 1e-5)


def _rate(name: str, seconds: float, most: float, unit: str = "answers/CPU-s") -> Ratio:
    return Ratio(f"{name} : {most * 1e3:.0f} ms", 1 / seconds, 1 / most, unit, most / seconds, 1)


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
