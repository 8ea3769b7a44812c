"""The assertions about a name over HTTP (`?assertions`): a page of annotations, or an array.

What must stay true: only what the reader may read is listed, and an answer that depends on the
reader is not stored by caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import quote

import msgspec

from perdure.errors import MalformedIdentifier, NotFound
from perdure.errors.assertions import UnknownForm, UnknownScope
from perdure.ids import Identifier
from perdure.model.assertions import MEDIA_TYPE, find_iri
from perdure.model.queries import Reader
from perdure.policy.assertion_scope import AssertionScope
from perdure.reading.annotation_pages import find_address, write_annotations, write_page
from perdure.reading.assertions import (
    AssertionPage,
    AssertionQuery,
    HeldAssertion,
    describe_assertion,
)
from perdure.reading.resolved import Resolved
from perdure.reading.targets import Question, append_question, read_name, spell_path
from perdure.server import pages
from perdure.server.common import asking
from perdure.server.common.answers import Answer, Fields, escape_uri, join_links, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_trail
from perdure.upkeep.asserting import is_kept_here

_FORMS = ("page", "array")
_JSON, _HTML = ("application/ld+json", "application/json"), "text/html"
_MOST = 1000
_ANY_ORIGIN = (b"access-control-allow-origin", b"*")


async def list_assertions(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer with the assertions about a name, or about an interval or a pattern itself.

    Raises NotFound, NoSuchVersion or NotAcceptable if the name names nothing, InvalidRequest.
    """
    if resolved.names is None and not resolved.is_citation:
        is_ours = resolved.identifier.assigned_under in service.settings.series
        if resolved.record is not None or is_ours:
            resolved.require_known()
    elif resolved.names is not None and resolved.names.pattern is None:
        resolved.require_single()  # written like no identifier, such as a prefix of handles
    return await _answer_list(
        service, request, resolved.identifier, resolved.query.reader, question
    )


async def list_about_foreign(
    service: Service, request: Request, question: Question
) -> Answer | None:
    """Answer with the assertions about a name that is not kept here; None for other names."""
    with suppress(NotFound, MalformedIdentifier):
        name = read_name(request.target.text, question.part).identifier
        if not is_kept_here(service.registry, name) and not name.is_citation:
            reader = find_reader(service, request)
            return await _answer_list(service, request, name, reader, question)
    return None


async def _answer_list(
    service: Service, request: Request, name: Identifier, reader: Reader, question: Question
) -> Answer:
    form = question.form or "page"
    if form not in _FORMS:
        raise UnknownForm(text=form, known=_FORMS)
    query = _make_query(name, reader, question)
    limit = min(question.limit or service.settings.page_size, _MOST)
    page: AssertionPage = await service.run_cutter(_read_page, service, query, limit)
    guard_assertions(service, request, page.assertions)
    base = request.base_url
    address = append_question(f"{base}/{spell_path(name)}", "assertions")
    following = None
    if page.after is not None:
        following = f"{address}{_write_rest(question, page.after)}"
    fields: Fields = [
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept"),
        _ANY_ORIGIN,
    ]
    if following is not None:
        fields += join_links((b'<%s>; rel="next"' % escape_uri(following),))
    if form == "array":
        shown: object = write_annotations(page.assertions, base)
        return make_answer(HTTPStatus.OK, "application/json", msgspec.json.encode(shown), *fields)
    if choose_type(request.accept, (*_JSON, _HTML)) == _HTML:
        return _make_page(request, name, page.assertions, base, following, fields)
    here = address + _write_rest(question, question.cursor or "")
    shown = write_page(here, page.assertions, base, following)
    return make_answer(HTTPStatus.OK, MEDIA_TYPE, msgspec.json.encode(shown), *fields)


def _make_page(
    request: Request,
    name: Identifier,
    found: Sequence[HeldAssertion],
    base: str,
    following: str | None,
    fields: Fields,
) -> Answer:
    """Answer with the assertions as a page for people."""
    body = pages.render_page(
        request.frame,
        "assertions.html",
        trail=[*make_trail(name.whole), (str(name.whole), find_page(name.whole))],
        about=str(name),
        found=[
            describe_assertion(held) | {"href": find_address(base, held.identifier)}
            for held in found
        ],
        following=following,
    )
    return pages.make_page(HTTPStatus.OK, body, *fields, in_frames=True)


def _read_page(service: Service, query: AssertionQuery, limit: int) -> AssertionPage:
    return service.registry.assertions.list_page(query, limit=limit)


def guard_assertions(service: Service, request: Request, found: Sequence[HeldAssertion]) -> None:
    """Note whether reading rules decide an answer, so that no cache stores it."""
    if not service.reading.rules.refresh():
        return
    for held in found:
        for related in (held.identifier, *held.assertion.about):
            asking.find_guard(service, request, related)


def _make_query(name: Identifier, reader: Reader, question: Question) -> AssertionQuery:
    known = tuple(AssertionScope)
    for scope in question.scopes:
        if scope not in known:
            raise UnknownScope(text=scope, known=known)
    return AssertionQuery(
        name=name,
        reader=reader,
        by=question.by,
        motivation=find_iri(question.motivation) if question.motivation else "",
        scopes=frozenset(map(AssertionScope, question.scopes or known)),
        is_standing=question.is_standing,
        after=question.cursor or "",
    )


def _write_rest(question: Question, cursor: str) -> str:
    """Write the rest of a question for a page, in a fixed order."""
    said = [
        ("form", question.form or ""),
        ("by", question.by),
        ("motivation", question.motivation),
        *(("scope", one) for one in question.scopes),
        ("cursor", cursor),
        ("limit", str(question.limit or "")),
    ]
    rest = "".join(f"&{name}={quote(text, safe='')}" for name, text in said if text)
    return f"&standing{rest}" if question.is_standing else rest
