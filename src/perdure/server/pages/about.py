"""`/about`: the institution behind this resolver, its software, its series and its feeds."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from importlib.metadata import version

import msgspec

from perdure.ids import load_schemes
from perdure.reading.resolved_series import describe_series, list_resolved_series
from perdure.server import pages
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service

_JSON = "application/json"


async def show_about(service: Service, request: Request) -> Answer:
    """Describe the resolver, as a page or as JSON."""
    registry, frame = service.registry, request.frame
    minted = registry.learn_authorities().series
    series = await asyncio.to_thread(
        list_resolved_series, registry.listings, registry.delegations, minted
    )
    schemes = sorted(load_schemes().values(), key=lambda scheme: scheme.name)
    software = f"perdure {version('perdure')}"
    fields = (
        (b"vary", b"accept"),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
    )
    if choose_type(request.accept, (_JSON, "text/html")) == "text/html":
        body = pages.render_page(
            frame, "about.html", software=software, series=series, schemes=schemes
        )
        return pages.make_page(HTTPStatus.OK, body, *fields)
    base = request.base_url
    document = {
        "software": software,
        "institution": frame.institution,
        "institution_url": frame.institution_url,
        "policy_url": frame.policy_url,
        "contact": frame.contact,
        "series": [describe_series(one) for one in series],
        "schemes": [scheme.name for scheme in schemes],
        "documentation": f"{base}/docs",
        "interfaces": f"{base}/openapi.json",
        "feed": f"{base}/feed.atom",
        "sitemap": f"{base}/sitemap.xml",
    }
    return make_answer(HTTPStatus.OK, _JSON, msgspec.json.encode(document), *fields)
