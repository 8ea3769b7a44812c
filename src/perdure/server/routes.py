"""The map of the server: which function answers what. Read this first.

A request is about a page of the server or about an identifier; identifiers have a colon in them.

    GET HEAD  /                            own.start            PAGES
    GET HEAD  /healthz /readyz /metrics    own
    GET HEAD  /cdx?url=<url>               cdx.answer
    GET HEAD  /changes?since=<mark>        changes.answer
    GET HEAD  /timegate/<uri>              memento.timegate
    GET HEAD  /timemap/<form>/<uri>        memento.timemap
    GET HEAD  /replay/<time>/<uri>         replay.answer        the replay origin has nothing else
    GET HEAD  /problems/<code>             own.explanation      UNDER
    GET HEAD  /uri-res/<service>?<uri>     thttp.answer
    GET HEAD  /iiif/<version>/<id>/…       iiif.answer
    any       /api/handles/<handle>        handles.answer       APIS
    any       /hrls/handles/?<type>=<text> handle_search.answer
    any       /tokens /tokens/<name>       granting.answer
    POST      /captures?url=<url>          capturing.answer
    GET HEAD  <identifier>                 reading.get          METHODS
    PUT       <identifier or series>       writing.put
    POST      <identifier>?<operation>     operating.post
    PUT POST  <identifier>?metadata        metadata.put, metadata.post
    OPTIONS TRACE DELETE                   methods

How it works: `Application` is the ASGI application for requests (`perdure.server.serve` adds what
lives as long as the process). It makes a `Request` of the scope, finds the
handler here, and sends the `Answer` that it returns; an error of our tree becomes a problem
document in one place. `perdure.server.protocol.http` answers malformed HTTP before it gets here,
and `perdure.server.fast.path` the plain redirects.

What must stay true: a handler is `async (service, request) -> Answer` and does nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from perdure.errors import Corrupt, PerdureError, Unavailable
from perdure.server.apis import (
    capturing,
    cdx,
    changes,
    granting,
    handle_search,
    handles,
    iiif,
    memento,
    replay,
    thttp,
)
from perdure.server.common import logs, problems, signatures
from perdure.server.common.answers import Answer, begin, send
from perdure.server.common.request import Receive, Request, Scope, Send
from perdure.server.common.service import Service
from perdure.server.pages import own
from perdure.server.protocol.doctor import echo_answer
from perdure.server.resource import metadata, methods, reading

Handler = Callable[[Service, Request], Awaitable[Answer]]


PAGES: dict[str, Handler] = {
    "": own.start,
    "healthz": own.health,
    "readyz": own.readiness,
    "metrics": own.metrics,
    "cdx": cdx.answer,
    "changes": changes.answer,
}
UNDER: dict[str, Handler] = {
    "problems": own.explanation,
    "uri-res": thttp.answer,
    "iiif": iiif.answer,
    "timegate": memento.timegate,
    "timemap": memento.timemap,
    "replay": replay.answer,
}
APIS: dict[str, Handler] = {
    "api/handles": handles.answer,
    "hrls/handles": handle_search.answer,
    "tokens": granting.answer,
    "captures": capturing.answer,
}
METHODS: dict[str, Handler] = {
    "GET": reading.get,
    "HEAD": reading.get,
    "PUT": metadata.put,
    "POST": metadata.post,
    "OPTIONS": methods.options,
    "TRACE": methods.trace,
    "DELETE": methods.delete,
}


_SIGNED = frozenset(("PUT", "POST", "DELETE"))  # to readers it makes no difference who asks


def find(request: Request) -> Handler | None:
    """The handler of a request; None where there is no such page."""
    if not request.target.is_page:
        return METHODS.get(request.method, methods.undefined)
    if request.method == "OPTIONS" and request.raw == b"*":
        return methods.options
    text = request.target.text
    first = text.partition("/")[0]
    api = APIS.get("/".join(text.split("/", 2)[:2])) or APIS.get(first)
    if api is not None:
        return api
    page = PAGES.get(text) or UNDER.get(first)
    if page is None or request.method in ("GET", "HEAD"):
        return page
    return METHODS[request.method] if request.method in ("OPTIONS", "TRACE") else methods.undefined


class Application:
    """The resolver as an ASGI application."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._log = logs.log()

    async def __call__(self, scope: Scope, receive: Receive, to: Send) -> None:
        start = time.perf_counter()
        echo = echo_answer(scope)
        if echo is not None:
            fields, body = echo
            await send(Answer(HTTPStatus.OK, fields, body), scope, receive, to)
            return
        request = Request(scope, receive, self._service.settings.base_url)
        answer = await self._answer(request)
        try:
            sent = await send(answer, scope, receive, to)
        except Corrupt as error:
            self._log.error("corrupt", detail=str(error))
            raise
        except asyncio.CancelledError:  # the server stops: what cannot be completed is cut off
            self._log.warning("cut off", method=request.method, status=answer.status)
            return
        seconds = time.perf_counter() - start
        self._service.metrics.answered(request.method, answer.status, seconds, sent)
        if logs.chatty():
            self._log.debug(
                "request",
                method=request.method,
                target=request.raw.decode("ascii"),
                status=answer.status,
                bytes=sent,
                seconds=round(seconds, 6),
            )

    async def _answer(self, request: Request) -> Answer:
        on_replay = replay.is_replay_origin(self._service, request)
        handler = replay.on_its_origin if on_replay else find(request)
        if handler is None:
            return problems.answer(problems.no_such_page(request.target.text), request)
        try:
            asks_who = request.method in _SIGNED or handler is granting.answer
            if asks_who and signatures.SCHEME in request.fields:
                request.signer = await signatures.authenticate(self._service, request)
            answer = await handler(self._service, request)
            return answer if request.method == "HEAD" else await begin(answer)
        except PerdureError as error:
            return problems.answer(problems.noted(error, request.method), request)
        except asyncio.CancelledError:  # by uvicorn only, when the time of a graceful stop is up
            stopped = Unavailable(what="this request", reason="the server stops")
            return problems.answer(problems.noted(stopped, request.method), request)
