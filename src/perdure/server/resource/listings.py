"""Patterns and intervals: the identifiers in a series, year, month or day, or under a wildcard.

How it works: a series, year or month lists the years, months or days in it that have identifiers.
A day, and every pattern with a wildcard, lists identifiers, page by page. The look-ups run in a
thread, because a sparse pattern may read many records.

What must stay true: following `next` from page to page lists every identifier once, whatever is
minted meanwhile.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote as escape

import msgspec

from perdure.errors import NotFound, PartNotSupported
from perdure.errors.requests import ListNotPaged
from perdure.ids import Identifier
from perdure.reading.targets import Question, append_question, spell_path, spell_uri
from perdure.server.common import lists, logs
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service


async def list_pattern(
    service: Service, request: Request, pattern: Identifier, question: Question
) -> Answer:
    """Answer GET of a pattern or an interval.

    Raises NotFound if the series is neither minted here nor known, InvalidRequest if the cursor is
    not from this list.
    """
    if pattern.whole is not pattern:
        part = str(pattern).removeprefix(str(pattern.whole))[1:]
        raise PartNotSupported(media_type="a listing", selector=part)
    if not service.knows_series(pattern):
        raise NotFound(identifier=str(pattern))
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    resolver = service.listings
    if pattern.is_divided:
        if question.cursor:
            raise ListNotPaged(cursor=question.cursor)
        interval = await asyncio.to_thread(resolver.list_interval, pattern)
        return lists.answer_list(
            request, str(pattern), _make_entries(request, interval.members), fresh
        )
    limit = min(question.limit or service.settings.page_size, service.settings.page_size)
    page = await asyncio.to_thread(resolver.list_page, pattern, cursor=question.cursor, limit=limit)
    for error in page.damaged:
        logs.get_log().error("corrupt", detail=str(error))
    damaged = [error.identifier for error in page.damaged]
    if damaged:
        fresh = (b"cache-control", b"no-store")
    following = None
    if page.cursor is not None:
        following = f"?cursor={escape(page.cursor, safe='')}&limit={limit}"
    entries = [
        msgspec.structs.replace(one, page=append_question(one.href or one.uri, "landing"))
        for one in _make_entries(request, page.identifiers)
    ]
    return lists.answer_list(
        request, str(pattern), entries, fresh, following=following, damaged=damaged
    )


def _make_entries(request: Request, found: tuple[Identifier, ...]) -> list[lists.ListEntry]:
    return [
        lists.ListEntry(spell_uri(one), f"{request.base_url}/{spell_path(one)}") for one in found
    ]
