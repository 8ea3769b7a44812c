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
from perdure.model.collection import Collection, CollectionMember
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.collection.checking import MemberChecker
from perdure.upkeep.collection.making import HeldCollection
from perdure.upkeep.collection.resuming import RunLog, RunSubject
from perdure.upkeep.collection.status import CheckedMember, Report, State

_READ = (State.HELD, State.EXACT)

Watch = Callable[[int], None]
"""Called with the number of checked members."""


def _watch_nothing(_: int) -> None:
    """Do nothing: the caller does not watch."""


def check_collection(
    registry: Registry,
    seen: HeldCollection,
    *,
    state: Path | None = None,
    ask: bool = False,
    watch: Watch = _watch_nothing,
) -> Report:
    """Check every member of a collection. `state` is the file that keeps the finished steps.

    `ask`: ask other archives what they have.

    The file stays, so that nothing is lost if the report cannot be written; the caller removes it
    when the report is safe. Raises Conflict if the file belongs to another run.
    """
    run = "check, asking" if ask else "check"
    begun = format_timestamp(registry.clock())
    about = RunSubject(run=run, collection=str(seen.identifier), sha512=seen.sha512, begun=begun)
    listed = list(enumerate(seen.collection.members, 1))
    first, found = _check_members(MemberChecker(registry, ask=ask), about, listed, state, watch)
    return Report(
        collection=str(seen.identifier),
        sha512=seen.sha512,
        title=seen.collection.title,
        begun=first,
        ended=format_timestamp(registry.clock()),
        size=len(listed),
        checked=tuple(found),
    )


def complete_members(
    registry: Registry,
    found: Sequence[CollectionMember],
    *,
    state: Path | None = None,
    watch: Watch = _watch_nothing,
) -> tuple[CollectionMember, ...]:
    """Add digest, length and media type to members without a digest whose bytes are here.

    `state` as in `check_collection`.
    """
    document = members.write_collection(Collection(members=tuple(found)))
    about = RunSubject(
        run="manifest",
        collection="",
        sha512=hashlib.sha512(document).hexdigest(),
        begun=format_timestamp(registry.clock()),
    )
    silent = [(number, one) for number, one in enumerate(found, 1) if not one.digest]
    _, looked = _check_members(MemberChecker(registry, pieces=False), about, silent, state, watch)
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


def _check_members(
    checker: MemberChecker,
    about: RunSubject,
    listed: Sequence[tuple[int, CollectionMember]],
    state: Path | None,
    watch: Watch,
) -> tuple[str, list[CheckedMember]]:
    """Check members. Return the time at which the run began, and the members by number."""
    with RunLog(state, about, CheckedMember) if state else nullcontext() as log:
        found = {one.number: one for one in (log.steps if log else ())}
        for count, (number, member) in enumerate(listed, 1):
            if number not in found:
                found[number] = checker.check(number, member)
                if log:
                    log.add_step(found[number])
            watch(count)
        begun = log.about.begun if log else about.begun
    return begun, [found[number] for number in sorted(found)]
