"""Bringing the counts of names and the indexes of followers up to date.

How it works: all are followers of the changes (`perdure.upkeep.changes.following`). A command
brings them up to date before it reads them; for a server, `update_beside` does so regularly, in a
process of its own, so that no reader waits. The index of passages needs numpy (`perdure[text]`);
without it, only citations are indexed.

What must stay true: an index that cannot be written is an error with the reason, never an answer
that looks complete.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from perdure.errors import MissingLibrary, PerdureError
from perdure.errors.unavailable import FollowerFailed
from perdure.registry import Registry
from perdure.upkeep.changes.document_index import DocumentIndex
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.changes.name_counts import NameCounts
from perdure.upkeep.children import run_command
from perdure.upkeep.citations.captured import has_unread_files, index_captures
from perdure.upkeep.citations.citation_index import CitationIndex
from perdure.upkeep.citations.received import FILE as RECEIVED
from perdure.upkeep.citations.received import ReceivedCitations
from perdure.upkeep.collection.membership_index import MembershipIndex

if TYPE_CHECKING:
    from perdure.upkeep.quotations.passage_index import PassageIndex

_TURN = Path("followers", "index.turn")
Progress = Callable[[int], None]


def _ignore(_taken: int) -> None:
    """Report no progress."""


def has_passages() -> bool:
    """Return True if the library that the index of passages needs is installed."""
    return find_spec("numpy") is not None


@contextlib.contextmanager
def open_citations(registry: Registry) -> Iterator[CitationIndex]:
    """Open the index of citations as it is. Raises FollowerFailed."""
    with (
        reporting_failures("the index of citations"),
        contextlib.closing(CitationIndex(registry)) as index,
    ):
        yield index


@contextlib.contextmanager
def open_passages(registry: Registry) -> Iterator[PassageIndex]:
    """Open the index of passages as it is. Raises MissingLibrary or FollowerFailed."""
    if not has_passages():
        raise MissingLibrary(task="finding quotations", extra="text", library="numpy")
    from perdure.upkeep.quotations.passage_index import PassageIndex

    with (
        reporting_failures("the index of passages"),
        contextlib.closing(PassageIndex(registry)) as index,
    ):
        yield index


@contextlib.contextmanager
def open_name_counts(registry: Registry) -> Iterator[NameCounts]:
    """Open the counts of names as they are. Raises FollowerFailed."""
    with (
        reporting_failures("the counts of names"),
        contextlib.closing(NameCounts(registry.root)) as counts,
    ):
        yield counts


@contextlib.contextmanager
def open_memberships(registry: Registry) -> Iterator[MembershipIndex]:
    """Open the index of the members of collections as it is. Raises FollowerFailed."""
    with (
        reporting_failures("the index of collections"),
        contextlib.closing(MembershipIndex(registry)) as index,
    ):
        yield index


def bring_up_to_date(index: DocumentIndex, report: Progress = _ignore) -> None:
    """Let an index take all changes that it has not seen, and that of citations all archive files.

    Raises FollowerFailed.
    """
    with reporting_failures("the index"):
        for step in catch_up(index.registry.records, index):
            report(step.taken)
        if isinstance(index, CitationIndex):
            index_captures(index.registry, index)


# beside a server
# ---------------


async def update_beside(registry: Registry) -> str:
    """Bring the indexes up to date in a process of its own, at the lowest priority.

    Does nothing if there is no new change, or if another process of the server does it. Returns a
    short error text, or an empty text. The process ends with this one.
    """
    with _hold_turn(registry) as is_ours:
        if not is_ours:
            return ""
        problems = []
        if await asyncio.to_thread(_is_behind, registry):
            problems.append(await run_command(registry.root, "index"))
        if await asyncio.to_thread(_has_queue, registry):
            problems.append(await run_command(registry.root, "citations", "fetch"))
        return "; ".join(filter(None, problems))


def _is_behind(registry: Registry) -> bool:
    """Return True if a follower has not seen all changes, or not all archive files."""
    head = registry.head()
    with open_name_counts(registry) as counts:
        counted = counts.last_head()
    if head is not None and (counted is None or counted.mark != head.mark):
        return True
    with open_memberships(registry) as members:
        seen = members.last_head()
    if head is not None and (seen is None or seen.mark != head.mark):
        return True
    with open_citations(registry) as index:
        is_late = head is not None and index.find_mark() != head.mark
        return is_late or has_unread_files(registry, index)


def _has_queue(registry: Registry) -> bool:
    """Return True if there are Webmentions whose pages must be fetched."""
    if registry.settings.webmentions != "on" or not (registry.root / RECEIVED).exists():
        return False
    with contextlib.closing(ReceivedCitations(registry)) as received:
        return bool(received.list_reports("queued", limit=1))


@contextlib.contextmanager
def _hold_turn(registry: Registry) -> Iterator[bool]:
    """Yield True to one process of a server at a time."""
    path = registry.root / _TURN
    path.parent.mkdir(exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


@contextlib.contextmanager
def reporting_failures(what: str) -> Iterator[None]:
    """Turn errors of the database and of the system into FollowerFailed."""
    try:
        yield
    except (PerdureError, BrokenPipeError):  # of the question, and of its reader
        raise
    except (apsw.Error, OSError) as error:
        raise FollowerFailed(what=what, reason=str(error)) from error
