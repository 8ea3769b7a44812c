"""Find the stretch of an index with the captures of a page, a folder, a host or a domain.

How it works: keys are canonical URLs with the host reversed, so that all of these are ranges of
`key SP time`. The four kinds are those of the CDX server API, with the bounds of pywb:

    exact    dk,dr)/nyheder SP …           this URL
    prefix   dk,dr)/nyheder…               all URLs that begin with it
    host     dk,dr)/…                      this host
    domain   dk,dr)/… and dk,dr,…)/…       this host and those below it

`walk_range` reads a stretch of any length in batches. `walk_listed` reads it in the order of a list
for other programs, which has captures of other methods than GET under keys of their own.

What must stay true: `walk_range` yields every capture once and in order, however many captures a
URL has in one second, and holds at most one batch in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from perdure.archives.dates import seconds_between
from perdure.archives.index.cdxj import format_listed_place, is_moved
from perdure.archives.port import Capture, Captures
from perdure.errors.captures import UnknownMatchType
from perdure.errors.limits import SecondTooFull
from perdure.ids.urlkey import make_url_key
from perdure.model.matches import MATCHES

_BATCH = 512  # captures
_LARGEST_BATCH = 1 << 17  # captures in one second of one URL
_AFTER_TIMES = "~"  # sorts after every digit


class IndexRange(NamedTuple):
    """The captures with low <= `key SP time` < high."""

    low: str
    high: str


def make_range(url: str, kind: str) -> IndexRange:
    """Return the stretch of the captures of a URL, read as one of `KINDS`. Raises InvalidRequest.

    >>> make_range("http://www.dr.dk/a/", "prefix")
    IndexRange(low='dk,dr)/a/', high='dk,dr)/a0')
    >>> make_range("dr.dk", "domain")
    IndexRange(low='dk,dr)/', high='dk,dr-')
    """
    key = make_url_key(url)
    host = key.partition(")")[0]
    match kind:
        case "exact":
            return IndexRange(f"{key} ", f"{key}!")
        case "prefix":
            for mark in "/?":  # the key has no such mark at its end
                if url.endswith(mark) and not key.endswith(mark):
                    key += mark
            return IndexRange(key, key[:-1] + chr(ord(key[-1]) + 1))
        case "host":
            return IndexRange(f"{host})/", f"{host}*")
        case "domain":
            return IndexRange(f"{host})/" if "," in host else f"{host},", f"{host}-")
    raise UnknownMatchType(text=kind, known=MATCHES)


def find_folder(url: str) -> str:
    """Return the URL up to the last slash of its path, which is the root of its subsite.

    >>> find_folder("http://www.dr.dk/nyheder/index.html?a=/b"), find_folder("http://www.dr.dk")
    ('http://www.dr.dk/nyheder/', 'http://www.dr.dk/')
    """
    bare = url.partition("#")[0].partition("?")[0]
    scheme, mark, rest = bare.partition("://")
    if not mark:
        return bare
    place, slash, _ = rest.rpartition("/")
    return f"{scheme}://{place if slash else rest}/"


def make_seconds_range(key: str, first: str, last: str) -> IndexRange:
    """Return the stretch of a key from one 14-digit time to another, both included."""
    return IndexRange(f"{key} {first}", f"{key} {last}{_AFTER_TIMES}")


def format_place(capture: Capture) -> str:
    """Return the position of a capture in the index, `key SP time`."""
    return f"{capture.key} {capture.time}"


def walk_range(
    captures: Captures,
    found: IndexRange,
    *,
    backwards: bool = False,
    batch: int = _BATCH,
    by_request: bool = False,
) -> Iterator[Capture]:
    """Yield all captures of a stretch, in order or in reverse.

    `by_request`: those of `Captures.scan_by_request`. Raises OverBudget if one URL has more than
    131,072 captures in one second.
    """
    low, high = found
    scan = captures.scan_by_request if by_request else captures.scan_range
    place = format_listed_place if by_request else format_place
    size = batch
    while True:  # batches get longer as the caller reads on
        some = scan(low, high, backwards=backwards, limit=size)
        if len(some) < size:
            yield from some
            return
        last = place(some[-1])
        whole = len(some)
        while whole and place(some[whole - 1]) == last:  # more of this second may follow
            whole -= 1
        if not whole:
            size *= 4
            if size > _LARGEST_BATCH:
                raise SecondTooFull(most=_LARGEST_BATCH)
            continue
        yield from some[:whole]
        if backwards:
            high = last + _AFTER_TIMES
        else:
            low = last
        size = batch = min(batch * 2, _BATCH)


def walk_listed(
    captures: Captures, found: IndexRange, *, backwards: bool = False, batch: int = _BATCH
) -> Iterator[Capture]:
    """Yield the captures of a stretch in the order of a CDXJ file, or in reverse.

    The stretch is one of the keys in such a file, `make_exchanged_key`. Raises OverBudget.
    """
    here = walk_range(captures, found, backwards=backwards, batch=batch)
    others = walk_range(captures, found, backwards=backwards, batch=batch, by_request=True)
    listed = (one for one in here if not is_moved(one))
    first = next(others, None)
    if first is None:
        yield from listed
        return
    yield from heapq.merge(
        listed, chain((first,), others), key=format_listed_place, reverse=backwards
    )


def walk_outwards(
    captures: Captures, found: IndexRange, first: str, last: str, *, batch: int = _BATCH
) -> Iterator[Capture]:
    """Yield the captures of one key from a span of time outwards, the nearest first.

    `found` is the stretch of the key. Of two captures that are equally near, the later comes first.
    """
    after = walk_range(captures, IndexRange(found.low + first, found.high), batch=batch)
    before = walk_range(
        captures, IndexRange(found.low, found.low + first), backwards=True, batch=batch
    )
    later, earlier = next(after, None), next(before, None)
    while later is not None or earlier is not None:
        if earlier is None or (
            later is not None
            and seconds_between(last, later.time) <= seconds_between(earlier.time, first)
        ):
            assert later is not None  # noqa: S101  (one of the two is not None)
            yield later
            later = next(after, None)
        else:
            yield earlier
            earlier = next(before, None)
