"""Taking in reports of citations: Webmentions, and files of Scholix or of DataCite's events.

Specifications: Webmention (W3C Recommendation, 2017), section 3.2; Scholix metadata schema 3.0;
DataCite's REST API, events.

How it works: a Webmention is checked at once as far as that needs no request: both are addresses,
the cited name is one that everyone may read here, and the page is not on a private network. It is
queued, and `check_queue` fetches the page later and looks for the name in it. A file is read
completely; reports about names that are not registered here are left out.

What must stay true: nothing is fetched but by the rules of safe fetching. A refusal does not tell
whether a closed document exists.
"""

from __future__ import annotations

import asyncio
import html
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from perdure.errors import InvalidRequest, PerdureError
from perdure.errors.citing import (
    MentionedElsewhere,
    ReportsNotSent,
    ReportsTooLong,
    ReportsUnreadable,
    SourceIsTarget,
    SourcePrivate,
    UnknownReportForm,
    WebmentionsOff,
)
from perdure.extractors.markup.tags import HTML
from perdure.fetching import Exchange, Fetcher, Limits, Unreachable
from perdure.fetching.targets import parse_target
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.queries import PUBLIC_READER, Gone, Query
from perdure.policy import network_addresses
from perdure.reading.links.markup import find_marked
from perdure.reading.links.written import find_written, read_address
from perdure.registry import Registry
from perdure.upkeep.citations.received import CitationReported, ReceivedCitations

FORMS = ("scholix", "datacite")
LARGEST = 64 << 20  # bytes of a file of reports
_LARGEST_PAGE = 2 << 20  # bytes
_MOST_AT_ONCE = 200  # pages of one run
_SECONDS = 20
_OK, _GONE = range(200, 300), (404, 410)
_CITING = frozenset(("references", "cites", "isreferencedby", "iscitedby"))
_REVERSED = frozenset(("isreferencedby", "iscitedby"))


class TakenReports(NamedTuple):
    """The result of reading a file."""

    added: int
    known: int
    left_out: int
    """Reports that are not about names registered here, or that say nothing of a citation."""


# Webmention
# ----------


def require_on(registry: Registry) -> None:
    """Raise WebmentionsOff if this registry takes none."""
    if registry.settings.webmentions != "on":
        raise WebmentionsOff()


def receive_webmention(
    registry: Registry, received: ReceivedCitations, source: str, target: str
) -> bool:
    """Queue a Webmention. Return False if it was known.

    Raises WebmentionsOff, InvalidRequest or ReportsTooMany.
    """
    require_on(registry)
    page = parse_target(source)
    networks = network_addresses.parse_networks(registry.settings.private_networks)
    if _is_address(page.host) and not network_addresses.is_allowed(page.host, networks):
        raise SourcePrivate()
    name = find_target(registry, target)
    if name is None:
        raise MentionedElsewhere()
    if source == target or read_address(source, _list_bases(registry)) == name:
        raise SourceIsTarget()
    report = CitationReported(source=page.url, target=str(name), kind="webmention", state="queued")
    return received.add_report(report, name)


def _is_address(host: str) -> bool:
    """Return True if a host is a network address, so that its name need not be resolved."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def find_target(registry: Registry, text: str) -> Identifier | None:
    """Return the name in an address, if everyone may read it here."""
    name = read_address(text, _list_bases(registry))
    if name is None:
        return None
    try:
        resolved = registry.reading.resolve(Query(identifier=name, reader=PUBLIC_READER))
        if resolved.record is None or isinstance(resolved.usual_step, Gone):
            return None
    except PerdureError:
        return None
    return name


def _list_bases(registry: Registry) -> tuple[str, ...]:
    return tuple(filter(None, (registry.settings.base_url,)))


async def check_queue(
    registry: Registry, received: ReceivedCitations, fetcher: Fetcher | None = None
) -> list[CitationReported]:
    """Fetch the pages of queued Webmentions. Return each report with its new state."""
    fetcher = fetcher or make_fetcher(registry)
    checked = []
    for report in received.list_queue(limit=_MOST_AT_ONCE):
        state, problem, title = await _check_report(registry, fetcher, report)
        if state == "deleted":
            received.delete_report(report.number)
        else:
            received.decide_report(report.number, state, problem, title)
        checked.append(msgspec.structs.replace(report, state=state, problem=problem, title=title))
    return checked


def make_fetcher(registry: Registry, limits: Limits | None = None) -> Fetcher:
    """Return a fetcher for pages that strangers name."""
    page = Limits(body=_LARGEST_PAGE, inflated=_LARGEST_PAGE, seconds=_SECONDS)
    agent = f"perdure (+{registry.settings.base_url})" if registry.settings.base_url else "perdure"
    return Fetcher(
        user_agent=agent,
        networks=registry.settings.private_networks,
        limits=limits or page,
    )


async def _check_report(
    registry: Registry, fetcher: Fetcher, report: CitationReported
) -> tuple[str, str, str]:
    """Return the state of a report after its page was fetched, the problem, and the title.

    An accepted report stays so unless its page was fetched and is gone, or says something else.
    """
    is_accepted = report.state == "requeued"
    failed = "accepted" if is_accepted else "refused"
    target = find_target(registry, report.target)
    if target is None:
        return failed, "its target is not a name that is resolved here", ""
    accept = (("Accept", "text/html, application/xhtml+xml, text/plain;q=0.5"),)
    try:
        chain = await fetcher.follow_redirects(report.source, headers=accept)
    except (InvalidRequest, Unreachable) as error:
        return failed, error.problem(), ""
    last = chain[-1]
    if last.status in _GONE:
        return "deleted", "", ""
    if last.status not in _OK:
        return failed, f"its source answered {last.status}", ""
    try:
        data = fetcher.decode_content(last)
    except ValueError as error:
        return failed, f"its source cannot be read: {error}", ""
    if not _refers_to(data, last, target, _list_bases(registry)):
        state = "deleted" if is_accepted and not last.truncated else failed
        far = ", as far as it was read" if last.truncated else ""
        return state, f"its source does not refer to its target{far}", ""
    return "accepted" if is_accepted else "waiting", "", _read_title(data)


def _refers_to(data: bytes, exchange: Exchange, target: Identifier, bases: tuple[str, ...]) -> bool:
    kind = strip_parameters(exchange.find_header("Content-Type") or "")
    if kind in ("text/html", "application/xhtml+xml", ""):
        return any(one.identifier.key == target.key for one in find_marked(data, HTML, bases))
    return any(one.identifier.key == target.key for one in find_written(data, bases))


def _read_title(data: bytes) -> str:
    """Return the title of a page of HTML, or an empty text."""
    low = data[: 1 << 16].lower()
    start = low.find(b"<title")
    begin = low.find(b">", start) + 1 if start >= 0 else 0
    end = low.find(b"</title", begin) if begin else -1
    text = data[begin:end].decode("utf-8", "replace") if end > begin > 0 else ""
    return " ".join(html.unescape(text).split())


# files
# -----


def read_reports(path: Path) -> bytes:
    """Read a file of reports. Raises OSError, or ReportsTooLong."""
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ReportsTooLong(limit=LARGEST)
    return data


def fetch_reports(registry: Registry, url: str) -> bytes:
    """Fetch a file of reports. Raises InvalidRequest or Unreachable."""
    limits = Limits(body=LARGEST, inflated=LARGEST)
    fetcher = make_fetcher(registry, limits)
    last = asyncio.run(fetcher.follow_redirects(url, headers=(("Accept", "application/json"),)))[-1]
    if last.status not in _OK or last.truncated:
        raise ReportsNotSent(answered=last.status)
    return fetcher.decode_content(last)


def take_reports(
    registry: Registry, received: ReceivedCitations, data: bytes, form: str
) -> TakenReports:
    """Read a file of reports. Raises UnknownReportForm, ReportsUnreadable or ReportsTooMany."""
    if form not in FORMS:
        raise UnknownReportForm(text=form, known=FORMS)
    try:
        document = msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise ReportsUnreadable(form=form, fault=str(error)) from error
    read = _read_scholix if form == "scholix" else _read_datacite
    added = known = left_out = 0
    for report in read(document):
        name = None if report is None else find_target(registry, report.target)
        if report is None or name is None:
            left_out += 1
        elif received.add_report(msgspec.structs.replace(report, target=str(name)), name):
            added += 1
        else:
            known += 1
    return TakenReports(added, known, left_out)


def _read_scholix(document: Any) -> Iterator[CitationReported | None]:
    """Yield a report for each link, in a list, an object with a list, or alone."""
    if isinstance(document, dict):
        document = document.get("result", document.get("hits", [document]))
    for one in document if isinstance(document, list) else ():
        if not isinstance(one, dict):
            yield None
            continue
        relation = _read_text(one, "RelationshipType", "Name").lower()
        sides = [_read_object(one.get(side)) for side in ("Source", "Target")]
        if relation in _REVERSED:
            sides.reverse()
        if relation not in _CITING or not all(sides):
            yield None
            continue
        provider = one.get("LinkProvider")
        first = provider[0] if isinstance(provider, list) and provider else provider
        yield CitationReported(
            source=sides[0],
            target=sides[1],
            kind="scholix",
            provider=_read_text(first, "Name"),
            title=_read_text(one, "Source" if relation not in _REVERSED else "Target", "Title"),
            day=_read_text(one, "LinkPublicationDate")[:10],
        )


def _read_object(side: Any) -> str:
    """Return the address, or else the identifier, of a side of a link."""
    found = side.get("Identifier") if isinstance(side, dict) else None
    first = found[0] if isinstance(found, list) and found else found
    address = _read_text(first, "IDURL") or _read_text(first, "IDUrl")
    text = _read_text(first, "ID")
    if address or not text:
        return address
    scheme = _read_text(first, "IDScheme").lower()
    return f"https://doi.org/{text}" if scheme == "doi" else text


def _read_datacite(document: Any) -> Iterator[CitationReported | None]:
    """Yield a report for each event."""
    events = document.get("data") if isinstance(document, dict) else document
    for one in events if isinstance(events, list) else ():
        event = one.get("attributes", one) if isinstance(one, dict) else {}
        relation = _read_text(event, "relation-type-id").lower().replace("-", "")
        sides = [_read_text(event, "subj-id"), _read_text(event, "obj-id")]
        if relation in _REVERSED:
            sides.reverse()
        if relation not in _CITING or not all(sides):
            yield None
            continue
        yield CitationReported(
            source=sides[0],
            target=sides[1],
            kind="datacite",
            provider=_read_text(event, "source-id"),
            day=_read_text(event, "occurred-at")[:10],
        )


def _read_text(value: Any, *path: str) -> str:
    """Return the text at a path in a document, or an empty text."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
