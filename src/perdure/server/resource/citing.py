"""Lists of citations over HTTP: `?cites`, `?citedby`, and `?quotes` for passages in common.

    GET <name>?citedby&kind=declared:href&since=2026-01-01&cursor=…&limit=…
    GET <name>?cites
    GET <name>?quotes

How it works: the read door has resolved the name; `perdure.upkeep.citations` lists what the index
says about it, as the reader may see it. The index is a little behind the newest changes: the answer
says which change it knows, and how many there are since. Lists are JSON, a page, a list of URIs, or
a link set with the relations of CiTO. The index is read, and texts are compared, in threads.

What must stay true: where a registry has reading rules, no cache stores a list. A page of a list
costs a bounded number of rows.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as escape

import msgspec

from perdure.errors import NotAcceptable
from perdure.ids import Identifier, parse
from perdure.ids.urls import find_public_address
from perdure.model.parameters import decode_names
from perdure.model.queries import Gone, Reader
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    Question,
    append_question,
    read_name,
    spell_part_path,
    spell_path,
    spell_set_path,
)
from perdure.server import pages
from perdure.server.common import asking as asking_about
from perdure.server.common import problems
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_answer,
)
from perdure.server.common.lists import URI_LIST
from perdure.server.common.negotiate import choose_type
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import Trail, find_page, make_set_trail, make_trail
from perdure.server.resource import signposting
from perdure.upkeep.citations import asking
from perdure.upkeep.citations.asking import CitationsWanted
from perdure.upkeep.citations.listing import CitationPage, ListedCitation
from perdure.upkeep.citations.received import CitationReported

if TYPE_CHECKING:
    from perdure.upkeep.quotations.asking import QuotationReport

VERBS = asking.DIRECTIONS
_JSON, _HTML, _TEXT = "application/json", "text/html", "text/plain"
_OFFERS = (_JSON, _HTML, URI_LIST, _TEXT, *signposting.TYPES)
_CITES, _IS_CITED_BY = (f"http://purl.org/spar/cito/{one}" for one in ("cites", "isCitedBy"))


class CitationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A page of citations, and how far the index has come."""

    page: CitationPage
    known: str
    """The last change that the index knows; empty if it knows none."""
    behind: int | None


async def list_citations(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer with the citations of a name, or with what it cites.

    Raises InvalidRequest for an unknown kind, day or cursor; NotFound, NoSuchVersion or
    NotAcceptable if the name names nothing; the errors of cutting a part.
    """
    wanted = _read_wanted(question)
    reader = resolved.query.reader
    run = service.find_quotations if asking.FOUND in wanted.rows.kinds else service.read_list
    found = await run(_ask, service, resolved, wanted, reader)
    if isinstance(found, Gone):
        return problems.answer_problem(problems.make_gone_problem(found), request)
    return _show(service, request, found, question, _find_way(resolved))


async def list_foreign(service: Service, request: Request, question: Question) -> Answer | None:
    """Answer about a name that is not registered here, or return None if nothing here cites it."""
    wanted = _read_wanted(question)
    name = read_name(request.target.text, question.part)
    if name.names is not None or wanted.direction != "citedby":
        return None
    reader = find_reader(service, request)
    found = await service.read_list(_ask_foreign, service, name.identifier, wanted, reader)
    return None if found is None else _show(service, request, found, question, _Way())


class _Way(msgspec.Struct, frozen=True):
    """The way from a page of citations to the page of its subject, and up from there."""

    page: str = ""
    trail: Trail = []


def _find_way(resolved: Resolved) -> _Way:
    if resolved.names is not None:
        return _Way(f"/{spell_set_path(resolved.names)}", make_set_trail(resolved.names))
    page = append_question(f"/{asking_about.spell_resolved(resolved)}", "landing")
    return _Way(page, make_trail(resolved.whole))


def _read_wanted(question: Question) -> CitationsWanted:
    rows = asking.read_filter(question.kinds, question.since or "", question.until or "")
    limit = min(question.limit or asking.LIMIT, asking.MOST)
    return CitationsWanted(question.verb, rows, question.cursor, limit)


def _ask(
    service: Service, resolved: Resolved, wanted: CitationsWanted, reader: Reader
) -> CitationAnswer | Gone:
    registry = service.registry
    with service.indexes.open_citations() as index:
        page = asking.answer_citations(registry, index, resolved, wanted, reader)
        if isinstance(page, Gone):
            return page
        mark, behind = asking.measure_progress(registry, index)
    return CitationAnswer(page=page, known=str(mark or ""), behind=behind)


def _ask_foreign(
    service: Service, name: Identifier, wanted: CitationsWanted, reader: Reader
) -> CitationAnswer | None:
    registry = service.registry
    with service.indexes.open_citations() as index:
        subject = asking.find_foreign(registry, index, name)
        if subject is None:
            return None
        page = asking.list_subject(registry, index, subject, wanted, reader)
        mark, behind = asking.measure_progress(registry, index)
    return CitationAnswer(page=page, known=str(mark or ""), behind=behind)


async def find_quotations(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the passages that a document, or a part of it, has in common with others.

    Raises MissingLibrary, and the errors of resolving the name and of reading its text.
    """
    reader = resolved.query.reader
    report = await service.find_quotations(_search, service, resolved, reader)
    if isinstance(report, Gone):
        return problems.answer_problem(problems.make_gone_problem(report), request)
    request.is_governed |= service.reading.rules.refresh()
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    fields: Fields = [(b"cache-control", fresh), (b"vary", b"accept")]
    if choose_type(request.accept, (_JSON, _HTML)) == _HTML:
        body = pages.render_page(
            request.frame,
            "quotations.html",
            report=report,
            find_page=_find_page,
            page=_find_way(resolved).page,
            trail=_find_way(resolved).trail,
        )
        return pages.make_page(HTTPStatus.OK, body, *fields)
    return make_answer(HTTPStatus.OK, _JSON, msgspec.json.encode(report), *fields)


def _search(service: Service, resolved: Resolved, reader: Reader) -> QuotationReport | Gone:
    with service.indexes.open_passages() as index:
        from perdure.upkeep.quotations.asking import find_quotations_of

        return find_quotations_of(service.registry, index, resolved, reader)


def _find_page(name: str) -> str:
    return find_page(parse(name))


# showing
# -------


def _show(
    service: Service, request: Request, found: CitationAnswer, question: Question, way: _Way
) -> Answer:
    """Answer with a page in the form that the client prefers. Raises NotAcceptable."""
    request.is_governed |= service.reading.rules.refresh()
    kind = choose_type(request.accept, _OFFERS)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=found.page.about, asked=asked, offered=_OFFERS)
    following = _write_following(request, found.page, question)
    fields: Fields = [
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept"),
        *([] if following is None else join_links((b'<%s>; rel="next"' % escape_uri(following),))),
    ]
    citations = found.page.citations
    match kind:
        case "application/json":
            body = msgspec.json.encode(_make_body(request, found, following))
        case "text/html":
            return _show_page(request, found, following, fields, way)
        case signposting.JSON | signposting.TEXT:
            rows = tuple(_link(request, found.page, one) for one in citations)
            is_json = kind == signposting.JSON
            body = signposting.write_json(rows) if is_json else signposting.write_text(rows)
        case _:
            uris = dict.fromkeys(_list_uris(found.page))
            lines = [b"# " + escape_uri(found.page.about), *map(escape_uri, uris), b""]
            body = b"\r\n".join(lines)
            kind = kind if kind == URI_LIST else f"{kind}; charset=us-ascii"
    return make_answer(HTTPStatus.OK, kind, body, *fields)


def _write_following(request: Request, page: CitationPage, question: Question) -> str | None:
    """Write the relative address of the next page, with the same question; None at the end."""
    if page.cursor is None:
        return None
    asked = decode_names(request.target.question or "").split("&")
    kept = [one for one in asked if one and not one.startswith(("cursor=", "limit="))]
    limit = min(question.limit or asking.LIMIT, asking.MOST)
    return "?" + "&".join((*kept, f"cursor={escape(page.cursor, safe='')}", f"limit={limit}"))


def _make_body(request: Request, found: CitationAnswer, following: str | None) -> dict[str, Any]:
    return {
        "about": found.page.about,
        "direction": found.page.direction,
        "citations": [_make_row(request, one) for one in found.page.citations],
        "received": [_show_report(one) for one in found.page.received],
        "next": following,
        "known": found.known,
        "behind": found.behind,
    }


def _make_row(request: Request, one: ListedCitation) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(one)
    return row | {
        "citation": one.name,
        "citing_url": locate_name(request, parse(one.citing)),
        "cited_url": locate_name(request, parse(one.cited)),
    }


def _show_report(one: CitationReported) -> dict[str, Any]:
    """Show an accepted report, without what is only of interest to the operator."""
    shown = ("source", "target", "kind", "provider", "title", "day", "at")
    return {name: getattr(one, name) for name in shown}


def locate_name(request: Request, name: Identifier) -> str:
    """Return the address of a name, here or at the public resolver of its scheme."""
    public = "" if name.kind == "pdi" else find_public_address(name)
    if public:
        return public
    if name.part is not None:
        return f"{request.base_url}/{spell_part_path(name.whole, name.part)}"
    return f"{request.base_url}/{spell_path(name)}"


def _link(request: Request, page: CitationPage, one: ListedCitation) -> signposting.Signpost:
    """Return a citation as a link, from the side that was asked about."""
    citing, cited = (locate_name(request, parse(side)) for side in (one.citing, one.cited))
    if page.direction == "cites":
        return signposting.Signpost(citing, _CITES, cited)
    return signposting.Signpost(cited, _IS_CITED_BY, citing)


def _list_uris(page: CitationPage) -> list[str]:
    """List the other sides of the citations: those that cite, or those that are cited."""
    if page.direction == "cites":
        return [one.cited for one in page.citations]
    return [one.citing for one in page.citations]


def _show_page(
    request: Request,
    found: CitationAnswer,
    following: str | None,
    fields: Fields,
    way: _Way,
) -> Answer:
    """Answer with a page for people, which a landing page may contain."""
    rows = [
        {
            "citing": one.citing,
            "citing_page": find_page(parse(one.citing)),
            "cited": one.cited,
            "cited_page": locate_name(request, parse(one.cited)),
            "check": None if one.name is None else find_page(parse(one.name)),
            "kind": one.kind,
            "day": one.day,
            "claimed_by": one.claimed_by,
        }
        for one in found.page.citations
    ]
    body = pages.render_page(
        request.frame,
        "citations.html",
        about=found.page.about,
        is_cited=found.page.direction == "citedby",
        rows=rows,
        received=found.page.received,
        following=following,
        behind=found.behind,
        page=way.page,
        trail=way.trail,
    )
    return pages.make_page(HTTPStatus.OK, body, *fields, in_frames=True)
