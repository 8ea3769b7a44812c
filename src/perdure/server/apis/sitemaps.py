"""Lists of all that is here, for crawlers and for those who copy it.

    /robots.txt                           where the sitemap is, and what not to crawl (RFC 9309)
    /sitemap.xml                          all names, for search engines (sitemaps.org)
    /.well-known/resourcesync             where ResourceSync begins (ANSI/NISO Z39.99-2017)
    /resourcesync/capabilitylist.xml      what it offers
    /resourcesync/resourcelist.xml        all documents that are held here, with their digests
    /resourcesync/changelist.xml          the latest changes, the deletions among them

How it works: a sitemap has at most 50,000 addresses, so long lists are an index of parts. A part is
a run of neighbouring records, which begins at the key `from`. The beginnings of the runs are found
by one walk over the keys and kept for a while: new records make a run longer, never wrong, because
a run is much shorter than what a part may have. A change list covers the time that it states; a
client whose last visit was before must read the resource list again (section 12 of ResourceSync).

What must stay true: what the public may not read is in no list; of a withdrawn document, the change
list says only that it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from urllib.parse import quote

from perdure.errors.requests import MalformedNumber
from perdure.formats.xml_characters import replace_not_xml
from perdure.metadata.xml_text import DECLARATION, write_attributes, write_element
from perdure.model.queries import Choices, Want
from perdure.model.timestamps import format_timestamp
from perdure.policy.naming import qualify_identifier
from perdure.reading.harvest import HarvestedRecord
from perdure.reading.targets import append_question, spell_path
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

ROBOTS, SITEMAP = "/robots.txt", "/sitemap.xml"
SOURCE = "/.well-known/resourcesync"
CAPABILITIES = "/resourcesync/capabilitylist.xml"
RESOURCES, CHANGES = "/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"
XML = "application/xml"
RUN = 5_000
"""Records of one part. A record with many versions and formats has several addresses."""
MOST_RUNS = 50_000
MOST_CHANGED = 2_000
"""Records of the change list."""
_MAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_SYNC = "http://www.openarchives.org/rs/terms/"
_DAY = (b"cache-control", b"public, max-age=86400")
_NOT_CRAWLED = ("/oai", "/changes", "/cdx", "/api/", "/iiif/", "/replay/", "/search?", "/metrics")
"""Interfaces for programs, and pages without end. Crawlers find all documents by the sitemap."""


def _find_runs(service: Service) -> tuple[str, ...]:
    return service.registry.harvest.list_runs(RUN, MOST_RUNS)


async def show_robots(_service: Service, request: Request) -> Answer:
    """Answer with the rules for crawlers."""
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in _NOT_CRAWLED), ""]
    lines += [f"Sitemap: {request.base_url}{SITEMAP}", ""]
    body = "\n".join(lines).encode("ascii", "replace")
    return make_answer(HTTPStatus.OK, "text/plain; charset=utf-8", body, _DAY)


async def show_sitemap(service: Service, request: Request) -> Answer:
    """Answer with the sitemap, or with a part of it. Raises InvalidRequest."""
    return await _answer(service, request, _write_sitemap)


async def show_resources(service: Service, request: Request) -> Answer:
    """Answer with the resource list, or with a part of it. Raises InvalidRequest."""
    return await _answer(service, request, _write_resources)


async def show_changes(service: Service, request: Request) -> Answer:
    """Answer with the change list."""
    return await _answer(service, request, _write_changes)


async def show_capabilities(service: Service, request: Request) -> Answer:
    """Answer with the capabilities of ResourceSync, or with the address of their list."""
    base = request.base_url
    if request.target.text == SOURCE.removeprefix("/"):
        rows = [_write_entry(base + CAPABILITIES, "", capability="capabilitylist")]
        return _make_xml(service, "urlset", _write_md(capability="description"), rows)
    up = _write_ln(rel="up", href=base + SOURCE)
    rows = [
        _write_entry(base + RESOURCES, "", capability="resourcelist"),
        _write_entry(base + CHANGES, "", capability="changelist"),
    ]
    return _make_xml(service, "urlset", up + _write_md(capability="capabilitylist"), rows)


async def _answer(
    service: Service, request: Request, write: Callable[[Service, Request], Answer]
) -> Answer:
    answer: Answer = await service.read_list(write, service, request)
    return answer


# lists
# -----


def _read_run(request: Request) -> int | None:
    """Return the number of the requested part, or None. Raises InvalidRequest."""
    asked = request.parameters
    text = asked.get("part")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise MalformedNumber(parameter="part", text=text, low=1, high=MOST_RUNS)
    return int(text)


def _list_run(service: Service, number: int | None) -> Iterator[HarvestedRecord]:
    """Yield the records of a part; all records if they are one part."""
    runs = _find_runs(service)
    at = (number or 1) - 1
    if not 0 <= at < len(runs):
        return
    end = runs[at + 1] if at + 1 < len(runs) else None
    yield from service.registry.harvest.list_range(runs[at], end, limit=2 * RUN)


def _write_index(service: Service, request: Request, path: str, head: str) -> Answer:
    runs = _find_runs(service)
    rows = [
        f"<sitemap>{write_element('loc', f'{request.base_url}{path}?part={number}')}</sitemap>\n"
        for number in range(1, len(runs) + 1)
    ]
    return _make_xml(service, "sitemapindex", head, rows)


def _write_sitemap(service: Service, request: Request) -> Answer:
    number = _read_run(request)
    if number is None and len(_find_runs(service)) > 1:
        return _write_index(service, request, SITEMAP, "")
    rows = (
        _write_entry(
            append_question(f"{request.base_url}/{spell_path(one.identifier)}", "landing"), one.at
        )
        for one in _list_run(service, number)
    )
    return _make_xml(service, "urlset", "", rows)


def _write_resources(service: Service, request: Request) -> Answer:
    up = _write_ln(rel="up", href=request.base_url + CAPABILITIES)
    head = up + _write_md(capability="resourcelist", at=format_timestamp(service.registry.clock()))
    number = _read_run(request)
    if number is None and len(_find_runs(service)) > 1:
        return _write_index(service, request, RESOURCES, head)
    if number is not None:
        head = _write_ln(rel="index", href=request.base_url + RESOURCES) + head
    rows = (
        row for one in _list_run(service, number) for row in _write_held(request, one, change="")
    )
    return _make_xml(service, "urlset", head, rows)


def _write_changes(service: Service, request: Request) -> Answer:
    """List the documents of the records that changed last, the oldest change first."""
    harvest = service.registry.harvest
    latest = harvest.list_latest(None, limit=MOST_CHANGED)
    earliest = harvest.find_earliest() or format_timestamp(service.registry.clock())
    since = latest[-1].at if len(latest) == MOST_CHANGED else earliest
    up = _write_ln(rel="up", href=request.base_url + CAPABILITIES)
    head = up + _write_md(capability="changelist", **{"from": since})
    rows = [
        row
        for one in reversed(latest)
        if len(latest) < MOST_CHANGED or one.at > since  # of that second, some may be missing
        for row in _list_changed(service, request, one)
    ]
    return _make_xml(service, "urlset", head, rows)


def _list_changed(service: Service, request: Request, one: HarvestedRecord) -> Iterator[str]:
    if one.resolved is not None:
        yield from _write_held(request, one, change="updated")
        return
    record = service.registry.records.find_record(one.identifier.key)
    for version in record.versions if record is not None else ():
        for held in version.representations:
            name = qualify_identifier(one.identifier, version.number, held.format)
            address = f"{request.base_url}/{spell_path(name)}"
            yield _write_entry(address, one.at, change="deleted", datetime=one.at)


def _write_held(request: Request, one: HarvestedRecord, change: str) -> Iterator[str]:
    """Write an entry for each document of a record that is held here, in each version."""
    resolved = one.resolved
    if resolved is None or resolved.record is None:
        return
    step = resolved.choose(Want.LOCATIONS)
    if not isinstance(step, Choices):
        return
    for version in resolved.record.versions:
        if version.tombstone is not None and not change:
            continue
        for held in version.representations:
            name = qualify_identifier(one.identifier, version.number, held.format)
            address = f"{request.base_url}/{spell_path(name)}"
            if version.tombstone is not None:
                at = version.tombstone.at
                yield _write_entry(address, at, change="deleted", datetime=at)
                continue
            at = held.at or version.at
            said = {"hash": f"sha-512:{held.sha512}", "length": str(held.length)}
            said["type"] = held.media_type
            if change:
                said = {"change": "created" if at == one.at else change, "datetime": at} | said
            yield _write_entry(address, at, **said)


# xml
# ---


def _make_xml(service: Service, root: str, head: str, rows: Iterable[str]) -> Answer:
    start = f'{DECLARATION}<{root} xmlns="{_MAP}" xmlns:rs="{_SYNC}">\n'
    body = "".join((start, head, *rows, f"</{root}>\n")).encode()
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return make_answer(HTTPStatus.OK, XML, body, fresh)


def _write_entry(address: str, at: str, **said: str) -> str:
    location = write_element("loc", replace_not_xml(quote(address, safe=_IN_ADDRESS)))
    date = write_element("lastmod", at) if at else ""
    return f"<url>{location}{date}{_write_md(**said) if said else ''}</url>\n"


_IN_ADDRESS = "!$&'()*+,/:;=?@%-._~#[]"


def _write_md(**said: str) -> str:
    return f"<rs:md{write_attributes(said)}/>\n"


def _write_ln(**said: str) -> str:
    return f"<rs:ln{write_attributes(said)}/>\n"
