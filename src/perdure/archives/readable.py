"""The captures that one reader may read: an index without the others, and the files.

How it works: a `ReadingGuard` says which captures those are, by the reading rules
(`perdure.reading.capture_guarding`). `GuardedArchive` has the members of a `Library` that readers
need. Its index leaves out all other captures, so that no PWID, replay, list, Memento, revisit, page
or text finds them. If nothing is left of what a request names, the guard says why.

What must stay true: a capture that the index does not show is never opened for the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol

from perdure.archives.index.ranges import IndexRange, walk_range
from perdure.archives.port import ArchiveFiles, Capture, Captures


class ReadingGuard(Protocol):
    """Says which captures a reader may read."""

    def may_read(self, capture: Capture) -> bool:
        """Return True if the reader may read a capture."""

    def require_readable(self, identifier: str, uri: str, first: str, last: str) -> None:
        """Raise Forbidden or Unauthenticated if the reader may read no capture of a URI in a span.

        `identifier` is the name that the request used; times have 14 digits.
        """

    def explain_absence(self, identifier: str, uri: str, first: str, last: str) -> None:
        """Raise the same if the reader may not read some of the captures; they may not exist."""


class ReadableArchive(Protocol):
    """The captures that a reader may read."""

    @property
    def captures(self) -> Captures: ...

    @property
    def files(self) -> ArchiveFiles: ...

    def require_served(self, identifier: str, uri: str, first: str, last: str) -> None:
        """Raise an error if the reader gets no capture of a URI in a span of time.

        Raises CaptureWithdrawn if they were taken down, Forbidden or Unauthenticated if the reader
        may not read them.
        """

    def explain_absence(self, identifier: str, uri: str, first: str, last: str) -> None:
        """Raise Forbidden or Unauthenticated if none was found because of a reading rule."""


class GuardedArchive:
    """The captures of an archive that a guard admits; implements `ReadableArchive`."""

    def __init__(self, archive: ReadableArchive, guard: ReadingGuard) -> None:
        self._archive = archive
        self._guard = guard
        self.captures: Captures = SelectedCaptures(archive.captures, self._select)
        self.files = archive.files

    def _select(self, found: Iterable[Capture]) -> Iterator[Capture]:
        return filter(self._guard.may_read, found)

    def require_served(self, identifier: str, uri: str, first: str, last: str) -> None:
        """See `ReadableArchive`."""
        self._archive.require_served(identifier, uri, first, last)
        self._guard.require_readable(identifier, uri, first, last)

    def explain_absence(self, identifier: str, uri: str, first: str, last: str) -> None:
        """See `ReadableArchive`."""
        self._guard.explain_absence(identifier, uri, first, last)


class SelectedCaptures:
    """An index without some of its captures; implements `Captures`."""

    def __init__(
        self,
        captures: Captures,
        select: Callable[[Iterable[Capture]], Iterator[Capture]],
        *,
        is_limited: Callable[[], bool] = lambda: True,
    ) -> None:
        """`select` leaves captures out. It is not used unless `is_limited`."""
        self._captures = captures
        self._select = select
        self._is_limited = is_limited

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`."""
        if not self._is_limited():
            return self._captures.scan_range(low, high, backwards=backwards, limit=limit)
        return self._scan(IndexRange(low, high), limit, backwards=backwards)

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`."""
        return self._scan(IndexRange(low, high), limit, backwards=backwards, by_request=True)

    def _scan(
        self, stretch: IndexRange, limit: int, *, backwards: bool, by_request: bool = False
    ) -> list[Capture]:
        found = walk_range(
            self._captures, stretch, backwards=backwards, batch=limit, by_request=by_request
        )
        return list(islice(self._select(found), limit))

    def count_captures(self) -> int:
        """See `Captures`."""
        return self._captures.count_captures()
