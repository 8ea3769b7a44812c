"""Runs through complete collections, which can be stopped and resumed: checks, manifests.

What must stay true: members that an earlier run has checked are not checked again; the report of a
resumed check gives the time at which its first part began.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from perdure.model import collection as members
from perdure.model.collection import Collection, Member
from perdure.registry import Registry
from perdure.upkeep.collection.checking import Checker
from perdure.upkeep.collection.making import Held
from perdure.upkeep.collection.resuming import About, Log
from perdure.upkeep.collection.status import Checked, Report, State
from perdure.writing.registrar import timestamp

_READ = (State.HELD, State.EXACT)

Watch = Callable[[int], None]
"""Called with the number of checked members."""


def _nobody(_: int) -> None:
    """Do nothing: the caller does not watch."""


def check(
    registry: Registry,
    seen: Held,
    *,
    state: Path | None = None,
    ask: bool = False,
    watch: Watch = _nobody,
) -> Report:
    """Check every member of a collection. `state` is the file that keeps the finished steps.

    `ask`: ask other archives what they have.

    The file stays, so that nothing is lost if the report cannot be written; the caller removes it
    when the report is safe. Raises Conflict if the file belongs to another run.
    """
    run = "check, asking" if ask else "check"
    begun = timestamp(registry.clock())
    about = About(run=run, collection=str(seen.identifier), sha512=seen.sha512, begun=begun)
    listed = list(enumerate(seen.collection.members, 1))
    first, found = _looked(Checker(registry, ask=ask), about, listed, state, watch)
    return Report(
        collection=str(seen.identifier),
        sha512=seen.sha512,
        title=seen.collection.title,
        begun=first,
        ended=timestamp(registry.clock()),
        size=len(listed),
        checked=tuple(found),
    )


def manifest(
    registry: Registry,
    found: Sequence[Member],
    *,
    state: Path | None = None,
    watch: Watch = _nobody,
) -> tuple[Member, ...]:
    """Add digest, length and media type to members without a digest whose bytes are here.

    `state` as in `check`.
    """
    document = members.write(Collection(members=tuple(found)))
    about = About(
        run="manifest",
        collection="",
        sha512=hashlib.sha512(document).hexdigest(),
        begun=timestamp(registry.clock()),
    )
    silent = [(number, one) for number, one in enumerate(found, 1) if not one.digest]
    _, looked = _looked(Checker(registry, pieces=False), about, silent, state, watch)
    completed = list(found)
    for one in looked:
        if one.state in _READ:
            member = completed[one.number - 1]
            completed[one.number - 1] = msgspec.structs.replace(
                member,
                digest=one.digest,
                length=one.length,
                media_type=member.media_type or one.media_type,
            )
    return tuple(completed)


def _looked(
    checker: Checker,
    about: About,
    listed: Sequence[tuple[int, Member]],
    state: Path | None,
    watch: Watch,
) -> tuple[str, list[Checked]]:
    """Check members. Return the time at which the run began, and the members by number."""
    with Log(state, about, Checked) if state else nullcontext() as log:
        found = {one.number: one for one in (log.steps if log else ())}
        for count, (number, member) in enumerate(listed, 1):
            if number not in found:
                found[number] = checker.check(number, member)
                if log:
                    log.add(found[number])
            watch(count)
        begun = log.about.begun if log else about.begun
    return begun, [found[number] for number in sorted(found)]
