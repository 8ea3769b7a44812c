"""The CDX server API over HTTP: `/cdx?url=…` lists captures for players, harvesters and people.

    GET /cdx?url=<url>[&matchType=…&from=…&to=…&closest=…&limit=…&filter=…&fl=…&output=…]

How it works: `perdure.archives.index.cdx` reads the query and selects the captures. This module
reads them in a thread and sends them in pieces, with a Content-Length if all of them fit in the
first piece. Most clients want a few captures of one URL; looking these up takes less time than
waking a thread, and `perdure.server.fast.path` sends them without ASGI. Clients were written for
pywb: a URL without captures is 404 with a `message`, and a page after the last one is 400.

What must stay true: an answer is never held in memory completely. One that cannot be finished is
cut off and never looks complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from itertools import islice

import msgspec

from perdure.archives.index import cdx, cdx_lines
from perdure.archives.port import Captures
from perdure.archives.readable import ReadableArchive
from perdure.errors.requests import PageBeyondEnd
from perdure.policy.capture_subjects import FIRST, LAST
from perdure.registry import Registry
from perdure.server.apis import memento
from perdure.server.common import asking, problems
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

_ANY_ORIGIN = (b"access-control-allow-origin", b"*")
_FEW = 50  # captures
_LINES = 1000  # of a piece


async def list_captures(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/cdx`.

    Raises InvalidRequest, OverBudget, or Unavailable if another server keeps the index and does
    not answer.
    """
    memento.require_open(service)
    query = cdx.parse_query(request.target.question or "")
    found = answer_at_once(service.registry, query)
    if found is not None:
        return found
    archive = asking.read_archive(service, request, is_list=True)
    captures = archive.captures
    if query.counts:
        paging = await asyncio.to_thread(cdx.count_pages, captures, query)
        document = {"pages": paging.pages, "pageSize": paging.size, "blocks": paging.blocks}
        body = msgspec.json.encode(document)
        return make_answer(HTTPStatus.OK, "application/json", body, _ANY_ORIGIN)
    pieces = _write_pieces(captures, query)
    first = await asyncio.to_thread(next, pieces)
    second = await asyncio.to_thread(next, pieces, b"")
    if not first:
        return await _answer_empty(archive, query, request)
    media_type = cdx_lines.MEDIA_TYPES[query.output]
    if not second:
        return make_answer(HTTPStatus.OK, media_type, first, _ANY_ORIGIN)
    fields = [(b"content-type", media_type.encode()), _ANY_ORIGIN]
    return Answer(HTTPStatus.OK, fields, stream=_stream_pieces(first + second, pieces))


def answer_at_once(registry: Registry, query: cdx.CdxQuery) -> Answer | None:
    """Answer at once a query for a few captures of one URL that are kept here.

    Returns None for all other queries, and if a reading rule is about the captures. Raises
    Unavailable.
    """
    if not query.is_direct or query.counts or registry.settings.capture_index:
        return None
    if not registry.has_open_captures:
        return None
    found = list(islice(cdx.select_captures(registry.archive.captures, query), _FEW + 1))
    if not found or len(found) > _FEW or query.shows_resume:
        return None
    if registry.reading.governs_captures(found):  # asked last: rules are at least as new
        return None
    body = b"".join(map(cdx.choose_writer(query), found))
    return make_answer(HTTPStatus.OK, cdx_lines.MEDIA_TYPES[query.output], body, _ANY_ORIGIN)


def _write_pieces(captures: Captures, query: cdx.CdxQuery) -> Iterator[bytes]:
    write = cdx.choose_writer(query)
    found = cdx.select_captures(captures, query)
    key: list[str] = []
    if query.shows_resume:
        found = cdx.report_resume_key(found, query, key.append)
    lines: list[bytes] = []
    for one in found:
        lines.append(write(one))
        if len(lines) == _LINES:
            yield b"".join(lines)
            lines.clear()
    if key and query.limit is not None:
        lines.append(b"\n%s\n" % key[0].encode())
    yield b"".join(lines)


async def _stream_pieces(begun: bytes, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    yield begun
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece


async def _answer_empty(archive: ReadableArchive, query: cdx.CdxQuery, request: Request) -> Answer:
    """Answer 404 because there are no captures, or 400 if the page does not exist.

    Raises Forbidden or Unauthenticated if the reader may not read the captures of the URL.
    """
    if query.page:
        paging = await asyncio.to_thread(cdx.count_pages, archive.captures, query)
        if query.page >= paging.pages:
            raise PageBeyondEnd(page=query.page, pages=paging.pages)
    if query.is_exact:
        archive.explain_absence(query.url, query.url, query.first or FIRST, query.last or LAST)
    problem = problems.make_problem(memento.make_not_captured(query.url))
    message = f"No Captures found for: {query.url}"  # pywb's words, which clients look for
    members = problem.members | {"message": message}
    return problems.answer_problem(
        msgspec.structs.replace(
            problem, detail=message, members=members, fields=(*problem.fields, _ANY_ORIGIN)
        ),
        request,
    )
