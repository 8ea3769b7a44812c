"""PWIDs over HTTP: every answer has a verdict, in `Perdure-Verdict` and in words.

    GET <pwid>              the bytes of a part, or the list of a page or a site
    GET <pwid>?nearest      if nothing matches exactly, the capture nearest in time
    GET <pwid>?info         the verdict and its evidence, as JSON or as a page

How it works: a PWID that was registered here is handled like any other identifier and never gets
here. A PWID of this registry's own archive, or of one of its aliases, is looked up among the
captures. A PWID of another archive redirects to the address at which that archive plays it back;
perdure does not check that address. By default the answer is exact, or an error that lists the
captures that are available instead.

What must stay true: a redirect goes to an address from the registry of archives and nowhere else.
Nothing is fetched. Bytes are sent as in `perdure.server.apis.replay`, never so that they run here.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any
from urllib.parse import quote as escape

import msgspec

from perdure.archives.capture import pages
from perdure.archives.port import Capture
from perdure.archives.pwid import answering
from perdure.archives.pwid.answering import Elsewhere
from perdure.archives.pwid.verdict import Judgement, Verdict, asked
from perdure.errors import (
    ArchiveClosed,
    NotCaptured,
    NotFound,
    UnknownArchive,
)
from perdure.errors.requests import ForeignCursor
from perdure.ids.pwid import Pwid
from perdure.reading.targets import Question, path_of
from perdure.server import pages as templates
from perdure.server.apis import memento, replay
from perdure.server.apis.replay import is_digest
from perdure.server.common import payloads, problems
from perdure.server.common.answers import Answer, Fields, links, plain, uri
from perdure.server.common.negotiate import choose, prefers
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.describing import TYPES

_OFFERS = ("application/json", "text/html")
_VARY = (b"vary", b"accept")
_LISTS = ("subsite", "site")
_COVERAGES = {
    "part": "the single archived element",
    "page": "with everything that belongs to the page",
    "subsite": "with everything below it",
    "site": "with everything on its host",
    "collection": "the definition of a collection",
    "snapshot": "an image of it",
    "recording": "a recording of it",
    "other": "something else",
}
"""Meaning of each coverage, after draft-04 section 3."""
_NO_ADDRESS = (
    "this PWID has no address in that archive: the address of a capture needs a time to the "
    "second and an item that is a URI; ask the archive which captures it has"
)


async def answer(
    service: Service, request: Request, pwid: Pwid, question: Question | None = None
) -> Answer:
    """Answer GET or HEAD of a PWID that was not registered here."""
    question = question or Question()
    if answering.is_ours(service.settings, pwid):
        return await _local(service, request, pwid, question)
    return _elsewhere(service, request, pwid, question)


async def located(service: Service, request: Request, pwid: Pwid) -> Elsewhere:
    """The address of a PWID that was not registered here.

    It is the address at which its archive plays it back or, for our own archive, one at this
    resolver. Raises NotFound (among them UnknownArchive and NotCaptured) or ArchiveClosed.
    """
    if not answering.is_ours(service.settings, pwid):
        return answering.elsewhere(service.registry.web_archives, service.settings, pwid)
    captures, files = service.registry.archive.captures, service.registry.archive.files
    judgement = await asyncio.to_thread(answering.local, captures, files, pwid, nearest=False)
    return Elsewhere(judgement=judgement, archive=None, url=f"{request.base}/{path_of(pwid)}")


def redirect(
    service: Service, pwid: Pwid, found: Elsewhere, status: int = HTTPStatus.FOUND
) -> Answer:
    """Redirect the reader to the address that was found, with the verdict."""
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    said = f"{found.judgement.sentence}: {pwid} may be at {found.url}\r\n"
    return plain(
        status,
        "text/plain; charset=utf-8",
        said.encode("utf-8", "replace"),
        (b"location", uri(found.url)),
        memento.verdict_field(found.judgement),
        (b"cache-control", fresh),
        (b"referrer-policy", b"no-referrer"),
        *links((_described_by(pwid),)),
        _VARY,
    )


# kept here
# ---------


async def _local(service: Service, request: Request, pwid: Pwid, question: Question) -> Answer:
    captures, files = service.registry.archive.captures, service.registry.archive.files
    try:
        judgement = await asyncio.to_thread(
            answering.local, captures, files, pwid, nearest=question.nearest
        )
    except NotCaptured as error:
        return _not_captured(service, request, pwid, error)
    capture = judgement.capture
    assert capture is not None  # noqa: S101  (else NotCaptured was raised)
    if judgement.is_ambiguous and not question.nearest and pwid.coverage not in _LISTS:
        choice = msgspec.structs.replace(judgement, capture=None, delta=None)
        return _document(service, request, pwid, choice, status=HTTPStatus.MULTIPLE_CHOICES)
    if question.verb == "info":
        return _document(service, request, pwid, judgement)
    if pwid.coverage in _LISTS:
        return await _listing(service, request, pwid, judgement, question)
    if pwid.coverage in ("page", None) and pages.is_html(capture.media_type):
        page = await asyncio.to_thread(pages.resources, captures, files, capture)
        more = answering.page_fields(pwid, page)
        return _document(service, request, pwid, judgement, more)
    if prefers(request.accept, TYPES) and "json" not in capture.media_type:
        return _document(service, request, pwid, judgement)
    return await _bytes(service, request, pwid, judgement, capture)


async def _bytes(
    service: Service, request: Request, pwid: Pwid, judgement: Judgement, capture: Capture
) -> Answer:
    """Send the payload, whatever its archived status."""
    archived = await asyncio.to_thread(replay.opened, service, capture)
    fields = replay.bytes_of(service, request, archived, _described_by(pwid))
    fields.append(memento.verdict_field(judgement))
    if archived.status is not None:
        fields.append((b"x-archive-orig-status", b"%d" % archived.status))
    return await payloads.answer(request, HTTPStatus.OK, [*fields, _VARY], archived)


async def _listing(
    service: Service, request: Request, pwid: Pwid, judgement: Judgement, question: Question
) -> Answer:
    """List the captures in the scope of a site, page by page.

    Raises InvalidRequest if the cursor is not from this list.
    """
    cursor, wanted = question.cursor or "", asked(pwid)
    if cursor and not any(low <= cursor < high for low, high in pages.scope(wanted)):
        raise ForeignCursor(cursor=cursor)
    limit = min(question.limit or service.settings.page_size, service.settings.page_size)
    found, after = await asyncio.to_thread(
        pages.members,
        service.registry.archive.captures,
        wanted,
        after=cursor,
        limit=limit,
    )
    following = None
    if after is not None:
        nearest = "nearest&" if question.nearest else ""
        cursor = escape(after, safe="")
        following = f"/{path_of(pwid)}?{nearest}cursor={cursor}&limit={limit}"
    members = [answering.member_fields(pwid, one) for one in found]
    more = {"members": members, "next": following}
    return _document(service, request, pwid, judgement, more)


def _not_captured(service: Service, request: Request, pwid: Pwid, error: NotCaptured) -> Answer:
    """Answer 404, and list the captures that are available instead."""
    verdict = next(one for one in Verdict if one.value == error.verdict)
    told = Judgement(verdict=verdict)
    fields: Fields = [
        memento.verdict_field(told),
        *links(memento.about_original(service, request, pwid.item)),
    ]
    if choose(request.accept, _OFFERS) == "text/html":
        document = answering.verdict_fields(pwid, told) | {
            "detail": str(error),
            "offered": [_placed(service, one) for one in error.offered],
        }
        return _page(HTTPStatus.NOT_FOUND, document, fields)
    problem = problems.of_error(error)
    members = problem.members | answering.name_fields(pwid)
    return problems.answer(
        msgspec.structs.replace(problem, members=members, fields=(*problem.fields, *fields)),
        request,
    )


# kept elsewhere
# --------------


def _elsewhere(service: Service, request: Request, pwid: Pwid, question: Question) -> Answer:
    archives = service.registry.web_archives
    try:
        found = answering.elsewhere(archives, service.settings, pwid)
    except (ArchiveClosed, NotFound) as error:
        return _refused(service, request, pwid, error)
    if question.verb == "info" or prefers(request.accept, TYPES):
        document = answering.elsewhere_fields(archives, pwid, found)
        fields: Fields = [memento.verdict_field(found.judgement)]
        return _written(request, HTTPStatus.OK, document, fields)
    return redirect(service, pwid, found)


def _described_by(pwid: Pwid) -> bytes:
    """A link to the description of a PWID, as JSON or as a page."""
    return b'<%s>; rel="describedby"' % uri(f"/{path_of(pwid)}?info")


def _refused(
    service: Service, request: Request, pwid: Pwid, error: NotFound | ArchiveClosed
) -> Answer:
    """Answer without an address: with the fields of the PWID and, if it may be disclosed, its
    archive."""
    archives = service.registry.web_archives
    problem = problems.of_error(error)
    about = answering.name_fields(pwid)
    fields: Fields = [*problem.fields]
    if not isinstance(error, UnknownArchive):
        closed = isinstance(error, ArchiveClosed)
        told = Judgement(verdict=Verdict.CLOSED if closed else Verdict.UNVERIFIED)
        fields.append(memento.verdict_field(told))
        about |= {"verdict": told.verdict.value, "sentence": told.sentence}
        about |= answering.archive_fields(archives, pwid, archives.find(pwid.archive))
        if not closed:
            problem = msgspec.structs.replace(problem, detail=_NO_ADDRESS)
    if choose(request.accept, _OFFERS) == "text/html":
        document = {"sentence": "unknown archive", "detail": problem.detail} | about
        return _page(problem.status, document, fields)
    return problems.answer(
        msgspec.structs.replace(problem, fields=tuple(fields), members=problem.members | about),
        request,
    )


# documents
# ---------


def _document(
    service: Service,
    request: Request,
    pwid: Pwid,
    judgement: Judgement,
    more: dict[str, Any] | None = None,
    *,
    status: int = HTTPStatus.OK,
) -> Answer:
    """Answer with the verdict and its evidence, with addresses."""
    document = answering.verdict_fields(pwid, judgement) | (more or {})
    for name in ("resources", "members"):
        if name in document:
            document[name] = [_placed(service, one) for one in document[name]]
    if "fits" in document:
        several = judgement.is_ambiguous
        document["fits"] = [_placed(service, one, by_digest=several) for one in document["fits"]]
    fields: Fields = [memento.verdict_field(judgement)]
    told = memento.about_original(service, request, pwid.item)
    if judgement.capture is not None:
        document["capture"] = _placed(service, document["capture"])
        told.append(
            b'<%s>; rel="memento"; datetime="%s"'
            % (
                uri(memento.memento(service, request, judgement.capture)),
                memento.http_datetime(judgement.capture.time).encode(),
            )
        )
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    fields += [*links(told), (b"cache-control", fresh)]
    return _written(request, status, document, fields)


def _placed(service: Service, fields: dict[str, Any], *, by_digest: bool = False) -> dict[str, Any]:
    """The fields of a capture, or of an object with a capture, with the addresses of its bytes
    (`raw`) and of its page (`replay`).

    `by_digest`: the address names the digest, because other captures have this second and URI.
    """
    if "capture" in fields:
        inner = fields["capture"]
        return fields | {"capture": inner and _placed(service, inner)}
    if not fields.get("time"):
        return fields
    place = memento.in_path(fields["uri"])
    origin = service.settings.replay_origin
    which = f"~{fields['digest']}" if by_digest and is_digest(fields["digest"]) else ""
    return fields | {
        "raw": f"/replay/{fields['time']}id_{which}/{place}",
        "replay": f"{origin}/replay/{fields['time']}/{place}" if origin else None,
    }


def _written(request: Request, status: int, document: dict[str, Any], fields: Fields) -> Answer:
    if choose(request.accept, _OFFERS) == "text/html":
        return _page(status, document, fields)
    body = msgspec.json.encode(document)
    return plain(status, "application/json", body, *fields, _VARY)


def _page(status: int, document: dict[str, Any], fields: Fields) -> Answer:
    here = uri(f"/{document['urn']}").decode("ascii")
    told = {"archive": None, "addresses": {}} | document
    body = templates.render("verdict.html", told=told, here=here, coverages=_COVERAGES)
    return templates.page(status, body, *fields, _VARY)
