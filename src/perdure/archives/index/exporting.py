"""Write an index of captures as CDXJ for other programs, in the order of its lines.

How it works: captures of requests other than GET are listed under another key than in the index
(`perdure.archives.index.cdxj.make_exchanged_key`); `walk_listed` merges them with all others.

What must stay true: the lines are sorted as `LC_ALL=C sort` does; a reader of the file takes no
record about a capture, and no answer to a POST request, for the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from perdure.archives.index import cdxj, ranges
from perdure.archives.port import Capture, Captures

_ABOUT_KINDS = ("request", "continuation")
_ABOUT_TYPES = ("application/warc-fields", "text/anvl")
_EVERYTHING = ranges.IndexRange("", "\U0010ffff")


def export_lines(captures: Captures, *, every: bool) -> Iterator[bytes]:
    """Yield the lines of an index. `every`: also requests and other records about captures."""
    yield from sort_lines(ranges.walk_listed(captures, _EVERYTHING), every=every)


def sort_lines(found: Iterable[Capture], *, every: bool) -> Iterator[bytes]:
    """Yield the lines of captures that are in the order of a list."""
    for _, second in groupby(found, key=cdxj.format_listed_place):
        # lines of one URL and second are in the order of `sort`
        yield from sorted(
            cdxj.format_exchanged_line(one) for one in second if is_exported(one, every=every)
        )


def is_exported(one: Capture, *, every: bool) -> bool:
    """Apply the choice of pywb's indexer, which skips records about how captures were made.

    Heritrix writes such a record, of the type text/anvl, for each page and under its URL. A reader
    of the CDXJ would take it for a capture of the page.
    """
    return every or not (one.kind in _ABOUT_KINDS or one.media_type in _ABOUT_TYPES)
