"""A page that shows a capture in a frame, below a bar that says what it is.

    GET /replay/20160122112029bar_/<uri>

How it works: the page is one of ours, on our origin. The frame shows the replay origin, and has no
permission of its own (`sandbox`), in addition to the policy that the replayed page has anyway. So
the replayed page can neither reach the bar, nor cover it, nor lead the browser away from it. The
capture itself is sent unchanged by `/replay/<time>id_/`, to which the bar leads.

What must stay true: the bar describes the capture that is in the address, and says so, because a
reader may follow links inside the frame. docs/decisions/replay-origin.md
"""

from __future__ import annotations

import html
import re
from contextlib import suppress
from http import HTTPStatus

from perdure.archives.capture import pages as captured
from perdure.archives.files import heads
from perdure.archives.index.ranges import IndexRange, make_range
from perdure.archives.opening import OpenedCapture
from perdure.archives.port import Capture
from perdure.archives.readable import ReadableArchive
from perdure.errors import PerdureError
from perdure.server import pages
from perdure.server.apis import memento, memento_addresses
from perdure.server.common.answers import Answer, join_links
from perdure.server.common.request import Request
from perdure.server.common.service import Service

_SEARCHED = 64 << 10  # bytes at the beginning of a page in which its title is
_LONGEST_TITLE = 300
_TITLE = re.compile(r"<title(?:\s[^>]*)?>(.*?)</title", re.IGNORECASE | re.DOTALL)


def answer_bar(
    service: Service, request: Request, archive: ReadableArchive, archived: OpenedCapture
) -> Answer:
    """Answer with the bar and the frame below it. It closes the capture."""
    capture = archived.capture
    try:
        title = _read_title(archived)
    finally:
        archived.record.close()
    before, after = find_neighbours(archive, capture)
    origin = service.settings.content_origin
    body = pages.render_page(
        request.frame,
        "replayed.html",
        title=title,
        uri=capture.uri,
        date=capture.date,
        archive=service.settings.institution or service.settings.archive_id,
        before=before and (before.date, memento_addresses.write_framed_path(before)),
        after=after and (after.date, memento_addresses.write_framed_path(after)),
        all_captures=f"/timemap/html/{memento_addresses.escape_for_path(capture.uri)}",
        raw=memento_addresses.write_raw_path(capture),
        framed=f"{origin}{memento_addresses.write_replay_path(capture)}",
    )
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    links = join_links(memento.link_original(service, request, capture.uri))
    return pages.make_page(HTTPStatus.OK, body, fresh, *links, framed=origin)


def find_neighbours(
    archive: ReadableArchive, capture: Capture
) -> tuple[Capture | None, Capture | None]:
    """Return the captures of the same page before and after one."""
    whole = make_range(capture.uri, "exact")
    before = IndexRange(whole.low, f"{whole.low}{capture.time}")
    after = IndexRange(f"{whole.low}{capture.time}~", whole.high)
    return (
        memento.find_first(archive.captures, before, backwards=True),
        memento.find_first(archive.captures, after),
    )


def _read_title(archived: OpenedCapture) -> str:
    """Return the title of an HTML page, or an empty text."""
    kind = next((text for name, text in archived.headers if name.lower() == "content-type"), "")
    if not captured.is_html(kind or archived.capture.media_type):
        return ""
    begun = bytearray()
    with suppress(PerdureError):  # a damaged page has a bar, too
        for piece in archived.record.read_payload():
            begun += piece
            if len(begun) >= _SEARCHED:
                break
    try:
        text = begun.decode(heads.find_charset(kind) or "utf-8", "replace")
    except LookupError:
        text = begun.decode("utf-8", "replace")
    found = _TITLE.search(text)
    return " ".join(html.unescape(found[1]).split())[:_LONGEST_TITLE] if found else ""
