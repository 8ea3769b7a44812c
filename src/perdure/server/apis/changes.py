"""Numbered changes over HTTP: `/changes`.

    GET /changes?since=<mark>&limit=<n>         public rows, for everyone
    GET /changes?since=<mark>&limit=<n>&full    full rows, for tokens with the right `mirror`

How it works: an answer has the rows after `since`, one per line, up to `limit`. With
`Prefer: wait=30` (RFC 7240), a request for which there is no row yet waits at most 30 seconds for
the next change (`perdure.server.common.change_watch`). At most `MOST_WAITING` requests
wait; further ones are answered at once. Changes within the scopes of the token have full rows, the
others public ones. `full=stored` leaves out the lines in the form of `perdure import`. The field
`Perdure-Head` says which change is the last one, so that a mirror knows how far behind it is. The
mark that a mirror of everything asks with is noted, for writes that wait for mirrors. If the mirror
asks ahead of what is durable there, `have` is the durable mark, and is noted in its place.

What must stay true: a request that waits holds no thread. Rows are made from durable changes only,
and all rows of an answer from one state of the registry.
"""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus

from perdure.model.changes import ChainHead, ChangeMark
from perdure.model.parameters import read_number
from perdure.server.common import mirrors
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep.changes import rows

MEDIA_TYPE = "application/jsonl"
STORED = "stored"
"""The value of `full` that asks for no lines in the form of `perdure import`."""
HEAD = b"perdure-head"
"""The field with the mark of the last change."""
LIMIT, MOST = 1000, 10_000
LONGEST_WAIT = 60  # seconds
MOST_WAITING = 256
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,4})", re.ASCII | re.IGNORECASE)
_NO_CACHE = (b"cache-control", b"no-cache")
_PRIVATE = (b"cache-control", b"no-store")
_VARY = (b"vary", b"prefer")


async def list_changes(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/changes`.

    Raises InvalidRequest, Conflict if `since` is not a change of this registry, or Unauthenticated
    or Forbidden for full rows.
    """
    asked = request.parameters
    mirror = mirrors.check_mirror(service, request) if "full" in asked else None
    limit = read_number("limit", asked.get("limit", str(LIMIT)), 1, MOST)
    mark = service.registry.mark(asked["since"]) if "since" in asked else None
    have = service.registry.mark(asked["have"], "have") if "have" in asked else mark
    matched = _WAIT.search(request.read_field(b"prefer"))
    seconds = min(int(matched[1]), LONGEST_WAIT) if matched else 0
    page = _Page(service, mark, limit, mirror, with_import=asked.get("full") != STORED)
    seen = service.count_changes()
    read = service.read_list if mirror is None else service.run_cutter
    body, head = await read(page.write_rows)
    if mirror is not None and mirror.covers_all and mark is not None and have is not None:
        await service.run_cutter(_note_mark, service, mirror.name, min(mark, have))
    applied = []
    if not body and seconds and service.change_watch.waiting_count < MOST_WAITING:
        applied.append((b"preference-applied", b"wait=%d" % seconds))
        await service.change_watch.wait_beyond(seen, seconds)
        body, head = await read(page.write_rows)
    if head is not None:
        applied.append((HEAD, f"{head.epoch}.{head.number}".encode()))
    kept = _NO_CACHE if mirror is None else _PRIVATE
    return make_answer(HTTPStatus.OK, MEDIA_TYPE, body, kept, _VARY, *applied)


def _note_mark(service: Service, name: str, mark: ChangeMark) -> None:
    """Note what a mirror has. A directory that cannot be written does not stop the rows."""
    with suppress(OSError):
        service.mirror_marks.note_mark(name, mark)


class _Page:
    """The rows that a request asks for."""

    def __init__(
        self,
        service: Service,
        mark: ChangeMark | None,
        limit: int,
        mirror: mirrors.MirrorRights | None,
        *,
        with_import: bool,
    ) -> None:
        self._records = service.registry.records
        self._mark, self._limit = mark, limit
        self._mirror, self._with_import = mirror, with_import

    def write_rows(self) -> tuple[bytes, ChainHead | None]:
        """The rows there are now, and the last change."""
        records, mirror = self._records, self._mirror
        with records.hold_snapshot():
            found = records.list_changes(self._mark, limit=self._limit)
            writer = rows.RowWriter(records)
            if mirror is None:
                lines = writer.write_public(found)
            else:
                lines = writer.write_full(found, mirror.select_lines, with_import=self._with_import)
            return b"".join(lines), records.find_head()
