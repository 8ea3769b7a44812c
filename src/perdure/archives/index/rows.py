"""Store a capture as a row of SQLite, without the values that follow from its key.

How it works: most URIs follow from their key (`http://www.` and the key in reverse order), most
dates from their second, and there are few kinds of record. Other values are written as they are.

What must stay true: a row restores the recorded values, character for character; the meaning of
the numbers never changes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from perdure.archives.dates import format_second
from perdure.archives.index.cdxj import format_listed_place, is_moved
from perdure.archives.port import Capture

KINDS = ("response", "revisit", "resource", "conversion", "metadata", "request", "continuation")
COLUMNS = "key, date, file, offset, length, kind, uri, status, media_type, digest, refers, request"
"""The columns from which a capture is read."""
WRITTEN = f"{COLUMNS}, listed"
"""The columns of `make_row`, and the file in the third place."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_PREFIXES = ("http://", "https://", "http://www.", "https://www.")
_PREFIX_NUMBERS = {prefix: number for number, prefix in enumerate(_PREFIXES) if "www" in prefix}
Row = tuple[Any, ...]


def make_row(capture: Capture) -> Row:
    """Return the row of a capture, without its file."""
    time, key = capture.time, capture.key
    refers: str | None = None
    if capture.refers_to_uri or capture.refers_to_date:
        refers = f"{capture.refers_to_uri}\n{capture.refers_to_date}"
    request = listed = None
    if capture.method:
        request = f"{capture.method}\n{capture.request_body}"
        listed = format_listed_place(capture) if is_moved(capture) else None
    return (
        f"{key} {time}",
        "" if capture.date == _whole_second(time) else capture.date,
        capture.offset,
        capture.length,
        _KIND_NUMBERS.get(capture.kind, capture.kind),
        _shortened(capture.uri, key),
        capture.status,
        capture.media_type,
        capture.digest,
        refers,
        request,
        listed,
    )


def shorten_uri(uri: str, key: str) -> int | str:
    """Return a number if the URI follows from its key, otherwise the URI.

    >>> shorten_uri("https://www.dr.dk/nyheder", "dk,dr)/nyheder")
    3
    """
    number = _PREFIX_NUMBERS.get(uri[: uri.find("//") + 6], -1)
    if number < 0:
        number = 1 if uri.startswith("https://") else 0
    site, _, path = key.partition(")")
    plain = f"{_PREFIXES[number]}{_restore_host(site)}{path}"
    if uri == plain:
        return number
    return number + len(_PREFIXES) if uri == f"{plain}/" else uri


# A request and its response have the same values.
_shortened = lru_cache(maxsize=32)(shorten_uri)
_whole_second = lru_cache(maxsize=32)(format_second)


def lengthen_uri(number: int, key: str) -> str:
    """Return the URI that `shorten_uri` turned into a number.

    >>> lengthen_uri(3, "dk,dr)/nyheder")
    'https://www.dr.dk/nyheder'
    """
    site, _, path = key.partition(")")
    slash = "/" if number >= len(_PREFIXES) else ""
    return f"{_PREFIXES[number & 3]}{_restore_host(site)}{path}{slash}"


@lru_cache(maxsize=16384)
def _restore_host(site: str) -> str:
    return ".".join(reversed(site.split(",")))
