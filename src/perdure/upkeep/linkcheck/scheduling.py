"""Regular checks, in a process of their own, so that no reader has to wait.

How it works: each server process calls `check_due` every few minutes. The first one to find the
lock free starts `perdure check-links --every HOURS` at the lowest priority, which checks only
locations that are due. The others find the lock taken and do nothing.

What must stay true: the process ends with the one that started it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from perdure.upkeep.linkcheck.state import is_taken

_FINE = (0, 1, 20)
"""Exit codes: no problems, problems found, another process is checking."""
_NICE = 10


async def check_due(root: Path, hours: float) -> str:
    """Check all locations that are due. Return a short error text, or an empty text."""
    if is_taken(root):
        return ""
    words = (sys.executable, "-m", "perdure.cli", "check-links", "-C", str(root), "--json")
    process = await asyncio.create_subprocess_exec(
        *words,
        "--resume",
        "--every",
        str(hours),
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
    return "" if process.returncode in _FINE else said.decode("utf-8", "replace").strip()[-500:]
