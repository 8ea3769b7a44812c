"""List the resources of an archived page, and the URLs of a site, each with its own verdict.

How it works: the HTML of a page and the style sheets and frames that it names are read from the
archive. The addresses in them are looked up one by one at the time of the page. The list says for
each whether the archive has it, and how far from that time. A redirect names one address, its
target. A site is listed URL by URL, each with
the capture nearest to the requested time. Going from one URL to the next takes one step in the
index, however many captures the first one has.

What must stay true: nothing is fetched from the network; one list costs at most `MOST_RESOURCES`
look-ups, `MOST_REDIRECTS` redirects, and `MOST_DOCUMENTS` documents with `MOST_BYTES` in total.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing

import msgspec

from perdure.archives.capture import references
from perdure.archives.choosing import choose_capture
from perdure.archives.files import heads
from perdure.archives.opening import REDIRECTS, find_redirect_target, open_capture
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.archives.pwid.scopes import find_scope
from perdure.archives.pwid.verdict import (
    CaptureVerdict,
    Evidence,
    Judgement,
    WantedCapture,
    interpret_uri_at,
    look_up_evidence,
    measure_delta,
    suits_coverage,
)
from perdure.errors import Corrupt, NotFound, OverBudget, Unavailable
from perdure.formats.essence import strip_parameters

MOST_RESOURCES = 1000
MOST_REDIRECTS = 256  # opened for one list
MOST_DOCUMENTS = 50  # frames and style sheets read for one list
LARGEST_DOCUMENT = 4 << 20  # bytes
MOST_BYTES = 16 << 20  # of all documents read for one list
_DEEPEST = 3  # frames in frames, style sheets importing style sheets
_HTML = ("text/html", "application/xhtml+xml")
_CSS = "text/css"
_READ_ON = ("frame", "style", "redirect")


class PageResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that belongs to a page."""

    uri: str
    role: str
    """`resource`, `style`, `frame`, or `redirect` for the target of a redirect."""
    within: str
    """The document that names it, or the redirect."""
    judgement: Judgement


class SiteMember(msgspec.Struct, frozen=True, kw_only=True):
    """A URL of a site, with its capture nearest to the requested time."""

    verdict: CaptureVerdict
    delta: int
    capture: Capture


class PageInventory(msgspec.Struct, frozen=True, kw_only=True):
    """The resources of a page. `complete` is false if some were left out because of a limit."""

    resources: tuple[PageResource, ...]
    complete: bool
    unread: tuple[str, ...] = ()
    """Documents that are archived but could not be read."""


def is_html(media_type: str) -> bool:
    return strip_parameters(media_type) in _HTML


def is_css(media_type: str) -> bool:
    return strip_parameters(media_type) == _CSS


def has_resources(page: Capture) -> bool:
    """Return True if a capture may name resources: HTML, or a redirect."""
    return is_html(page.media_type) or page.status in REDIRECTS


def read_payload(
    captures: Captures, files: ArchiveFiles, capture: Capture
) -> tuple[bytes | None, str | None]:
    """Return the payload of a capture or revisit, and the charset that the server gave for it.

    The payload is None if it is too large for a document.

    Raises OriginalMissing if the capture is a revisit without an original, Corrupt, OverBudget,
    Unavailable.
    """
    record = open_capture(captures, files, capture).record
    with closing(record):
        charset = heads.find_charset(heads.find_value(record.headers, "Content-Type"))
        data = bytearray()
        for piece in record.read_payload():
            data += piece
            if len(data) > LARGEST_DOCUMENT:
                return None, charset
        return bytes(data), charset


def list_resources(captures: Captures, files: ArchiveFiles, page: Capture) -> PageInventory:
    """List the resources of a page, in the order in which they are named."""
    found: dict[str, PageResource] = {}
    unread: list[str] = []
    waiting = deque([(page, 0)])
    documents, redirects, size, complete = 0, 0, 0, True
    while waiting:
        capture, depth = waiting.popleft()
        if documents == MOST_DOCUMENTS or redirects == MOST_REDIRECTS or size > MOST_BYTES:
            complete = False
            break
        onwards = find_redirect_target(captures, files, capture)
        if onwards:
            redirects += 1
            named = iter((references.Address(onwards, "redirect"),))
        else:
            data, charset = _read_document(captures, files, capture)
            if data is None:
                unread.append(capture.uri)
                continue
            documents, size = documents + 1, size + len(data)
            css = is_css(capture.media_type)
            named = references.find_addresses(data, capture.uri, css=css, charset=charset)
        for address in named:
            if address.role == "link" or not address.uri.startswith(("http://", "https://")):
                continue
            uri = address.uri.partition("#")[0]
            if uri in found or uri == page.uri:
                continue
            if len(found) == MOST_RESOURCES:
                complete = False
                break
            wanted = interpret_uri_at(uri, page.time)
            judgement = choose_capture(captures, files, wanted)
            found[uri] = PageResource(
                uri=uri, role=address.role, within=capture.uri, judgement=judgement
            )
            onward = judgement.capture
            if onward and onward.status in REDIRECTS:
                waiting.append((onward, depth))  # each address only once, so it ends
            elif onward and address.role in _READ_ON and depth < _DEEPEST:
                waiting.append((onward, depth + 1))
    return PageInventory(resources=tuple(found.values()), complete=complete, unread=tuple(unread))


def _read_document(
    captures: Captures, files: ArchiveFiles, capture: Capture
) -> tuple[bytes | None, str | None]:
    """Read a document that may name others, and its charset; None if it cannot be read."""
    if not is_css(capture.media_type) and not is_html(capture.media_type):
        return b"", None
    try:
        return read_payload(captures, files, capture)
    except (NotFound, Corrupt, OverBudget, Unavailable):
        return None, None


# a site
# ------


def list_members(
    captures: Captures, wanted: WantedCapture, *, after: str = "", limit: int
) -> tuple[list[SiteMember], str | None]:
    """List the URLs of a site in order of their keys, starting after the key `after`.

    Returns at most `limit` of them, and the key after which to go on, or None if there are no more.
    """
    found: list[SiteMember] = []
    for low, high in find_scope(wanted):
        if after:
            low = max(low, f"{after}!")
        while low < high and (first := captures.scan_range(low, high, limit=1)):
            if len(found) == limit:
                return found, found[-1].capture.key
            nearest = _find_nearest(captures, first[0], wanted)
            if nearest is not None:
                found.append(nearest)
            low = f"{first[0].key}!"
    return found, None


def _find_nearest(captures: Captures, first: Capture, wanted: WantedCapture) -> SiteMember | None:
    """Return the capture nearest to the requested time among those with the key of `first`."""
    evidence: Evidence = look_up_evidence(
        captures, msgspec.structs.replace(wanted, uri=first.uri, coverage="part")
    )
    around = [*evidence.within, *evidence.before, *evidence.after]
    near = [one for one in around if suits_coverage("part", one)]
    if not near:
        return None
    best = min(
        near, key=lambda one: (abs(measure_delta(wanted, one)), one.time, one.file, one.offset)
    )
    distance = measure_delta(wanted, best)
    return SiteMember(
        verdict=CaptureVerdict.NEAREST if distance else CaptureVerdict.EXACT,
        delta=distance,
        capture=best,
    )
