"""OPTIONS, TRACE and DELETE, and the allowed methods of a target (section 3.8.2 of the draft).

What must stay true: "When an HTTP method is applied to an unknown PDI, the server MUST return 404"
(ruling: http-405; DELETE alone is 405 in any case).
"""

from __future__ import annotations

import contextlib
from http import HTTPStatus

from perdure.errors import (
    MalformedIdentifier,
    NotAcceptable,
    NotFound,
    UnknownAuthority,
    UnknownScheme,
)
from perdure.errors.delegations import AnsweredElsewhere
from perdure.errors.lookup import CitationGone
from perdure.ids.name_set import make_set
from perdure.reading.targets import read_identifier
from perdure.server.apis.well_known import SERIES_PAGE
from perdure.server.common import asking, elsewhere, problems
from perdure.server.common.answers import (
    Answer,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.writing import find_minting_kind, minting_authority

_SERIES_LINK = write_link(SERIES_PAGE, "service-meta")
"""Leads to the series that are resolved here (section 3.8.1)."""
_SECRET = frozenset((b"authorization", b"cookie", b"proxy-authorization"))


def find_allowed_methods(service: Service, request: Request) -> bytes:
    """Return the methods that the target supports. Raises NotFound if it does not exist."""
    if TargetKind.PAGE in request.allow:
        return request.allow[TargetKind.PAGE]
    text = request.target.text
    try:
        mints = minting_authority(text, service.registry) is not None
    except UnknownAuthority:  # not minted here, but perhaps resolved  # ruling: series-resolved
        if not _is_resolved_series(service, text):
            raise
        mints = False
    if mints:
        return request.allow[find_minting_kind(text)]
    resolved = asking.resolve_name(service, request, text)
    if resolved.names is not None:
        if not (resolved.names.is_interval and service.knows_series(resolved.asked)):
            try:
                service.listings.require_known(resolved.names)
            except NotFound as error:  # of the series, only some intervals may be delegated
                if isinstance(error, AnsweredElsewhere) or not _is_resolved_series(service, text):
                    raise
        return request.allow[TargetKind.PATTERN]
    if resolved.is_citation:
        return request.allow[TargetKind.PART]
    with contextlib.suppress(NotAcceptable):  # known, in other formats
        resolved.choose(whole=True)
    return request.allow[TargetKind.IDENTIFIER if resolved.is_registered else TargetKind.PART]


def _is_resolved_series(service: Service, text: str) -> bool:
    """Return True if a text is a series with identifiers here, or one that is delegated."""
    with contextlib.suppress(MalformedIdentifier, UnknownScheme):
        identifier = read_identifier(text)
        if not identifier.is_pattern:
            return False
        delegations = service.registry.delegations
        return service.knows_series(identifier) or bool(
            delegations.list_touching(make_set(identifier))
        )
    return False


async def answer_options(service: Service, request: Request) -> Answer:
    """Answer OPTIONS with the methods of the target, or of the server (`*`).

    It is answered here for a name that is delegated, too, and then links to the resolvers that
    answer other requests about it.  # ruling: series-resolved
    """
    if request.raw == b"*":
        allow = request.allow[TargetKind.IDENTIFIER]
        links = join_links([_SERIES_LINK])
        return make_empty_answer(HTTPStatus.NO_CONTENT, (b"allow", allow), *links)
    try:
        allow = find_allowed_methods(service, request)
    except AnsweredElsewhere:
        allow = request.allow[TargetKind.IDENTIFIER]
    links = join_links([*elsewhere.link_resolvers(service, request), _SERIES_LINK])
    return make_empty_answer(HTTPStatus.NO_CONTENT, (b"allow", allow), *links)


async def answer_trace(service: Service, request: Request) -> Answer:
    """Answer TRACE with the request as received, without its secrets (RFC 9110 section 9.3.8).

    The trace of a delegated name goes on to the resolver that answers, unless `Max-Forwards` is 0.
    """
    try:
        find_allowed_methods(service, request)
    except AnsweredElsewhere:
        if request.read_field(b"max-forwards").strip() != "0":
            raise
    lines = [b"TRACE %s HTTP/%s" % (request.raw, request.version.encode())]
    lines += [
        b"%s: %s" % (name, value) for name, value in request.scope["headers"] if name not in _SECRET
    ]
    body = b"\r\n".join([*lines, b"", b""])
    return make_answer(HTTPStatus.OK, "message/http", body, (b"cache-control", b"no-store"))


async def refuse_delete(service: Service, request: Request) -> Answer:
    """Refuse DELETE: "long-lived, persistent identifiers"  # ruling: http-405"""
    try:
        allow = find_allowed_methods(service, request)
    except (NotFound, UnknownAuthority, CitationGone):
        allow = request.allow[TargetKind.PATTERN]
    return problems.answer_problem(problems.not_allowed("DELETE", allow), request)


async def refuse_method(service: Service, request: Request) -> Answer:
    """Refuse any other method: 404 if the target is unknown, 405 if it is known."""
    allow = find_allowed_methods(service, request)
    return problems.answer_problem(problems.not_allowed(request.method, allow), request)
