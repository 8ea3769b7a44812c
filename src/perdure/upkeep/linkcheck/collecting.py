"""Collecting all locations of a registry, or of a set of identifiers.

How it works: identifiers are listed by their keys; a set is a range of keys (`NameSet`).

What must stay true: a damaged record hides no other, and is never left out silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perdure.errors import Corrupt
from perdure.ids.name_set import NameSet
from perdure.model.records import Record
from perdure.policy.naming import covers_record, identify_record
from perdure.reading.scanning import DamagedRecord, scan_readable
from perdure.storage.ports import Records
from perdure.upkeep.linkcheck.state import BoundLocation
from perdure.upkeep.linkcheck.verdict import ExpectedContent

_AT_ONCE = 1000


def walk_records(
    store: Records, within: NameSet | None = None, *, report: Callable[[Corrupt], None]
) -> Iterator[tuple[str, Record]]:
    """Yield key and record of every identifier within a scope; without a scope, of all.

    Damaged records are passed to `report`: if a key is damaged, too, its scope is not known.
    Of a scope in which nothing is known, nothing is yielded: `Listings.require_known` raises.
    """
    low, high = ("", None) if within is None else (within.low, within.end)
    following: str | None = low
    while following is not None:
        batch, following = scan_readable(store, following, high, limit=_AT_ONCE)
        for row in batch:
            if isinstance(row, DamagedRecord):
                report(row.error)
            elif within is None or covers_record(within, row.name, row.record):
                yield row.key, row.record


def walk_bound(
    store: Records, within: NameSet | None = None, *, report: Callable[[Corrupt], None]
) -> Iterator[BoundLocation]:
    """Yield every location with what was bound there, except of withdrawn resources.

    Damaged records are passed to `report`.
    """
    for key, record in walk_records(store, within, report=report):
        if record.tombstone is not None or not record.locations:
            continue
        name = str(identify_record(key, record))
        for one in record.locations:
            yield BoundLocation(name, ExpectedContent(one.uri, one.sha512, one.size))
