"""Webmentions: `POST /webmention` queues the report that a page elsewhere refers to a name here.

Specification: Webmention (W3C Recommendation, 2017), section 3.2.

How it works: the request is checked as far as that needs no other request, and answered with 202.
`perdure citations fetch` fetches the page later, in a process of its own. Landing pages name this
address in their `Link` field.

What must stay true: while the setting `webmentions` is off, nothing is queued.
"""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus

import msgspec

from perdure.errors.requests import MissingParameter
from perdure.model.parameters import read_parameters
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.upkeep.citations.received import ReceivedCitations
from perdure.upkeep.citations.receiving import receive_webmention, require_on

PATH = "webmention"
_LARGEST = 16 * 1024  # bytes
_MANUAL = "docs/reference/citations.md"


async def take_webmention(service: Service, request: Request) -> Answer:
    """Answer POST to `/webmention`. Raises Forbidden, InvalidRequest, TooLarge, ReportsTooMany."""
    require_on(service.registry)
    body = await read_whole_body(request, _LARGEST)
    given = read_parameters(body.decode("utf-8", "replace"))
    for name in ("source", "target"):
        if not given.get(name):
            raise MissingParameter(request="webmention", parameter=name, manual=_MANUAL)
    is_new = await service.run_cutter(_queue, service, given["source"], given["target"])
    told = {"status": "queued", "known": not is_new}
    fields = ((b"cache-control", b"no-store"),)
    return make_answer(HTTPStatus.ACCEPTED, "application/json", msgspec.json.encode(told), *fields)


def _queue(service: Service, source: str, target: str) -> bool:
    with closing(ReceivedCitations(service.registry)) as received:
        return receive_webmention(service.registry, received, source, target)
