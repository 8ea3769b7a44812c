"""Numbered changes over HTTP: `/changes`.

    GET /changes?since=<mark>&limit=<n>         public rows, for everyone
    GET /changes?since=<mark>&limit=<n>&full    full rows, for tokens with the right `mirror`

How it works: an answer has the rows after `since`, one per line, up to `limit`. With
`Prefer: wait=30` (RFC 7240), a request for which there is no row yet waits at most 30 seconds for
the next change, which it notices by `perdure.storage.generation`. At most `MOST_WAITING` requests
wait; further ones are answered at once. Changes within the scopes of the token have full rows, the
others public ones.

What must stay true: a request that waits holds no thread. Rows are made from durable changes only.
"""

from __future__ import annotations

import asyncio
import re
import time
from http import HTTPStatus
from urllib.parse import parse_qsl

from perdure.errors import Forbidden
from perdure.errors.credentials import RightMissing
from perdure.model.changes import BEGIN, RULE, TOKEN, Change, ChangeMark
from perdure.model.parameters import Parameters, read_number
from perdure.model.records import Token
from perdure.policy import rights
from perdure.policy.naming import identify_record
from perdure.server.common import auth
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep.changes import rows

MEDIA_TYPE = "application/jsonl"
RIGHT = "mirror"
LIMIT, MOST = 1000, 10_000
LONGEST_WAIT = 60  # seconds
MOST_WAITING = 256
_LOOK_EVERY = 0.05  # seconds
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,4})", re.ASCII | re.IGNORECASE)
_NO_CACHE = (b"cache-control", b"no-cache")
_PRIVATE = (b"cache-control", b"no-store")
_VARY = (b"vary", b"prefer")


async def list_changes(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/changes`.

    Raises InvalidRequest, Conflict if `since` is not a change of this registry, or Unauthenticated
    or Forbidden for full rows.
    """
    asked = Parameters(parse_qsl(request.target.question or "", keep_blank_values=True))
    chain = _check_mirror(service, request) if "full" in asked else None
    limit = read_number("limit", asked.get("limit", str(LIMIT)), 1, MOST)
    mark = service.registry.mark(asked["since"]) if "since" in asked else None
    matched = _WAIT.search(request.read_field(b"prefer"))
    seconds = min(int(matched[1]), LONGEST_WAIT) if matched else 0
    seen = service.count_changes()
    found = await _fetch_changes(service, mark, limit)
    applied = []
    if not found and seconds and service.waiting_count < MOST_WAITING:
        applied.append((b"preference-applied", b"wait=%d" % seconds))
        await _wait_for_change(service, seen, seconds)
        found = await _fetch_changes(service, mark, limit)
    body = await service.run_cutter(_write_rows, service, found, chain)
    kept = _NO_CACHE if chain is None else _PRIVATE
    return make_answer(HTTPStatus.OK, MEDIA_TYPE, body, kept, _VARY, *applied)


async def _fetch_changes(service: Service, mark: ChangeMark | None, limit: int) -> list[Change]:
    found: list[Change] = await service.run_cutter(_scan_changes, service, mark, limit)
    return found


def _scan_changes(service: Service, mark: ChangeMark | None, limit: int) -> list[Change]:
    return service.registry.records.list_changes(mark, limit=limit)


async def _wait_for_change(service: Service, seen: int, seconds: int) -> None:
    """Wait until there is another change, or until the time is over."""
    end = time.monotonic() + seconds
    with service.count_as_waiting():
        # Another process writes the count into shared memory, so nothing can call us back.
        while service.count_changes() == seen and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)


def _check_mirror(service: Service, request: Request) -> tuple[Token, ...]:
    """The token of a mirror, and the tokens from which it was granted."""
    token = auth.find_bearer(service, request)
    chain = tuple(service.bearers.trace_chain(token)) if token.granted_by else (token,)
    for one in chain:
        rights.check_valid(one, auth.current_time(service))
    if RIGHT not in token.operations:
        raise RightMissing(who=token.name, needed=RIGHT)
    return chain


def _write_rows(service: Service, found: list[Change], chain: tuple[Token, ...] | None) -> bytes:
    records = service.registry.records
    epochs = records.list_epochs()
    lines: list[bytes] = []
    for change in found:
        if chain is not None and _may_mirror(service, chain, change):
            lines += rows.write_full_lines(records, change, epochs)
        else:
            lines.append(rows.write_public_line(records, change, epochs))
    return b"".join(lines)


def _covers_all(token: Token) -> bool:
    """True if a token is about all names: only then may its bearer see all reading rules."""
    dated = token.first_day or token.last_day
    return RIGHT in token.operations and "*" in token.authorities and not dated


def _may_mirror(service: Service, chain: tuple[Token, ...], change: Change) -> bool:
    """True if a mirror may have the full rows of a change."""
    if change.act == BEGIN:
        return True
    if change.act == TOKEN:
        return False
    now = auth.current_time(service)
    if change.act == RULE:
        return all(_covers_all(one) for one in chain)
    try:
        for key in {change.first, change.last}:
            record = service.registry.records.find_record(key)
            if record is None:
                return False
            rights.check_right(chain, RIGHT, rights.make_object(identify_record(key, record)), now)
    except Forbidden:
        return False
    return True
