"""A capture as a row of SQLite: what its key says already is not written again.

How it works: most URIs follow from their key (`http://www.` and the key read backwards), most dates
from their second, and kinds of record are few. What does not follow is written as it is.

What must stay true: a row gives back what was recorded, character for character; numbers stand for
the same for ever.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from perdure.archives.dates import whole_second
from perdure.archives.port import Capture

KINDS = ("response", "revisit", "resource", "conversion", "metadata", "request", "continuation")
COLUMNS = "key, date, file, offset, length, kind, uri, status, media_type, digest, refers"
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_PREFIXES = ("http://", "https://", "http://www.", "https://www.")
_PREFIX_NUMBERS = {prefix: number for number, prefix in enumerate(_PREFIXES) if "www" in prefix}
Row = tuple[Any, ...]


def row_of(capture: Capture) -> Row:
    """A capture as it is written, without its file."""
    time, key = capture.time, capture.key
    refers: str | None = None
    if capture.refers_to_uri or capture.refers_to_date:
        refers = f"{capture.refers_to_uri}\n{capture.refers_to_date}"
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
    )


def shortened(uri: str, key: str) -> int | str:
    """A number where the URI follows from its key, else the URI.

    >>> shortened("https://www.dr.dk/nyheder", "dk,dr)/nyheder")
    3
    """
    number = _PREFIX_NUMBERS.get(uri[: uri.find("//") + 6], -1)
    if number < 0:
        number = 1 if uri.startswith("https://") else 0
    site, _, path = key.partition(")")
    plain = f"{_PREFIXES[number]}{_host(site)}{path}"
    if uri == plain:
        return number
    return number + len(_PREFIXES) if uri == f"{plain}/" else uri


# Of request and response they are the same.
_shortened = lru_cache(maxsize=32)(shortened)
_whole_second = lru_cache(maxsize=32)(whole_second)


def lengthened(number: int, key: str) -> str:
    """The URI that `shortened` made a number of.

    >>> lengthened(3, "dk,dr)/nyheder")
    'https://www.dr.dk/nyheder'
    """
    site, _, path = key.partition(")")
    slash = "/" if number >= len(_PREFIXES) else ""
    return f"{_PREFIXES[number & 3]}{_host(site)}{path}{slash}"


@lru_cache(maxsize=1024)
def _host(site: str) -> str:
    return ".".join(reversed(site.split(",")))
