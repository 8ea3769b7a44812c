"""A registry made anew from its segments, when its file is damaged or lost.

How it works: under the write lock, `perdure.upkeep.audit.rebuild` fills a fresh file from the
segments; then everything else is taken over from the old file, as far as that can be read:
identifiers without bytes, locations, aliases, metadata, history, tokens. The new file takes the
place of the old one in one step, and the old one is kept in `aside`.

What must stay true: a promise that the old file makes is never dropped, even where its bytes are in
no segment (`verify` tells then); an interruption leaves the old file in its place.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perdure.errors.processes import InUse
from perdure.model.records import Record, Representation, Version
from perdure.policy.naming import references
from perdure.storage.ports import Renewal, Salvage, Store, storage_errors
from perdure.storage.reference_hashes import reference_hash
from perdure.upkeep import audit
from perdure.writing.peers import LOCK

BY = "rebuild"
_SOME = 1000


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a rebuild."""

    phase: str
    done: int
    """Segments read, or records taken over."""
    problem: str | None = None


def rebuild(root: Path, store: Store, *, now: str) -> Iterator[Step]:
    """Makes the registry anew; must be iterated to its end.

    Raises Unavailable where another process writes to the registry or has it open, StorageFailed
    where the disk is full.
    """
    work = root / "incoming" / "rebuild"
    with _write_lock(root), storage_errors("the new registry"):
        try:
            with store.salvage(root) as old:
                shutil.rmtree(work, ignore_errors=True)
                work.mkdir(parents=True)
                store.create(work)
                with closing(store.open_renewal(work)) as journal:
                    for number, step in enumerate(audit.rebuild(root, journal, now=now), 1):
                        yield Step(phase="segments", done=number, problem=step.problem)
                    yield from _take_over(old, journal, now)
            aside = root / "aside"
            aside.mkdir(exist_ok=True)
            store.install(work, root, aside=aside / f"registry-{now.replace(':', '')}")
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _write_lock(root: Path) -> Iterator[None]:
    """Keeps writers out, as long as this process lives at most."""
    fd = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        user = "a server or another command is writing; stop it first"
        raise InUse(used="the registry", user=user) from None
    finally:
        os.close(fd)


def _take_over(old: Salvage, journal: Renewal, now: str) -> Iterator[Step]:
    """Adds to the new registry what no segment tells."""
    journal.begin()
    journal.take_over(old)
    journal.commit()
    rows, count = old.records(), 0
    while some := list(islice(rows, _SOME)):
        journal.begin()
        for key, record, position in some:
            _add(journal, key, record, position, now)
        journal.commit()
        journal.tidy()
        count += len(some)
        yield Step(phase="records", done=count)
    journal.note_renewed(now, BY)
    for problem in old.problems:
        yield Step(phase="records", done=count, problem=f"of the old registry: {problem}")


def _add(journal: Renewal, key: str, old: Record, position: int | None, now: str) -> None:
    record, past = combined(old, journal.record(key)), None
    if _without_places(record) != _without_places(old):
        record, past = replace(record, revision=old.revision + 1, at=now, by=BY), old
    journal.keep(key, record, position, past)
    journal.refer([(reference_hash(one), key) for one in references(record)])


def combined(old: Record, found: Record | None) -> Record:
    """What the old registry says, with the places and any further bytes that the segments tell.

    Where they contradict, the old registry is right: bytes that a failed batch left in a segment
    were never promised.
    """
    if found is None:
        return old
    versions = {one.number: one for one in found.versions}
    for one in old.versions:
        same = versions.get(one.number)
        versions[one.number] = _version(one, same) if same else one
    return replace(
        old,
        versions=tuple(versions[number] for number in sorted(versions)),
        tombstone=old.tombstone or found.tombstone,
    )


def _version(old: Version, found: Version) -> Version:
    placed = tuple(_placed(one, found.find(one.format)) for one in old.representations)
    more = tuple(one for one in found.representations if not old.find(one.format))
    return replace(old, representations=placed + more, tombstone=old.tombstone or found.tombstone)


def _placed(one: Representation, found: Representation | None) -> Representation:
    if found is None or found.sha512 != one.sha512:
        return one
    return replace(one, segment=found.segment, offset=found.offset)


def _without_places(record: Record) -> Record:
    versions = tuple(
        replace(
            version,
            representations=tuple(
                replace(one, segment=0, offset=0) for one in version.representations
            ),
        )
        for version in record.versions
    )
    return replace(record, versions=versions)
