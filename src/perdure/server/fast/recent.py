"""Recent answers: what targets led to, remembered as long as no record changes.

How it works: a cheap approximation of least-recently-used. There are two halves. A result that is
asked for again moves to the young half; when that is full, it becomes the old half, and the
previous old half is dropped. A half is full by number or by bytes, whichever comes first, so long
targets and long answers cannot take more memory than many short ones.

All results are dropped when `perdure.storage.generation` reports that a record was revised, in this
process or another.

What must stay true: the count is read before the record, so a result from an older record is never
kept as new. A key is the complete target as it was sent, so no spelling can place a result under
another one.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.server.fast.choices import ChosenAnswers
from perdure.server.fast.held import ReadyRepresentation
from perdure.server.fast.lead_kinds import Lead, ProxiedLead
from perdure.storage.ports import CountPair

MOST_ANSWERS = 8192
"""The most results in each half."""
MOST_BYTES = 8 << 20
"""The most bytes that the results in each half take, about."""
LARGEST_KEPT = 4096
"""Bytes of the largest answer that is remembered."""
OVERHEAD = 250
"""Bytes of an entry, about: two headers of bytes, and its place in the table."""
_OBJECT = 4096  # bytes of a document with its header, about

Kept = bytes | ReadyRepresentation | ChosenAnswers | Lead | ProxiedLead
"""What is remembered of a target: its answer, its document, its answers for several orders of its
locations, the name to which it leads, or its document of another resolver."""


class RecentAnswers:
    """Results of resolving targets. `counts` are those of `perdure.storage.generation`.

    `note_revision` is called when the results are dropped because a record was revised.
    """

    def __init__(self, counts: CountPair, note_revision: Callable[[], None]) -> None:
        self._counts = counts
        self._note_revision = note_revision
        self._seen = -1
        self._young: dict[bytes, Kept] = {}
        self._old: dict[bytes, Kept] = {}
        self._size = 0
        """The bytes of the young half, about."""

    def find_answer(self, asked: bytes) -> Kept | None:
        """Return the recent result of resolving a target, or None."""
        count = self._counts[0]
        if count != self._seen:
            self.drop_answers()
            self._note_revision()  # it may have to wait, and is then called again
            self._seen = count
        found = self._young.get(asked)
        if found is None:
            found = self._old.get(asked)
            if found is not None:
                self.keep_answer(asked, found)
        return found

    def has_answer(self, asked: bytes) -> bool:
        """Return True if a result is remembered, whether it is still valid or not."""
        return asked in self._young or asked in self._old

    def keep_answer(self, asked: bytes, found: Kept) -> None:
        """Remember a result. Call it only after `find_answer` for the same request."""
        self.keep_measured(asked, found, _measure_entry(asked, found))

    def keep_measured(self, asked: bytes, found: Kept, size: int) -> None:
        """Do the same for a known size: of a target and its answer, the sum of their lengths."""
        self._size += size + OVERHEAD
        if len(self._young) >= MOST_ANSWERS or self._size > MOST_BYTES:
            self._old, self._young, self._size = self._young, {}, size + OVERHEAD
        self._young[asked] = found

    def drop_answers(self) -> None:
        """Forget all results."""
        self._young, self._old, self._size = {}, {}, 0


def _measure_entry(asked: bytes, found: Kept) -> int:
    size = len(asked)
    if type(found) is Lead:
        return size + len(found.head) + OVERHEAD
    if isinstance(found, ChosenAnswers):
        return size + sum(len(one) + OVERHEAD for one in found.list_answers())
    return size + (len(found) if isinstance(found, bytes) else _OBJECT)
