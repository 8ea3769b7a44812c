"""Collect an archived page with all its resources, through redirects, and list what is missing.

How it works: `pages.list_resources` lists the addresses that a page names, and those to which
redirects lead. Here they become captures, each once.

What must stay true: nothing is fetched from the network; the bounds are those of `pages`.
"""

from __future__ import annotations

import msgspec

from perdure.archives.capture import pages
from perdure.archives.port import ArchiveFiles, Capture, Captures


class WholePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page and its resources."""

    captures: tuple[Capture, ...]
    """The page first."""
    missing: tuple[str, ...]
    """URIs that the page names and that were not captured."""
    unread: tuple[str, ...]
    """Documents of the page that are archived but cannot be read; their resources are unknown."""
    complete: bool
    """False if resources were left out because of a limit."""


def collect_whole(captures: Captures, files: ArchiveFiles, page: Capture) -> WholePage:
    """Collect the captures of a page and its resources."""
    consists = pages.list_resources(captures, files, page)
    found = {page.uri: page}
    missing: dict[str, None] = {}
    for one in consists.resources:
        capture = one.judgement.capture
        if capture is None:
            missing[one.uri] = None
        else:
            found.setdefault(capture.uri, capture)
    return WholePage(
        captures=tuple(found.values()),
        missing=tuple(missing),
        unread=consists.unread,
        complete=consists.complete,
    )
