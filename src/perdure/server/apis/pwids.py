"""PWIDs over HTTP: every answer has a verdict, in `Perdure-Verdict` and in words.

    GET <pwid>              the bytes of a part, or the list of a page or a site
    GET <pwid>?nearest      if nothing matches exactly, the capture nearest in time
    GET <pwid>?info         the verdict and its evidence, as JSON or as a page
    GET <pwid>              from a browser: that page  # ruling: page-or-thing

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
from perdure.archives.opening import open_capture
from perdure.archives.port import Capture
from perdure.archives.pwid import answering
from perdure.archives.pwid.answering import ForeignPlayback
from perdure.archives.pwid.scopes import find_scope
from perdure.archives.pwid.verdict import CaptureVerdict, Judgement, interpret_pwid
from perdure.archives.readable import ReadableArchive
from perdure.errors import (
    ArchiveClosed,
    NotCaptured,
    NotFound,
    UnknownArchive,
)
from perdure.errors.cutting import TextElsewhere
from perdure.errors.requests import ForeignCursor
from perdure.ids.pwid import Pwid
from perdure.reading.targets import Question, spell_path
from perdure.server import pages as templates
from perdure.server.apis import memento, memento_addresses, pwid_links, replay
from perdure.server.apis.pwid_page import PwidSurroundings, read_surroundings, suits_browser
from perdure.server.apis.replay import is_digest
from perdure.server.common import asking, payloads, problems
from perdure.server.common.answers import Answer, Fields, escape_uri, join_links, make_answer
from perdure.server.common.negotiate import choose_type, prefers_types
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import landing, plain_text
from perdure.server.resource.describing import TYPES

_OFFERS = ("application/json", "text/html")
_VARY = (b"vary", b"accept")
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


async def answer_pwid(
    service: Service, request: Request, pwid: Pwid, question: Question | None = None
) -> Answer:
    """Answer GET or HEAD of a PWID that was not registered here.

    Without a question, the answer is the resource: never a page about a single capture.
    """
    question = question or Question(verb="bytes")
    if answering.is_ours(service.settings, pwid) and service.serves_captures():
        return await _answer_local(service, request, pwid, question)
    return await _answer_elsewhere(service, request, pwid, question)


async def locate_pwid(service: Service, request: Request, pwid: Pwid) -> ForeignPlayback:
    """The address of a PWID that was not registered here.

    It is the address at which its archive plays it back or, for our own archive, one at this
    resolver. Raises NotFound (among them UnknownArchive and NotCaptured) or ArchiveClosed.
    """
    if not (answering.is_ours(service.settings, pwid) and service.serves_captures()):
        return answering.answer_elsewhere(service.registry.web_archives, service.settings, pwid)
    judgement = await asyncio.to_thread(
        answering.answer_locally, asking.read_archive(service, request), pwid, nearest=False
    )
    return ForeignPlayback(
        judgement=judgement, archive=None, url=f"{request.base_url}/{spell_path(pwid)}"
    )


def redirect_reader(
    service: Service,
    request: Request,
    pwid: Pwid,
    found: ForeignPlayback,
    status: int = HTTPStatus.FOUND,
) -> Answer:
    """Redirect the reader to the address that was found, with the verdict."""
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    said = f"{found.judgement.sentence}: {pwid} may be at {found.url}\r\n"
    return make_answer(
        status,
        "text/plain; charset=utf-8",
        said.encode("utf-8", "replace"),
        (b"location", escape_uri(found.url)),
        memento.write_verdict(found.judgement),
        (b"cache-control", fresh),
        (b"referrer-policy", b"no-referrer"),
        *join_links(pwid_links.link_name(request, pwid)),
        _VARY,
    )


# kept here
# ---------


async def _answer_local(
    service: Service, request: Request, pwid: Pwid, question: Question
) -> Answer:
    archive = asking.read_archive(service, request)
    try:
        judgement = await asyncio.to_thread(
            answering.answer_locally, archive, pwid, nearest=question.nearest
        )
    except NotCaptured as error:
        return await _answer_not_captured(service, request, pwid, error)
    if question.verb == "linkset":
        return _answer_links(service, request, pwid, judgement)
    if answering.is_scope(pwid) and question.verb != "info":
        return await _list_members(service, request, archive, pwid, judgement, question)
    capture = judgement.capture
    if capture is None:
        return await _answer_document(service, request, pwid, archive, judgement)
    if judgement.is_ambiguous and not question.nearest and not answering.is_scope(pwid):
        choice = msgspec.structs.replace(judgement, capture=None, delta=None)
        return await _answer_document(
            service, request, pwid, archive, choice, status=HTTPStatus.MULTIPLE_CHOICES
        )
    if question.verb == "info":
        return await _answer_document(service, request, pwid, archive, judgement)
    if question.verb == "text":
        fields = [memento.write_verdict(judgement), _VARY]
        fields += join_links(pwid_links.link_name(request, pwid))
        return await plain_text.answer_capture_text(service, request, archive, capture, fields)
    if pwid.coverage in ("page", None) and pages.has_resources(capture):
        page = await asyncio.to_thread(
            pages.list_resources, archive.captures, archive.files, capture
        )
        more = answering.page_fields(pwid, page)
        return await _answer_document(service, request, pwid, archive, judgement, more)
    is_person = not question.verb and suits_browser(service, request)
    if is_person or (prefers_types(request.accept, TYPES) and "json" not in capture.media_type):
        return await _answer_document(service, request, pwid, archive, judgement)
    return await _send_payload(service, request, archive, pwid, judgement, capture)


async def _send_payload(
    service: Service,
    request: Request,
    archive: ReadableArchive,
    pwid: Pwid,
    judgement: Judgement,
    capture: Capture,
) -> Answer:
    """Send the payload, whatever its archived status."""
    archived = await asyncio.to_thread(open_capture, archive.captures, archive.files, capture)
    fields = replay.list_fields(service, request, archived, *pwid_links.link_name(request, pwid))
    fields.append(memento.write_verdict(judgement))
    if archived.status is not None:
        fields.append((b"x-archive-orig-status", b"%d" % archived.status))
    return await payloads.answer_payload(request, HTTPStatus.OK, [*fields, _VARY], archived)


async def _list_members(
    service: Service,
    request: Request,
    archive: ReadableArchive,
    pwid: Pwid,
    judgement: Judgement,
    question: Question,
) -> Answer:
    """List the captures in the scope of a site, page by page.

    Raises InvalidRequest if the cursor is not from this list.
    """
    cursor, wanted = question.cursor or "", interpret_pwid(pwid)
    if cursor and not any(low <= cursor < high for low, high in find_scope(wanted)):
        raise ForeignCursor(cursor=cursor)
    limit = min(question.limit or service.settings.page_size, service.settings.page_size)
    found, after = await asyncio.to_thread(
        pages.list_members,
        archive.captures,
        wanted,
        after=cursor,
        limit=limit,
    )
    following = None
    if after is not None:
        nearest = "nearest&" if question.nearest else ""
        cursor = escape(after, safe="")
        following = f"/{spell_path(pwid)}?{nearest}cursor={cursor}&limit={limit}"
    members = [answering.member_fields(pwid, one) for one in found]
    more = {"members": members, "next": following}
    return await _answer_document(service, request, pwid, archive, judgement, more)


async def _answer_not_captured(
    service: Service, request: Request, pwid: Pwid, error: NotCaptured
) -> Answer:
    """Answer 404, and list the captures that are available instead."""
    verdict = next(one for one in CaptureVerdict if one.value == error.verdict)
    told = Judgement(verdict=verdict)
    fields: Fields = [
        memento.write_verdict(told),
        *join_links(memento.link_original(service, request, pwid.item)),
    ]
    if choose_type(request.accept, _OFFERS) == "text/html":
        document = answering.verdict_fields(pwid, told) | {
            "detail": str(error),
            "offered": [_add_addresses(service, one) for one in error.offered],
        }
        around = await asyncio.to_thread(read_surroundings, service, request, pwid)
        parts = _AnswerParts(
            status=HTTPStatus.NOT_FOUND, document=document, fields=fields, around=around
        )
        return _render_page(request, parts)
    problem = problems.make_problem(error)
    members = problem.members | answering.name_fields(pwid)
    return problems.answer_problem(
        msgspec.structs.replace(problem, members=members, fields=(*problem.fields, *fields)),
        request,
    )


# kept elsewhere
# --------------


async def _answer_elsewhere(
    service: Service, request: Request, pwid: Pwid, question: Question
) -> Answer:
    archives = service.registry.web_archives
    try:
        found = answering.answer_elsewhere(archives, service.settings, pwid)
    except (ArchiveClosed, NotFound) as error:
        return _refuse_pwid(service, request, pwid, error)
    if question.verb == "linkset":
        return _answer_links(service, request, pwid, found.judgement, found.url)
    if question.verb == "text":
        raise TextElsewhere(selector="text")
    is_person = not question.verb and suits_browser(service, request)
    if question.verb == "info" or is_person or prefers_types(request.accept, TYPES):
        document = answering.elsewhere_fields(archives, pwid, found)
        fields: Fields = [memento.write_verdict(found.judgement)]
        fields += join_links(pwid_links.link_name(request, pwid))
        around = None
        if choose_type(request.accept, _OFFERS) == "text/html":
            around = await asyncio.to_thread(read_surroundings, service, request, pwid)
        parts = _AnswerParts(status=HTTPStatus.OK, document=document, fields=fields, around=around)
        return _write_document(request, parts)
    return redirect_reader(service, request, pwid, found)


def _refuse_pwid(
    service: Service, request: Request, pwid: Pwid, error: NotFound | ArchiveClosed
) -> Answer:
    """Answer without an address: with the fields of the PWID and, if it may be disclosed, its
    archive."""
    archives = service.registry.web_archives
    problem = problems.make_problem(error)
    about = answering.name_fields(pwid)
    fields: Fields = [*problem.fields]
    if not isinstance(error, UnknownArchive):
        closed = isinstance(error, ArchiveClosed)
        told = Judgement(verdict=CaptureVerdict.CLOSED if closed else CaptureVerdict.UNVERIFIED)
        fields.append(memento.write_verdict(told))
        about |= {"verdict": told.verdict.value, "sentence": told.sentence}
        about |= answering.archive_fields(archives, pwid, archives.find_archive(pwid.archive))
        if not closed:
            problem = msgspec.structs.replace(problem, detail=_NO_ADDRESS)
    if choose_type(request.accept, _OFFERS) == "text/html":
        document = {"sentence": "unknown archive", "detail": problem.detail} | about
        parts = _AnswerParts(status=problem.status, document=document, fields=fields)
        return _render_page(request, parts)
    return problems.answer_problem(
        msgspec.structs.replace(problem, fields=tuple(fields), members=problem.members | about),
        request,
    )


# links and documents
# -------------------


def _answer_links(
    service: Service, request: Request, pwid: Pwid, judgement: Judgement, elsewhere: str = ""
) -> Answer:
    if judgement.is_ambiguous:  # none of several captures is the one
        judgement = msgspec.structs.replace(judgement, capture=None)
    rows = pwid_links.list_signposts(service, request, pwid, judgement, elsewhere)
    verdict, fresh = memento.write_verdict(judgement), service.settings.fresh_seconds
    return landing.answer_links(request, rows, verdict, fresh=fresh)


async def _answer_document(
    service: Service,
    request: Request,
    pwid: Pwid,
    archive: ReadableArchive,
    judgement: Judgement,
    more: dict[str, Any] | None = None,
    *,
    status: int = HTTPStatus.OK,
) -> Answer:
    """Answer with the verdict and its evidence, with addresses."""
    document = answering.verdict_fields(pwid, judgement) | (more or {})
    for name in ("resources", "members"):
        if name in document:
            document[name] = [_add_addresses(service, one) for one in document[name]]
    if "fits" in document:
        several = judgement.is_ambiguous
        document["fits"] = [
            _add_addresses(service, one, by_digest=several) for one in document["fits"]
        ]
    fields: Fields = [memento.write_verdict(judgement)]
    told = [
        *pwid_links.link_name(request, pwid),
        *memento.link_original(service, request, pwid.item),
    ]
    if judgement.capture is not None:
        document["capture"] = _add_addresses(service, document["capture"])
        told.append(
            b'<%s>; rel="memento"; datetime="%s"'
            % (
                escape_uri(
                    memento_addresses.write_memento_uri(service, request, judgement.capture)
                ),
                memento.format_http_datetime(judgement.capture.time).encode(),
            )
        )
    fresh = b"public, max-age=%d" % service.settings.fresh_seconds
    fields += [*join_links(told), (b"cache-control", fresh)]
    around = None
    if choose_type(request.accept, _OFFERS) == "text/html":
        around = await asyncio.to_thread(
            read_surroundings, service, request, pwid, archive, judgement.capture
        )
    parts = _AnswerParts(status=status, document=document, fields=fields, around=around)
    return _write_document(request, parts)


def _add_addresses(
    service: Service, fields: dict[str, Any], *, by_digest: bool = False
) -> dict[str, Any]:
    """The fields of a capture, or of an object with a capture, with the addresses of its bytes
    (`raw`) and of its page (`replay`).

    `by_digest`: the address names the digest, because other captures have this second and URI.
    """
    if "capture" in fields:
        inner = fields["capture"]
        return fields | {"capture": inner and _add_addresses(service, inner)}
    if not fields.get("time"):
        return fields
    place = memento_addresses.escape_for_path(fields["uri"])
    origin = service.settings.content_origin
    which = f"~{fields['digest']}" if by_digest and is_digest(fields["digest"]) else ""
    return fields | {
        "raw": f"/replay/{fields['time']}id_{which}/{place}",
        "replay": f"{origin}/replay/{fields['time']}/{place}" if origin else None,
    }


class _AnswerParts(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with a verdict: the same for a page and as JSON."""

    status: int
    document: dict[str, Any]
    fields: Fields
    around: PwidSurroundings | None = None
    """Only for a page."""


def _write_document(request: Request, parts: _AnswerParts) -> Answer:
    if choose_type(request.accept, _OFFERS) == "text/html":
        return _render_page(request, parts)
    body = msgspec.json.encode(parts.document)
    return make_answer(parts.status, "application/json", body, *parts.fields, _VARY)


def _render_page(request: Request, parts: _AnswerParts) -> Answer:
    document = parts.document
    body = templates.render_page(
        request.frame,
        "verdict.html",
        told={"archive": None, "addresses": {}} | document,
        here=escape_uri(f"/{document['urn']}").decode("ascii"),
        coverages=_COVERAGES,
        around=parts.around,
    )
    return templates.make_page(parts.status, body, *parts.fields, _VARY)
