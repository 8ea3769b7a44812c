"""From a selection in the text of a document to the identifier of exactly that passage.

How it works: a landing page shows the plain text of a document, or a window of a long one. The
script of the page sends the positions of a selection, in characters of that text, and the server
answers with the part that contains it (`?point=<start>,<stop>`, `perdure.reading.text_places`). The
page of a part shows the text around the part, with the part marked.

What must stay true: the text of a document is shown only to readers who may have its bytes; a part
never stands for less than what was selected.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.errors import PerdureError
from perdure.extractors.port import Source
from perdure.ids import Identifier, scheme_of
from perdure.model.queries import Fetch, Gone
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction
from perdure.reading.plain_texts import choose_text
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    append_question,
    spell_part_path,
    spell_part_uri,
    spell_path,
)
from perdure.reading.text_places import (
    PointedPassage,
    TextWindow,
    point_at_text,
    read_window,
)
from perdure.server.common import problems
from perdure.server.common.answers import Answer, escape_uri, make_answer, make_empty_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service

_SHOWN = frozenset(("text/html", "application/xhtml+xml"))
"""Other media types whose text a page shows. Further ones take too long, or have no passages."""
_LARGEST = 1 << 20  # bytes of a document whose text must be made for a page
_WINDOW = 20_000  # characters
_FIELDS = ((b"cache-control", b"no-cache"), (b"vary", b"accept"))


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a document on its landing page, or a window of it."""

    start: int
    stop: int
    length: int
    before: str
    """The text before the part, or the complete window."""
    mark: bool
    """True if a part is marked."""
    marked: str
    behind: str
    is_stored: bool
    """False if the document has a form that the text leaves out."""
    point_url: str
    """The address to which the positions of a selection are appended."""
    earlier: str
    later: str
    """The addresses of the neighbouring windows, or empty strings."""


async def name_passage(
    service: Service, request: Request, resolved: Resolved, place: tuple[int, int]
) -> Answer:
    """Answer with the identifier of a passage, given by its characters in the plain text.

    Raises TextNotSupported if the document has no text, PartOutOfRange if the passage is beyond its
    end, PartNotSupported if no single part contains it, and what `choose_text` raises.
    """
    step = choose_text(resolved)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    source = service.registry.documents.open_source(step.identifier, step.representation)
    has_own_parts = bool(scheme_of(step.identifier).part_mark)

    def point(parts: PartExtraction, source: Source, _: Selector | None) -> PointedPassage:
        return point_at_text(parts, source, *place, has_own_parts=has_own_parts)

    found = await service.read_text(point, source, None)
    selector = str(found.selector)
    path = f"{request.base_url}/{spell_part_path(step.identifier, selector)}"
    landing = append_question(path, "landing")
    if choose_type(request.accept, ("application/json", "text/html")) == "text/html":
        return make_empty_answer(HTTPStatus.SEE_OTHER, (b"location", escape_uri(landing)), *_FIELDS)
    document = {
        "identifier": spell_part_uri(step.identifier, selector),
        "url": path,
        "landing": landing,
        "selector": selector,
        "text": found.text,
        "isWhole": found.is_whole,
        "before": found.before,
        "after": found.after,
        "sha512": found.sha512,
    }
    return make_answer(HTTPStatus.OK, "application/json", msgspec.json.encode(document), *_FIELDS)


async def read_preview(service: Service, resolved: Resolved, at: int) -> Preview | None:
    """Read the text that a landing page shows, or None if it has none that can be read at once."""
    try:
        step = resolved.choose(whole=True)
    except PerdureError:  # not here, not for this reader, or of no version
        return None
    if not isinstance(step, Fetch) or not step.representation.media_type:
        return None
    documents = service.registry.documents
    source = documents.open_source(step.identifier, step.representation)
    is_stored = source.essence == "text/plain"
    if not is_stored and (source.length > _LARGEST or source.essence not in _SHOWN):
        return None
    selector = None
    if resolved.inside is not None:
        selector = documents.find_selector(resolved.identifier, source, resolved.part_beside)

    def read(parts: PartExtraction, source: Source, part: Selector | None) -> TextWindow | None:
        return read_window(parts, source, at, _WINDOW, part)

    try:
        found = await service.read_text(read, source, selector)
    except PerdureError:  # the page says elsewhere what cannot be read
        return None
    return None if found is None else _show_window(step.identifier, found, is_stored=is_stored)


def _show_window(name: Identifier, found: TextWindow, *, is_stored: bool) -> Preview:
    path = f"/{spell_path(name)}"
    page = append_question(path, "landing")
    mark = found.mark or (found.stop, found.stop)
    first, last = (min(max(one, found.start), found.stop) - found.start for one in mark)
    return Preview(
        start=found.start,
        stop=found.stop,
        length=found.length,
        before=found.text[:first],
        mark=found.mark is not None,
        marked=found.text[first:last],
        behind=found.text[last:],
        is_stored=is_stored,
        point_url=append_question(path, "point="),
        earlier=f"{page}&at={max(0, found.start - _WINDOW)}" if found.start else "",
        later=f"{page}&at={found.stop}" if found.stop < found.length else "",
    )
