"""Comparing a registry with its copy: every revision of every record, and every byte.

How it works: `find_differing` walks both while others write, and collects the keys that differ.
Records that were written or erased since differ. At the end, when no process writes,
`settle_records` copies these records again as they are stored, and compares again.

What must stay true: a registry leaves its place only if nothing differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from perdure.errors import Corrupt
from perdure.errors.moving import RecordDiffers, SegmentDiffers, TableDiffers
from perdure.ids.keys import spell_key
from perdure.storage.byte_ports import Bytes
from perdure.storage.moving_ports import Arrival, WholeRecord, WholeRegistry
from perdure.upkeep.places.copying import find_destroyed, hash_record

PAGE = 2000
"""Records that are compared at a time."""


def find_differing(source: WholeRegistry, target: WholeRegistry) -> Iterator[list[str]]:
    """For each page of records, the keys of those that differ."""
    after = ""
    while True:
        ours = source.read_range(after, None, limit=PAGE)
        until = ours[-1].key if len(ours) == PAGE else None
        there: list[WholeRecord] = []
        low = after
        while page := target.read_range(low, until, limit=PAGE):
            there += page
            low = page[-1].key
        yield _list_differences(ours, there)
        if until is None:
            return
        after = until


def _list_differences(ours: Iterable[WholeRecord], there: Iterable[WholeRecord]) -> list[str]:
    left = {one.key: one for one in ours}
    right = {one.key: one for one in there}
    return sorted(key for key in {*left, *right} if left.get(key) != right.get(key))


def settle_records(source: WholeRegistry, target: Arrival, keys: Iterable[str]) -> None:
    """Copy records as they are stored. Raises RecordDiffers if one differs then.

    No process may write meanwhile.
    """
    wanted = sorted(set(keys))
    for at in range(0, len(wanted), PAGE):
        some = wanted[at : at + PAGE]
        ours = source.read_some(some)
        there = {one.key: one for one in target.read_some(some)}
        changed = [one for one in ours if there.get(one.key) != one]
        if changed:
            old = (there[one.key] for one in changed if one.key in there)
            dropped = {row for one in old for row in _list_references(one)}
            kept = {row for one in changed for row in _list_references(one)}
            target.put_records(changed, dropped - kept, kept)
        target.drop_salts(find_destroyed(source, ours))
        differing = _list_differences(ours, target.read_some(some))
        if differing:
            raise RecordDiffers(record=spell_key(differing[0]))


def _list_references(one: WholeRecord) -> list[tuple[int, str]]:
    found = hash_record(one.key, one.text)
    for past in one.past:
        found += hash_record(one.key, past.text)
    return found


def check_rest(source: WholeRegistry, target: Arrival) -> None:
    """Copy and compare everything but the records. Raises TableDiffers.

    No process may write meanwhile.
    """
    rows = source.read_others()
    target.put_others(rows)
    found = target.read_others()
    for name in rows._fields:
        if getattr(rows, name) != getattr(found, name):
            raise TableDiffers(table=name.replace("_", " "))
    if source.records.find_head() != target.records.find_head():
        raise TableDiffers(table="changes")
    if source.records.list_epochs() != target.records.list_epochs():
        raise TableDiffers(table="epochs")


def check_segment(source: Bytes, target: Bytes, number: int, length: int) -> None:
    """Read a segment on both sides, and compare all that is intact. Raises SegmentDiffers."""
    pairs = (_read_sound(source, number, length), _read_sound(target, number, length))
    for ours in pairs[0]:
        theirs = next(pairs[1], None)
        if ours != theirs:
            raise SegmentDiffers(segment=number)
    if next(pairs[1], None) is not None:
        raise SegmentDiffers(segment=number)


def _read_sound(held: Bytes, number: int, length: int) -> Iterator[object]:
    """The records that have their digests; damage on both sides does not count as a difference."""
    for found in held.check_records(number, length):
        if not isinstance(found, Corrupt):
            yield found
