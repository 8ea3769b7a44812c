"""Errors over HTTP: one table of statuses, and problem documents (RFC 9457).

How it works: `STATUS` has an entry for every class in the tree of errors; a test checks that it is
complete (ruling: http-errors). A class from a plug-in takes the status of its nearest base class. A
problem document has the code and the fields of the error as separate members, so that a client need
not parse the sentence. A client that prefers HTML, such as a browser, gets the same as a page.
`type` is the path of a page that explains the code.

What must stay true: codes and their types are stable; text from a request reaches the answer only
through the escaping of JSON or HTML.
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from perdure import errors
from perdure.errors import PerdureError
from perdure.errors.credentials import ReadingNeedsToken, ReadingNotAllowed, ReadingOnPremises
from perdure.errors.delegations import (
    AnsweredElsewhere,
    ResolverContradicted,
    ResolverTimedOut,
    ResolverUnreachable,
)
from perdure.errors.describing import UnknownMetadataType
from perdure.errors.lookup import CitationGone, CitationNotFound
from perdure.errors.processes import (
    ClientLeft,
    DatabaseBusy,
    FormatNumberDamaged,
    OtherFormat,
    QueueFull,
    Stopping,
)
from perdure.errors.requests import BodyEncoded, UnknownEmbedFormat
from perdure.errors.root import count_things
from perdure.errors.unavailable import BytesAtKeeper, WritingNotAllowed
from perdure.ids import LONGEST, Identifier, find_meant
from perdure.model.queries import Gone
from perdure.policy.rates import Rate
from perdure.reading.assertions import HeldAssertion
from perdure.server import pages
from perdure.server.common import logs
from perdure.server.common.answers import (
    Answer,
    Fields,
    clean_value,
    escape_uri,
    join_links,
    make_answer,
    write_link,
)
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.pages.repairs import Neighbours, find_typed
from perdure.server.pages.trail import find_page_of
from perdure.server.protocol.head import REFUSALS, make_title
from perdure.server.protocol.limits import write_rate_fields

STATUS: dict[type[PerdureError], HTTPStatus] = {
    errors.PerdureError: HTTPStatus.INTERNAL_SERVER_ERROR,
    # the text is wrong
    errors.MalformedIdentifier: HTTPStatus.BAD_REQUEST,
    errors.UnknownScheme: HTTPStatus.BAD_REQUEST,
    errors.MalformedPart: HTTPStatus.BAD_REQUEST,
    errors.InvalidRequest: HTTPStatus.BAD_REQUEST,
    UnknownEmbedFormat: HTTPStatus.NOT_IMPLEMENTED,
    errors.ContentNotSupported: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.InvalidMetadata: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.BadSettings: HTTPStatus.INTERNAL_SERVER_ERROR,
    # look elsewhere
    errors.NotFound: HTTPStatus.NOT_FOUND,
    AnsweredElsewhere: HTTPStatus.TEMPORARY_REDIRECT,
    errors.NoSuchVersion: HTTPStatus.NOT_FOUND,
    errors.NotCaptured: HTTPStatus.NOT_FOUND,
    errors.CaptureWithdrawn: HTTPStatus.GONE,
    CitationGone: HTTPStatus.GONE,
    CitationNotFound: HTTPStatus.NOT_FOUND,
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
    ResolverUnreachable: HTTPStatus.BAD_GATEWAY,
    ResolverTimedOut: HTTPStatus.GATEWAY_TIMEOUT,
    ResolverContradicted: HTTPStatus.BAD_GATEWAY,
    errors.CopyNotPromoted: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RegistriesDivided: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.MirrorReadOnly: HTTPStatus.TEMPORARY_REDIRECT,  # the method stays, and so does the body
    DatabaseBusy: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StorageFailed: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ShareUsedUp: HTTPStatus.TOO_MANY_REQUESTS,
    ClientLeft: HTTPStatus.REQUEST_TIMEOUT,
    errors.MissingLibrary: HTTPStatus.NOT_IMPLEMENTED,
    # rights and conflicts
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.Embargoed: HTTPStatus.FORBIDDEN,
    errors.LegallyUnavailable: HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
    errors.ArchiveClosed: HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    # the bytes are wrong
    errors.DigestMismatch: HTTPStatus.BAD_REQUEST,
    errors.Incomplete: HTTPStatus.BAD_REQUEST,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.Corrupt: HTTPStatus.INTERNAL_SERVER_ERROR,
}

_LASTING = (
    errors.CopyNotPromoted,
    errors.RegistriesDivided,
    BytesAtKeeper,
    WritingNotAllowed,
    FormatNumberDamaged,
    OtherFormat,
)
"""Errors that pass only when an operator acts, at a time that no answer can tell."""
_EMPTY_RANGE = "ruling part-range"
"""The rule for a part that ends before it starts: HTTP treats it as an empty range."""
JSON = "application/problem+json"
_OFFERS = (JSON, "application/json", "text/html")
_OF_OPERATORS = (
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
"""Statuses of errors that are logged, because they concern the operator."""
_RETRY = (b"retry-after", b"5")  # seconds
_CHALLENGE = (b"www-authenticate", b'Bearer realm="perdure"')
_NOT_STORED = (b"cache-control", b"no-store")


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """Why a reader may not read a document: what the page about it says."""

    identifier: str
    stated: str
    """The reason that the owner states."""
    until: str = ""
    """The first day on which everyone may read it."""
    since: str = ""
    """The time from which it has been unavailable for legal reasons."""
    is_legal: bool = False
    by_token: bool = False
    """Readers with a token that allows it may read it."""
    by_network: bool = False
    """Readers in certain networks may read it."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error in the form that a client receives."""

    status: HTTPStatus
    code: str
    detail: str
    members: dict[str, object] = {}
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Header fields of the answer."""
    closing: Closing | None = None
    """If a document is closed to the reader."""


def make_problem(error: PerdureError) -> Problem:
    """Return the problem document of an error."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    if isinstance(error, errors.MalformedIdentifier) and error.rule == _EMPTY_RANGE:
        status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    members = error.as_dict()
    members.pop("code")
    fields: Fields = [_NOT_STORED] if status != HTTPStatus.NOT_FOUND else []
    if isinstance(error, QueueFull):
        fields.append((b"retry-after", b"%d" % error.wait))
    elif status == HTTPStatus.SERVICE_UNAVAILABLE and not isinstance(error, _LASTING):
        fields.append(_RETRY)
    if isinstance(error, errors.ShareUsedUp):
        fields += write_rate_fields(error.share, Rate(error.limit, error.seconds), error.wait)
    fields += list_supported(error)
    if status == HTTPStatus.UNAUTHORIZED:
        fields.append(_CHALLENGE)
    return Problem(
        status=status,
        code=error.code,
        detail=str(error),
        members=members,
        fields=tuple(fields),
        closing=_find_closing(error),
    )


def _find_closing(error: PerdureError) -> Closing | None:
    """Return why a document is closed, if that is what an error says."""
    match error:
        case errors.Embargoed(identifier=name, stated=stated, until=until, by_token=by_token):
            return Closing(identifier=name, stated=stated, until=until, by_token=by_token)
        case errors.LegallyUnavailable(identifier=name, stated=stated, since=since):
            return Closing(identifier=name, stated=stated, since=since, is_legal=True)
        case ReadingOnPremises(identifier=name, stated=stated):
            return Closing(identifier=name, stated=stated, by_network=True)
        case ReadingNeedsToken(identifier=name, stated=stated):
            return Closing(identifier=name, stated=stated, by_token=True)
        case ReadingNotAllowed(identifier=name, stated=stated):
            return Closing(identifier=name, stated=stated)
    return None


def list_supported(error: PerdureError) -> Fields:
    """Make the field that says which content is supported instead (RFC 9110 section 15.5.16)."""
    match error:
        case BodyEncoded():
            return [(b"accept-encoding", b"identity")]
        case UnknownMetadataType(known=known):
            return [(b"accept", clean_value(", ".join(known)).encode())]
    return []


def log_problem(error: PerdureError, method: str) -> Problem:
    """Return the problem document of an error, and log the error if it concerns the operator.

    Requests that wait when a server stops are counted, and logged together.
    """
    problem = make_problem(error)
    if isinstance(error, Stopping):
        logs.count_stopped()
    elif problem.status in _OF_OPERATORS:
        logs.get_log().error("failed", code=error.code, detail=str(error))
    elif isinstance(error, errors.Unauthenticated | errors.Forbidden):
        logs.get_log().info("refused", code=error.code, detail=str(error), method=method)
    return problem


def make_gone_problem(step: Gone) -> Problem:
    """The resource was withdrawn or is no longer bound: 410 with reason  # ruling: http-errors"""
    tomb = step.tombstone
    return Problem(
        status=HTTPStatus.GONE,
        code="gone",
        detail=f"{step.identifier} has been gone since {tomb.at}: {tomb.reason}",
        members={
            "identifier": str(step.identifier),
            "tombstone": {"reason": tomb.reason, "at": tomb.at, "by": tomb.by}
            | ({"erased": tomb.erased} if tomb.erased else {}),
        },
    )


def make_retracted_problem(held: HeldAssertion) -> Problem:
    """The assertion was retracted: its container says 410, while its name goes on answering."""
    name, by = held.identifier.resource, held.retracted_by[0]
    return Problem(
        status=HTTPStatus.GONE,
        code="gone",
        detail=f"{name} was retracted by {by}; the name itself still answers",
        members={"identifier": str(name), "retracted_by": str(by)},
    )


def not_allowed(method: str, allow: bytes, advice: str = "") -> Problem:
    """The target does not support the method.

    `advice` says how to apply a method that the target allows in another form of the request.
    """
    advice = advice or f"the allowed methods are {allow.decode()}"
    return Problem(
        status=HTTPStatus.METHOD_NOT_ALLOWED,
        code="method-not-allowed",
        detail=f"{method[:32]} is not allowed here; {advice}",
        fields=((b"allow", allow),),
    )


def no_location(identifier: Identifier) -> Problem:
    """The identifier is known but has no URL: "URIs exist but there is no available output from
    this operation" (RFC 2483 section 4.1)  # ruling: http-errors
    """
    return Problem(
        status=HTTPStatus.NOT_FOUND,
        code="no-location",
        detail=f"{identifier} is registered, but no bytes and no location are bound to it",
        members={"identifier": str(identifier)},
    )


def no_such_range(length: int) -> Problem:
    """None of the requested ranges overlaps the content, which has `length` bytes."""
    return Problem(
        status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        code="range-not-satisfiable",
        detail=f"no requested range overlaps the {count_things(length, 'byte')} of the content",
        members={"length": length},
        fields=(_NOT_STORED, (b"content-range", b"bytes */%d" % length)),
    )


def no_such_page(path: str) -> Problem:
    """The path is neither a page nor an identifier."""
    meant = find_meant(path[:LONGEST])
    advice = "an identifier needs a colon"
    if meant:
        advice += f"; did you mean {errors.quote('/' + meant)}?"
    return Problem(
        status=HTTPStatus.NOT_FOUND,
        code="no-such-page",
        detail=f"there is no page {errors.quote('/' + path)}, and {advice}",
    )


def answer_problem(
    problem: Problem, request: Request, neighbours: Neighbours | None = None
) -> Answer:
    """Answer with the problem, as JSON or as a page, which shows the neighbours of its name."""
    vary = (b"vary", b"accept")
    if problem.code == errors.MirrorReadOnly.code:
        problem = _lead_to_origin(problem, request)
    if choose_type(request.accept, _OFFERS) == "text/html":
        said = {name: one for name, one in problem.members.items() if _adds_to(problem, one)}
        page = find_page_of(problem.members.get("identifier")) if problem.code in _OF_KNOWN else ""
        body = pages.render_page(
            request.frame,
            "problem.html" if problem.closing is None else "closed.html",
            problem=problem,
            members=said,
            page=page,
            typed=find_typed(request.target, problem.code),
            neighbours=neighbours,
            title=make_title(problem.code),
        )
        return pages.make_page(problem.status, body, *problem.fields, vary)
    document = {
        "type": f"/problems/{problem.code}",
        "title": make_title(problem.code),
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        **problem.members,
    }
    return make_answer(problem.status, JSON, msgspec.json.encode(document), *problem.fields, vary)


def name_blocker(answer: Answer, request: Request) -> None:
    """Name the institution that runs this server in an answer 451: "the entity actually
    implementing blockage" (RFC 7725 section 4).
    """
    blocker = request.common_frame.institution_url or f"{request.base_url}/"
    answer.fields += join_links((write_link(blocker, "blocked-by"),))


def _lead_to_origin(problem: Problem, request: Request) -> Problem:
    """Add the place at which the same request succeeds."""
    target = request.raw.decode("ascii")
    place = f"{problem.members['origin']}/{target.removeprefix('/')}"
    return msgspec.structs.replace(
        problem, fields=(*problem.fields, (b"location", escape_uri(place)))
    )


def _adds_to(problem: Problem, value: object) -> bool:
    """Return True if a page should show a member, because its sentence does not have it."""
    is_empty = value is False or value in (None, "", [], ())
    return not is_empty and str(value) not in problem.detail


_OF_KNOWN = frozenset(
    one.code
    for one in (
        errors.NoSuchVersion,
        errors.NotAcceptable,
        errors.PartCheckFailed,
        errors.PartNotFound,
        errors.PartOutOfRange,
    )
) | {"gone", "no-location"}
"""Codes of problems about a name that is known here, so that it has a landing page."""


# what each code means
# --------------------

_OWN = {
    "gone": (
        HTTPStatus.GONE,
        "The resource was withdrawn, or its last location broken. The answer gives the reason.",
    ),
    "method-not-allowed": (
        HTTPStatus.METHOD_NOT_ALLOWED,
        "The target does not support this method. The Allow field lists those that it supports.",
    ),
    "no-location": (
        HTTPStatus.NOT_FOUND,
        "The identifier is registered, but no bytes and no location are bound to it.",
    ),
    "no-replay": (
        HTTPStatus.NOT_FOUND,
        "Archived pages are shown only on a separate origin, and this server has none set up.",
    ),
    "range-not-satisfiable": (
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        "No requested range overlaps the content. Content-Range gives its length in bytes.",
    ),
    "no-such-page": (HTTPStatus.NOT_FOUND, "The path is neither a page nor an identifier."),
}


def list_explanations() -> dict[str, tuple[HTTPStatus, str]]:
    """Map each code to its status and its explanation."""
    tree = {
        kind.code: (status, (kind.__doc__ or "").strip())
        for kind, status in STATUS.items()
        if kind is not PerdureError
    }
    refused = {code: (HTTPStatus(status), said) for status, (code, said) in REFUSALS.items()}
    return refused | tree | _OWN
