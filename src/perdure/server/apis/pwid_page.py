"""The page of a PWID, beside the verdict: citation, collections, spellings, other archives.

How it works: each dialect of PWIDs is tried (`perdure.archives.pwid.making`). The addresses in
other archives are made from the registry of archives: those of all open archives that play back the
item, at the capture of theirs that is nearest to this time. The index of members knows the
collections (`perdure.upkeep.collection.public_collections`).

What must stay true: nothing is fetched, so no other archive learns who reads, and nothing is said
of whether it has the capture.
"""

from __future__ import annotations

import json

import msgspec
from markupsafe import Markup

from perdure.archives.port import Capture
from perdure.archives.pwid.known import Archive, Archives
from perdure.archives.pwid.making import make_pwid, write_pwid
from perdure.archives.readable import ReadableArchive
from perdure.errors import MissingLibrary
from perdure.errors.captures import NotExpressible
from perdure.ids.pwid import Pwid
from perdure.ids.pwid_dialects import DIALECTS
from perdure.metadata import write_record
from perdure.metadata.citing import write_citation
from perdure.metadata.port import DescribedResource
from perdure.model.records import Record
from perdure.reading.described import describe_resource
from perdure.reading.targets import append_question, spell_path
from perdure.server.apis.replay_bar import find_neighbours
from perdure.server.common.negotiate import names_first
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import style_choice
from perdure.server.resource.page_metadata import embed_json
from perdure.upkeep.collection.public_collections import PublicCollections

_MOST_COLLECTIONS = 100

Neighbour = tuple[str, str]
"""The date of a capture, and the path of the page of its PWID."""


class PwidSpelling(msgspec.Struct, frozen=True):
    """A text of a PWID, and the drafts in whose grammars it is one."""

    text: str
    dialects: tuple[str, ...]


class OtherArchive(msgspec.Struct, frozen=True):
    """Addresses of an item in another archive."""

    name: str
    playback: str
    timemap: str
    """Its list of captures; empty if it has none."""


class PwidSurroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything on the page of a PWID but the verdict and its evidence."""

    spellings: tuple[PwidSpelling, ...]
    elsewhere: tuple[OtherArchive, ...]
    before: Neighbour | None = None
    after: Neighbour | None = None
    jsonld: Markup
    citation: str = ""
    collections: tuple[tuple[str, str], ...] = ()
    """Titles and paths of the collections that have it as a member."""


def suits_browser(service: Service, request: Request) -> bool:
    """Return True if a request for a PWID gets its page  # ruling: page-or-thing"""
    return (
        service.settings.pages != "never"
        and b"range" not in request.fields
        and names_first(request.accept, "text/html")
    )


def read_surroundings(
    service: Service,
    request: Request,
    pwid: Pwid,
    archive: ReadableArchive | None = None,
    capture: Capture | None = None,
) -> PwidSurroundings:
    """Read it. `capture` is the one that is returned, if `archive` is ours and has it."""
    around: tuple[Neighbour | None, ...] = (None, None)
    if archive is not None and capture is not None:
        near = find_neighbours(archive, capture)
        around = tuple(_link_neighbour(pwid, one) if one else None for one in near)
    what = describe_resource(pwid, Record(), f"{request.base_url}/{spell_path(pwid)}")
    return PwidSurroundings(
        jsonld=embed_json(json.loads(write_record(what, "jsonld"))),
        spellings=list_spellings(pwid),
        elsewhere=list_elsewhere(service.registry.web_archives, pwid),
        before=around[0],
        after=around[1],
        citation=_write_citation(request, what),
        collections=_list_collections(service, pwid),
    )


def _list_collections(service: Service, pwid: Pwid) -> tuple[tuple[str, str], ...]:
    """List the collections that the public may read. Raises FollowerFailed."""
    with service.indexes.open_memberships() as index:
        index.take_few(service.registry.records)
        found = PublicCollections(service.registry, index).list_collections_of(pwid.resource.key)
    return tuple(
        (
            one.title or str(one.identifier),
            append_question(f"/{spell_path(one.identifier)}", "members"),
        )
        for one in found[:_MOST_COLLECTIONS]
    )


def list_spellings(pwid: Pwid) -> tuple[PwidSpelling, ...]:
    """List the texts of a PWID in all dialects that can express it, each once.

    >>> from perdure.ids.pwid import parse_pwid
    >>> pwid = parse_pwid("pwid:a.org:2016-01-22T11.20.29Z:page:http://www.dr.dk")
    >>> for one in list_spellings(pwid):
    ...     print(one.text, one.dialects[0])
    pwid:a.org:2016-01-22T11.20.29Z_page:http://www.dr.dk draft-00
    pwid:a.org:2016-01-22T11.20.29Z:page:http://www.dr.dk draft-01
    urn:pwid:a.org:2016-01-22T11:20:29Z:page:http://www.dr.dk urn-00
    """
    found: dict[str, list[str]] = {}
    for dialect in DIALECTS:
        try:
            found.setdefault(write_pwid(pwid, dialect), []).append(dialect)
        except NotExpressible:
            continue
    return tuple(PwidSpelling(text, tuple(dialects)) for text, dialects in found.items())


def list_elsewhere(archives: Archives, pwid: Pwid) -> tuple[OtherArchive, ...]:
    """List the addresses of the item of a PWID in all other open archives that have such."""
    own = archives.find_archive(pwid.archive)
    found = []
    for one in archives:
        if one is own or one.access != "open" or one.moved_to:
            continue
        addresses = _find_addresses(archives, one, pwid)
        if addresses is not None:
            found.append(addresses)
    return tuple(found)


def _find_addresses(archives: Archives, one: Archive, pwid: Pwid) -> OtherArchive | None:
    there = msgspec.structs.replace(pwid, archive=one.id)
    playback = archives.make_playback_url(there)
    if playback is None:
        return None
    return OtherArchive(one.name or one.id, playback, archives.make_timemap_url(there) or "")


def _link_neighbour(pwid: Pwid, capture: Capture) -> Neighbour | None:
    """Link the page of the PWID of a capture. None if no PWID can express it."""
    try:
        there = make_pwid(pwid.archive, capture.date, pwid.coverage or "page", capture.uri)
    except ValueError:
        return None
    return capture.date, append_question(f"/{spell_path(there)}", "info")


def _write_citation(request: Request, what: DescribedResource) -> str:
    """Cite a PWID that is not registered here: it says enough itself."""
    try:
        return write_citation(what, style_choice.FIRST, request.frame.language).strip()
    except MissingLibrary:
        return ""
