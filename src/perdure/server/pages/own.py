"""The server's own pages: start, health, metrics, and the explanations of error codes.

What must stay true: `/healthz` shows that this worker runs. `/readyz` shows that it can do its
work: it can read the registry, and write to it unless a flush has failed.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from importlib.metadata import version
from urllib.parse import parse_qs

import msgspec

from perdure.errors import PerdureError
from perdure.ids import schemes
from perdure.reading.targets import identify, path_of
from perdure.server import pages
from perdure.server.common import problems
from perdure.server.common.answers import Answer, empty, plain, uri
from perdure.server.common.metrics import CONTENT_TYPE
from perdure.server.common.negotiate import choose
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.protocol.head import title

_NOT_STORED = (b"cache-control", b"no-store")
_DAY = (b"cache-control", b"public, max-age=86400")


async def start(service: Service, request: Request) -> Answer:
    """Introduce the resolver to people and programs; or redirect from its form to an identifier."""
    asked = parse_qs(request.target.question or "").get("identifier")
    if asked:
        identifier = identify(asked[0].strip())
        return empty(HTTPStatus.SEE_OTHER, (b"location", uri(f"/{path_of(identifier)}")))
    found = sorted(schemes().values(), key=lambda scheme: scheme.name)
    vary = (b"vary", b"accept")
    if choose(request.accept, ("application/json", "text/html")) == "text/html":
        body = pages.render("start.html", series=service.settings.series, schemes=found)
        return pages.page(HTTPStatus.OK, body, vary)
    about = {
        "software": f"perdure {version('perdure')}",
        "series": service.settings.series,
        "schemes": {scheme.name: scheme.prefixes for scheme in found},
    }
    return plain(HTTPStatus.OK, "application/json", msgspec.json.encode(about), vary)


async def health(_service: Service, _request: Request) -> Answer:
    """Answer that this worker is alive."""
    return plain(HTTPStatus.OK, "text/plain; charset=us-ascii", b"ok\r\n", _NOT_STORED)


async def readiness(service: Service, _request: Request) -> Answer:
    """Answer that this worker can read and, as far as it knows, write; or raise the reason."""
    await asyncio.to_thread(service.registry.records.first_key, "", "\x7f")
    broken: PerdureError | None = service.registry.door.broken
    if broken is not None:
        raise broken.with_traceback(None)
    return plain(HTTPStatus.OK, "text/plain; charset=us-ascii", b"ready\r\n", _NOT_STORED)


async def metrics(service: Service, _request: Request) -> Answer:
    """Answer with the counters."""
    service.metrics.door(broken=service.registry.door.broken is not None)
    service.metrics.gather()
    body = await asyncio.to_thread(service.metrics.exposition)
    return plain(HTTPStatus.OK, CONTENT_TYPE, body, _NOT_STORED)


async def explanation(_service: Service, request: Request) -> Answer:
    """Explain an error code. The address of this page is the `type` of its problems."""
    code = request.target.text.partition("/")[2]
    found = problems.explanations().get(code)
    if found is None:
        return problems.answer(problems.no_such_page(request.target.text), request)
    status, text = found
    body = pages.render("explanation.html", code=code, status=status, text=text, title=title(code))
    return pages.page(HTTPStatus.OK, body, _DAY)
