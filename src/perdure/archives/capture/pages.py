"""What belongs to an archived page, and what to a site: each with a verdict of its own.

How it works: a page's HTML and the style sheets and frames that it names are read from the archive,
the addresses in them looked up one by one at the time of the page. The list says of each whether
the archive has it, and how far from that time. A site is listed URL by URL, each with the capture
nearest to the time asked for; from one URL to the next is one step in the index, however often the
one in between was captured.

What must stay true: nothing is fetched from anywhere; one list costs at most `MOST_RESOURCES`
look-ups and `MOST_DOCUMENTS` documents with `MOST_BYTES` together.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing

import msgspec

from perdure.archives.capture import references
from perdure.archives.files import heads
from perdure.archives.index.ranges import Stretch, folder, stretch
from perdure.archives.index.revisits import original
from perdure.archives.port import ArchiveFiles, Capture, Captures
from perdure.archives.pwid.verdict import (
    Asked,
    Evidence,
    Judgement,
    Verdict,
    at,
    delta,
    judge,
    look_up,
    suits,
)
from perdure.errors import Corrupt, NotFound, OriginalMissing, OverBudget, Unavailable
from perdure.parts.media_types import strip_parameters

MOST_RESOURCES = 1000
MOST_DOCUMENTS = 50  # frames and style sheets read for one list
LARGEST_DOCUMENT = 4 << 20  # bytes
MOST_BYTES = 16 << 20  # of all documents read for one list
_DEEPEST = 3  # frames in frames, style sheets importing style sheets
_HTML = ("text/html", "application/xhtml+xml")
_CSS = "text/css"
_READ_ON = ("frame", "style")


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a page consists of."""

    uri: str
    role: str
    """`resource`, `style` or `frame`."""
    within: str
    """The document that names it."""
    judgement: Judgement


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A URL of a site, with the capture of it that is nearest to the time asked for."""

    verdict: Verdict
    delta: int
    capture: Capture


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to a page. `complete`: nothing was left out because there was too much."""

    resources: tuple[Resource, ...]
    complete: bool
    unread: tuple[str, ...] = ()
    """Documents that are there and could not be read."""


def is_html(media_type: str) -> bool:
    return strip_parameters(media_type) in _HTML


def is_css(media_type: str) -> bool:
    return strip_parameters(media_type) == _CSS


def payload(
    captures: Captures, files: ArchiveFiles, capture: Capture
) -> tuple[bytes | None, str | None]:
    """The payload of a capture, of a revisit too, and the charset that the server gave for it.

    None where it is too large for a document.

    Raises OriginalMissing where it is that of a revisit, Corrupt, OverBudget, Unavailable.
    """
    found = original(captures, capture)
    if found.capture is None:
        raise OriginalMissing(identifier=f"{capture.uri} at {capture.date}", original=found.wanted)
    record = files.open(found.capture)
    with closing(record):
        charset = heads.charset_of(heads.value_of(record.headers, "Content-Type"))
        data = bytearray()
        for piece in record.payload():
            data += piece
            if len(data) > LARGEST_DOCUMENT:
                return None, charset
        return bytes(data), charset


def resources(captures: Captures, files: ArchiveFiles, page: Capture) -> Page:
    """What a page consists of, in the order in which it is named."""
    found: dict[str, Resource] = {}
    unread: list[str] = []
    waiting = deque([(page, 0)])
    documents, size, complete = 0, 0, True
    while waiting:
        capture, depth = waiting.popleft()
        if documents == MOST_DOCUMENTS or size > MOST_BYTES:
            complete = False
            break
        data, charset = _document(captures, files, capture)
        if data is None:
            unread.append(capture.uri)
            continue
        documents, size = documents + 1, size + len(data)
        css = is_css(capture.media_type)
        named = references.addresses(data, capture.uri, css=css, charset=charset)
        for address in named:
            if address.role == "link" or not address.uri.startswith(("http://", "https://")):
                continue
            uri = address.uri.partition("#")[0]
            if uri in found or uri == page.uri:
                continue
            if len(found) == MOST_RESOURCES:
                complete = False
                break
            wanted = at(uri, page.time)
            judgement = judge(wanted, look_up(captures, wanted), nearest=True)
            found[uri] = Resource(
                uri=uri, role=address.role, within=capture.uri, judgement=judgement
            )
            if judgement.capture and address.role in _READ_ON and depth < _DEEPEST:
                waiting.append((judgement.capture, depth + 1))
    return Page(resources=tuple(found.values()), complete=complete, unread=tuple(unread))


def _document(
    captures: Captures, files: ArchiveFiles, capture: Capture
) -> tuple[bytes | None, str | None]:
    """What may name others, and its charset; None where it cannot be read."""
    if not is_css(capture.media_type) and not is_html(capture.media_type):
        return b"", None
    try:
        return payload(captures, files, capture)
    except (NotFound, Corrupt, OverBudget, Unavailable):
        return None, None


# a site
# ------


def scope(wanted: Asked) -> tuple[Stretch, ...]:
    """Where a `subsite` (all in and below its folder) or a `site` (all of its host) lies.

    Keys have no slash at the end, so the page of a folder itself lies before what is in it.
    """
    if wanted.coverage != "subsite":
        return (stretch(wanted.uri, "host"),)
    place = folder(wanted.uri)
    below = stretch(place, "prefix")
    bare = below.low.removesuffix("/")
    if bare.endswith(")"):
        return (below,)
    return Stretch(f"{bare} ", f"{bare}!"), below, Stretch(f"{bare}?", f"{bare}@")


def members(
    captures: Captures, wanted: Asked, *, after: str = "", limit: int
) -> tuple[list[Member], str | None]:
    """URLs of a site in order of their keys, from behind the key `after`.

    Gives at most `limit`, and the key to go on behind; None where that was all.
    """
    found: list[Member] = []
    for low, high in scope(wanted):
        if after:
            low = max(low, f"{after}!")
        while low < high and (first := captures.scan(low, high, limit=1)):
            if len(found) == limit:
                return found, found[-1].capture.key
            nearest = _nearest(captures, first[0], wanted)
            if nearest is not None:
                found.append(nearest)
            low = f"{first[0].key}!"
    return found, None


def _nearest(captures: Captures, first: Capture, wanted: Asked) -> Member | None:
    """Of all captures with the key of `first`, the one nearest to the time asked for."""
    evidence: Evidence = look_up(
        captures, msgspec.structs.replace(wanted, uri=first.uri, coverage="part")
    )
    around = [*evidence.within, *evidence.before, *evidence.after]
    near = [one for one in around if suits("part", one)]
    if not near:
        return None
    best = min(near, key=lambda one: (abs(delta(wanted, one)), one.time, one.file, one.offset))
    distance = delta(wanted, best)
    return Member(
        verdict=Verdict.NEAREST if distance else Verdict.EXACT, delta=distance, capture=best
    )
