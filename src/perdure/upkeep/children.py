"""Processes of low priority that do the upkeep of a server, so that no reader has to wait.

What must stay true: a process ends with the one that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

_NICE = 10
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
    command, *options = words
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "perdure.cli", command, "-C", str(root)),
        *options,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 16,
    )
    try:
        async with asyncio.timeout(seconds):
            output, said = await asyncio.gather(
                _exchange(process, given, most), _read_all(process.stderr, _MOST_SAID)
            )
            return CommandOutcome(await process.wait(), output, said)
    except (TimeoutError, _TooMuchError):
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class _TooMuchError(Exception):
    """A process writes more than it may."""


async def _exchange(process: asyncio.subprocess.Process, given: bytes, most: int) -> bytes:
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(given)
            await process.stdin.drain()
        process.stdin.close()
    return await _read_all(process.stdout, most)


async def _read_all(stream: asyncio.StreamReader | None, most: int) -> bytes:
    data = bytearray()
    while stream is not None and (chunk := await stream.read(1 << 16)):
        data += chunk
        if len(data) > most:
            raise _TooMuchError
    return bytes(data)


async def run_command(root: Path, *words: str, fine: Collection[int] = (0,)) -> str:
    """Run a command of perdure on a registry. Return a short error text, or an empty text.

    `fine` are the exit codes that report no error. If the caller is cancelled, the process ends.
    """
    command, *options = words
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "perdure.cli", command, "-C", str(root), "--json"),
        *options,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
        _, said = await process.communicate()
    except ProcessLookupError:  # it has ended already
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
    return "" if process.returncode in fine else said.decode("utf-8", "replace").strip()[-500:]
