"""Walking the records of a registry, of which some may be damaged.

How it works: `Records.scan_records` gives an error in the place of each damaged record.
`scan_readable` adds the names of the others; a record whose stored name is not an identifier is
damaged, too.

What must stay true: one damaged record hides no other, and is never left out silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from perdure.errors import Corrupt, MalformedIdentifier, PerdureError, UnknownScheme
from perdure.errors.corruption import KeyUnreadable
from perdure.ids import Identifier
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.records import Record
from perdure.policy.naming import are_serial_names, identify_record
from perdure.storage.ports import Records


class ScannedRecord(NamedTuple):
    """A record that was read, with its key and its name."""

    key: str
    name: Identifier
    record: Record


class DamagedRecord(NamedTuple):
    """A record that cannot be read. `error` names it as well as its key allows."""

    key: str
    error: Corrupt


class ScannedPage(NamedTuple):
    """Records in key order, and the key from which to read on, or None at the end."""

    rows: list[ScannedRecord | DamagedRecord]
    following: str | None


def scan_readable(
    records: Records, low: str, high: str | None, *, limit: int, with_bytes: bool = False
) -> ScannedPage:
    """At most `limit` records with low <= key < high, in key order; without `high`, all from `low`
    on. Raises Unavailable.

    With `with_bytes`, records that have no bytes may be left out unchecked.
    """
    rows = records.scan_records(low, high, limit=limit, with_bytes=with_bytes)
    following = None
    if len(rows) == limit:
        # A damaged key may be out of order: read on after the last record that is in its place.
        whole = len(rows)
        while whole and (isinstance(rows[whole - 1][1], Corrupt) or rows[whole - 1][0] < low):
            whole -= 1
        rows = rows[: whole or limit]
        following = rows[-1][0] + "\0" if rows[-1][0] >= low else None
    return ScannedPage([_identify_row(key, record) for key, record in rows], following)


def _identify_row(key: str, record: Record | Corrupt) -> ScannedRecord | DamagedRecord:
    if isinstance(record, Corrupt):
        return DamagedRecord(key, record)
    try:
        return ScannedRecord(key, identify_record(key, record), record)
    except (PerdureError, ValueError) as error:
        return DamagedRecord(key, KeyUnreadable(identifier=spell_key(key), fault=str(error)))


def name_key(records: Records, key: str) -> str:
    """Return the canonical text of the resource with a key.

    If its record is missing or damaged, the text is what the key alone tells.
    """
    with suppress(Corrupt, MalformedIdentifier, UnknownScheme):
        record = records.find_record(key)
        if record is not None:
            return str(identify_record(key, record))
    return spell_key(key)


def split_numbered_locations(keys: Sequence[str], texts: Sequence[str]) -> list[str] | None:
    """The URIs of records with serial numbers of one day and one location each.

    None if there are others among them. Such records have no bytes, and their keys are sound.
    """
    uris = stored.split_only_locations(texts)
    if uris is None or len(uris) < len(texts) or not keys:
        return None
    return uris if are_serial_names(keys) else None
