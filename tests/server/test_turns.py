"""Long answers to fast readers let the event loop serve other connections meanwhile."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perdure.server.common.answers import Answer, send_answer
from perdure.server.protocol import sendfile

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
