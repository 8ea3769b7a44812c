"""Listing the handles of a prefix, and finding handles by their values.

    GET /api/handles?prefix=21.T14999&page=0&pageSize=100
    GET /hrls/handles/?URL=*example.org*&CHECKSUM=…

How it works: a listing walks the keys of the prefix. A search for a complete value uses the index
of references. A search with `*` in every value cannot use an index, so it looks at handles in the
order of their keys, a bounded number for each request. If there is more, the answer says where to
continue: `cursor` in a listing, a link `next` in a search.

What must stay true: one request looks at no more than `MOST_COUNTED` or `MOST_LOOKED` records, in
a thread of its own. Only values that everyone may read are searched. A handle whose record is
damaged hides no other and is named in the answer: in the member `damaged` of a listing, and in the
field `Perdure-Damaged` of a search, whose body is a plain array of names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlencode

import http_sf
import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.errors.requests import CriteriaNeeded, PatternTooComplex
from perdure.ids import parse
from perdure.model.parameters import Parameters, list_pairs, read_number
from perdure.model.queries import Reader
from perdure.model.records import IdentifiedRecord, Record
from perdure.policy.handles import names
from perdure.policy.handles.admins import Permission
from perdure.policy.handles.values import is_shown, list_values
from perdure.reading.scanning import DamagedRecord, ScannedRecord, scan_readable
from perdure.server.apis import handle_admins, handle_codes
from perdure.server.apis.handle_codes import HandleCode
from perdure.server.common import logs
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_answer,
    write_link,
)
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service

MOST_COUNTED = 100_000
MOST_LOOKED = 20_000
_LARGEST_PAGE = 10_000
_HIGHEST = 10**9 - 1  # of a page or a size that is asked for
_ROWS = 512
_MOST_CRITERIA = 10
_LONGEST_PATTERN = 1000  # characters
_MOST_STARS = 20
_OWN = ("limit", "cursor", "page")
_LIST = frozenset((Permission.LIST_HANDLES,))
_MOST_DAMAGED = 16
"""The most names in a field; the log has all of them."""

Criteria = tuple[tuple[str, str], ...]


class _FoundHandles(NamedTuple):
    """Handles, those that cannot be read, and the cursor from which to continue, if any."""

    handles: list[str]
    damaged: list[str]
    cursor: str | None
    total: int = 0


# the handles of a prefix
# -----------------------


async def list_handles(service: Service, request: Request) -> Answer:
    """List the handles of a prefix, as Handle.Net does. `cursor` continues after a page.

    Raises InvalidRequest, Unauthenticated or Forbidden.
    """
    given = request.parameters
    prefix = given.get("prefix", "")
    example = names.read_handle(f"{prefix}/*")  # raises if it is not a prefix
    who = await handle_admins.identify_actor(service, request)
    handle_admins.check_permission(service, who, "bind", example, (), _LIST)
    size = min(_read_number(given, "pageSize", service.settings.page_size), _LARGEST_PAGE)
    page = _read_number(given, "page", 0)
    cursor = given.get("cursor") or None
    low = f"{example.key.rpartition('*')[0]}"
    found: _FoundHandles = await service.read_list(
        _list_page, service, low, cursor, page * size, size
    )
    members: dict[str, Any] = {}
    if found.cursor is not None:
        members["cursor"] = found.cursor
    if found.damaged:
        members["damaged"] = found.damaged
    return handle_codes.write_answer(
        HandleCode.SUCCESS,
        None,
        (b"cache-control", b"no-store"),
        prefix=prefix,
        totalCount=str(found.total),
        page=page,
        pageSize=size,
        handles=found.handles,
        **members,
    )


def _read_number(given: Parameters, name: str, otherwise: int) -> int:
    text = given.get(name, "")
    if text in ("", "-1"):
        return otherwise
    return read_number(name, text, 0, _HIGHEST)


def _list_page(
    service: Service, low: str, cursor: str | None, skipped: int, size: int
) -> _FoundHandles:
    """The handles of a page and their total. There is a cursor if counting stopped early."""
    found: list[str] = []
    damaged: list[str] = []
    total = 0
    last = None
    for looked, (key, identifier, record) in enumerate(
        _walk_records(service, low, cursor, damaged)
    ):
        if looked == MOST_COUNTED:
            return _FoundHandles(found, damaged, last, total)
        last = key
        if record.tombstone:
            continue
        if skipped <= total < skipped + size:
            found.append(names.spell_handle(identifier))
        total += 1
    return _FoundHandles(found, damaged, None, total)


def _walk_records(
    service: Service, low: str, cursor: str | None, damaged: list[str]
) -> Iterator[ScannedRecord]:
    """Readable records whose keys begin with `low`, in key order, after the cursor.

    The handles of damaged ones are added to `damaged`.
    """
    high = low[:-1] + chr(ord(low[-1]) + 1)
    start: str | None = max(low, f"{cursor}\0") if cursor else low
    while start is not None:
        rows, start = scan_readable(service.registry.records, start, high, limit=_ROWS)
        for row in rows:
            if isinstance(row, DamagedRecord):
                damaged.append(_name_damaged(row.error))
            else:
                yield row


def _name_damaged(error: Corrupt) -> str:
    """Log a damaged record and return its handle, as well as the handle is known."""
    logs.get_log().error("corrupt", detail=str(error))
    with suppress(PerdureError):
        return names.spell_handle(parse(error.identifier))
    return error.identifier


# handles by their values
# -----------------------


async def search_handles(service: Service, request: Request) -> Answer:
    """List the handles whose values match all criteria: `/hrls/handles/?URL=*x*`."""
    try:
        await handle_admins.identify_actor(service, request)
        return await _search_values(service, request)
    except PerdureError as error:
        return handle_codes.answer_error(error, None, request.method)


async def _search_values(service: Service, request: Request) -> Answer:
    pairs = list_pairs(request.target.question or "", keep_blank=False)
    criteria = tuple((name, text) for name, text in pairs if name not in _OWN)
    given = Parameters(pairs)
    _check_criteria(criteria)
    limit = min(_read_number(given, "limit", service.settings.page_size), _LARGEST_PAGE)
    exact = next((one for one in criteria if "*" not in one[1]), None)
    found: _FoundHandles
    reader = find_reader(service, request)
    if exact is not None:
        found = await service.read_list(
            _find_through_index, service, reader, exact, criteria, limit
        )
    else:
        found = await service.read_list(
            _scan_handles, service, reader, criteria, given.get("cursor"), limit
        )
    fields: Fields = [(b"cache-control", b"no-store")]
    if found.cursor is not None:
        following = urlencode([*criteria, ("limit", limit), ("cursor", found.cursor)])
        fields += join_links([write_link(f"{request.base_url}/hrls/handles/?{following}", "next")])
    if found.damaged:
        listed = [escape_uri(one).decode() for one in found.damaged[:_MOST_DAMAGED]]
        fields.append((b"perdure-damaged", http_sf.ser([(one, {}) for one in listed]).encode()))
    return make_answer(
        HTTPStatus.OK,
        "application/json;charset=UTF-8",
        msgspec.json.encode(found.handles),
        *fields,
    )


def _check_criteria(criteria: Criteria) -> None:
    if not 0 < len(criteria) <= _MOST_CRITERIA:
        raise CriteriaNeeded(most=_MOST_CRITERIA)
    for name, pattern in criteria:
        if len(pattern) > _LONGEST_PATTERN or pattern.count("*") > _MOST_STARS:
            raise PatternTooComplex(name=name, longest=_LONGEST_PATTERN, stars=_MOST_STARS)


def _is_found(
    service: Service, reader: Reader, found: IdentifiedRecord, criteria: Criteria
) -> bool:
    """Return True if a record matches all criteria, as far as the reader may see it."""
    if not matches_criteria(found.record, criteria):
        return False
    guard = service.reading.find_guard(found.identifier, reader)
    if guard is None:
        return True
    return guard.is_admitted() and matches_criteria(guard.show(found.record), criteria)


def _find_through_index(
    service: Service, reader: Reader, exact: tuple[str, str], criteria: Criteria, limit: int
) -> _FoundHandles:
    """Find handles by a complete value, through the index."""
    kind, text = exact
    references = [f"value:{kind}:{text}"]
    if kind == "URL":
        references.append(f"location:{text}")
    found: list[str] = []
    damaged: list[str] = []
    for row in islice(service.listings.walk_referring(references), MOST_LOOKED):
        if isinstance(row, DamagedRecord):
            damaged.append(_name_damaged(row.error))
        elif _is_found(service, reader, IdentifiedRecord(row.name, row.record), criteria):
            found.append(names.spell_handle(row.name))
            if len(found) == limit:
                break
    return _FoundHandles(found, damaged, None)


def _scan_handles(
    service: Service, reader: Reader, criteria: Criteria, cursor: str | None, limit: int
) -> _FoundHandles:
    """Find handles by looking at the next ones. There is a cursor if there are more."""
    found: list[str] = []
    damaged: list[str] = []
    last = None
    for looked, (key, identifier, record) in enumerate(
        _walk_records(service, "hdl:", cursor, damaged)
    ):
        if looked == MOST_LOOKED or len(found) == limit:
            return _FoundHandles(found, damaged, last)
        last = key
        if _is_found(service, reader, IdentifiedRecord(identifier, record), criteria):
            found.append(names.spell_handle(identifier))
    return _FoundHandles(found, damaged, None)


def matches_criteria(record: Record, criteria: Criteria) -> bool:
    """True if a record has, for each criterion, a matching public value of that type."""
    if record.tombstone:
        return False
    held = [one for one in list_values(record) if is_shown(one, to_admin=False)]
    return all(
        any(one.type == kind and matches_pattern(pattern, one.data) for one in held)
        for kind, pattern in criteria
    )


def matches_pattern(pattern: str, text: str) -> bool:
    """True if a text matches a pattern, in which `*` stands for any characters.

    >>> matches_pattern("*exam*.org", "http://example.org"), matches_pattern("exam*", "an example")
    (True, False)
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return at <= end and text.endswith(last)
