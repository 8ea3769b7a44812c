"""Feeds of the latest changes in a set of names: `/feed.atom`.

    GET /feed.atom                                 the latest changes here
    GET /feed.atom?about=pdi://oma.eop.gov.us/     those in a series, an interval or a pattern

Specifications: RFC 4287 (Atom), RFC 6721 (deleted entries).

What must stay true: a feed shows what the public may read. Of a withdrawn resource, it says only
that it was withdrawn, and when.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

import msgspec

from perdure.errors.naming import PatternNotAllowed
from perdure.formats.xml_characters import replace_not_xml
from perdure.ids.name_set import NameSet, read_set
from perdure.model.parameters import read_number
from perdure.reading.described import describe_resource
from perdure.reading.harvest import HarvestedRecord
from perdure.reading.targets import append_question, spell_path, spell_set_path
from perdure.server import pages
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service

ATOM = "application/atom+xml"
PAGE = "/feed.atom"
USUAL, MOST = 50, 500
"""Entries of a feed."""
NEVER = "1970-01-01T00:00:00Z"
"""The time of a feed without entries, and of an entry without a time."""


class FeedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a feed, as the template `atom.xml` shows it. Its texts are valid in XML."""

    id: str
    updated: str
    title: str = ""
    page: str = ""
    summary: str = ""
    authors: tuple[str, ...] = ()
    media_type: str = ""
    """The type of the document itself, which is at `there`."""
    there: str = ""
    parts: tuple[str, ...] = ()
    """Addresses of parts."""
    is_deleted: bool = False


async def answer_feed(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/feed.atom`.

    Raises MalformedIdentifier, UnknownScheme, or InvalidRequest if the set consists of formats or
    versions, or the limit is not a number in range.
    """
    given = request.parameters
    about = given.get("about", "")
    names = read_set(about) if about else None
    if names is not None and names.has_representations:
        raise PatternNotAllowed(identifier=str(names))
    limit = read_number("limit", given.get("limit", str(USUAL)), 1, MOST)
    body: bytes = await service.read_list(_write_feed, service, request, names, limit)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return make_answer(HTTPStatus.OK, f"{ATOM}; charset=utf-8", body, fresh)


def _write_feed(service: Service, request: Request, names: NameSet | None, limit: int) -> bytes:
    base = request.base_url
    found = service.registry.harvest.list_latest(names, limit=limit)
    entries = [_prepare_entry(base, one) for one in found]
    own = base + PAGE
    if names is not None:
        own += f"?about={quote(str(names), safe=':/')}"
    return pages.render_template(
        "feed.xml",
        title=f"Changes in {names}" if names else f"Changes at {base}",
        own=own,
        page=f"{base}/" if names is None else f"{base}/{spell_set_path(names)}",
        base=base,
        updated=found[0].at if found else NEVER,
        entries=entries,
    )


def _prepare_entry(base: str, one: HarvestedRecord) -> FeedEntry:
    if one.resolved is None:
        return FeedEntry(id=one.identifier.uri, updated=one.at, is_deleted=True)
    there = f"{base}/{spell_path(one.identifier)}"
    about = describe_resource(one.identifier, one.resolved.known, there).about
    title = about.titles[0].value if about.titles else str(one.identifier)
    return FeedEntry(
        id=one.identifier.uri,
        updated=one.at,
        title=replace_not_xml(title),
        authors=tuple(replace_not_xml(author.display_name) for author in about.creators),
        page=append_question(there, "landing"),
        summary=str(one.identifier),
    )
