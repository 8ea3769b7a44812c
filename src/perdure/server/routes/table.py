"""The table of all routes. To add a route, add it to one of the lists that this module joins."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from http import HTTPStatus

import msgspec

from perdure.server import pages
from perdure.server.common.answers import Answer, make_answer, make_empty_answer
from perdure.server.common.conditions import has_already
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.routes.apis import APIS
from perdure.server.routes.desk import DESK
from perdure.server.routes.foreign import FOREIGN
from perdure.server.routes.model import JSON, TEXT, AnswerShape, Route
from perdure.server.routes.names import NAME_ROUTES, SHARED
from perdure.server.routes.openapi import describe_interface
from perdure.server.routes.overview import RouteGroup, group_routes
from perdure.server.routes.pages import PAGES
from perdure.server.routes.searching import SEARCHING
from perdure.server.routes.triples import TRIPLES


async def publish_openapi(service: Service, request: Request) -> Answer:
    """Answer with the OpenAPI document of this table."""
    body, tag = _encode_document(service.settings.base_url or "/")
    fields = (
        (b"etag", tag),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"access-control-allow-origin", b"*"),
    )
    if has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    return make_answer(HTTPStatus.OK, JSON, body, *fields)


@lru_cache(maxsize=4)
def _encode_document(server: str) -> tuple[bytes, bytes]:
    """Encode the document, and compute its entity tag."""
    body = msgspec.json.encode(describe_interface(ROUTES, server))
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()


_OPENAPI = Route(
    methods=("GET", "HEAD"),
    pattern="/openapi.json",
    handler=publish_openapi,
    operation="describeInterface",
    text="this interface as an [OpenAPI](openapi.md) document",
    section="pages",
    answers=(
        AnswerShape(
            status=200,
            text="The document.",
            content={JSON: {"type": "object", "required": ["openapi", "paths"]}},
        ),
        AnswerShape(status=304, text="The client already has it."),
    ),
)


async def show_interface(_service: Service, request: Request) -> Answer:
    """Show this table to people."""
    body = pages.render_page(
        request.frame, "api.html", groups=_group_routes(), base=request.base_url
    )
    return pages.make_page(HTTPStatus.OK, body, (b"cache-control", b"public, max-age=3600"))


@cache
def _group_routes() -> tuple[RouteGroup, ...]:
    return group_routes(ROUTES)


_INTERFACE = Route(
    methods=("GET", "HEAD"),
    pattern="/api",
    handler=show_interface,
    operation="showInterface",
    text="this interface as a page: every request, its parameters and its answers",
    section="pages",
    answers=(AnswerShape(status=200, text="The page.", content={"text/html": None}),),
)

_PAGE_ROUTES = (*PAGES, _OPENAPI, _INTERFACE, *SEARCHING, *TRIPLES, *DESK, *APIS, *FOREIGN)


def _share_methods(routes: Sequence[Route]) -> Iterator[Route]:
    """Add OPTIONS and TRACE to each page whose handler does not answer every method itself."""
    for first in {one.pattern: one for one in reversed(routes)}.values():
        if first.answers_every_method:
            continue
        path = tuple(
            msgspec.structs.replace(one, schema=TEXT)  # nothing is looked up
            for one in first.parameters
            if one.place == "path"
        )
        for route in SHARED:
            yield msgspec.structs.replace(
                route,
                pattern=first.pattern,
                operation=f"{route.operation}Of{first.operation[0].upper()}{first.operation[1:]}",
                parameters=path,
                kinds=(TargetKind.PAGE,),
                is_common=True,
            )


ROUTES: tuple[Route, ...] = (*_PAGE_ROUTES, *_share_methods(_PAGE_ROUTES), *NAME_ROUTES)

_BY_OPERATION = {route.operation: route for route in reversed(ROUTES)}


def find_route(operation: str) -> Route:
    """Find the first route of an operation. Raises KeyError if there is none."""
    return _BY_OPERATION[operation]
