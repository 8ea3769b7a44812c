"""A complete run: collect, check, and save findings as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from perdure.errors import Corrupt
from perdure.ids.name_set import NameSet
from perdure.registry import Registry
from perdure.upkeep.linkcheck import collecting
from perdure.upkeep.linkcheck.checker import LinkChecker
from perdure.upkeep.linkcheck.state import Links
from perdure.upkeep.linkcheck.verdict import LinkFinding

_AT_ONCE = 100
_SECONDS = 1.0  # longest time that a finding waits to be saved with others
Tell = Callable[[int, int], None]
"""Called with the numbers of finished and of all locations."""


def start_run(
    links: Links,
    registry: Registry,
    within: NameSet | None,
    *,
    report: Callable[[Corrupt], None],
    resume: bool = False,
    fresh_hours: float = 0,
) -> int:
    """Return the number of the run to carry out: a new one, or the one that was interrupted.

    A run leaves out records that were damaged when it began; their errors are passed to `report`.
    Raises NotFound if no known identifier belongs to the set.
    """
    if within is not None:
        within = registry.listings.require_known(within)
    what = "" if within is None else str(within)
    run = links.find_unfinished(what) if resume else None
    if run is not None:
        for error in links.list_unread(run):
            report(error)
        return run
    unread: list[Corrupt] = []
    bound = collecting.walk_bound(registry.records, within, report=unread.append)
    run = links.begin_run(what, bound, unread, fresh_hours=fresh_hours)
    for one in unread:
        report(one)
    return run


async def carry_out_run(links: Links, run: int, checker: LinkChecker, tell: Tell) -> None:
    """Check the remaining locations of a run. Findings are saved however this ends; a kill loses
    those of the last second."""
    total = links.count_remaining(run)
    done, batch = 0, list[LinkFinding]()
    loop = asyncio.get_running_loop()

    def save_batch() -> None:
        links.save_findings(run, batch)
        batch.clear()

    tell(done, total)
    try:
        async for finding in checker.check_tasks(links.list_tasks(run)):
            if not batch:
                timer = loop.call_later(_SECONDS, save_batch)  # others may take long to answer
            batch.append(finding)
            done += 1
            if len(batch) == _AT_ONCE:
                timer.cancel()
                save_batch()
            tell(done, total)
    finally:
        save_batch()
    links.end_run(run)
