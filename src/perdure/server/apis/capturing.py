"""Capturing over HTTP, if the operator has enabled it: `POST /captures?url=<url>`.

The answer is 201 with the PWID, a list of the resources that were recorded, and a list of those
that are missing.

How it works: a capture runs in a thread with an event loop of its own, so that compressing the
responses does not delay other requests. A worker runs at most `AT_ONCE` captures; further requests
are answered with Unavailable and can be repeated later.

What must stay true: nothing is captured unless the setting `capture` is `on` and a token grants
`register` for the PWIDs of this registry's own archive. The caller chooses a URL and nothing else;
the operator sets bounds and networks.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import msgspec

from perdure.archives.capture import capturing
from perdure.archives.pwid.making import make_pwid
from perdure.errors.processes import TooBusy
from perdure.errors.requests import MissingParameter
from perdure.server.common import auth, problems
from perdure.server.common.answers import Answer, escape_uri, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import AT_ONCE, Service
from perdure.server.common.target_kinds import TargetKind

_BOUNDS = capturing.Bounds(requests=300, wire=128 << 20, seconds=60)
_LARGEST = 16 << 20  # bytes of one response
_SECONDS = 30  # for one response


async def capture_page(service: Service, request: Request) -> Answer:
    """Answer `POST /captures`.

    Raises Unauthenticated, Forbidden, InvalidRequest, Unavailable, or the errors of a capture.
    """
    if service.settings.capture != "on" or request.target.text != "captures":
        return problems.answer_problem(problems.no_such_page(request.target.text), request)
    if request.method != "POST":
        allow = request.allow[TargetKind.PAGE]
        return problems.answer_problem(problems.not_allowed(request.method, allow), request)
    caller = auth.find_bearer(service, request)
    own = service.settings.archive_id
    url = request.parameters.get("url", "")
    if not url:
        raise MissingParameter(request="the capture", parameter="url")
    auth.check_right(
        service, caller, "register", make_pwid(own, auth.current_time(service), "page", url)
    )
    if service.capturing.locked():
        raise TooBusy(task="capturing", under_way=f"{AT_ONCE} captures")
    async with service.capturing:
        captured, file = await asyncio.to_thread(
            capturing.capture_into_library,
            url,
            service.registry.archive,
            service.registry.incoming,
            fetcher=capturing.make_fetcher(service.settings, body=_LARGEST, seconds=_SECONDS),
            archive_id=own,
            bounds=_BOUNDS,
        )
    body = msgspec.json.encode(captured.as_dict() | {"file": file})
    place = escape_uri(f"{request.base_url}/{captured.pwid}")
    return make_answer(HTTPStatus.CREATED, "application/json", body, (b"location", place))
