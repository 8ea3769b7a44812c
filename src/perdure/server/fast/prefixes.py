"""The records of prefixes, whose templates make the values of parts of handles.

How it works: every part of a handle asks for the record of its prefix, which hardly ever changes.
So it is remembered as long as nothing in the registry does. If the fast path may not answer, it
leaves what it knows of the prefix to the plain way.

What must stay true: nothing is remembered that was read before the last change.
"""

from __future__ import annotations

from perdure.model import stored
from perdure.model.records import Record
from perdure.server.common.left_records import LeftRecords
from perdure.server.fast.lookups import LookUps

_MOST = 1024


class PrefixRecords:
    """The handles of prefixes, as one worker has read them."""

    def __init__(self, lookups: LookUps) -> None:
        self._lookups = lookups
        self._changes = -1
        """The count of changes after which all of this was read. -1 if it is not known."""
        self._records: dict[str, Record | None] = {}
        self._last: str | None = None

    def find_record(self, key: str) -> Record | None:
        """Return the record with a key, or None. Raises AnswerLater as `LookUps` do."""
        changes = self._lookups.changes
        if changes < 0 or changes != self._changes or len(self._records) > _MOST:
            self._records, self._changes = {}, changes
        if key not in self._records:
            text = self._lookups.find_record(key)
            self._records[key] = None if text is None else stored.decode_stored(text)
        self._last = key
        return self._records[key]

    def forget_last(self) -> None:
        """Begin another part, for which no prefix was asked yet."""
        self._last = None

    def leave_last(self, left: LeftRecords, changes: int) -> None:
        """Leave the record that was asked for last, if it is as it was after these changes."""
        if self._last is not None and self._changes == changes:
            left.leave_record(self._last, self._records[self._last], changes)
