"""Errors as HTTP says them: one table of statuses, and problem documents (RFC 9457).

How it works: `STATUS` has an entry for every class of the tree of errors; a test holds it complete
(ruling: http-errors), and a class of a plug-in takes the status of the nearest class above it. A
problem document carries the code and the fields of the error as members of their own, so that a
client need not read the sentence. Who would rather have HTML, a browser, gets the same as a page.
`type` is the path of a page that explains the code.

What must stay true: codes and their types are stable; nothing of a request reaches the answer but
through JSON's or HTML's own escaping.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure import errors
from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.queries import Gone
from perdure.server import pages
from perdure.server.common import logs
from perdure.server.common.answers import Answer, Fields, plain
from perdure.server.common.negotiate import choose
from perdure.server.common.request import Request
from perdure.server.protocol.head import REFUSALS, title

STATUS: dict[type[PerdureError], HTTPStatus] = {
    errors.PerdureError: HTTPStatus.INTERNAL_SERVER_ERROR,
    # the text is wrong
    errors.MalformedIdentifier: HTTPStatus.BAD_REQUEST,
    errors.UnknownScheme: HTTPStatus.BAD_REQUEST,
    errors.MalformedPart: HTTPStatus.BAD_REQUEST,
    errors.InvalidRequest: HTTPStatus.BAD_REQUEST,
    errors.InvalidMetadata: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.BadSettings: HTTPStatus.INTERNAL_SERVER_ERROR,
    # look elsewhere
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.NoSuchVersion: HTTPStatus.NOT_FOUND,
    errors.NotCaptured: HTTPStatus.NOT_FOUND,
    errors.OriginalMissing: HTTPStatus.NOT_FOUND,
    errors.UnknownArchive: HTTPStatus.NOT_FOUND,
    errors.UnknownAuthority: HTTPStatus.NOT_FOUND,
    errors.NotAcceptable: HTTPStatus.NOT_ACCEPTABLE,
    errors.PartNotFound: HTTPStatus.NOT_FOUND,
    errors.PartOutOfRange: HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,  # ruling: part-range
    errors.PartCheckFailed: HTTPStatus.PRECONDITION_FAILED,
    errors.PartNotSupported: HTTPStatus.NOT_IMPLEMENTED,
    errors.Undecodable: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.OverBudget: HTTPStatus.UNPROCESSABLE_ENTITY,
    # try again
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StorageFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    # rights and conflicts
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.ArchiveClosed: HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    # the bytes are wrong
    errors.DigestMismatch: HTTPStatus.BAD_REQUEST,
    errors.Incomplete: HTTPStatus.BAD_REQUEST,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.Corrupt: HTTPStatus.INTERNAL_SERVER_ERROR,
}

_EMPTY_RANGE = "ruling part-range"
"""Of a part that ends before it starts: no identifier, and to HTTP a range of nothing."""
JSON = "application/problem+json"
_OFFERS = (JSON, "application/json", "text/html")
_RETRY = (b"retry-after", b"5")  # seconds
_CHALLENGE = (b"www-authenticate", b'Bearer realm="perdure"')
_NOT_STORED = (b"cache-control", b"no-store")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, on its way to a client."""

    status: HTTPStatus
    code: str
    detail: str
    members: dict[str, object] = {}
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Header fields that belong to it."""


def of_error(error: PerdureError) -> Problem:
    """The problem that an error is."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    if isinstance(error, errors.MalformedIdentifier) and error.rule == _EMPTY_RANGE:
        status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    members = error.as_dict()
    members.pop("code")
    fields: Fields = [_NOT_STORED] if status != HTTPStatus.NOT_FOUND else []
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        fields.append(_RETRY)
    if status == HTTPStatus.UNAUTHORIZED:
        fields.append(_CHALLENGE)
    return Problem(
        status=status, code=error.code, detail=str(error), members=members, fields=tuple(fields)
    )


def noted(error: PerdureError, method: str) -> Problem:
    """The problem that an error is, logged where an operator would want to know of it."""
    problem = of_error(error)
    if problem.status in (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE):
        logs.log().error("failed", code=error.code, detail=str(error))
    elif isinstance(error, errors.Unauthenticated | errors.Forbidden):
        logs.log().info("refused", code=error.code, detail=str(error), method=method)
    return problem


def of_tombstone(step: Gone) -> Problem:
    """What was withdrawn or broken: gone, with why  # ruling: http-errors"""
    tomb = step.tombstone
    return Problem(
        status=HTTPStatus.GONE,
        code="gone",
        detail=f"{step.identifier} is gone since {tomb.at}: {tomb.reason}",
        members={
            "identifier": str(step.identifier),
            "tombstone": {"reason": tomb.reason, "at": tomb.at, "by": tomb.by},
        },
    )


def not_allowed(method: str, allow: bytes) -> Problem:
    """A method that is not defined for what was named."""
    return Problem(
        status=HTTPStatus.METHOD_NOT_ALLOWED,
        code="method-not-allowed",
        detail=f"{method[:32]} is not defined here; {allow.decode()} are",
        fields=((b"allow", allow),),
    )


def no_location(identifier: Identifier) -> Problem:
    """Known, and yet no URL leads to it: "URIs exist but there is no available output from this
    operation" (RFC 2483 section 4.1)  # ruling: http-errors
    """
    return Problem(
        status=HTTPStatus.NOT_FOUND,
        code="no-location",
        detail=f"{identifier} is known, and is bound neither to bytes nor to a location",
        members={"identifier": str(identifier)},
    )


def no_such_range(length: int) -> Problem:
    """None of the ranges that were asked for lies within what is `length` bytes long."""
    return Problem(
        status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        code="range-not-satisfiable",
        detail=f"there are {length} bytes, and no range that was asked for lies among them",
        members={"length": length},
        fields=(_NOT_STORED, (b"content-range", b"bytes */%d" % length)),
    )


def no_such_page(path: str) -> Problem:
    """A path that is neither a page nor an identifier."""
    return Problem(
        status=HTTPStatus.NOT_FOUND,
        code="no-such-page",
        detail=f"there is no page {errors.quote('/' + path)}, and no identifier is without a colon",
    )


def answer(problem: Problem, request: Request) -> Answer:
    """The problem in the form that the client reads."""
    vary = (b"vary", b"accept")
    if choose(request.accept, _OFFERS) == "text/html":
        body = pages.render("problem.html", problem=problem, title=title(problem.code))
        return pages.page(problem.status, body, *problem.fields, vary)
    document = {
        "type": f"/problems/{problem.code}",
        "title": title(problem.code),
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        **problem.members,
    }
    return plain(problem.status, JSON, msgspec.json.encode(document), *problem.fields, vary)


# what each code means
# --------------------

_OWN = {
    "gone": (
        HTTPStatus.GONE,
        "It was withdrawn, or its last location broken. The identifier stays, and says why.",
    ),
    "method-not-allowed": (
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The method is not defined for this; the field Allow names those that are.",
    ),
    "no-location": (
        HTTPStatus.NOT_FOUND,
        "The identifier is known, and is bound neither to bytes nor to a location.",
    ),
    "no-replay": (
        HTTPStatus.NOT_FOUND,
        "Archived pages are shown on an origin of their own only, and none is set up here.",
    ),
    "range-not-satisfiable": (
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        "No range that was asked for lies within the bytes; Content-Range has their number.",
    ),
    "no-such-page": (HTTPStatus.NOT_FOUND, "The path is neither a page nor an identifier."),
}


def explanations() -> dict[str, tuple[HTTPStatus, str]]:
    """Every code with its status and what it means."""
    tree = {
        kind.code: (status, (kind.__doc__ or "").strip())
        for kind, status in STATUS.items()
        if kind is not PerdureError
    }
    refused = {code: (HTTPStatus(status), said) for status, (code, said) in REFUSALS.items()}
    return refused | tree | _OWN
