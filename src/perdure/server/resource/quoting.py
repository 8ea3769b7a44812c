"""From a quoted sentence to the identifier of exactly that sentence.

How it works: `?quote=<text>` is searched in the text of the newest version, as a quotation of the
Web Annotation Data Model (section 4.2.4); `before` and `after` give the text around it if it occurs
more than once. For a PDI, the place becomes a range of characters (PDI section 3.4), counted by the
same index that cuts such ranges. The answer redirects to the landing page of that part, which shows
and cites the passage. The form on the landing page of every text sends this request, without
script.

If the quotation occurs several times, the answer (300) lists the places, each with the text around
it and the identifier of the part.

What must stay true: the identifier leads to exactly the quoted text; nothing is chosen among
several occurrences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec
from markupsafe import Markup

from perdure.errors import NotFound, PartNotFound
from perdure.errors.cutting import PartElsewhere
from perdure.errors.parts import AmbiguousQuotation
from perdure.extractors.port import Part, Source, Span, iterate_body
from perdure.extractors.text.characters import find_characters
from perdure.extractors.text.coding import find_coding
from perdure.ids import Identifier, scheme_of
from perdure.model.queries import Fetch, Gone, Want
from perdure.model.records import Record, Representation, Version
from perdure.parts import Selector, TextQuote
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    Question,
    append_question,
    spell_part_path,
    spell_part_uri,
    spell_path,
)
from perdure.server import pages
from perdure.server.common import problems
from perdure.server.common.answers import Answer, escape_uri, make_answer, make_empty_answer
from perdure.server.common.negotiate import choose_type, read_preferences
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_trail

_TEXT_FIRST = read_preferences("text/plain, text/*;q=0.9, */*;q=0.1")
"""The form of a document that is quoted. The client's Accept is about the answer."""
_FRESHLY_MADE = ((b"cache-control", b"no-store"), (b"vary", b"accept"))
_SHOWN = 4000  # bytes of a passage that a landing page shows


class Passage(msgspec.Struct, frozen=True):
    """The text of a part."""

    text: str
    is_whole: bool
    """False if `text` is only the beginning."""


async def redirect_to_passage(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Redirect (303) to the landing page of the quoted part.

    Raises NotFound, PartNotFound if the passage does not occur in the text, and PartNotSupported if
    the resource is not a text held here.
    """
    quote = TextQuote(
        exact=question.quote or "", prefix=question.before or "", suffix=question.after or ""
    )
    step = resolved.choose(Want.RESOURCE, accept=_TEXT_FIRST, whole=True)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    if not isinstance(step, Fetch):
        raise PartElsewhere(selector=str(quote))
    source = service.registry.documents.open_source(step.identifier, step.representation)
    try:
        found = await service.cut_part(service.registry.parts.cut_part, source, quote)
    except AmbiguousQuotation as error:
        if not quote.exact.strip():
            raise
        return await _list_occurrences(service, request, step.identifier, source, quote, error)
    except PartNotFound:
        if not _wants_page(request):
            raise
        return _show_passages(request, step.identifier, quote, HTTPStatus.NOT_FOUND)
    selector = found.selector
    if scheme_of(step.identifier).part_mark:
        selector = await service.run_cutter(
            find_characters, source, found.slices[0], service.registry.parts.indexes
        )
    path = spell_part_path(step.identifier, str(selector))
    there = append_question(f"{request.base_url}/{path}", "landing")
    return make_empty_answer(
        HTTPStatus.SEE_OTHER, (b"location", escape_uri(there)), (b"cache-control", b"no-store")
    )


async def _list_occurrences(
    service: Service,
    request: Request,
    whole: Identifier,
    source: Source,
    quote: TextQuote,
    error: AmbiguousQuotation,
) -> Answer:
    """Answer 300 with each occurrence of a quotation, as a page or as JSON."""
    shown = []
    for place, before, after in zip(
        error.places, error.around[::2], error.around[1::2], strict=True
    ):
        start, _, stop = place.partition("-")
        selector: Selector = TextQuote(exact=quote.exact, prefix=before, suffix=after)
        if scheme_of(whole).part_mark:
            selector = await service.run_cutter(
                find_characters,
                source,
                Span(int(start), int(stop)),
                service.registry.parts.indexes,
            )
        path = spell_part_path(whole, str(selector))
        shown.append(
            {
                "identifier": spell_part_uri(whole, str(selector)),
                "url": append_question(f"{request.base_url}/{path}", "landing"),
                "before": before,
                "after": after,
            }
        )
    if _wants_page(request):
        return _show_passages(
            request, whole, quote, HTTPStatus.MULTIPLE_CHOICES, shown, error.extent
        )
    document = {"quote": quote.exact, "extent": error.extent, "occurrences": shown}
    body = msgspec.json.encode(document)
    return make_answer(HTTPStatus.MULTIPLE_CHOICES, "application/json", body, *_FRESHLY_MADE)


def _wants_page(request: Request) -> bool:
    return choose_type(request.accept, ("application/json", "text/html")) == "text/html"


def _show_passages(
    request: Request,
    whole: Identifier,
    quote: TextQuote,
    status: HTTPStatus,
    shown: Sequence[Mapping[str, str]] = (),
    extent: str = "",
) -> Answer:
    """Answer with a page of the places, and a form with the words that were typed."""
    body = pages.render_page(
        request.frame,
        "occurrences.html",
        identifier=str(whole),
        page=find_page(whole),
        trail=make_trail(whole),
        action=f"/{spell_path(whole)}",
        quote=quote,
        occurrences=shown,
        extent=extent,
    )
    return pages.make_page(status, body, *_FRESHLY_MADE)


def find_quotable(record: Record) -> tuple[Version, Representation] | None:
    """Return the text of the newest version that a reader would quote, or None."""
    newest = record.newest
    if newest is None or record.tombstone is not None:
        return None
    texts = [one for one in newest.representations if one.media_type.startswith("text/")]
    texts.sort(key=lambda one: one.media_type != "text/plain")
    return (newest, texts[0]) if texts else None


async def read_passage(service: Service, resolved: Resolved) -> Passage | None:
    """Return the passage that an identifier names, or None if it names no part of a text held here.

    Raises the errors of cutting: a page never shows a part that does not exist.
    """
    if resolved.identifier.whole is resolved.identifier:
        return None
    try:
        step = resolved.usual_step
    except NotFound:
        return None
    return await read_passage_of(service, resolved, step) if isinstance(step, Fetch) else None


async def read_passage_of(service: Service, resolved: Resolved, step: Fetch) -> Passage | None:
    """Return the passage that a part names in a document, or None if that is not a text."""
    if not step.representation.media_type.startswith("text/"):
        return None
    source = service.registry.documents.open_source(step.identifier, step.representation)
    selector = service.registry.documents.find_selector(resolved.identifier, source, None)
    found = await service.cut_part(service.registry.parts.cut_part, source, selector)
    shown: Passage | None = await service.run_cutter(_read_text, found, source)
    return shown


def _read_text(found: Part, source: Source) -> Passage | None:
    if not isinstance(found.body, tuple) or not found.media_type.startswith("text/"):
        return None
    data = bytearray()
    for chunk in iterate_body(found.body, source):
        data += chunk
        if len(data) > _SHOWN:
            break
    text = data[:_SHOWN].decode(find_coding(source).codec, "ignore")
    if found.media_type != "text/plain":
        text = Markup(text).striptags()  # noqa: S704  (the result is text, and escaped)
    return Passage(text, is_whole=len(data) <= _SHOWN)
