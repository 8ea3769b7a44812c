"""The page and the record of an open part of a closed document.

How it works: both have the name of the part, its text if it is a text, a citation that has nothing
but the name, and the addresses of the part. The landing page of a part would show the document
around it: title, digests, versions, previews.

What must stay true: nothing about the document is read for the answer, except the part.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure.errors import MissingLibrary
from perdure.metadata.citing import write_citation
from perdure.model.queries import Fetch
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question
from perdure.server import pages
from perdure.server.common import asking
from perdure.server.common.answers import Answer, Fields, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import metadata, quoting
from perdure.server.resource.style_choice import FIRST

_JSON = "application/json"


async def show_open_part(
    service: Service, request: Request, resolved: Resolved, *, is_page: bool
) -> Answer:
    """Answer with the page of an open part, or with its record. Raises the errors of cutting it."""
    step = resolved.choose(accept=())
    url = f"{request.base_url}/{asking.spell_resolved(resolved)}"
    describe = service.registry.documents.describe_resolved
    what = await service.run_cutter(describe, resolved, url)
    passage = None
    if isinstance(step, Fetch):
        passage = await quoting.read_passage_of(service, resolved, step)
    try:
        language = request.frame.language if is_page else metadata.choose_language(request)
        citation = (await service.run_cutter(write_citation, what, FIRST, language)).strip()
    except MissingLibrary:
        citation = ""
    fields: Fields = [(b"cache-control", b"no-store"), (b"vary", pages.VARY)]
    shown = {
        "identifier": str(resolved.asked),
        "url": url,
        "bytes": append_question(url, "bytes"),
        "text": passage.text if passage else None,
        "complete": passage.is_whole if passage else None,
        "citation": citation or None,
    }
    if is_page:
        body = pages.render_page(
            request.frame,
            "open_part.html",
            title=shown["identifier"],
            trail=[],
            passage=passage,
            **shown,
        )
        return pages.make_page(HTTPStatus.OK, body, *fields)
    known = {name: one for name, one in shown.items() if one is not None}
    return make_answer(HTTPStatus.OK, _JSON, msgspec.json.encode(known), *fields)
