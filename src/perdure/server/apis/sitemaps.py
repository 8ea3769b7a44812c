"""Lists of all that is here, for crawlers and for those who copy it.

    /robots.txt                           where the sitemap is, and what not to crawl (RFC 9309)
    /sitemap.xml                          all names, for search engines (sitemaps.org)
    /.well-known/resourcesync             where ResourceSync begins (ANSI/NISO Z39.99-2017)
    /resourcesync/capabilitylist.xml      what it offers
    /resourcesync/resourcelist.xml        all documents that are held here, with their digests
    /resourcesync/changelist.xml          the latest changes, the deletions among them

`perdure.server.apis.sync_dumps` has the same documents in packages.

How it works: a sitemap has at most 50,000 addresses, so long lists are an index of parts. A part is
a run of neighbouring records, which begins at the key `from`. The beginnings of the runs are found
by one walk over the keys and kept for a while: new records make a run longer, never wrong, because
a run is much shorter than what a part may have. A change list covers the time that it states; a
client whose last visit was before must read the resource list again (section 12 of ResourceSync).

What must stay true: what the public may not read is in no list; of a withdrawn document, the change
list says only that it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus

from perdure.errors.requests import MalformedNumber
from perdure.model.queries import Choices, Want
from perdure.model.timestamps import format_timestamp
from perdure.policy.naming import qualify_identifier
from perdure.reading.harvest import HarvestedRecord
from perdure.reading.public_documents import PublicDocument, list_documents
from perdure.reading.targets import append_question, spell_path
from perdure.server.apis.sync_xml import make_xml, write_entry, write_ln, write_md, write_part
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

ROBOTS, SITEMAP = "/robots.txt", "/sitemap.xml"
SOURCE = "/.well-known/resourcesync"
CAPABILITIES = "/resourcesync/capabilitylist.xml"
RESOURCES, CHANGES = "/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"
DUMP, CHANGE_DUMP = "/resourcesync/resourcedump.xml", "/resourcesync/changedump.xml"
RUN = 5_000
"""Records of one part. A record with many versions and formats has several addresses."""
MOST_RUNS = 50_000
MOST_CHANGED = 2_000
"""Records of the change list."""
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
        rows = [write_entry(base + CAPABILITIES, "", capability="capabilitylist")]
        return make_xml(service, "urlset", write_md(capability="description"), rows)
    up = write_ln(rel="up", href=base + SOURCE)
    rows = [
        write_entry(base + RESOURCES, "", capability="resourcelist"),
        write_entry(base + CHANGES, "", capability="changelist"),
        write_entry(base + DUMP, "", capability="resourcedump"),
        write_entry(base + CHANGE_DUMP, "", capability="changedump"),
    ]
    return make_xml(service, "urlset", up + write_md(capability="capabilitylist"), rows)


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


def list_run(service: Service, number: int | None) -> Iterator[HarvestedRecord]:
    """Yield the records of a part; all records if they are one part."""
    runs = _find_runs(service)
    at = (number or 1) - 1
    if not 0 <= at < len(runs):
        return
    end = runs[at + 1] if at + 1 < len(runs) else None
    yield from service.registry.harvest.list_range(runs[at], end, limit=2 * RUN)


def _has_parts(service: Service) -> bool:
    return len(_find_runs(service)) > 1


def write_up(request: Request) -> str:
    """Write the link from a list to the list of capabilities."""
    return write_ln(rel="up", href=request.base_url + CAPABILITIES)


def _write_index(service: Service, request: Request, path: str, head: str) -> Answer:
    runs = _find_runs(service)
    rows = [
        write_part(f"{request.base_url}{path}?part={number}") for number in range(1, len(runs) + 1)
    ]
    return make_xml(service, "sitemapindex", head, rows)


def _write_sitemap(service: Service, request: Request) -> Answer:
    number = _read_run(request)
    if number is None and _has_parts(service):
        return _write_index(service, request, SITEMAP, "")
    rows = (
        write_entry(
            append_question(f"{request.base_url}/{spell_path(one.identifier)}", "landing"), one.at
        )
        for one in list_run(service, number)
    )
    return make_xml(service, "urlset", "", rows)


def _write_resources(service: Service, request: Request) -> Answer:
    def write_rows(records: Iterator[HarvestedRecord]) -> Iterator[str]:
        for one in records:
            for document in list_documents(service.registry.reading, one):
                yield write_document_entry(request, document)

    return write_list(service, request, RESOURCES, "resourcelist", write_rows)


def write_list(
    service: Service,
    request: Request,
    path: str,
    capability: str,
    write_rows: Callable[[Iterator[HarvestedRecord]], Iterator[str]],
) -> Answer:
    """Write a list of all records, one of its parts, or their index. Raises InvalidRequest."""
    now = format_timestamp(service.registry.clock())
    head = write_up(request) + write_md(capability=capability, at=now)
    number = _read_run(request)
    if number is None and _has_parts(service):
        return _write_index(service, request, path, head)
    if number is not None:
        head = write_ln(rel="index", href=request.base_url + path) + head
    return make_xml(service, "urlset", head, write_rows(list_run(service, number)))


def _write_changes(service: Service, request: Request) -> Answer:
    """List the documents of the records that changed last, the oldest change first."""
    since, latest = list_changed_records(service)
    head = write_up(request) + write_md(capability="changelist", **{"from": since})
    rows = [row for one in latest for row in _list_changed(service, request, one)]
    return make_xml(service, "urlset", head, rows)


def list_changed_records(service: Service) -> tuple[str, list[HarvestedRecord]]:
    """Return a time, and the records that changed since, the oldest change first."""
    harvest = service.registry.harvest
    latest = harvest.list_latest(None, limit=MOST_CHANGED)[::-1]
    if len(latest) < MOST_CHANGED:
        return harvest.find_earliest() or format_timestamp(service.registry.clock()), latest
    since = latest[0].at
    return since, [one for one in latest if one.at > since]  # of that second, some may be missing


def _list_changed(service: Service, request: Request, one: HarvestedRecord) -> Iterator[str]:
    yield from write_deleted(request, one)
    for document in list_documents(service.registry.reading, one):
        yield write_document_entry(request, document, **describe_change(one, document))


def describe_change(record: HarvestedRecord, document: PublicDocument) -> dict[str, str]:
    """Return what a list of changes says of a document: it is new, or was there before."""
    change = "created" if document.at == record.at else "updated"
    return {"change": change, "datetime": document.at}


def write_deleted(request: Request, one: HarvestedRecord) -> Iterator[str]:
    """Write an entry for each document of a record that was withdrawn."""
    if one.resolved is not None and not isinstance(one.resolved.choose(Want.LOCATIONS), Choices):
        return
    for version in one.shown.versions:
        if one.resolved is not None and version.tombstone is None:
            continue
        at = version.tombstone.at if one.resolved is not None and version.tombstone else one.at
        for held in version.representations:
            name = qualify_identifier(one.identifier, version.number, held.format)
            address = f"{request.base_url}/{spell_path(name)}"
            yield write_entry(address, at, change="deleted", datetime=at)


def write_document_entry(request: Request, document: PublicDocument, **said: str) -> str:
    """Write the entry of a document: its address, its digest, and what else is said of it."""
    held = document.held
    about = {"hash": f"sha-512:{held.sha512}", "length": str(held.length), "type": held.media_type}
    address = f"{request.base_url}/{spell_path(document.identifier)}"
    return write_entry(address, document.at, **(said | about))
