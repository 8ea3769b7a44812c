"""From a place in a document, as its page shows it, to the identifier of exactly that part.

How it works: a landing page shows the plain text of a document, a picture, a waveform, pages or
rows (`perdure.server.resource.previews`). Its script, or its form, sends a place in that, and the
server answers with the part that contains it: `?point=<start>,<stop>` for characters of a text,
`?point=tag=<n>` for an element of HTML (`perdure.reading.text_places`), `?point=rect=…`, `ms=…`,
`page=…` or `rows=…` for all others (`perdure.reading.media_places`). The page of a part shows the
part marked.

What must stay true: the text of a document, what is around a passage in it, and the digest of a
part are shown only to readers who may have all of its bytes, also if a part was named; a part never
stands for less than what was selected; a part that does not exist gets no name.
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus

import msgspec

from perdure.errors import PartNotSupported
from perdure.extractors.measures import Measures
from perdure.extractors.port import Part, Source, Stream, iterate_body
from perdure.ids import Identifier, scheme_of
from perdure.model.queries import Fetch, Gone
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction
from perdure.reading.media_places import locate_part, select_place, write_place
from perdure.reading.places import PointedPlace
from perdure.reading.plain_texts import choose_text
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    append_question,
    spell_part_path,
    spell_part_uri,
)
from perdure.reading.text_places import PointedPassage, point_at_element, point_at_text
from perdure.server.common import problems
from perdure.server.common.answers import Answer, escape_uri, make_answer, make_empty_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.previews.port import ShownDocument
from perdure.server.resource.renditions import MEDIA_FIRST

_FIELDS = ((b"cache-control", b"no-cache"), (b"vary", b"accept"))
_LARGEST_HASHED = 1 << 20  # bytes of a part
_MOST_SHOWN = 4000  # bytes of rows
_MEASURED = ("rect", "page")
"""Kinds of places in pictures, which may be stored in another orientation."""
_SHOWN_AS = {"rect": ("img", "bytes"), "page": ("img", "preview=page-1")}
"""How a page shows such a part: an element, and the question about the part that it shows."""


async def name_place(
    service: Service, request: Request, resolved: Resolved, place: PointedPlace
) -> Answer:
    """Answer with the identifier of the part at a place.

    Raises PartOutOfRange or PartNotFound if the place is beyond the document, PartNotSupported if
    no part of it can be there, and the errors of resolving and cutting.
    """
    if place.kind in ("text", "tag"):
        return await _name_passage(service, request, resolved, place)
    step = resolved.choose(accept=MEDIA_FIRST, whole=True)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    asked = f"{place.kind}={','.join(map(str, place.numbers))}"
    if not isinstance(step, Fetch):
        raise PartNotSupported(media_type="", selector=asked)
    source = service.registry.documents.open_source(step.identifier, step.representation)
    known = Measures()
    if place.kind in _MEASURED:
        page = place.numbers[0] if place.kind == "page" else (*place.numbers[4:], 0)[0]
        known = await ShownDocument(service, step.identifier, source, None, 0).measure(page)
    has_own_parts = bool(scheme_of(step.identifier).part_mark)
    selector = select_place(place, known, has_own_parts=has_own_parts)
    if selector is None:
        raise PartNotSupported(media_type=source.media_type, selector=asked)
    parts = service.registry.parts
    cut = parts.outline_part if place.kind == "ms" else parts.cut_part
    part = await service.cut_part(cut, source, selector)
    found = locate_part(part.selector, known)
    spelled = write_place(selector, has_own_parts=has_own_parts)
    return _answer_part(
        request,
        step.identifier,
        spelled,
        {
            "place": found and (found.box or found.span),
            "sha512": await service.run_cutter(_digest_part, part, source),
            **_show_part(request, step.identifier, spelled, place, part, source),
        },
    )


def _digest_part(part: Part, source: Source) -> str | None:
    """Return the digest of a part, or None if it is large or not read yet."""
    if isinstance(part.body, Stream) or (part.length or 0) > _LARGEST_HASHED:
        return None
    return hashlib.sha512(b"".join(iterate_body(part.body, source))).hexdigest()


def _show_part(
    request: Request,
    name: Identifier,
    selector: str,
    place: PointedPlace,
    part: Part,
    source: Source,
) -> dict[str, object]:
    """Say how a page shows the part as it was cut."""
    if place.kind == "rows":
        rows = b"".join(iterate_body(part.body, source))
        return {"text": rows[:_MOST_SHOWN].decode(part.charset or "utf-8", "replace")}
    kind = "audio" if source.essence.startswith("audio/") else "video"
    element, question = _SHOWN_AS.get(place.kind, (kind, "play"))
    path = f"{request.base_url}/{spell_part_path(name, selector)}"
    return {"element": element, "source": append_question(path, question)}


async def _name_passage(
    service: Service, request: Request, resolved: Resolved, place: PointedPlace
) -> Answer:
    """Answer with the identifier of characters of the plain text, or of an element of HTML.

    Raises TextNotSupported if the document has no text, PartOutOfRange if the passage is beyond its
    end, PartNotSupported if no single part contains it, PartNotFound if the place of the element is
    unknown, and what `choose_text` raises.
    """
    step = choose_text(resolved, whole=True)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    source = service.registry.documents.open_source(step.identifier, step.representation)
    has_own_parts = bool(scheme_of(step.identifier).part_mark)

    def point(parts: PartExtraction, source: Source, _: Selector | None) -> PointedPassage:
        work = point_at_text if place.kind == "text" else point_at_element
        return work(parts, source, *place.numbers, has_own_parts=has_own_parts)

    found = await service.read_text(point, source, None)
    return _answer_part(
        request,
        step.identifier,
        str(found.selector),
        {
            "place": found.place,
            "text": found.text,
            "isWhole": found.is_whole,
            "before": found.before,
            "after": found.after,
            "sha512": found.sha512,
        },
    )


def _answer_part(
    request: Request, name: Identifier, selector: str, more: dict[str, object]
) -> Answer:
    """Answer with the identifier of a part as JSON, or lead a browser to the page of the part."""
    path = f"{request.base_url}/{spell_part_path(name, selector)}"
    landing = append_question(path, "landing")
    if choose_type(request.accept, ("application/json", "text/html")) == "text/html":
        return make_empty_answer(HTTPStatus.SEE_OTHER, (b"location", escape_uri(landing)), *_FIELDS)
    document = {
        "identifier": spell_part_uri(name, selector),
        "url": path,
        "landing": landing,
        "cite": append_question(path, "cite=apa"),
        "selector": selector,
        **more,
    }
    return make_answer(HTTPStatus.OK, "application/json", msgspec.json.encode(document), *_FIELDS)
