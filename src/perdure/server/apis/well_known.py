"""Documents at fixed addresses (RFC 8615), for programs that know nothing about this server yet.

    /.well-known/pdi            the series that are resolved here, with roles and completeness
    /.well-known/api-catalog    the interfaces of this server (RFC 9727), as a link set

What must stay true: the statement about series agrees with OPTIONS on each of them; nothing that
only some readers may see is named.
"""

from __future__ import annotations

from http import HTTPStatus
from importlib.metadata import version
from urllib.parse import quote

import msgspec

from perdure.reading.delegations import describe_delegation
from perdure.reading.statements import SeriesStatement, make_statement
from perdure.server.common.answers import Answer, join_links, make_answer, write_link
from perdure.server.common.request import Request
from perdure.server.common.service import Service

SERIES_PAGE = "/.well-known/pdi"
CATALOG_PAGE = "/.well-known/api-catalog"
CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
_DAY = (b"cache-control", b"public, max-age=86400")
_ANYBODY = (b"access-control-allow-origin", b"*")


async def show_series(service: Service, request: Request) -> Answer:
    """Answer with the series that are resolved here."""
    body = await service.read_list(_write_series, service, request)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    links = join_links((write_link(CATALOG_PAGE, "api-catalog"),))
    return make_answer(HTTPStatus.OK, "application/json", body, fresh, _ANYBODY, *links)


def _write_series(service: Service, request: Request) -> bytes:
    base, registry = request.base_url, service.registry
    settings = registry.learn_authorities()
    statement = make_statement(
        registry.listings,
        settings.owned_authorities,
        is_copy=bool(registry.fence.list_signs()),
        delegations=registry.delegations,
    )
    document = {
        "software": f"perdure {version('perdure')}",
        "resolver": base,
        "as_of": statement.as_of,
        "at": statement.at,
        "series": [_show_series(service, base, one) for one in statement.series],
        "authorities": [
            {"scheme": one.scheme, "authority": one.name} for one in statement.authorities
        ],
        "delegations": [
            describe_delegation(one, registry.delegations.today)
            for one in registry.delegations.list_in_force()
        ],
        "changes": f"{base}/changes",
        "oai": f"{base}/oai",
    }
    return msgspec.json.encode(document)


def _show_series(service: Service, base: str, one: SeriesStatement) -> dict[str, object]:
    """Return a statement about a series, with the addresses by which to follow it."""
    shown: dict[str, object] = msgspec.to_builtins(one)
    shown["feed"] = f"{base}/feed.atom?about={quote(one.interval, safe=':/')}"
    shown["set"] = f"pdi:{one.series}"
    pairs = dict(each.split("=", 1) for each in service.settings.allowed_signers)
    keys = pairs.get(one.series) or pairs.get("*")
    if keys:
        shown["keys"] = f"{base}/{keys}"
    return shown


async def show_catalog(_service: Service, request: Request) -> Answer:
    """Answer with the interfaces of this server."""
    base = request.base_url

    def link(path: str, kind: str, title: str) -> dict[str, str]:
        return {"href": f"{base}{path}", "type": kind, "title": title}

    json = "application/json"
    entries = {
        "service-desc": [link("/openapi.json", "application/vnd.oai.openapi+json", "OpenAPI 3.1")],
        "service-meta": [link(SERIES_PAGE, json, "the series that are resolved here")],
        "status": [link("/readyz", "text/plain", "whether the server can read and write")],
    }
    interfaces = (
        link("/", json, "resolver"),
        link("/uri-res/N2R", "text/uri-list", "THTTP (RFC 2169)"),
        link("/api/handles", json, "Handle API"),
        link("/oai?verb=Identify", "text/xml", "OAI-PMH 2.0"),
        link("/.well-known/resourcesync", "application/xml", "ResourceSync"),
        link("/sitemap.xml", "application/xml", "sitemap"),
        link("/feed.atom", "application/atom+xml", "the latest changes"),
        link("/changes", "application/jsonl", "numbered changes"),
    )
    document = {
        "linkset": [
            {"anchor": f"{base}{CATALOG_PAGE}", "item": list(interfaces)},
            {"anchor": f"{base}/", **entries},
        ]
    }
    own = join_links((write_link(CATALOG_PAGE, "api-catalog"),))
    return make_answer(
        HTTPStatus.OK, CATALOG_TYPE, msgspec.json.encode(document), _DAY, _ANYBODY, *own
    )
