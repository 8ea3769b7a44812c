"""A collection of 10,000 members: listed and entered over HTTP, against 50 ms and against `json`.

The issue gives a time, so that is a target of its own: what an answer costs the server, in seconds
of processor, which on an idle core is how long it takes. The other is what a server would do
without us: read the document with Python's own `json` and look for the member.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import fixture
from benchmarks.measure import Ratio, compare, show
from benchmarks.servers import Server, perdure
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember
from perdure.model.commands import Content, Mint
from perdure.registry import Registry, initialise

_MEMBERS = 10_000
_ASKED = 60
_WANTED = 0.05  # seconds


def run() -> list[Ratio]:
    registry = fixture.OUT / "collections"
    document = members.write_collection(_collection())
    name = _minted(registry, document)
    found = []
    with perdure(registry) as server:
        for what, target, accept in (
            ("document", f"/{name}", "*/*"),
            ("first page of the list", f"/{name}?members", "application/json"),
            ("the whole list", f"/{name}?members&limit={_MEMBERS}", "application/json"),
            ("list for people", f"/{name}?members&limit={_MEMBERS}", "text/html"),
            ("a member by number", f"/{name}%23member={_MEMBERS}", "*/*"),
            ("a member by name", f"/{name}%23member=page-{_MEMBERS - 1}", "*/*"),
        ):
            cost = max(_cost(server, partial(_ask, server, target, accept)), 1e-4)
            ratio = _WANTED / cost
            found.append(Ratio(f"{what} : wanted", 1 / cost, 20, "answers/CPU-s", ratio, 1))
    wanted = f"page-{_MEMBERS - 1}"
    found.append(
        compare(
            "a member by name : json",
            lambda: members.find_entry(document, wanted),
            lambda: next(one for one in json.loads(document)["members"] if one["name"] == wanted),
            work=1,
            unit="look-ups/s",
            target=2,
        )
    )
    return found


def _collection() -> Collection:
    """As corpora are: pages of web archives with digests."""
    return Collection(
        title="Ten thousand pages",
        members=tuple(
            CollectionMember(
                identifier=f"pwid:archive.org:2016-01-22T11.{n // 60 % 60:02}.{n % 60:02}Z"
                f":page:http://example.org/news/{n}?edition={n % 7}",
                name=f"page-{n}",
                title=f"News of the day, number {n}",
                digest=f"sha512:{n:0128x}",
                length=10_000 + n,
                media_type="text/html",
            )
            for n in range(_MEMBERS)
        ),
    )


def _minted(path: Path, document: bytes) -> str:
    kept = path / "name"
    if not kept.exists():
        initialise(path, series=(fixture.SERIES,))
        with Registry(path) as registry:
            command = Mint(authority=fixture.SERIES, contents=(_content(registry, document),))
            kept.write_text(registry.door.execute_command(command).identifier)
    return kept.read_text()


def _content(registry: Registry, document: bytes) -> Content:
    with registry.spool() as spool:
        spool.write(document)
        return spool.finish_content(format=members.FORMAT, media_type=members.MEDIA_TYPE)


def _ask(server: Server, target: str, accept: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", target, headers={"Accept": accept})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status not in (200, 302):
        raise RuntimeError(f"{target}: {answer.status}")


def _cost(server: Server, call: Callable[[], None]) -> float:
    """Seconds of processor that the server needs for one answer."""
    call()
    before = server.seconds()
    for _ in range(_ASKED):
        call()
    return (server.seconds() - before) / _ASKED


if __name__ == "__main__":
    sys.exit(not show(run()))
