"""A check now and then, in a process of its own, so that readers wait for nothing.

How it works: whoever serves calls `check` every few minutes. The first of several processes that
finds the lock free starts `perdure check-links --every HOURS`, at the lowest priority, which looks
only at what is due; the others find the lock taken and do nothing.

What must stay true: the process ends with the one that started it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from perdure.upkeep.linkcheck.state import is_taken

_FINE = (0, 1, 20)
"""Exit codes: all is well, something was found, somebody else is checking."""
_NICE = 10


async def check(root: Path, hours: float) -> str:
    """Checks what is due; tells what went wrong, in a few words, or nothing."""
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
    except ProcessLookupError:  # it was that quick
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
    return "" if process.returncode in _FINE else said.decode("utf-8", "replace").strip()[-500:]
