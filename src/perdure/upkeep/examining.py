"""Examines what a registry depends on: its store, its bytes, its clock, its disk.

`perdure verify` checks records and bytes; this checks the machines below them.

What must stay true: nothing is written but what a store of bytes tries, and removes again.
"""

from __future__ import annotations

import shutil
from datetime import datetime

from perdure.errors import PerdureError
from perdure.model.changes import ChangeMark
from perdure.registry import Registry
from perdure.storage.store_findings import StoreFinding

_CLOCK_BACK = 60.0
"""Seconds by which the last change may be later than the clock."""
_LITTLE_FREE = 0.05
"""Share of the disk."""


def examine_registry(registry: Registry) -> list[StoreFinding]:
    """Examine what a registry depends on. Raises Unavailable if its store cannot be asked."""
    findings = registry.store.examine(registry.root)
    return [
        *findings,
        *registry.bytes.examine(),
        _examine_clock(registry, findings),
        _examine_space(registry),
    ]


def _examine_clock(registry: Registry, findings: list[StoreFinding]) -> StoreFinding:
    """Is the clock later than all that was written? `findings` may say why nothing can be read."""
    try:
        head = registry.head()
        if head is None:
            return StoreFinding("clock", "ok", "no change yet")
        before = ChangeMark(head.epoch, head.number - 1)
        last = registry.changes(before, limit=1)[-1]
    except PerdureError as error:
        seen = f"the last change cannot be read: {error.problem()}"
        causes = [one.name for one in findings if one.severity == "error"]
        advice = f"mend first: {', '.join(causes)}" if causes else error.repair()
        return StoreFinding("clock", "error", seen, advice)
    ahead = (datetime.fromisoformat(last.at) - registry.clock()).total_seconds()
    if ahead <= _CLOCK_BACK:
        return StoreFinding("clock", "ok", f"later than the last change, {last.at}")
    advice = (
        "set the clock (chrony, systemd-timesyncd) before anything is written: names and changes "
        "have its day and time"
    )
    seen = f"{ahead:.0f} seconds before the last change, {last.at}"
    return StoreFinding("clock", "error", seen, advice)


def _examine_space(registry: Registry) -> StoreFinding:
    """Is there space for what comes?"""
    disk = shutil.disk_usage(registry.root)
    share = disk.free / max(disk.total, 1)
    seen = f"{share:.0%} of the disk is free"
    if share >= _LITTLE_FREE:
        return StoreFinding("space", "ok", seen)
    advice = "make space, or move the registry to a larger disk: writes are refused when it is full"
    return StoreFinding("space", "warning", seen, advice)
