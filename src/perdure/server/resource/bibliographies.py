"""Bibliographies of sets of names: `?cite` and `?metadata` of a pattern or an interval.

How it works: each name of a page is resolved for the reader, and written in the style or the format
that the question names; those that were withdrawn, or are closed to the reader, are left out.

What must stay true: only formats whose records can be joined are written.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from perdure.errors.naming import PatternNotAllowed
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.metadata import load_formats
from perdure.metadata.citing import join_citations, write_citation
from perdure.metadata.port import DescribedResource
from perdure.model.queries import ListingPage
from perdure.reading.listing import walk_citable
from perdure.reading.resolved import Resolved
from perdure.reading.targets import Question, spell_path
from perdure.server.common import asking
from perdure.server.common.answers import Answer, Fields, join_links, make_answer, write_link
from perdure.server.common.negotiate import names_first
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import metadata


def asks_for_bibliography(question: Question) -> bool:
    """Return True if a question about a set asks for citations or records of it."""
    return question.cite is not None or question.metadata is not None


def write_bibliography(
    service: Service,
    request: Request,
    names: NameSet,
    page: ListingPage,
    question: Question,
    following: str | None,
) -> Answer:
    """Answer with a citation of each identifier of a page that was not withdrawn.

    Raises InvalidRequest if the style or the language is unknown, PatternNotAllowed if another
    format of metadata is requested.
    """
    style = _find_style(names, question)
    language = question.locale or metadata.choose_language(request)
    cited = walk_citable(names, page, partial(asking.resolve_open, service, request))
    texts = [
        write_citation(_describe_resource(service, request, *one), style, language) for one in cited
    ]
    form = load_formats().get(style.removesuffix("-json"))
    kind = form.media_types[0] if form is not None else f"{metadata.BIBLIOGRAPHY}; charset=utf-8"
    if form is not None and form.is_text:
        kind += "; charset=utf-8"
    if names_first(request.accept, "text/html"):
        kind = metadata.choose_viewable_type(kind)
    fields = [
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept, accept-language"),
        (b"content-language", language.encode("ascii", "replace")),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        (b"x-content-type-options", b"nosniff"),
        *link_following(following),
    ]
    body = join_citations(texts, style).encode()
    return make_answer(HTTPStatus.OK, kind, body, *fields)


def _describe_resource(
    service: Service, request: Request, name: Identifier, resolved: Resolved
) -> DescribedResource:
    url = f"{request.base_url}/{spell_path(name)}"
    return service.registry.documents.describe_resolved(resolved, url)


def _find_style(names: NameSet, question: Question) -> str:
    """Return the style of a bibliography. Raises PatternNotAllowed for other metadata."""
    if question.cite is not None:
        return question.cite.lower() or "apa"
    asked = (question.metadata or "").lower()
    if asked not in metadata.BIBLIOGRAPHIES:
        raise PatternNotAllowed(identifier=str(names))
    return asked


def link_following(following: str | None) -> Fields:
    """Write the header field that leads to the next page."""
    if following is None:
        return []
    return join_links((write_link(following, "next"),))
