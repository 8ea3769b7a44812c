"""Records that the fast path has read, and left to the plain way together with their requests.

How it works: the fast path must read the record of a name before it can know whether it may answer.
If it may not, it leaves here what it has read, also that a record does not exist, and the read
door takes this as known.

What must stay true: nothing is taken if anything has changed since it was read. So it is what would
be read now.
"""

from __future__ import annotations

from perdure.model.records import Record
from perdure.reading.resolve import Known
from perdure.storage.ports import CountPair

_MOST = 64
"""The most keys that are kept for their requests."""


class LeftRecords:
    """Holds what one worker has read. `counts` are those of `perdure.storage.generation`."""

    def __init__(self, counts: CountPair = (0, 0)) -> None:
        self._counts = counts
        self._changes = -1
        self._left: dict[str, Record | None] = {}

    def leave_record(self, key: str, record: Record | None, changes: int) -> None:
        """Leave a record, None if it does not exist, that was read after the count of changes.

        Nothing is left if the count is not known, which is -1.
        """
        if changes < 0:
            return
        if changes != self._changes or len(self._left) >= _MOST:
            self._left = {}
            self._changes = changes
        self._left[key] = record

    def take_records(self) -> Known:
        """Return what was read and has not changed, by its keys, once."""
        left, self._left = self._left, {}
        return left if left and self._changes == self._counts[1] else {}
