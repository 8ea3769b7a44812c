"""A polite client is answered beside hostile ones, of the kinds of `benchmarks/hostile.py`.

How it works: clients in processes of their own do one hostile thing again and again, and a polite
client asks for redirects on one connection. What is asserted is counted: all answers are right, the
server keeps little memory, and it answers others while it works for a hostile client. How long the
polite client waits depends on the machine: the slowest of a hundred answers is only recorded.
"""

from __future__ import annotations

import http.client
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.hostile import attacking
from benchmarks.hostile_attacks import ATTACKS, XPATH, Attack
from benchmarks.hostile_site import POLITE, TargetSite
from tests.server.deployment import Deployment, start, wait_for

KINDS = (
    "slow readers",
    "slow writers",
    "sparse patterns",
    "XPath",
    "5,000 ranges",
    "connection churn",
)
BY_NAME = {one.name: one for one in ATTACKS}
REQUESTS = 100
LARGEST = 32 << 20
MOST_GROWTH = 200 << 20
"""Bytes of its own memory that the server may keep more than before."""
LONG = {"differences", "HTML in a frame", "text of a PDF", "SPARQL", "quotations", "zip bomb"}
"""Attacks that take seconds; the benchmark tries them."""
QUICK = sorted(
    (one for one in ATTACKS if one.name not in LONG),
    key=lambda one: one.name == "a flood that leaves",
)
"""The flood is last: the server still works for it when it has left, and is killed then."""
FEWEST = 5
"""Polite answers while one hostile request is unanswered; without turns, there would be one."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Deployment, TargetSite]]:
    root = tmp_path_factory.mktemp("hostile") / "registry"
    site = TargetSite(root, largest=LARGEST)
    process, port = start(root)
    deployment = Deployment(root, port, process)
    try:
        wait_for(deployment)
        yield deployment, site
    finally:
        deployment.registry.close()
        process.kill()
        process.wait()


def _ask_politely(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", POLITE)
    answer = connection.getresponse()
    answer.read()
    assert (answer.status, answer.headers["Location"]) == (302, "https://archive.example.org/7")


def _read_own_memory(deployment: Deployment) -> int:
    status = Path(f"/proc/{deployment.process.pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) << 10


@pytest.mark.parametrize("kind", KINDS)
def test_every_polite_request_is_answered(
    target: tuple[Deployment, TargetSite],
    kind: str,
    record_property: Callable[[str, object], None],
) -> None:
    deployment, site = target
    before = _read_own_memory(deployment)
    waits = []
    polite = http.client.HTTPConnection("127.0.0.1", deployment.port, timeout=120)
    with attacking(BY_NAME[kind], deployment.port, site):
        for _ in range(REQUESTS):
            begun = time.perf_counter()
            _ask_politely(polite)
            waits.append(time.perf_counter() - begun)
    polite.close()
    record_property("slowest of a hundred, in ms", round(max(waits) * 1000, 1))
    assert deployment.process.poll() is None
    assert _read_own_memory(deployment) - before < MOST_GROWTH
    assert deployment.get("/healthz").status == 200


def test_others_are_answered_while_a_hostile_part_is_cut(
    target: tuple[Deployment, TargetSite],
) -> None:
    """The part ends in an error, since it needs more than its budget."""
    deployment, site = target
    polite = http.client.HTTPConnection("127.0.0.1", deployment.port, timeout=120)
    answered = 0
    with deployment.connect() as wire:
        wire.sendall(f"GET /{site.markup}{XPATH} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        while answered < FEWEST and not select.select([wire], [], [], 0)[0]:
            _ask_politely(polite)
            answered += 1
        assert answered == FEWEST
        head = wire.recv(1 << 16)
    polite.close()
    assert head.startswith(b"HTTP/1.1 422 ")


@pytest.mark.parametrize("attack", QUICK, ids=[one.name for one in QUICK])
def test_hostile_requests_are_what_they_are_called(
    target: tuple[Deployment, TargetSite], attack: Attack
) -> None:
    """A request that is refused for its syntax would hurt no one."""
    deployment, site = target
    assert set(attack.run(deployment.port, site)) <= attack.expected
