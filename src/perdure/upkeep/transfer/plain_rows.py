"""Rows of plain lines, a block of lines at a time: a name and one URL in each.

How it works: most lines of a large import bind a PDI in its usual spelling to a URL. In a block of
such lines, the URLs are checked together, and hashed together. A line whose name is of another kind
is left to the caller, who reads it by the rules of `perdure.upkeep.transfer.rows`. Both ways lead
to the same row (a test compares them).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from perdure.ids.pdi import read_plain_key
from perdure.model import stored
from perdure.model.commands import LoadRow
from perdure.model.records import LOCAL, Location, Record
from perdure.policy.binding import are_plain_urls, check_uri
from perdure.storage.reference_hashes import hash_references, reference_hash
from perdure.upkeep.transfer.lines import PlainLine

BY = LOCAL  # like all commands on this machine


KeyRange = tuple[str, str]
"""The first key of a range, and the first one after it."""
_AFTER_SLASH = chr(ord("/") + 1)


def make_plain_rows(
    lines: Sequence[PlainLine], first: int, *, now: str, today: str, series: tuple[str, ...]
) -> Iterator[LoadRow | None] | None:
    """Make the row of each line, or None for a line that must be read by the rules.

    `first` is the number of the first line, and `today` the date as in a PDI: `2026/11/21`. Names
    of today or later, in `series` that are minted here, are read by the rules. Returns None if a
    URL is of another kind.
    """
    urls = [line.locations[0] for line in lines]
    if not are_plain_urls(urls):
        return None
    hashes = hash_references([f"location:{url}" for url in urls])
    return _yield_rows(lines, urls, hashes, first, now, _list_open_days(today, series))


def _yield_rows(
    lines: Sequence[PlainLine],
    urls: Sequence[str],
    hashes: Sequence[int],
    first: int,
    now: str,
    open_days: tuple[KeyRange, ...],
) -> Iterator[LoadRow | None]:
    for number, (line, url, hash) in enumerate(zip(lines, urls, hashes, strict=True), first):
        plain = read_plain_key(line.id)
        if plain is None or _is_within(plain[0], open_days):
            yield None
            continue
        key, format, version = plain
        yield LoadRow(key, _encode_before_uri(now, version, format) + url.encode(), number, (hash,))


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
    return LoadRow(key, _encode_before_uri(now, version, format) + url.encode(), number, hashes)


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


@lru_cache(maxsize=1024)
def _encode_before_uri(now: str, version: str | None, format: str | None) -> bytes:
    """Encode the record of a usual line without its URI; all else in it is common to many lines."""
    bound = Location(uri="", version=int(version) if version else None, format=format)
    return stored.encode_stored(Record(at=now, by=BY, locations=(bound,)))
