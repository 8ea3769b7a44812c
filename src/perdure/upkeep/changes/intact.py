"""Changes whose records a scan of all records found as the change wrote them.

How it works: an import adds thousands of records with one change, and they are neighbours. A scan
that reads them anyway passes them on, and their digest is compared with that of the change. The
check of the changes then need not read them again.

What must stay true: a change counts only if all its records were passed on, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.errors import Conflict, Corrupt
from perdure.model.changes import Change, ChangeMark, Line, digest_lines
from perdure.storage.ports import Records

_FEWEST = 32  # lines; to look up the change of fewer takes longer than to read them again


class IntactChanges:
    """Pass on the records with `add_lines`, in the order of their keys, and call `end_run`."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.marks: set[ChangeMark] = set()
        """The changes that were found intact."""
        self._current: ChangeMark | None = None
        self._keys: list[str] = []
        self._texts: list[str] = []

    def __contains__(self, mark: object) -> bool:
        return mark in self.marks

    def add_lines(
        self, change: ChangeMark | None, keys: Sequence[str], texts: Sequence[str]
    ) -> None:
        """Add neighbouring records of one change, or of several (None)."""
        if change != self._current:
            self.end_run()
            self._current = change
        if change is not None:
            self._keys += keys
            self._texts += texts

    def end_run(self) -> None:
        """Compare the lines that were added since another change wrote some."""
        mark, keys, texts = self._current, self._keys, self._texts
        self._current, self._keys, self._texts = None, [], []
        if mark is None or len(keys) < _FEWEST:
            return
        change = self._find_change(mark)
        if change is not None and _is_intact(change, list(zip(keys, texts, strict=True))):
            self.marks.add(mark)

    def _find_change(self, mark: ChangeMark) -> Change | None:
        """The change with a mark, or None if it cannot be read: the check of changes says why."""
        before = ChangeMark(mark.epoch, mark.number - 1)
        try:
            found = self._records.list_changes(before, limit=1)
        except (Conflict, Corrupt):
            return None
        return next((change for change in found if change.mark == mark), None)


def _is_intact(change: Change, lines: Sequence[Line]) -> bool:
    """Return True if these are the lines of a change, none missing, added or altered."""
    ends = change.first, change.last
    if change.count != len(lines) or ends != (lines[0][0], lines[-1][0]) or change.salt is None:
        return False
    return digest_lines(change.salt, change.actor, lines) == change.digest
