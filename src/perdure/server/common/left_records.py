"""Records that the fast path has read, and left to the plain way together with their requests.

How it works: the fast path must read the record of a name before it can know whether it may answer.
If it may not, it leaves the record here, and the read door takes it as known.

What must stay true: a record is taken only if nothing has changed since it was read. So it is the
same that would be read now.
"""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.model.records import IdentifiedRecord, Record
from perdure.storage.ports import CountPair

_MOST = 64
"""The most records that wait for their requests. Those of requests that ended early stay longer."""


class LeftRecords:
    """The records of one worker. `counts` are those of `perdure.storage.generation`."""

    def __init__(self, counts: CountPair = (0, 0)) -> None:
        self._counts = counts
        self._left: dict[str, tuple[int, Record]] = {}

    def leave_record(self, key: str, record: Record, changes: int) -> None:
        """Leave a record that was read after the count of changes; not if that is -1, unknown."""
        if changes < 0:
            return
        if len(self._left) >= _MOST:
            self._left.clear()
        self._left[key] = changes, record

    def take_record(self, name: Identifier) -> IdentifiedRecord | None:
        """Return the record of a name, once, or None if it must be read."""
        if not self._left:
            return None
        changes, record = self._left.pop(name.key, (-1, None))
        if record is None or changes != self._counts[1]:
            return None
        return IdentifiedRecord(name.resource, record)
