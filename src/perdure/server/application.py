"""The map of the server: which function answers which request. Read this first.

A request is about a page of the server or about an identifier; identifiers have a colon in them.

    GET HEAD  /                                 own.start
    GET HEAD  /healthz                          own.health
    GET HEAD  /readyz                           own.readiness
    GET HEAD  /metrics                          own.metrics
    GET HEAD  /problems/<code>                  own.explanation
    GET HEAD  /uri-res/<service>?<uri>          thttp.answer
    GET HEAD  /iiif/<version>/<name>            iiif.answer
    GET HEAD  /iiif/<version>/<name>/info.json  iiif.answer
    GET HEAD  /iiif/<version>/<name>/…          iiif.answer
    GET HEAD  /cdx?url=<url>                    cdx.answer
    GET HEAD  /timegate/<uri>                   memento.timegate
    GET HEAD  /timemap/<form>/<uri>             memento.timemap
    GET HEAD  /replay/<time>/<uri>              replay.answer
    GET HEAD  /openapi.json                     table.publish_openapi
    GET HEAD  /api/handles/<handle>             handles.answer
    POST      /api/handles/<handle>             handles.answer
    PUT       /api/handles/<handle>             handles.answer
    DELETE    /api/handles/<handle>             handles.answer
    TRACE     /api/handles/<handle>             handles.answer
    OPTIONS   /api/handles/<handle>             handles.answer
    GET HEAD  /api/handles?prefix=<prefix>      handles.answer
    TRACE     /api/handles                      handles.answer
    OPTIONS   /api/handles                      handles.answer
    GET HEAD  /hrls/handles/?<type>=<text>      handle_search.answer
    GET HEAD  /tokens                           granting.answer
    GET HEAD  /tokens/<name>                    granting.answer
    POST      /tokens                           granting.answer
    POST      /tokens/<name>?revoke             granting.answer
    POST      /captures?url=<url>               capturing.answer
    GET HEAD  /changes?since=<mark>&limit=<n>   changes.answer
    OPTIONS   every page                        methods.options
    TRACE     every page                        methods.trace
    GET HEAD  <identifier>                      reading.get
    OPTIONS   <identifier>                      methods.options
    TRACE     <identifier>                      methods.trace
    PUT       <identifier>                      metadata.put
    PUT       <identifier>?metadata             metadata.put
    POST      <identifier>?mint                 metadata.post
    POST      <identifier>?register             metadata.post
    POST      <identifier>?bind                 metadata.post
    POST      <identifier>?break                metadata.post
    POST      <identifier>?alias                metadata.post
    POST      <identifier>?metadata             metadata.post
    POST      <identifier>?withdraw             metadata.post
    DELETE    <identifier>                      methods.delete

How it works: `Application` is the ASGI application for requests (`perdure.server.serve` adds the
objects that live as long as the process). It makes a `Request` from the scope, finds the handler in
the table of routes (`perdure.server.routes`), and sends the `Answer` that the handler returns. A
perdure error becomes a problem document here, in one place. Malformed HTTP does not reach it:
`perdure.server.protocol.http` answers that, and `perdure.server.fast.path` answers plain redirects.

`tools/route_tables.py` writes the map above from the table of routes.

What must stay true: a handler is `async (service, request) -> Answer` and does nothing else.
"""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus

from perdure.errors import Corrupt, PerdureError
from perdure.errors.processes import Stopping
from perdure.server.apis import replay
from perdure.server.common import logs, problems, signatures
from perdure.server.common.answers import Answer, begin, send
from perdure.server.common.request import Receive, Request, Scope, Send
from perdure.server.common.service import Service
from perdure.server.protocol.doctor import echo_answer
from perdure.server.routes.dispatch import Found, allow_on_replay, find_handler

_ON_REPLAY = Found(replay.on_its_origin, allow_on_replay())


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
        except asyncio.CancelledError:  # the server stops: cut off what cannot be completed
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
        found = (
            _ON_REPLAY if on_replay else find_handler(request.method, request.target, request.raw)
        )
        if found is None:
            return problems.answer(problems.no_such_page(request.target.text), request)
        request.allow = found.allow
        try:
            if found.asks_who and signatures.SCHEME in request.fields:
                request.signer = await signatures.authenticate(self._service, request)
            answer = await found.handler(self._service, request)
            return answer if request.method == "HEAD" else await begin(answer)
        except PerdureError as error:
            return problems.answer(problems.noted(error, request.method), request)
        except asyncio.CancelledError:  # only by uvicorn, when the time of a graceful stop is up
            stopped = Stopping(task="this request")
            return problems.answer(problems.noted(stopped, request.method), request)
