"""The map of the server: which function answers which request. Read this first.

A request is about a page of the server or about an identifier; identifiers have a colon in them.

    GET HEAD  /                                                     own.show_start
    GET HEAD  /authorities                                          own.list_authorities
    GET HEAD  /healthz                                              own.report_health
    GET HEAD  /readyz                                               own.report_readiness
    GET HEAD  /metrics                                              own.report_metrics
    GET HEAD  /assets/<digest>/<file>                               own.serve_asset
    GET HEAD  /language/<language>                                  own.set_language
    GET HEAD  /patterns                                             own.show_patterns
    GET HEAD  /problems/<code>                                      own.explain_code
    GET HEAD  /about                                                about.show_about
    GET HEAD  /docs                                                 documentation.show_documentation
    GET HEAD  /docs/<page>                                          documentation.show_documentation
    GET HEAD  /uri-res/<service>?<uri>                              thttp.ask_service
    GET HEAD  /iiif/<version>/<name>                                iiif.serve_image
    GET HEAD  /iiif/<version>/<name>/info.json                      iiif.serve_image
    GET HEAD  /iiif/<version>/<name>/…                              iiif.serve_image
    GET HEAD  /pwid?time=<time>&coverage=<coverage>&item=<uri>      pwid_queries.answer_pwid_query
    GET HEAD  /cdx?url=<url>                                        cdx.list_captures
    GET HEAD  /timegate/<uri>                                       memento.find_memento
    GET HEAD  /timemap/<form>/<uri>                                 capture_calendar.list_captures
    GET HEAD  /replay/<time>/<uri>                                  replay.replay_capture
    GET HEAD  /oembed?url=<address>                                 embedding.answer_oembed
    GET HEAD  /embed?url=<address>                                  embedding.show_embedded
    GET HEAD  /robots.txt                                           sitemaps.show_robots
    GET HEAD  /sitemap.xml                                          sitemaps.show_sitemap
    GET HEAD  /.well-known/resourcesync                             sitemaps.show_capabilities
    GET HEAD  /resourcesync/capabilitylist.xml                      sitemaps.show_capabilities
    GET HEAD  /resourcesync/resourcelist.xml                        sitemaps.show_resources
    GET HEAD  /resourcesync/changelist.xml                          sitemaps.show_changes
    GET HEAD  /resourcesync/resourcedump.xml                        sync_dumps.show_dump
    GET HEAD  /resourcesync/documents.zip?first=<name>              sync_dumps.send_documents
    GET HEAD  /resourcesync/changedump.xml                          sync_dumps.show_change_dump
    GET HEAD  /resourcesync/changes.zip?from=<time>                 sync_dumps.send_changes
    GET HEAD  /oai?verb=<verb>                                      harvesting.answer_harvester
    GET HEAD  /oai/perdure.xsd                                      harvesting.show_schema
    POST      /oai                                                  harvesting.answer_harvester
    GET HEAD  /feed.atom?about=<set>                                feeds.answer_feed
    GET HEAD  /.well-known/pdi                                      well_known.show_series
    GET HEAD  /.well-known/api-catalog                              well_known.show_catalog
    GET HEAD  /openapi.json                                         table.publish_openapi
    GET HEAD  /api                                                  table.show_interface
    GET HEAD  /search?q=<words>                                     searching.search_documents
    GET HEAD  /search.atom?q=<words>                                searching.search_documents
    GET HEAD  /opensearch.xml                                       searching.describe_search
    GET HEAD  /sparql?query=<query>                                 triples.answer_sparql
    POST      /sparql                                               triples.answer_sparql
    GET HEAD  /sign-in                                              signing_in.sign_in
    POST      /sign-in                                              signing_in.sign_in
    POST      /sign-out                                             signing_in.sign_out
    GET HEAD  /deposit                                              depositing.show_desk
    POST      /deposit                                              depositing.show_desk
    GET HEAD  /deposit/<draft>                                      depositing.show_draft
    POST      /deposit/<draft>                                      depositing.show_draft
    GET HEAD  /desk/withdraw                                        withdrawing.withdraw_document
    POST      /desk/withdraw                                        withdrawing.withdraw_document
    GET HEAD  /desk/proposals                                       proposal_pages.show_proposals
    POST      /desk/proposals                                       proposal_pages.show_proposals
    GET HEAD  /desk/tokens                                          token_pages.show_tokens
    POST      /desk/tokens                                          token_pages.show_tokens
    GET HEAD  /operator                                             overseeing.show_figures
    GET HEAD  /api/handles/<handle>                                 handles.serve_handle
    POST      /api/handles/<handle>                                 handles.serve_handle
    PUT       /api/handles/<handle>                                 handles.serve_handle
    DELETE    /api/handles/<handle>                                 handles.serve_handle
    TRACE     /api/handles/<handle>                                 handles.serve_handle
    OPTIONS   /api/handles/<handle>                                 handles.serve_handle
    GET HEAD  /api/handles?prefix=<prefix>                          handles.serve_handle
    TRACE     /api/handles                                          handles.serve_handle
    OPTIONS   /api/handles                                          handles.serve_handle
    GET HEAD  /hrls/handles/?<type>=<text>                          handle_search.search_handles
    GET HEAD  /restrictions                                         restricting.list_restrictions
    POST      /webmention                                           webmentions.take_webmention
    POST      /restrictions                                         restricting.restrict_reading
    GET HEAD  /delegations                                          delegating.list_delegations
    POST      /delegations                                          delegating.record_delegation
    GET HEAD  /proposals                                            granting.list_proposals
    GET HEAD  /tokens                                               granting.manage_tokens
    GET HEAD  /tokens/<name>                                        granting.manage_tokens
    POST      /tokens                                               granting.manage_tokens
    POST      /tokens/<name>?revoke                                 granting.manage_tokens
    POST      /captures?url=<url>                                   capturing.capture_page
    POST      /operations                                           batches.run_batch
    GET HEAD  /changes?since=<mark>&limit=<n>                       changes.list_changes
    GET HEAD  /archive-files?name=<name>&start=<offset>&length=<n>  archive_files.send_archive
    POST      /contents                                             contents.send_contents
    PUT       /contents?key=<key>&version=<n>&format=<token>        contents.mend_contents
    GET HEAD  /annotations/<series>/                                containers.answer_annotations
    POST      /annotations/<series>/                                containers.answer_annotations
    OPTIONS   /annotations/<series>/                                containers.answer_annotations
    GET HEAD  /annotations/<series>/<name>                          containers.answer_annotations
    PUT       /annotations/<series>/<name>                          containers.answer_annotations
    DELETE    /annotations/<series>/<name>                          containers.answer_annotations
    OPTIONS   /annotations/<series>/<name>                          containers.answer_annotations
    GET HEAD  /annotations/<series>/proposals                       containers.answer_annotations
    GET HEAD  /annotations/<series>/proposals/<proposal>            containers.answer_annotations
    POST      /annotations/<series>/proposals/<proposal>            containers.answer_annotations
    DELETE    /annotations/<series>/proposals/<proposal>            containers.answer_annotations
    OPTIONS   /annotations/<series>/proposals                       containers.answer_annotations
    OPTIONS   /annotations/<series>/proposals/<proposal>            containers.answer_annotations
    GET HEAD  /id/<identifier>                                      ezid_api.serve_identifier
    PUT       /id/<identifier>                                      ezid_api.serve_identifier
    POST      /id/<identifier>                                      ezid_api.serve_identifier
    DELETE    /id/<identifier>                                      ezid_api.serve_identifier
    POST      /shoulder/<shoulder>                                  ezid_api.mint_identifier
    GET HEAD  /login                                                ezid_api.log_in
    GET HEAD  /logout                                               ezid_api.log_out
    GET HEAD  /status                                               ezid_api.show_status
    GET HEAD  /dois                                                 datacite_api.serve_dois
    POST      /dois                                                 datacite_api.serve_dois
    GET HEAD  /dois/<doi>                                           datacite_api.serve_dois
    PUT       /dois/<doi>                                           datacite_api.serve_dois
    DELETE    /dois/<doi>                                           datacite_api.serve_dois
    OPTIONS   every page                                            methods.answer_options
    TRACE     every page                                            methods.answer_trace
    GET HEAD  <identifier>                                          reading.answer_get
    OPTIONS   <identifier>                                          methods.answer_options
    TRACE     <identifier>                                          methods.answer_trace
    PUT       <identifier>                                          changing.answer_put
    PUT       <identifier>?metadata                                 changing.answer_put
    POST      <identifier>?mint                                     changing.answer_post
    POST      <identifier>?register                                 changing.answer_post
    POST      <identifier>?correct                                  changing.answer_post
    POST      <identifier>?bind                                     changing.answer_post
    POST      <identifier>?break                                    changing.answer_post
    POST      <identifier>?alias                                    changing.answer_post
    POST      <identifier>?metadata                                 changing.answer_post
    POST      <identifier>?signatures                               changing.answer_post
    POST      <identifier>?withdraw                                 changing.answer_post
    POST      <identifier>?erase                                    changing.answer_post
    POST      <identifier>?refuse                                   changing.answer_post
    DELETE    <identifier>                                          methods.refuse_delete

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
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

from perdure.errors import Corrupt, PerdureError
from perdure.errors.delegations import (
    AnsweredElsewhere,
    ResolverContradicted,
    ResolverUnreachable,
)
from perdure.errors.object_stores import DocumentsFetched
from perdure.errors.processes import Stopping
from perdure.model.delegations import HeldDelegation
from perdure.server.apis import memento, replay
from perdure.server.common import elsewhere, logs, mirrors, problems, signatures
from perdure.server.common.answers import Answer, begin_answer, keep_private, send_answer
from perdure.server.common.clients import note_client
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.conditions import add_entity_tag, settle_conditions
from perdure.server.common.content_coding import agree_coding, choose_coding, encode_answer
from perdure.server.common.negotiate import names_first
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.pages.framing import load_frame
from perdure.server.pages.repairs import list_neighbours
from perdure.server.protocol.asgi import Receive, Scope, Send
from perdure.server.protocol.doctor import make_echo_answer
from perdure.server.resource import proxying
from perdure.server.routes.dispatch import (
    RoutedHandler,
    allow_on_content_origin,
    asks_for_view,
    find_handler,
)
from perdure.storage.byte_ports import FetchNeeded

_FETCHES = 16
"""Documents that are fetched at once."""
_MOST_FETCHED = 10_000
"""Documents of one answer; a larger collection is more than the cache keeps."""
_ON_CONTENT_ORIGIN = RoutedHandler(replay.serve_content_origin, allow_on_content_origin())


class Application:
    """The resolver as an ASGI application."""

    def __init__(self, service: Service, cold: ColdReads, writes: TasklessWrites) -> None:
        self._service = service
        self._cold = cold
        self._writes = writes
        self._frame = load_frame(service.settings, service.registry.root)
        self._log = logs.get_log()
        self._fetching = ThreadPoolExecutor(_FETCHES, thread_name_prefix="perdure-fetch")

    async def __call__(self, scope: Scope, receive: Receive, to: Send) -> None:
        start = time.perf_counter()
        echo = make_echo_answer(scope)
        if echo is not None:
            fields, body = echo
            await send_answer(Answer(HTTPStatus.OK, fields, body), scope, receive, to)
            return
        client = note_client(scope, receive, self._service.limits)
        request = Request(scope, receive, self._service.settings.base_url)
        request.common_frame = self._frame
        request.coding = choose_coding(request.read_field(b"accept-encoding"))
        answer = await self._answer_request(request)
        if request.is_governed:
            keep_private(answer)
        if answer.status == HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS:
            problems.name_blocker(answer, request)
        if answer.status >= HTTPStatus.BAD_REQUEST and request.method in ("GET", "HEAD"):
            self._agree_coding(request, answer)
        await encode_answer(answer)
        memento.capitalise_names(answer, request)
        try:
            sent = await send_answer(answer, scope, receive, to)
        except Corrupt as error:
            self._log.error("corrupt", detail=str(error))
            raise
        except (ResolverUnreachable, ResolverContradicted) as error:
            problems.log_problem(error, request.method)
            raise  # the connection is cut off, so that the answer never looks complete
        except asyncio.CancelledError:  # the server stops: cut off what cannot be completed
            self._log.warning("cut off", method=request.method, status=answer.status)
            return
        seconds = time.perf_counter() - start
        self._service.metrics.count_answer(request.method, answer.status, seconds, sent)
        if client.has_limits:
            self._service.limits.charge_bytes(client.address, sent)
        if logs.logs_requests():
            self._log.debug(
                "request",
                method=request.method,
                target=request.raw.decode("ascii"),
                status=answer.status,
                bytes=sent,
                seconds=round(seconds, 6),
            )

    async def _answer_request(self, request: Request) -> Answer:
        """Answer a request; documents that a server keeps are fetched meanwhile by threads."""
        for _ in range(_MOST_FETCHED):
            try:
                return await self._try_request(request)
            except FetchNeeded as needed:
                try:
                    await asyncio.get_running_loop().run_in_executor(
                        self._fetching, self._service.registry.bytes.find_local, needed.held
                    )
                except PerdureError as error:
                    return await self._answer_error(request, error)
            if request.method not in ("GET", "HEAD"):  # its body cannot be read again
                break
        return await self._answer_error(request, DocumentsFetched())

    async def _try_request(self, request: Request) -> Answer:
        """Raises FetchNeeded."""
        found = find_handler(request.method, request.target, request.raw)
        if replay.is_content_origin(self._service, request) and not asks_for_view(request.target):
            found = _ON_CONTENT_ORIGIN
        if found is None:
            return problems.answer_problem(problems.no_such_page(request.target.text), request)
        request.allow = found.allow
        request.answer_other = self._answer_request
        request.start_other = self._writes.start_write
        try:
            if found.is_write and self._service.is_mirror:
                self._service.registry.fence.check_no_mirror()
            if found.asks_who and signatures.SCHEME in request.fields:
                request.signer = await signatures.authenticate_request(self._service, request)
            if self._cold.is_cold and ":" in request.target.text:
                await self._cold.read_target(request.target.text)
            answer = await found.handler(self._service, request)
            if found.is_write and answer.status < HTTPStatus.MULTIPLE_CHOICES:
                answer = await mirrors.wait_for_mirrors(self._service, request, answer)
            if request.method in ("GET", "HEAD"):
                answer = add_entity_tag(answer)
                self._agree_coding(request, answer)
                answer = settle_conditions(request, answer)
            return answer if request.method == "HEAD" else await begin_answer(answer)
        except AnsweredElsewhere as error:
            return await self._answer_elsewhere(request, error)
        except PerdureError as error:
            return await self._answer_error(request, error)
        except asyncio.CancelledError:  # only by uvicorn, when the time of a graceful stop is up
            stopped = Stopping(task="this request")
            return problems.answer_problem(problems.log_problem(stopped, request.method), request)

    async def _answer_error(self, request: Request, error: PerdureError) -> Answer:
        """Answer an error; a page shows which names are near one that is not known."""
        problem = problems.log_problem(error, request.method)
        near = None
        if problem.status == HTTPStatus.NOT_FOUND and names_first(request.accept, "text/html"):
            near = await asyncio.to_thread(list_neighbours, self._service.listings, error)
        return problems.answer_problem(problem, request, near)

    @staticmethod
    def _agree_coding(request: Request, answer: Answer) -> None:
        """Choose the coding of an answer, unless it depends on who reads it."""
        if not request.is_governed:
            agree_coding(answer, request.coding)

    async def _answer_elsewhere(self, request: Request, error: AnsweredElsewhere) -> Answer:
        """Lead to the resolver that answers for a name, or pass its answer on."""
        try:
            answer = elsewhere.answer_elsewhere(self._service, request, error)
            if not isinstance(answer, HeldDelegation):
                return answer
            answer = await proxying.proxy_request(self._service, request, answer)
            return answer if request.method == "HEAD" else await begin_answer(answer)
        except PerdureError as failure:
            answer = problems.answer_problem(problems.log_problem(failure, request.method), request)
            if isinstance(failure, ResolverUnreachable | ResolverContradicted):
                answer.fields += proxying.write_failure(self._service, failure)
            return answer
