"""Searching over HTTP: `/search` as JSON, as an Atom feed, or as a page.

    GET /search?q=<words>       what documents contain the words, and which parts of them
    GET /search.atom?q=<words>  the same as a feed (RFC 4287)
    GET /opensearch.xml         describes the search for browsers (OpenSearch 1.1)

How it works: the parameters become a `Selection`, as the options of `perdure search` do. A thread
searches for the reader of the request. If the index is not made yet, the request waits a moment.

What must stay true: an answer has nothing that its reader may not read, and no cache may store one
that depends on the reader. An answer is never older than the last withdrawal.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup, escape

from perdure.errors import NotAcceptable
from perdure.errors.requests import MissingParameter
from perdure.errors.root import count_things
from perdure.errors.searching import IndexNotMade
from perdure.formats import find_media_type
from perdure.formats.xml_characters import replace_not_xml
from perdure.ids import parse
from perdure.model.parameters import Parameters, read_number
from perdure.reading.targets import append_question, spell_part_path, spell_path
from perdure.server import pages
from perdure.server.apis.feeds import ATOM, NEVER, FeedEntry
from perdure.server.common import problems
from perdure.server.common.answers import Answer, join_links, make_answer, write_link
from perdure.server.common.negotiate import choose_type
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep.searching.asking import ORDERS, PLACES, make_selection
from perdure.upkeep.searching.found import (
    FacetValue,
    FoundDocument,
    FoundPage,
    MatchedPassage,
    SearchFacets,
)
from perdure.upkeep.searching.text_index import Selection
from perdure.upkeep.searching.updating import IndexState, Search

JSON, HTML = "application/json", "text/html"
OPENSEARCH = "application/opensearchdescription+xml"
USUAL, MOST = 10, 100
"""Documents of a page."""
LAST_CURSOR = (1 << 53) - 1
_OFFERS = (JSON, ATOM, HTML)
_FEED = "search.atom"
_LONGEST_WAIT = 3.0  # seconds for an index that is being made
_LOOK_EVERY = 0.1  # seconds
_LIMITS = ("in", "by", "series", "from", "to", "format")
_KEPT = ("q", *_LIMITS, "sort", "limit")
_REPEATED = ("in", "format")
_NOT_STORED = (b"cache-control", b"no-cache")


async def search_documents(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/search` and `/search.atom`.

    Raises InvalidRequest, NotAcceptable, Unavailable.
    """
    if service.settings.search != "on":
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    given = request.parameters
    kind = ATOM if request.target.text == _FEED else choose_type(request.accept, _OFFERS)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=request.target.text, asked=asked, offered=_OFFERS)
    words = given.get("q", "")
    if kind == HTML and not words.strip():
        return _answer_page(request, given, None)
    if not words:
        raise MissingParameter(
            request="search", parameter="q", manual="docs/reference/searching.md"
        )
    limit = _read_number(given, "limit", USUAL, MOST)
    before = _read_number(given, "cursor", 0, LAST_CURSOR) or None
    found = await search_index(service, request, _read_selection(given), before, limit)
    request.is_governed |= found.is_governed
    if kind == HTML:
        return _answer_page(request, given, found)
    if kind == ATOM:
        return _answer_feed(request, given, found)
    return _answer_json(request, given, found)


async def describe_search(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/opensearch.xml`."""
    if service.settings.search != "on":
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    body = pages.render_template("opensearch.xml", base=request.base_url, types=(JSON, ATOM, HTML))
    fresh = (b"cache-control", b"public, max-age=86400")
    return make_answer(HTTPStatus.OK, OPENSEARCH, body, fresh)


async def search_index(
    service: Service, request: Request, selection: Selection, before: int | None, limit: int
) -> Search:
    """Search, after a short wait for an index that is not made yet. Raises Unavailable."""
    reader = find_reader(service, request)
    for _ in range(math.ceil(_LONGEST_WAIT / _LOOK_EVERY)):
        try:
            return await service.search(selection, reader, before, limit)
        except IndexNotMade:
            await asyncio.sleep(_LOOK_EVERY)
    return await service.search(selection, reader, before, limit)


# parameters
# ----------


def _read_selection(given: Parameters) -> Selection:
    return make_selection(
        given["q"],
        places=given.list_values("in"),
        by=given.get("by", ""),
        within=given.get("series", ""),
        first=given.get("from", ""),
        last=given.get("to", ""),
        formats=given.list_values("format"),
        sort=given.get("sort", ""),
    )


def _read_number(given: Parameters, name: str, usual: int, most: int) -> int:
    text = given.get(name, "")
    if not text:
        return usual
    return read_number(name, text, 1, most)


def _write_question(given: Parameters, **changed: str) -> str:
    """Write the parameters of a search as a query, with changed ones; an empty text leaves one out.

    It has no cursor unless one is given.
    """
    kept = [
        (name, value)
        for name in _KEPT
        if name not in changed
        for value in given.list_values(name)
        if value
    ]
    changes = [(name, value) for name, value in changed.items() if value]
    return urlencode([*kept, *changes], errors="replace")


def _write_following(given: Parameters, page: FoundPage) -> str | None:
    """Write the relative address of the next page, or None at the end."""
    if page.cursor is None:
        return None
    return f"?{_write_question(given, cursor=str(page.cursor))}"


# forms of the answer
# -------------------


def _answer_json(request: Request, given: Parameters, found: Search) -> Answer:
    page = found.page
    following = _write_following(given, page)
    document = {
        "query": given["q"],
        "count": page.count,
        "more": page.is_more,
        "next": following,
        "index": {"behind": found.state.behind},
        "facets": msgspec.to_builtins(page.facets),
        "documents": [_show_document(request, one) for one in page.documents],
    }
    body = msgspec.json.encode(document)
    return make_answer(HTTPStatus.OK, JSON, body, *_list_fields(following))


def _list_fields(following: str | None) -> list[tuple[bytes, bytes]]:
    links = [write_link("/opensearch.xml", "search", type=OPENSEARCH)]
    if following is not None:
        links.append(write_link(following, "next"))
    return [_NOT_STORED, (b"vary", b"accept"), *join_links(links)]


def _show_document(request: Request, one: FoundDocument) -> dict[str, Any]:
    name = parse(one.identifier)
    shown: dict[str, Any] = {
        "identifier": one.identifier,
        "url": f"{request.base_url}/{spell_path(name)}",
        "title": one.title,
        "media_type": one.media_type,
        "date": one.day,
        "at": one.at,
        "also": one.also,
    }
    shown["passages"] = [
        {
            "field": passage.field,
            "text": passage.text,
            "hits": [
                {
                    "start": hit.start,
                    "stop": hit.stop,
                    "identifier": hit.identifier,
                    "url": hit.part and f"{request.base_url}/{spell_part_path(name, hit.part)}",
                }
                for hit in passage.hits
            ],
        }
        for passage in one.passages
    ]
    return shown


def _answer_page(request: Request, given: Parameters, found: Search | None) -> Answer:
    page = None if found is None else found.page
    following = None if page is None else _write_following(given, page)
    values: dict[str, Any] = {name: given.get(name, "") for name in ("q", *_LIMITS)
                              if name not in _REPEATED}  # fmt: skip
    body = pages.render_page(
        request.frame,
        "search.html",
        asked=values,
        places=[(one, one in given.list_values("in")) for one in PLACES],
        formats=" ".join(given.list_values("format")),
        is_limited=any(given.list_values(name) for name in _LIMITS),
        is_answer=page is not None,
        count=0 if found is None else found.page.count,
        is_more=found is not None and found.page.is_more,
        behind=0 if found is None else found.state.behind,
        documents=[] if page is None else [_prepare_document(one) for one in page.documents],
        following=following,
        feed=f"/{_FEED}?{_write_question(given)}",
        facets=[] if page is None else _list_facets(given, page.facets),
        orders=[
            (one, f"?{_write_question(given, sort=one)}", one == (given.get("sort", "") or "new"))
            for one in ORDERS
        ],
        limits=_list_limits(given),
        sort=given.get("sort", ""),
    )
    return pages.make_page(HTTPStatus.OK, body, *_list_fields(following))


class _FacetLink(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a facet as a page shows it."""

    label: str
    count: int
    href: str


def _list_facets(given: Parameters, facets: SearchFacets) -> list[tuple[str, list[_FacetLink]]]:
    """List the facets that divide what was found, each with its links. Kinds are their formats."""

    def link(label: str, count: int, *pairs: tuple[str, str]) -> _FacetLink:
        others = _write_question(given, **{name: "" for name, _ in pairs})
        return _FacetLink(label=label, count=count, href=f"?{others}&{urlencode(pairs)}")

    kinds: dict[str, list[FacetValue]] = {}
    for one in facets.format:
        found = find_media_type(one.value)
        kinds.setdefault(str(found).partition("/")[0] if found else "other", []).append(one)
    years = sorted(facets.year, key=lambda each: each.value)
    listed = [
        ("Series", [link(one.value, one.count, ("series", one.value)) for one in facets.series]),
        (
            "Year",
            [link(one.value, one.count, ("from", one.value), ("to", one.value)) for one in years],
        ),
        (
            "Kind",
            [
                link(kind, sum(one.count for one in some), *(("format", one.value) for one in some))
                for kind, some in kinds.items()
            ],
        ),
        ("Format", [link(one.value, one.count, ("format", one.value)) for one in facets.format]),
    ]
    return [(name, links) for name, links in listed if len(links) > 1]


def _list_limits(given: Parameters) -> list[tuple[str, str, str]]:
    """List the limits of a search: name, values, and the address of the search without it."""
    return [
        (name, " ".join(values), f"?{_write_question(given, **{name: ''})}")
        for name in _LIMITS
        if (values := [one for one in given.list_values(name) if one])
    ]


def describe_count(page: FoundPage, state: IndexState) -> str:
    """Write how many documents were found, and how far the index is behind."""
    more = "more than " if page.is_more else ""
    text = f"Found in {more}{count_things(page.count, 'document')}."
    if state.behind is None:
        text += " The index of words is being made again: there may be more."
    elif state.behind:
        text += f" {count_things(state.behind, 'change')} of this archive cannot be found yet."
    return text


def _prepare_document(one: FoundDocument) -> dict[str, Any]:
    name = parse(one.identifier)
    return {
        "identifier": one.identifier,
        "page": append_question(f"/{spell_path(name)}", "landing"),
        "title": one.title,
        "about": " · ".join(filter(None, (one.day, one.media_type))),
        "passages": [_mark_hits(one.identifier, passage) for passage in one.passages],
        "also": [
            (also, append_question(f"/{spell_path(parse(also))}", "landing")) for also in one.also
        ],
    }


def _mark_hits(identifier: str, passage: MatchedPassage) -> Markup:
    """Write a passage with its hits marked; each leads to the page of its part."""
    name = parse(identifier)
    pieces: list[Markup] = []
    at = 0
    for hit in passage.hits:
        marked = Markup("<mark>{}</mark>").format(passage.text[hit.start : hit.stop])
        if hit.part is not None:
            there = append_question(f"/{spell_part_path(name, hit.part)}", "landing")
            marked = Markup('<a href="{}">{}</a>').format(there, marked)
        pieces += [escape(passage.text[at : hit.start]), marked]
        at = hit.stop
    return Markup("").join((*pieces, escape(passage.text[at:])))


def _answer_feed(request: Request, given: Parameters, found: Search) -> Answer:
    page, base = found.page, request.base_url
    question, query = _write_question(given), replace_not_xml(given["q"])
    following = _write_following(given, page)
    entries = [_prepare_entry(base, one) for one in page.documents]
    body = pages.render_template(
        "search.xml",
        base=base,
        title=f"Search: {query}",
        query=query,
        updated=max((one.updated for one in entries), default=NEVER),
        own=f"{base}/{_FEED}?{question}",
        page=f"{base}/search?{question}",
        following=None if following is None else f"{base}/{_FEED}{following}",
        summary=describe_count(page, found.state),
        count=None if page.is_more else page.count,
        limit=_read_number(given, "limit", USUAL, MOST),
        entries=entries,
    )
    return make_answer(HTTPStatus.OK, f"{ATOM}; charset=utf-8", body, *_list_fields(following))


def _prepare_entry(base: str, one: FoundDocument) -> FeedEntry:
    name = parse(one.identifier)
    there = f"{base}/{spell_path(name)}"
    return FeedEntry(
        id=name.uri,
        updated=one.at or NEVER,
        title=replace_not_xml(one.title or one.identifier),
        page=append_question(there, "landing"),
        summary="\n".join(replace_not_xml(passage.text) for passage in one.passages),
        media_type=one.media_type,
        there=there,
        parts=_list_parts(base, one.identifier, one.passages),
    )


def _list_parts(base: str, identifier: str, passages: Sequence[MatchedPassage]) -> tuple[str, ...]:
    name = parse(identifier)
    return tuple(
        f"{base}/{spell_part_path(name, hit.part)}"
        for passage in passages
        for hit in passage.hits
        if hit.part is not None
    )
