"""When the index of words is brought up to date, and by which process.

How it works: a search on the command line brings the index up to date first, so a document is found
as soon as it was minted. For a server, a process of its own does so after each change
(`follow_changes`), at low priority, so that no reader waits for it. One process at a time writes
the index; another one waits for it, and finds little left to do.

An interrupted run resumes after the last change that it committed. If the registry was restored to
an earlier state, the index is made again from nothing.

What must stay true: you may delete `followers/search.*` at any time.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perdure.errors.searching import IndexNotMade, IndexNotWritable, SearchOff
from perdure.model.changes import ChangeMark
from perdure.model.queries import Reader
from perdure.registry import Registry
from perdure.upkeep.changes.following import FollowerProgress, catch_up, count_behind, is_on_chain
from perdure.upkeep.changes.record_index import UnreadDocument
from perdure.upkeep.searching.capture_texts import has_unread_captures
from perdure.upkeep.searching.finding import Finder
from perdure.upkeep.searching.found import FoundPage
from perdure.upkeep.searching.index_reader import IndexReader
from perdure.upkeep.searching.indexing import FILE, WordIndex
from perdure.upkeep.searching.text_index import Selection

LOCK = Path("followers", "search.lock")
FOLLOWER_LOCK = Path("followers", "search.follower")
LONGEST_WAIT = 10.0
"""Seconds that a search waits for another process that brings the index up to date."""
_LOOK_EVERY = 0.25  # seconds
_LOOK_FOR_CAPTURES = 5.0  # seconds
_TRY_EVERY = 0.02  # seconds


class IndexState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the index."""

    at: ChangeMark | None
    """The last change that it has seen."""
    behind: int | None
    """Changes that it has not seen. None if they are in a later epoch."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a search."""

    page: FoundPage
    state: IndexState
    is_governed: bool
    """True if it depends on the rights of the reader."""


def require_on(registry: Registry) -> None:
    """Raise SearchOff if the operator has switched searching off."""
    if registry.settings.search != "on":
        raise SearchOff()


# writing
# -------


def update_index(
    registry: Registry, *, wait: float = LONGEST_WAIT, again: bool = False
) -> Iterator[FollowerProgress]:
    """Bring the index up to date; `again` makes it from nothing. Iterate to the end.

    It does nothing if another process still writes after `wait` seconds. Raises SearchOff, or
    IndexNotWritable if this process may not write to the registry and there is no index.
    """
    require_on(registry)
    if not os.access(registry.root, os.W_OK):
        if (registry.root / FILE).exists():
            return
        raise IndexNotWritable()
    with hold_lock(registry.root / LOCK, wait) as is_held:
        if not is_held:
            return
        index = WordIndex(registry)
        try:
            if again:
                index.reset()
            yield from catch_up(registry.records, index)
            index.index_captures()
            index.purge()
        finally:
            index.close()


@contextmanager
def hold_lock(path: Path, wait: float) -> Iterator[bool]:
    """Hold a lock between processes. False if another one still has it after `wait` seconds."""
    path.parent.mkdir(exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    end = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    yield False
                    return
                time.sleep(_TRY_EVERY)
            else:
                yield True
                return
    finally:
        os.close(fd)


def is_followed(root: Path) -> bool:
    """Return True if a process follows the changes of a registry."""
    with hold_lock(root / FOLLOWER_LOCK, 0) as is_free:
        return not is_free


def follow_changes(registry: Registry, is_wanted: Callable[[], bool]) -> None:
    """Bring the index up to date after each change, as long as it is wanted.

    It ends at once if another process does so. Raises SearchOff or IndexNotWritable.
    """
    require_on(registry)
    with (
        hold_lock(registry.root / FOLLOWER_LOCK, 0) as is_held,
        registry.records.open_counter() as seen,
    ):
        done, looked = -1, 0.0
        while is_held and is_wanted():
            count, now = seen.change_count, time.monotonic()
            if count != done or (now - looked >= _LOOK_FOR_CAPTURES and _has_captures(registry)):
                for _ in update_index(registry):
                    pass
                done = count
            if now - looked >= _LOOK_FOR_CAPTURES:
                looked = now
            time.sleep(_LOOK_EVERY)


def _has_captures(registry: Registry) -> bool:
    """Return True if there are captures, or takedowns, that the index has not seen.

    If the index was deleted, it has seen none.
    """
    try:
        index = IndexReader(registry.root / FILE)
    except IndexNotMade:
        return True
    try:
        return has_unread_captures(registry, index.captures)
    finally:
        index.close()


# reading
# -------


class Searching:
    """Searches one registry. Safe to use from several threads."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._path = registry.root / FILE
        self._local = threading.local()

    def search(
        self,
        selection: Selection,
        reader: Reader,
        *,
        before: int | None = None,
        limit: int,
    ) -> Search:
        """Return a page of what a reader finds. Raises SearchOff, Unavailable."""
        require_on(self._registry)
        index = self._open_index()
        state = self._find_state(index)
        finder = Finder(self._registry, index, reader)
        page = finder.find_page(selection, before=before, limit=limit, since=state.at)
        return Search(page=page, state=state, is_governed=finder.is_governed)

    def open_finder(self, reader: Reader) -> Finder:
        """Return a finder on the present index. Raises SearchOff, Unavailable."""
        require_on(self._registry)
        return Finder(self._registry, self._open_index(), reader)

    def find_state(self) -> IndexState:
        """Return how far the index is. Raises Unavailable."""
        return self._find_state(self._open_index())

    def list_unread(self) -> list[UnreadDocument]:
        """Return the documents that could not be read, so are not found by their text."""
        return [UnreadDocument(*row) for row in self._open_index().list_unread()]

    def _find_state(self, index: IndexReader) -> IndexState:
        head = index.last_head()
        records = self._registry.records
        if head is None or not is_on_chain(records, head):
            now = records.find_head()
            return IndexState(at=None, behind=now.number if now else 0)
        return IndexState(at=head.mark, behind=count_behind(records, head.mark))

    def _open_index(self) -> IndexReader:
        """Return the index for this thread; it is opened again if the file was replaced."""
        opened: IndexReader | None = getattr(self._local, "index", None)
        if opened is not None and opened.is_current():
            return opened
        self._local.index = opened = IndexReader(self._path)
        return opened
