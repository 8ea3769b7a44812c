"""All locations of a registry, or of the identifiers that match a pattern."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.linkcheck.state import Bound
from perdure.linkcheck.verdict import Expected
from perdure.model import Record
from perdure.ports import Records
from perdure.rules import identify

_AT_ONCE = 1000
_END = "\U0010ffff"


def records(store: Records, within: Identifier | None = None) -> Iterator[tuple[str, Record]]:
    """Key and record of everything that an identifier or pattern names; of all without one."""
    low, high = "", _END
    if within is not None and not (isinstance(within, Pdi) and within.is_pattern):
        found = store.record(within.key)
        if found is not None:
            yield within.key, found
        return
    if isinstance(within, Pdi):
        low, high = within.key_range()
    while True:
        batch = store.scan(low, high, limit=_AT_ONCE)
        for key, record in batch:
            if within is None or _matches(within, key, record):
                yield key, record
        if len(batch) < _AT_ONCE:
            return
        low = batch[-1][0] + "\0"


def _matches(pattern: Identifier, key: str, record: Record) -> bool:
    name = identify(key, record)
    return isinstance(pattern, Pdi) and isinstance(name, Pdi) and pattern.resource.matches(name)


def bound(store: Records, within: Identifier | None = None) -> Iterator[Bound]:
    """Every location with what was bound there; of a resource that was withdrawn none."""
    for key, record in records(store, within):
        if record.tombstone is not None or not record.locations:
            continue
        name = str(identify(key, record))
        for one in record.locations:
            yield Bound(name, Expected(one.uri, one.sha512, one.size))
