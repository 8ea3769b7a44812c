"""The captures of an address as a calendar: its years as bars, the days of one year, and a table.

    GET /timemap/html/<uri>     the last year with captures, and a table of all if they are few
    GET /replay/1997*/<uri>     the captures of a year

How it works: a year is a stretch of the index of captures, so only its captures are read, and the
other years cost one look-up each. A day with one capture leads to it, one with several to its rows
in the table.

What must stay true: captures that the reader may not read are not in the index that is given here,
so they are neither shown nor counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from itertools import islice
from typing import Any

from perdure.archives.index.ranges import IndexRange, make_range
from perdure.archives.port import Capture, Captures
from perdure.server import pages
from perdure.server.apis import memento, memento_addresses
from perdure.server.common.answers import Answer, join_links
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.calendars import MONTHS, CalendarMonth, CountBar, make_bars, make_month

_PAGE = "timemap/html/"
MOST = 10_000
"""Captures of a year that a page shows."""
FEW = 500
"""Captures of all years that a page lists together."""
_MOST_COUNTED = 10_000  # captures of all years


async def list_captures(service: Service, request: Request) -> Answer:
    """Answer `/timemap/…`: with a page, or with the forms of Memento. Raises NotCaptured."""
    if not request.target.text.startswith(_PAGE):
        return await memento.list_mementos(service, request)
    return await show_year(service, request, memento_addresses.read_original_uri(request, _PAGE))


async def show_year(
    service: Service, request: Request, wanted: str, year: str | None = None
) -> Answer:
    """Answer with the captures of an address in a year, by default the last that has some.

    Raises NotCaptured.
    """
    captures, _, last = await asyncio.to_thread(memento.find_ends, service, request, wanted)
    return await asyncio.to_thread(
        _show_captures, service, request, captures, wanted, year or last.time[:4], is_all=not year
    )


def _show_captures(
    service: Service,
    request: Request,
    captures: Captures,
    wanted: str,
    year: str,
    *,
    is_all: bool,
) -> Answer:
    """Answer with the captures of an address in a year, at most `MOST` of them.

    With `is_all`, the table has those of all years if they are few.
    """
    whole = make_range(wanted, "exact")
    stretch = IndexRange(f"{whole.low}{year}", f"{whole.low}{year}~")
    found = list(islice(memento.select_mementos(captures, stretch), MOST + 1))
    rows = [_describe_capture(service, request, one) for one in found[:MOST]]
    listed = rows
    if is_all:
        everything = list(islice(memento.select_mementos(captures, whole), FEW + 1))
        if len(found) < len(everything) <= FEW:
            listed = [_describe_capture(service, request, one) for one in everything]
    place = memento_addresses.escape_for_path(wanted)
    body = pages.render_page(
        request.frame,
        "captures.html",
        uri=wanted,
        year=year,
        years=_make_years(captures, whole, place),
        months=_make_months(year, rows),
        captures=listed,
        is_shown=bool(service.settings.content_origin),
        is_one_year=listed is rows,
        more=len(found) > MOST,
        place=place,
    )
    links = join_links(memento.link_original(service, request, wanted))
    return pages.make_page(HTTPStatus.OK, body, *links)


def _describe_capture(service: Service, request: Request, one: Capture) -> dict[str, Any]:
    shown = memento_addresses.write_memento_uri(service, request, one)
    if service.settings.content_origin:
        shown = memento_addresses.write_framed_path(one)
    return {
        "day": one.time[:8],
        "date": one.date,
        "uri": one.uri,
        "status": one.status,
        "media_type": one.media_type,
        "address": shown,
        "raw": memento_addresses.write_raw_path(one),
    }


def _make_years(captures: Captures, whole: IndexRange, place: str) -> tuple[CountBar, ...]:
    """Return the years that have captures, with their numbers as far as they were counted."""
    counted: Counter[str] = Counter()
    last = ""
    for one in islice(memento.select_mementos(captures, whole), _MOST_COUNTED):
        last = one.time[:4]
        counted[last] += 1
    is_cut = counted.total() == _MOST_COUNTED
    years = [*counted, *(_list_later_years(captures, whole, last) if is_cut else ())]
    return make_bars(
        [
            (year, f"/replay/{year}*/{place}", None if is_cut and year >= last else counted[year])
            for year in years
        ]
    )


def _list_later_years(captures: Captures, whole: IndexRange, year: str) -> Iterator[str]:
    """Yield the years after one that have captures, with one look-up for each."""
    while one := memento.find_first(captures, IndexRange(f"{whole.low}{year}~", whole.high)):
        year = one.time[:4]
        yield year


def _make_months(year: str, rows: list[dict[str, Any]]) -> list[CalendarMonth]:
    counted = Counter(one["day"] for one in rows)
    single = {one["day"]: one["address"] for one in rows}
    highest = max(counted.values(), default=0)
    days: dict[int, dict[int, tuple[str, int | None]]] = {}
    for day, count in counted.items():
        href = single[day] if count == 1 else f"#day-{day}"
        days.setdefault(int(day[4:6]), {})[int(day[6:])] = href, count
    return [
        make_month(
            int(year),
            month,
            days.get(month, {}),
            highest=highest,
            count=sum(count or 0 for _, count in days.get(month, {}).values()),
        )
        for month in range(1, len(MONTHS) + 1)
    ]
