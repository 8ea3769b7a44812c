"""Regular checks, in a process of their own, so that no reader has to wait.

How it works: each server process calls `check_due` every few minutes. The first one to find the
lock free starts `perdure check-links --every HOURS` at the lowest priority, which checks only
locations that are due. The others find the lock taken and do nothing.
"""

from __future__ import annotations

from pathlib import Path

from perdure.upkeep.children import run_command
from perdure.upkeep.linkcheck.state import is_taken

_FINE = (0, 1, 20)
"""Exit codes: no problems, problems found, another process is checking."""


async def check_due(root: Path, hours: float) -> str:
    """Check all locations that are due. Return a short error text, or an empty text."""
    if is_taken(root):
        return ""
    return await run_command(root, "check-links", "--resume", "--every", str(hours), fine=_FINE)
