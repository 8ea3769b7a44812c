"""Lists of DOIs in DataCite's REST API: those of a prefix, and those that a query finds.

How it works: the DOIs of a prefix are scanned in the order of their keys. A query is read by
`perdure.server.apis.datacite_query` and answered by the search, the newest first.

What must stay true: no list has, counts or hints at a draft, or what this reader may not have.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from perdure.errors import PerdureError
from perdure.errors.exchanging import CursorForeign, RecordWithoutName
from perdure.errors.searching import SearchOff
from perdure.ids import Identifier, parse
from perdure.reading.scanning import DamagedRecord, scan_readable
from perdure.server.apis import datacite_query, searching, whole_records
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep.exchange import datacite

_PAGE, _LARGEST_PAGE, _ROWS = 25, 1000, 512
_FIRST_CURSOR = "1"
"""The cursor with which clients of DataCite begin."""
_ROUNDS = 8
"""Searches for one page, if much of what is found is not shown."""


async def list_dois(service: Service, request: Request) -> dict[str, Any]:
    """List the DOIs of a prefix, or those that a query finds, that are not drafts, in pages.

    Raises InvalidRequest, SearchOff.
    """
    given = request.parameters
    prefix = given.get("prefix", "")
    if given.get("query", "").strip():
        return await _search_dois(service, request, given["query"], prefix)
    size = _read_number(given.get("page[size]", ""), _PAGE, _LARGEST_PAGE)
    if not prefix:
        raise RecordWithoutName(places=("prefix",))
    beginning = parse(f"doi:{prefix}/x").key.removesuffix("x")
    end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    low = given.get("page[cursor]", "") or beginning
    if not beginning <= low < end:
        raise CursorForeign()
    found, following = await service.read_list(_list_page, service, request, low, end, size)
    members: dict[str, Any] = {"data": found, "meta": {"total": len(found)}, "links": {}}
    if following is not None:
        pairs = {"prefix": prefix, "page[size]": size, "page[cursor]": following}
        members["links"]["next"] = f"{request.base_url}/dois?{urlencode(pairs)}"
    return members


async def _search_dois(
    service: Service, request: Request, query: str, prefix: str
) -> dict[str, Any]:
    """List the DOIs that a query finds and that are not drafts, in pages, the newest first.

    Raises ForeignQueryUnsupported, InvalidRequest, SearchOff.
    """
    if service.settings.search != "on":
        raise SearchOff()
    given = request.parameters
    size = _read_number(given.get("page[size]", ""), _PAGE, searching.MOST)
    cursor = given.get("page[cursor]", "")
    before = _read_number(cursor, 0, searching.LAST_CURSOR) or None
    if before is None and cursor:
        raise CursorForeign()
    if cursor == _FIRST_CURSOR:
        before = None
    selection = datacite_query.read_doi_query(query).select(prefix)
    found: list[dict[str, Any]] = []
    for _ in range(_ROUNDS):  # drafts and other names leave gaps
        search = await searching.search_index(
            service, request, selection, before, size - len(found)
        )
        names = [parse(one.identifier).resource for one in search.page.documents]
        found += await service.read_list(_show_found, service, request, names)
        before = search.page.cursor
        if before is None or len(found) >= size:
            break
    members: dict[str, Any] = {"data": found, "meta": {"total": len(found)}, "links": {}}
    if before is not None:
        pairs = {"query": query, "prefix": prefix, "page[size]": size, "page[cursor]": before}
        members["links"]["next"] = f"{request.base_url}/dois?{urlencode(pairs)}"
    return members


def _show_found(
    service: Service, request: Request, names: list[Identifier]
) -> list[dict[str, Any]]:
    """Show those of some names that are DOIs, and not drafts."""
    found: list[dict[str, Any]] = []
    for name in names:
        if not str(name).startswith("doi:"):
            continue
        try:
            exported = whole_records.find_exported(service, request, name, request.base_url)
        except PerdureError:
            continue  # this reader may not have it
        shown = datacite.write_doi(exported)
        if shown["attributes"]["state"] != datacite.DRAFT:
            found.append(shown)
    return found


def _read_number(text: str, usual: int, most: int) -> int:
    return min(int(text), most) if text.isascii() and text.isdigit() and int(text) else usual


def _list_page(
    service: Service, request: Request, low: str, high: str | None, size: int
) -> tuple[list[dict[str, Any]], str | None]:
    """List DOIs from a key on, and the key after them."""
    found: list[dict[str, Any]] = []
    following: str | None = low
    while following is not None and len(found) < size:
        batch, following = scan_readable(
            service.registry.records, following, high, limit=min(_ROWS, size - len(found))
        )
        for row in batch:
            if isinstance(row, DamagedRecord) or row.record.tombstone is not None:
                continue
            try:
                exported = whole_records.find_exported(service, request, row.name, request.base_url)
            except PerdureError:
                continue  # this reader may not have it
            shown = datacite.write_doi(exported)
            if shown["attributes"]["state"] != datacite.DRAFT:
                found.append(shown)
    return found, following
