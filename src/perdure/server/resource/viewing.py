"""HTML as its page shows it: `?view`, a document without anything active, for a sandboxed frame.

How it works: the extractor makes the document (`perdure.extractors.markup.rendition`), and this
module puts it into the page of a frame, with our script, which tells the page around it what a
reader points at. Of a part, the text is marked, and the mark has the ID `part`.

The address is that of `content_origin` if there is one, and if `base_url` says where our pages are.
Otherwise it is on the same host, where `sandbox` gives the document an origin of its own.

What must stay true: the document has no origin, and loads nothing but our style and our script;
only our pages contain it; readers who may not have all of its bytes do not get it.
docs/decisions/replay-origin.md
"""

from __future__ import annotations

import hashlib
import re
from http import HTTPStatus
from urllib.parse import urlsplit

from markupsafe import Markup

from perdure.errors import PartNotSupported
from perdure.errors.cutting import TextElsewhere
from perdure.extractors.port import Body, Source, iterate_body
from perdure.model.queries import Fetch, Gone
from perdure.parts import Selector, View
from perdure.reading.extraction import PartExtraction
from perdure.reading.resolved import Resolved
from perdure.reading.text_places import TextWindow, read_window
from perdure.server import pages
from perdure.server.common import asking, problems
from perdure.server.common.answers import (
    Answer,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.conditions import has_already
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held
from perdure.server.resource.renditions import MEDIA_FIRST
from perdure.settings import Settings

_KIND = "application/xhtml+xml; charset=utf-8"
_RENDITION = View("rendition")
_TEXT = re.compile(r"<\?t ([0-9]+)\?>([^<]+)")
_CHARACTER = re.compile(r"&[^;]*;|[^&]", re.DOTALL)
_LEAD = 1  # character of a text that must be read to find the place of a part


async def answer_view(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer GET or HEAD of a document as its page shows it.

    Raises PartNotSupported if it is not HTML, and the errors of resolving and cutting.
    """
    step = resolved.choose(accept=MEDIA_FIRST, whole=True)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    if not isinstance(step, Fetch):
        raise TextElsewhere(selector="view")
    documents, parts = service.registry.documents, service.registry.parts
    source = documents.open_source(step.identifier, step.representation)
    parts.require_kind(source, _RENDITION)
    cut = await service.cut_part(parts.cut_view, source, _RENDITION)
    if cut.media_type != "application/xhtml+xml":
        raise PartNotSupported(media_type=source.media_type, selector="view")
    body = await service.run_cutter(_join_body, cut.body, source)
    if resolved.inside is not None:
        part = documents.find_selector(resolved.identifier, source, resolved.part_beside)
        window = await service.read_text(_find_part, source, part)
        if window and window.mark:
            body = await service.run_cutter(mark_text, body, window.mark)
    answer: Answer = await service.run_cutter(_answer_page, service, request, resolved, body)
    return answer


def find_view_origin(settings: Settings) -> str:
    """Return the origin that shows documents to our pages, or an empty string for our own."""
    return settings.content_origin if settings.base_url else ""


def _join_body(body: Body, source: Source) -> str:
    return b"".join(iterate_body(body, source)).decode()


def _find_part(parts: PartExtraction, source: Source, part: Selector | None) -> TextWindow | None:
    return read_window(parts, source, 0, _LEAD, part)


def _answer_page(service: Service, request: Request, resolved: Resolved, body: str) -> Answer:
    """Write the page around a document, which may have megabytes, and hash it."""
    base = service.settings.base_url or request.base_url
    address = urlsplit(base)
    origin = f"{address.scheme}://{address.netloc}"
    frame = request.frame
    sheet, script = (origin + one for one in (frame.view_style, frame.view_script))
    page = pages.render_page(
        frame,
        "view.xml",
        title=str(resolved.identifier),
        sheet=sheet,
        script=script,
        body=Markup(body),  # noqa: S704  (made from lists of names, and sandboxed)
    )
    policy = (
        f"sandbox allow-scripts; default-src 'none'; script-src {script}; style-src {sheet}; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors {origin}"
    )
    there = f"{base}/{asking.spell_resolved(resolved)}"
    tag = f'"{hashlib.sha256(page).hexdigest()[:40]}-view"'.encode()
    fields = [
        (b"etag", tag),
        (b"cache-control", held.write_lifetime(service.settings, pinned=False)),
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        *join_links((write_link(there, "via"), *held.link_back(there))),
    ]
    if has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    return make_answer(HTTPStatus.OK, _KIND, page, *fields)


def mark_text(rendition: str, mark: tuple[int, int]) -> str:
    """Mark the characters [start, stop) of a document that an extractor has made.

    >>> mark_text("<p><?t 7?>a&amp;b</p>", (8, 9))
    '<p><?t 7?>a<mark id="part"><?t 8?>&amp;</mark><?t 9?>b</p>'
    """
    begun = False

    def mark_piece(found: re.Match[str]) -> str:
        nonlocal begun
        place, characters = int(found[1]), _CHARACTER.findall(found[2])
        first, last = (min(max(0, one - place), len(characters)) for one in mark)
        if first >= last:
            return found[0]
        name = "" if begun else ' id="part"'
        begun = True
        before, inside, after = (
            "".join(one) for one in (characters[:first], characters[first:last], characters[last:])
        )
        text = f"<?t {place}?>{before}" if before else ""
        text += f"<mark{name}><?t {place + first}?>{inside}</mark>"
        return text + (f"<?t {place + last}?>{after}" if after else "")

    return _TEXT.sub(mark_piece, rendition)
