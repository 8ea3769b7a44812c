"""Processes of low priority that do the upkeep of a server, so that no reader has to wait.

How it works: `subprocess` starts them, not the event loop. The event loop of a server would fork,
and what Python drops in the child of a fork (the connections of other threads, say) may wait for a
lock for ever; the server would then wait for the child. `subprocess` runs nothing of Python between
the fork and the program. The event loop reads what they write.

What must stay true: a process ends with the one that started it. A command that goes on by itself
asks `watch_parent`. It gets the number of its parent: if it looked only itself, the parent could
have ended before.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import IO, NamedTuple

_STARTED_BY = "PERDURE_STARTED_BY"
"""The variable that tells a command the number of the process that started it."""
_NICE = 10
_GRACE = 10.0
"""Seconds that a process has to end before it is killed."""
_MOST_SAID = 65_536  # bytes of messages


class CommandOutcome(NamedTuple):
    """The end of a process: its exit code, and what it wrote."""

    code: int
    output: bytes
    said: bytes


async def ask_command(
    root: Path, *words: str, given: bytes, seconds: float, most: int
) -> CommandOutcome | None:
    """Run a command of perdure on a registry, which reads `given` and answers with bytes.

    Return None if it takes too long, or answers with more than `most` bytes; then it is killed, as
    it is if the caller is cancelled.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        process = _start_command(root, words, stdin, subprocess.PIPE)
    try:
        async with asyncio.timeout(seconds):
            output, said = await asyncio.gather(
                _read_all(process.stdout, most), _read_end(process.stderr)
            )
            return CommandOutcome(await _wait(process), output, said)
    except (TimeoutError, _TooMuchError):
        return None
    finally:
        process.kill()
        await _wait(process)


async def run_command(root: Path, *words: str, fine: Collection[int] = (0,)) -> str:
    """Run a command of perdure on a registry. Return a short error text, or an empty text.

    `fine` are the exit codes that report no error. If the caller is cancelled, the process is asked
    to end, and has ended when this returns.
    """
    process = _start_command(root, (*words, "--json"), subprocess.DEVNULL, subprocess.DEVNULL)
    try:
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
        said = await _read_end(process.stderr)
        code = await _wait(process)
    finally:
        process.terminate()
        try:
            async with asyncio.timeout(_GRACE):
                await _wait(process)
        except TimeoutError:
            process.kill()
    return "" if code in fine else said.decode("utf-8", "replace").strip()[-500:]


def _start_command(
    root: Path, words: Sequence[str], stdin: int | IO[bytes], stdout: int
) -> subprocess.Popen[bytes]:
    """Start a command, whose messages are read from a pipe. It inherits no open file."""
    command, *options = words
    return subprocess.Popen(  # noqa: S603  # our interpreter, our commands; given is on stdin
        (sys.executable, "-m", "perdure.cli", command, "-C", str(root), *options),
        env={**os.environ, _STARTED_BY: str(os.getpid())},
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def watch_parent() -> Callable[[], bool]:
    """Return a function that returns False as soon as the server that started this process is gone.

    A process that no server started goes on.
    """
    told = os.environ.get(_STARTED_BY, "")
    return lambda: not told or str(os.getppid()) == told


class _TooMuchError(Exception):
    """A process writes more than it may."""


async def _read_all(pipe: IO[bytes] | None, most: int) -> bytes:
    data = bytearray()
    async with _open_pipe(pipe) as reader:
        while chunk := await reader.read(1 << 16):
            data += chunk
            if len(data) > most:
                raise _TooMuchError
    return bytes(data)


async def _read_end(pipe: IO[bytes] | None) -> bytes:
    """Read everything, and return the last of it: some commands run for months."""
    data = b""
    async with _open_pipe(pipe) as reader:
        while chunk := await reader.read(1 << 16):
            data = (data + chunk)[-_MOST_SAID:]
    return data


@contextlib.asynccontextmanager
async def _open_pipe(pipe: IO[bytes] | None) -> AsyncIterator[asyncio.StreamReader]:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        yield reader
    finally:
        transport.close()


async def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a process that has closed its pipes, or was killed."""
    return await asyncio.to_thread(process.wait)
