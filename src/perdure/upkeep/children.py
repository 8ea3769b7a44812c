"""Processes of low priority that do the upkeep of a server, so that no reader has to wait.

What must stay true: a process ends with the one that started it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection
from pathlib import Path

_NICE = 10


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
