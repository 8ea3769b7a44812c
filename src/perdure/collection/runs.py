"""A check of a whole collection, which can be stopped and taken up again.

What must stay true: members that an earlier run has looked at are not looked at again; the report
of a check that was taken up says when the first part of it began.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from perdure.app import Registry
from perdure.collection.checking import Checker
from perdure.collection.making import Held
from perdure.collection.resuming import About, Log
from perdure.collection.status import Checked, Report
from perdure.registrar import timestamp

Watch = Callable[[int], None]
"""Told how many members were looked at."""


def check(
    registry: Registry,
    seen: Held,
    *,
    state: Path | None = None,
    ask: bool = False,
    watch: Watch = lambda _: None,
) -> Report:
    """Looks at every member of a collection; `state` is the file that keeps what was done.

    `ask`: other archives are asked for what lies there.

    The file stays, so that a report which cannot be written is not lost; the caller removes it when
    the report is safe. Raises Conflict where it belongs to another run.
    """
    begun = timestamp(registry.clock())
    about = About(run="check", collection=str(seen.identifier), sha512=seen.sha512, begun=begun)
    checker = Checker(registry, ask=ask)
    with Log(state, about, Checked) if state else nullcontext() as log:
        found = list(log.steps) if log else []
        done = {one.number for one in found}
        for number, member in enumerate(seen.collection.members, 1):
            if number not in done:
                one = checker.check(number, member)
                found.append(one)
                if log:
                    log.add(one)
            watch(number)
        begun = log.about.begun if log else begun
    return Report(
        collection=str(seen.identifier),
        sha512=seen.sha512,
        title=seen.collection.title,
        begun=begun,
        ended=timestamp(registry.clock()),
        size=len(seen.collection.members),
        checked=tuple(sorted(found, key=lambda one: one.number)),
    )
