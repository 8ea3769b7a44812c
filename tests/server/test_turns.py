"""Long answers to fast readers let the event loop serve other connections meanwhile."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.server.deployment import SERIES, text

from perdure.formats import OCTETS, detect
from perdure.ids import parse
from perdure.model.commands import Mint, Restrict, SaveToken
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Token
from perdure.policy.tokens import make_token
from perdure.registry import initialise
from perdure.server.common.answers import Answer, send_answer
from perdure.server.protocol import sendfile
from perdure.server.protocol.http import EXTENSION
from perdure.server.serve import Worker

PIECES = 64


def count_turns(work: Callable[[], Coroutine[Any, Any, Any]]) -> int:
    """The turns that the event loop gave to others while it did the work."""

    async def run() -> int:
        turns = 0
        task = asyncio.create_task(work())
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        await task
        return turns

    return asyncio.run(run())


async def ask_worker(worker: Worker, target: str) -> int:
    """The status of the answer to GET."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def take(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "http_version": "1.1",
        "scheme": "http",
        "headers": [(b"host", b"a")],
        "extensions": {EXTENSION: {"raw": target.encode()}},
    }
    await worker(scope, receive, take)
    return int(sent[0]["status"])


def test_a_file_is_sent_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client on a fast network takes as much as the kernel is given."""
    largest = 0

    def take_everything(_out: int, _in: int, _offset: int, count: int) -> int:
        nonlocal largest
        largest = max(largest, count)
        return count

    monkeypatch.setattr(os, "sendfile", take_everything)
    length = PIECES << 20
    path = tmp_path / "long"
    path.touch()
    os.truncate(path, length)
    cycle = SimpleNamespace(expected_content_length=length)
    ours, theirs = socket.socketpair()
    with ours, theirs, path.open("rb") as file:
        transport = SimpleNamespace(
            get_write_buffer_size=lambda: 0,
            is_closing=lambda: False,
            get_extra_info=lambda _: ours,
            abort=lambda: None,
        )
        sender = sendfile.FileSender(cast("Any", transport), cast("Any", cycle))

        async def work() -> None:
            assert await sender(file.fileno(), 0, length) == length

        assert count_turns(work) >= PIECES
    assert largest <= 1 << 20
    assert cycle.expected_content_length == 0


def test_a_stream_is_sent_in_turns() -> None:
    async def make_stream() -> AsyncIterator[bytes]:
        for _ in range(PIECES):
            yield b"x" * 1000

    async def take(_message: Any) -> None:
        """Take everything at once, as uvicorn does for a client that reads fast."""

    async def wait_for_ever() -> Any:
        await asyncio.Event().wait()

    async def work() -> None:
        answer = Answer(200, [], b"", make_stream())
        sent = await send_answer(answer, {"method": "GET"}, wait_for_ever, take)
        assert sent == PIECES * 1000

    assert count_turns(work) >= PIECES


@pytest.mark.parametrize("length", [0, 1, 1 << 18, (1 << 18) + 1, PIECES << 18])
def test_a_long_body_is_sent_in_turns(length: int) -> None:
    body = os.urandom(length)
    taken: list[Any] = []

    async def take(message: Any) -> None:
        taken.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def work() -> None:
        assert await send_answer(Answer(200, [], body), {"method": "GET"}, receive, take) == length

    turns = count_turns(work)
    begin, *pieces = taken
    assert begin["type"] == "http.response.start"
    assert b"".join(one["body"] for one in pieces) == body
    assert [one["more_body"] for one in pieces] == [True] * (len(pieces) - 1) + [False]
    assert turns >= len(pieces) == max(1, -(-length // (1 << 18)))


def test_types_are_detected_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop does nothing that takes milliseconds."""
    threads: set[int] = set()

    def note_thread(*_: Any, **__: Any) -> detect.DetectedType:
        threads.add(threading.get_ident())
        return detect.DetectedType(OCTETS, None, "nothing")

    monkeypatch.setattr(detect, "detect_type", note_thread)
    initialise(tmp_path, series=(SERIES,))
    worker = Worker(tmp_path)
    secret, digest = make_token()
    token = Token(name="a", digest=digest, operations=("mint",), authorities=("*",))
    door = worker._registry.door
    door.execute_command(SaveToken(token=token))
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"\x00\x01\x02", "more_body": False}

    async def take(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "PUT",
        "http_version": "1.1",
        "scheme": "http",
        "headers": [(b"host", b"a"), (b"authorization", f"Bearer {secret}".encode())],
        "extensions": {EXTENSION: {"raw": f"/pdi://{SERIES}/".encode()}},
    }
    asyncio.run(worker(scope, receive, take))
    worker._registry.close()
    assert sent[0]["status"] == 201
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("landing", "landing.embed_json"),
        ("view", "viewing._answer_page"),
        ("text", "plain_text._encode_text"),
    ],
)
def test_what_may_have_megabytes_is_written_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, place: str
) -> None:
    """The metadata of a collection of thousands, a long document in a frame, a long text."""
    initialise(tmp_path, series=(SERIES,))
    worker = Worker(tmp_path)
    page = Mint(authority=SERIES, contents=(text(b"<p>one", "html", "text/html"),))
    name = worker._registry.door.execute_command(page).identifier
    module = import_module(f"perdure.server.resource.{place.partition('.')[0]}")
    work = getattr(module, place.partition(".")[2])
    threads: set[int] = set()

    def note_thread(*arguments: Any) -> Any:
        threads.add(threading.get_ident())
        return work(*arguments)

    monkeypatch.setattr(module, place.partition(".")[2], note_thread)
    status = asyncio.run(ask_worker(worker, f"/{name}?{question}"))
    worker._registry.close()
    assert status == 200
    assert threads
    assert threading.get_ident() not in threads


def test_a_busy_thread_gives_way_to_the_event_loop_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that listens does not wait Python's five milliseconds for a thread that writes."""
    monkeypatch.setattr(gc, "freeze", lambda: None)
    initialise(tmp_path, series=(SERIES,))
    worker = Worker(tmp_path)
    before = sys.getswitchinterval()
    messages = iter(["lifespan.startup", "lifespan.shutdown"])
    intervals: list[float] = []

    async def receive() -> Any:
        return {"type": next(messages)}

    async def take(_message: Any) -> None:
        intervals.append(sys.getswitchinterval())

    try:
        asyncio.run(worker({"type": "lifespan"}, receive, take))
    finally:
        sys.setswitchinterval(before)
    assert intervals[0] == pytest.approx(0.0005)


def test_a_worker_knows_the_rules_about_scopes_before_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rules take seconds to read, for which the first clients would wait otherwise."""
    monkeypatch.setattr(gc, "freeze", lambda: None)
    initialise(tmp_path, series=(SERIES,))
    worker = Worker(tmp_path)
    rule = ReadingRule(about=f"pdi://{SERIES}/1997/", access=Access.CLOSED)
    worker._registry.door.execute_command(Restrict(rule=rule))
    messages = iter(["lifespan.startup", "lifespan.shutdown"])
    known: list[bool] = []

    async def receive() -> Any:
        return {"type": next(messages)}

    async def take(message: Any) -> None:
        if message["type"] == "lifespan.startup.complete":
            rules = worker._registry.reading.rules
            known.append(rules.has_rules(parse(f"pdi://{SERIES}/1997/09/01/1")))

    before = sys.getswitchinterval()
    try:
        asyncio.run(worker({"type": "lifespan"}, receive, take))
    finally:
        sys.setswitchinterval(before)
    assert known == [True]


LISTS = (
    *(f"/pdi://{SERIES}/", "/{day}/", f"/pdi://{SERIES}/*/*/*/*.text.*"),
    *("/{day}/?info", "/{day}/?locations", "/{day}/?cite=apa"),
    *("/uri-res/N2Ls?{day}/*", "/uri-res/N2Ns?{day}/*", "/uri-res/N2C?{day}/*"),
    *("/sitemap.xml", "/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"),
    *("/oai?verb=ListIdentifiers&metadataPrefix=oai_dc", "/feed.atom", "/changes"),
    *("/{day}/1?cites", f"/annotations/{SERIES}/", "/.well-known/pdi"),
)


def test_lists_that_take_long_delay_nothing_else(tmp_path: Path) -> None:
    """While threads for lists are busy, all lists wait, and a part of a document does not."""
    initialise(tmp_path, series=(SERIES,))
    worker = Worker(tmp_path)
    mint = Mint(authority=SERIES, contents=(text(b"some text"),))
    name = worker._registry.door.execute_command(mint).identifier
    targets = [one.format(day=name.rpartition("/")[0]) for one in LISTS]

    ask = partial(ask_worker, worker)

    async def run() -> None:
        go_on = threading.Event()
        busy = [asyncio.ensure_future(worker._service.read_list(go_on.wait)) for _ in range(8)]
        lists = {target: asyncio.create_task(ask(target)) for target in targets}
        try:
            for _ in range(3):
                assert await asyncio.wait_for(ask(f"/{name}?part=char=0,4"), 60) == 200
            assert [target for target, task in lists.items() if task.done()] == []
        finally:
            go_on.set()
        await asyncio.gather(*busy)
        assert {target: await task for target, task in lists.items()} == dict.fromkeys(targets, 200)

    asyncio.run(run())
    worker._registry.close()
