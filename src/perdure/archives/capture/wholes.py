"""Collect an archived page with all its resources, through redirects, and list what is missing.

How it works: `pages.resources` lists the addresses that a document names. If a captured resource is
a redirect, its target is looked up at the time of the page, like all other resources, and then read
in turn.

What must stay true: nothing is fetched from the network; every URL is in the result once; the
bounds are those of `pages`, plus `MOST_REDIRECTS` documents reached through redirects.
"""

from __future__ import annotations

from collections import deque

import msgspec

from perdure.archives.capture import pages
from perdure.archives.choosing import choose_capture
from perdure.archives.opening import find_redirect_target
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.archives.pwid.verdict import interpret_uri_at

MOST_REDIRECTS = 256


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
    found: dict[str, Capture] = {}
    missing: dict[str, None] = {}
    unread: dict[str, None] = {}
    waiting = deque([page])
    redirects, complete = 0, True
    while waiting:
        start = waiting.popleft()
        listed = [start]
        if pages.is_html(start.media_type) or pages.is_css(start.media_type):
            consists = pages.list_resources(captures, files, start)
            for one in consists.resources:
                if one.judgement.capture is None:
                    missing[one.uri] = None
                else:
                    listed.append(one.judgement.capture)
            unread |= dict.fromkeys(consists.unread)
            complete = complete and consists.complete
        for capture in listed:
            if capture.uri in found:
                continue
            found[capture.uri] = capture
            uri = find_redirect_target(captures, files, capture)
            if not uri or uri in found:
                continue
            redirects += 1
            wanted = interpret_uri_at(uri, page.time)
            onwards = choose_capture(captures, files, wanted).capture
            if onwards is None:
                missing[uri] = None
            elif redirects > MOST_REDIRECTS:
                complete = False
            else:
                waiting.append(onwards)
    return WholePage(
        captures=tuple(found.values()),
        missing=tuple(missing),
        unread=tuple(unread),
        complete=complete,
    )
