"""Copying a registry by its changes, in their order, while others write to it.

How it works: the last change of the arriving registry says where to go on, so an interrupted copy
goes on there. What a change wrote comes from the present state: a revision is never rewritten but
by an erasure, and `comparing` finds that.

What must stay true: each change has the hashes of the chain, and its digest is that of what it
wrote; else the registry is damaged, and nothing more is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from perdure.errors.corruption import ChangeDigestWrong
from perdure.model import stored
from perdure.model.changes import RULE, TOKEN, WITHHELD, Change, ChangeMark, Line, digest_lines
from perdure.model.references import list_references
from perdure.storage.moving_ports import Arrival, MovedChange, WholeRecord, WholeRegistry
from perdure.storage.reference_hashes import hash_references

_SOME = 500
_WITHOUT_RECORDS = (RULE, TOKEN, WITHHELD, "begin")


def copy_changes(source: WholeRegistry, target: Arrival) -> Iterator[Sequence[Change]]:
    """Copy the changes that the target does not have, and yield each group that was copied."""
    while True:
        head = target.records.find_head()
        with source.records.hold_snapshot():
            since = None if head is None else head.mark
            changes = source.records.list_changes(since, limit=_SOME)
            if not changes:
                return
            lines = source.records.list_lines(changes)
            epochs = {one.epoch: one for one in source.records.list_epochs()}
        for change, some in zip(changes, lines, strict=True):
            _check_digest(change, some)
        moved = [
            MovedChange(change, some, epochs.get(change.epoch) if change.number == 1 else None)
            for change, some in zip(changes, lines, strict=True)
        ]
        target.add_changes(moved, _find_references(moved))
        yield changes
        if len(changes) < _SOME:  # what others write meanwhile, the next call copies
            return


def _check_digest(change: Change, lines: Sequence[Line]) -> None:
    """Raise Corrupt if the stored lines of a change do not have its digest."""
    if change.salt is None or len(lines) != change.count or not lines:
        return
    found = digest_lines(change.salt, change.actor, lines)
    if found != change.digest:
        raise ChangeDigestWrong(
            change=str(change.mark), stated=change.digest.hex(), found=found.hex()
        )


def _find_references(changes: Iterable[MovedChange]) -> Iterator[tuple[int, str]]:
    for change, lines, _ in changes:
        if change.act not in _WITHOUT_RECORDS:
            for key, text in lines:
                yield from hash_record(key, text)


def hash_record(key: str, text: str) -> list[tuple[int, str]]:
    """The references of a record in its stored form, as they are stored."""
    found = sorted(list_references(stored.decode_stored(text)))
    return [(one, key) for one in hash_references(found)]


def find_destroyed(source: WholeRegistry, records: Iterable[WholeRecord]) -> list[ChangeMark]:
    """The changes of past revisions whose salts were destroyed."""
    marks = {past.mark for one in records for past in one.past if past.mark is not None}
    gone = []
    for mark in sorted(marks):
        (change,) = source.records.list_changes(ChangeMark(mark.epoch, mark.number - 1), limit=1)
        if change.salt is None:
            gone.append(mark)
    return gone
