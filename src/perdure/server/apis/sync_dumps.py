"""Dumps of ResourceSync: all documents, and the latest changes, as ZIP packages.

    /resourcesync/resourcedump.xml?part=<n>                      packages of all documents
    /resourcesync/documents.zip?first=<name>&last=<name>         one of them
    /resourcesync/changedump.xml                                 packages of the latest changes
    /resourcesync/changes.zip?from=<time>&until=<time>           one of them

How it works: a part of the resource dump has the records of the same part of the resource list,
cut into packages of about 100 MB. The address of a package names its first and its last record, so
a package has all its records also if it is fetched later, and a client that was interrupted goes on
with the next package that it needs. A package of changes has the records whose last change was in a
stretch of time; a record that changed again is in a later one.

What must stay true: a package has the documents that everyone may have at that moment, and its
manifest mentions no other; one request reads a bounded number of records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, urlencode

from perdure.errors.harvesting import DumpStretchTooLong, DumpTimeMalformed
from perdure.ids import parse
from perdure.model.timestamps import format_timestamp
from perdure.reading.harvest import HarvestedRecord
from perdure.reading.public_documents import PublicDocument, list_documents
from perdure.server.apis import sitemaps
from perdure.server.apis.sync_packages import ZIP, answer_package, name_path
from perdure.server.apis.sync_xml import make_xml, write_document, write_entry, write_md
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

DOCUMENTS, CHANGES = "/resourcesync/documents.zip", "/resourcesync/changes.zip"
LENGTH = 100 << 20
"""Bytes of a package, unless one record has more."""
MOST_DOCUMENTS = 20_000
"""Documents of a package, unless one record has more. Clients read a manifest of 50,000."""
MOST = 2 * sitemaps.RUN
"""Records of a package."""
TIME = "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"
"""A time of a change: a pattern, for regular expressions of Python and of JSON Schema."""
_TIME = re.compile(TIME, re.ASCII)


class _Stretch(NamedTuple):
    """Neighbouring records of one package."""

    first: HarvestedRecord
    last: HarvestedRecord


async def show_dump(service: Service, request: Request) -> Answer:
    """Answer with the resource dump, or with a part of it. Raises InvalidRequest."""
    answer: Answer = await service.read_list(_write_dump, service, request)
    return answer


async def show_change_dump(service: Service, request: Request) -> Answer:
    """Answer with the change dump."""
    answer: Answer = await service.read_list(_write_change_dump, service, request)
    return answer


async def send_documents(service: Service, request: Request) -> Answer:
    """Answer with a package of documents. Raises InvalidRequest, MalformedIdentifier."""
    answer: Answer = await service.read_list(_pack_documents, service, request)
    return answer


async def send_changes(service: Service, request: Request) -> Answer:
    """Answer with a package of changes. Raises InvalidRequest."""
    answer: Answer = await service.read_list(_pack_changes, service, request)
    return answer


# all documents
# -------------


def _write_dump(service: Service, request: Request) -> Answer:
    def write_rows(records: Iterator[HarvestedRecord]) -> Iterator[str]:
        for one in _cut_stretches(service, records):
            names = f"first={_quote(one.first)}&last={_quote(one.last)}"
            yield write_entry(f"{request.base_url}{DOCUMENTS}?{names}", "", type=ZIP)

    return sitemaps.write_list(service, request, sitemaps.DUMP, "resourcedump", write_rows)


def _quote(record: HarvestedRecord) -> str:
    return quote(str(record.identifier), safe=":/")


def _cut_stretches(
    service: Service, records: Iterable[HarvestedRecord], *, by_time: bool = False
) -> Iterator[_Stretch]:
    """Cut records into packages. `by_time`: never between records of one second."""
    first: HarvestedRecord | None = None
    last: HarvestedRecord | None = None
    length = count = 0
    for record in records:
        own = [one.held.length for one in list_documents(service.registry.reading, record)]
        may_end = last is not None and not (by_time and last.at == record.at)
        is_full = length + sum(own) > LENGTH or count + len(own) > MOST_DOCUMENTS
        if first is not None and last is not None and may_end and is_full:
            yield _Stretch(first, last)
            first, length, count = None, 0, 0
        first = first or record
        last = record
        length += sum(own)
        count += len(own)
    if first is not None and last is not None:
        yield _Stretch(first, last)


def _pack_documents(service: Service, request: Request) -> Answer:
    asked = request.parameters
    first, last = (parse(asked.get(name, "")).resource.key for name in ("first", "last"))
    harvest, end = service.registry.harvest, last + "\0"
    if harvest.has_more(first, end, than=MOST):
        raise DumpStretchTooLong(most=MOST)
    found = harvest.list_range(first, end, limit=MOST)
    now = format_timestamp(service.registry.clock())
    head = sitemaps.write_up(request) + write_md(capability="resourcedump-manifest", at=now)
    reading = service.registry.reading
    documents = [one for record in found for one in list_documents(reading, record)]
    rows = (
        sitemaps.write_document_entry(request, one, path=name_path(number))
        for number, one in enumerate(documents, 1)
    )
    manifest = write_document("urlset", head, rows)
    return answer_package(service, manifest, documents, "documents.zip")


# changes
# -------


def _write_change_dump(service: Service, request: Request) -> Answer:
    since, latest = sitemaps.list_changed_records(service)
    head = sitemaps.write_up(request) + write_md(capability="changedump", **{"from": since})
    rows = []
    for one in _cut_stretches(service, latest, by_time=True):
        times = {"from": one.first.at, "until": one.last.at}
        address = f"{request.base_url}{CHANGES}?{urlencode(times)}"
        rows.append(write_entry(address, "", type=ZIP, **times))
    return make_xml(service, "urlset", head, rows)


def _pack_changes(service: Service, request: Request) -> Answer:
    since, until = _read_time(request, "from"), _read_time(request, "until")
    page = service.registry.harvest.list_page(None, since=since, until=until, limit=MOST)
    if page.following is not None:
        raise DumpStretchTooLong(most=MOST)
    times = {"from": since, "until": until}
    head = sitemaps.write_up(request) + write_md(capability="changedump-manifest", **times)
    documents: list[PublicDocument] = []
    rows: list[str] = []
    for record in page.records:
        rows += sitemaps.write_deleted(request, record)
        for one in list_documents(service.registry.reading, record):
            documents.append(one)
            said = sitemaps.describe_change(record, one) | {"path": name_path(len(documents))}
            rows.append(sitemaps.write_document_entry(request, one, **said))
    manifest = write_document("urlset", head, rows)
    return answer_package(service, manifest, documents, "changes.zip")


def _read_time(request: Request, parameter: str) -> str:
    """Return the time of a parameter. Raises DumpTimeMalformed."""
    text = request.parameters.get(parameter, "")
    if not _TIME.fullmatch(text):
        raise DumpTimeMalformed(parameter=parameter, text=text)
    return text
