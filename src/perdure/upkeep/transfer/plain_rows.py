"""Rows of plain lines, a block of lines at a time: a name and one URL in each.

How it works: most lines of a large import bind a PDI in its usual spelling to a URL. A block of
such lines is read by columns: the names one after another, the URLs checked together and hashed
together. Any other block is left to the caller, which reads each line by the rules of
`perdure.upkeep.transfer.rows`. Both ways lead to the same rows (a test compares them).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import add

from perdure.ids.pdi_plain import read_plain_ending, read_plain_key, read_plain_keys
from perdure.model import stored
from perdure.model.commands import LoadColumns, LoadRow
from perdure.model.records import LOCAL, Location, Record
from perdure.policy.binding import are_plain_urls, check_uri
from perdure.storage.reference_hashes import hash_locations, reference_hash
from perdure.upkeep.transfer.lines import PlainLine

BY = LOCAL  # like all commands on this machine


KeyRange = tuple[str, str]
"""The first key of a range, and the first one after it."""
_AFTER_SLASH = chr(ord("/") + 1)


def make_plain_columns(
    lines: Sequence[PlainLine], first: int, *, now: str, today: str, series: tuple[str, ...]
) -> LoadColumns | None:
    """Make the rows of a block, or return None if a line must be read by the rules.

    `first` is the number of the first line, and `today` the date as in a PDI: `2026/11/21`. Names
    of today or later, in `series` that are minted here, are read by the rules.
    """
    urls = [line.locations[0] for line in lines]
    if not (lines and are_plain_urls(urls)):
        return None
    plain = read_plain_keys([line.id for line in lines])
    if plain is None:
        return None
    keys, endings = plain
    if _are_within(keys, _list_open_days(today, series)):
        return None
    heads = {ending: _encode_head(now, *read_plain_ending(ending)) for ending in set(endings)}
    records = map(add, map(heads.__getitem__, endings), urls)
    return LoadColumns(first, tuple(keys), tuple(records), hash_locations(urls))


def make_plain_row(
    line: PlainLine, number: int, *, now: str, today: str, series: tuple[str, ...]
) -> LoadRow | None:
    """Make the row of a line, or return None if it must be read by the rules.

    Raises InvalidRequest if the URL cannot be a location.
    """
    plain = read_plain_key(line.id)
    if plain is None or _is_within(plain[0], _list_open_days(today, series)):
        return None
    key, format, version = plain
    (url,) = line.locations
    check_uri(url)
    hashes = (reference_hash(f"location:{url}"),)
    return LoadRow(key, (_encode_head(now, format, version) + url).encode(), number, hashes)


@lru_cache(maxsize=16)
def _list_open_days(today: str, series: tuple[str, ...]) -> tuple[KeyRange, ...]:
    """List the ranges of the keys of today and later in series that are minted here."""
    day = today.replace("/", "")
    return tuple((f"{one}/{day}", f"{one}{_AFTER_SLASH}") for one in series)


def _is_within(key: str, ranges: tuple[KeyRange, ...]) -> bool:
    for low, high in ranges:  # noqa: SIM110  (three times as fast as any(); every line asks)
        if low <= key < high:
            return True
    return False


def _are_within(keys: Sequence[str], ranges: tuple[KeyRange, ...]) -> bool:
    """Return True if one of the keys is in one of the ranges."""
    lowest, highest = min(keys), max(keys)
    near = tuple((low, high) for low, high in ranges if low <= highest and lowest < high)
    return bool(near) and any(_is_within(key, near) for key in keys)


@lru_cache(maxsize=1024)
def _encode_head(now: str, format: str | None, version: str | None) -> str:
    """Encode the record of a usual line without its URI; all else in it is common to many lines."""
    bound = Location(uri="", version=int(version) if version else None, format=format)
    return stored.encode_stored(Record(at=now, by=BY, locations=(bound,))).decode()
