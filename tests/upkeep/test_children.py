"""The commands that a server runs beside itself."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop
from tests.server.deployment import wait_until

from perdure.registry import initialise
from perdure.upkeep.children import ask_command, run_command

SERIES = "oma.eop.gov.us"
NOT_FOUND = 10  # the exit code of a command


class Dropped:
    """Writes into a file which process dropped it, as a connection would be closed."""

    def __init__(self, file: Path) -> None:
        self._fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __del__(self) -> None:
        os.write(self._fd, f"{os.getpid()}\n".encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    initialise(tmp_path / "registry", series=(SERIES,))
    return tmp_path / "registry"


@pytest.fixture
def run() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Run in the event loop that a server has."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        yield runner.run


def test_no_child_drops_what_a_thread_keeps(
    tmp_path: Path, root: Path, run: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    """A child that closes the database of another thread may wait for its lock for ever."""
    local = threading.local()
    is_kept, is_over = threading.Event(), threading.Event()

    def keep() -> None:
        local.kept = Dropped(tmp_path / "dropped")
        is_kept.set()
        is_over.wait()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        is_kept.wait()
        run(run_command(root, "list"))
        run(ask_command(root, "list", given=b"", seconds=60, most=1 << 20))
        assert (tmp_path / "dropped").read_text() == ""
    finally:
        is_over.set()
        thread.join()
    assert (tmp_path / "dropped").read_text() == f"{os.getpid()}\n"


def test_an_answer_and_its_messages(
    root: Path, run: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    batch = b'{"id": "pdi://oma.eop.gov.us/1997/09/01/%d.text.1", "size": "a lot"}\n'
    given = b"".join(batch % number for number in range(3000))  # more than a pipe holds
    outcome = run(ask_command(root, "import", "-", given=given, seconds=60, most=1 << 20))
    assert outcome.code == 1
    assert outcome.said.rstrip().endswith(b"3000 lines refused")
    outcome = run(ask_command(root, "list", "--json", given=b"", seconds=60, most=1 << 20))
    assert (outcome.code, outcome.said) == (0, b"")
    assert json.loads(outcome.output)["identifiers"] == []
    name = f"pdi://{SERIES}/1997/09/01/9.text.1"
    assert name in run(run_command(root, "describe", name))
    assert run(run_command(root, "describe", name, fine=(NOT_FOUND,))) == ""


@pytest.mark.parametrize(("seconds", "most"), [(0.3, 1 << 20), (60, 1)])
def test_too_slow_or_too_much(
    root: Path,
    run: Callable[[Coroutine[Any, Any, Any]], Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    seconds: float,
    most: int,
) -> None:
    """The process is killed before the answer: nothing of it is left."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\necho $$ > "{tmp_path}/pid"\necho long\nexec sleep 600\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert run(ask_command(root, "list", given=b"", seconds=seconds, most=most)) is None
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_who_is_cancelled_returns_after_the_process(
    root: Path,
    run: Callable[[Coroutine[Any, Any, Any]], Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Another process can then have its lock: a mirror was followed on while a server stopped."""
    program = tmp_path / "python"
    os.mkfifo(tmp_path / "pid")
    program.write_text(
        f'#!/bin/sh\ntrap "sleep 0.5; exit 0" TERM\necho $$ > "{tmp_path}/pid"\n'
        "while :; do sleep 0.05; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))

    async def cancel_it() -> str:
        task = asyncio.create_task(run_command(root, "mirror", "run"))
        process = await asyncio.to_thread((tmp_path / "pid").read_text)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return process.strip()

    assert not Path("/proc", run(cancel_it())).exists()


_START = """
import os, subprocess, sys
from pathlib import Path
from perdure.upkeep import children

nothing = subprocess.DEVNULL
process = children._start_command(Path(sys.argv[1]), sys.argv[2:], nothing, nothing)
print(process.pid, flush=True)
os._exit(1)
"""


@pytest.mark.parametrize(
    "words", [("search", "--follow"), ("webhooks", "run"), ("handle-server", "run", "--port", "0")]
)
def test_a_command_ends_whose_server_ended_before_it_began(
    root: Path, words: tuple[str, ...]
) -> None:
    """It never sees the server as its parent."""
    started = subprocess.run(
        [sys.executable, "-c", _START, str(root), *words], stdout=subprocess.PIPE, check=False
    )
    command = Path(f"/proc/{int(started.stdout)}/cmdline")
    wait_until(lambda: not (command.exists() and command.read_bytes()))
