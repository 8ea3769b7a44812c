"""Scopes: the index ranges of the captures that a PWID of a site or a part of it names.

Needs nothing but the index, so that readers of takedowns need not load the parsers of pages.
"""

from __future__ import annotations

from perdure.archives.index.ranges import IndexRange, find_folder, make_range
from perdure.archives.pwid.verdict import WantedCapture


def find_scope(wanted: WantedCapture) -> tuple[IndexRange, ...]:
    """Return the index ranges of a `subsite` (its folder and below) or a `site` (its host).

    Keys have no slash at the end, so the page of a folder itself sorts before its contents.
    """
    if wanted.coverage != "subsite":
        return (make_range(wanted.uri, "host"),)
    place = find_folder(wanted.uri)
    below = make_range(place, "prefix")
    bare = below.low.removesuffix("/")
    if bare.endswith(")"):
        return (below,)
    return IndexRange(f"{bare} ", f"{bare}!"), below, IndexRange(f"{bare}?", f"{bare}@")
