"""The routes of the Web Annotation Protocol: containers of assertions, and assertions in them."""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import batches, containers
from perdure.server.routes.model import (
    JSON,
    TEXT,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Schema,
    Security,
)
from perdure.upkeep.triples.quads import TRIG

_LD_JSON = "application/ld+json"
_DOCUMENT: Schema = {"type": "object", "additionalProperties": True}
_SERIES = Parameter(
    name="series",
    place="path",
    text="a series that is minted here",
    schema=WORD,
    required=True,
    example="oma.eop.gov.us",
)
_NAME = Parameter(
    name="name",
    place="path",
    text="the rest of the PDI of an assertion",
    schema=WORD,
    required=True,
    example="2026/11/21/4",
)
_PREFER = Parameter(
    name="Prefer",
    place="header",
    text='`return=representation;include="…"`: a minimal container, or the IRIs only',
    listed=False,
)
_IF_MATCH = Parameter(
    name="If-Match", place="header", text="the entity tag of the annotation", listed=False
)
_CONTAINER, _ANNOTATION = "/annotations/{series}/", "/annotations/{series}/{name}"
_PROPOSALS, _PROPOSAL = (
    "/annotations/{series}/proposals",
    "/annotations/{series}/proposals/{proposal}",
)
_ID = Parameter(
    name="proposal",
    place="path",
    text="the id of a proposal",
    schema=WORD,
    required=True,
    example="0123456789abcdef-0123456789abcdef0123456789abcdef",
)
_READ = (errors.InvalidRequest, errors.NotFound, errors.MalformedIdentifier)
_REFUSED = (
    *_READ,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.TooLarge,
    errors.Incomplete,
    errors.DigestMismatch,
    errors.ContentNotSupported,
    errors.NoSuchVersion,
    errors.NotAcceptable,
    errors.PartOutOfRange,
    errors.PartNotFound,
    errors.PartNotSupported,
    errors.UnknownScheme,
    errors.PreconditionFailed,
    errors.MissingLibrary,
)
_TAGGED = ("ETag", "Allow", "Link", "Content-Location")
_BODY = BodyShape(
    text="A Web Annotation in JSON-LD; to a container also many, as JSON Lines; or a "
    "nanopublication in TriG.",
    content={_LD_JSON: _DOCUMENT, batches.MEDIA_TYPE: TEXT, TRIG: TEXT},
)
_PREFLIGHT = AnswerShape(status=200, text="The methods.", fields=("Allow",))


def _make_route(method: str, pattern: str, operation: str, text: str, **more: object) -> Route:
    """Make a route; one handler answers all of them."""
    of_one = pattern == _ANNOTATION
    shown = pattern.translate(str.maketrans("{}", "<>"))
    fields: dict[str, object] = {
        "methods": ("GET", "HEAD") if method == "GET" else (method,),
        "pattern": pattern,
        "handler": containers.answer_annotations,
        "operation": operation,
        "text": text,
        "shown": f"{method} {shown}",
        "section": "annotations",
        "parameters": (_SERIES, _NAME) if of_one else (_SERIES,),
        "answers_every_method": True,
    }
    if method in ("POST", "PUT", "DELETE") or pattern in (_PROPOSALS, _PROPOSAL):
        fields |= {
            "problems": _REFUSED,
            "security": (Security.BEARER, Security.SIGNATURE),
            "is_open": False,
        }
    return Route(**fields | more)  # type: ignore[arg-type]


ANNOTATIONS = (
    _make_route(
        "GET",
        _CONTAINER,
        "listAnnotations",
        "the container of the assertions of a series, with its pages (`?page=<n>`)",
        parameters=(
            _SERIES,
            Parameter(
                name="page",
                text="a page of the container",
                schema={"type": "string", "pattern": "^[0-9]{1,9}$"},
                listed=False,
            ),
            Parameter(name="after", text="the key before a page", listed=False),
            Parameter(name="iris", text="`1`: IRIs instead of annotations", listed=False),
            _PREFER,
        ),
        answers=(
            AnswerShape(
                status=200, text="The container.", content={_LD_JSON: _DOCUMENT}, fields=_TAGGED
            ),
        ),
        problems=_READ,
    ),
    _make_route(
        "POST",
        _CONTAINER,
        "createAnnotation",
        "mints an assertion; JSON Lines (`application/jsonl`) mint up to 1,000, with a line of "
        "answer for each. Needs the right `assert`",
        body=_BODY,
        answers=(
            AnswerShape(
                status=201,
                text="The annotation, with its address.",
                content={_LD_JSON: _DOCUMENT},
                fields=("Location", *_TAGGED),
            ),
            AnswerShape(
                status=200, text="The outcome of each line.", content={batches.MEDIA_TYPE: TEXT}
            ),
            AnswerShape(
                status=202,
                text="Proposed, without the right `assert`.",
                content={JSON: _DOCUMENT},
                fields=("Location",),
            ),
        ),
    ),
    _make_route(
        "OPTIONS", _CONTAINER, "askMethodsOfContainer", "the methods", answers=(_PREFLIGHT,)
    ),
    _make_route(
        "GET",
        _ANNOTATION,
        "showAnnotation",
        "an assertion as an annotation or, if you ask for `application/trig`, as a "
        "[nanopublication](triples.md#nanopublications); 410 if it was retracted",
        answers=(
            AnswerShape(
                status=200,
                text="The annotation, or a nanopublication.",
                content={_LD_JSON: _DOCUMENT, TRIG: TEXT},
                fields=_TAGGED,
            ),
        ),
        problems=(
            *_READ,
            errors.MissingLibrary,
            errors.Unauthenticated,
            errors.Forbidden,
            errors.LegallyUnavailable,
            errors.NoSuchVersion,
            errors.NotAcceptable,
        ),
    ),
    _make_route(
        "PUT",
        _ANNOTATION,
        "replaceAnnotation",
        "commits the next version of an assertion; only by the actor who made it",
        parameters=(_SERIES, _NAME, _IF_MATCH),
        body=_BODY,
        answers=(
            AnswerShape(
                status=200, text="The annotation.", content={_LD_JSON: _DOCUMENT}, fields=_TAGGED
            ),
        ),
    ),
    _make_route(
        "DELETE",
        _ANNOTATION,
        "retractAnnotation",
        "retracts an assertion by a further one; its address then answers 410, its PDI as before",
        parameters=(_SERIES, _NAME, _IF_MATCH),
        answers=(AnswerShape(status=204, text="Retracted."),),
    ),
    _make_route(
        "OPTIONS", _ANNOTATION, "askMethodsOfAnnotation", "the methods", answers=(_PREFLIGHT,)
    ),
    _make_route(
        "GET",
        _PROPOSALS,
        "listProposedAssertions",
        "the proposed assertions that the caller may accept, or has proposed",
        answers=(AnswerShape(status=200, text="The proposals.", content={JSON: _DOCUMENT}),),
    ),
    _make_route(
        "GET",
        _PROPOSAL,
        "showProposedAssertion",
        "one of them",
        parameters=(_SERIES, _ID),
        answers=(AnswerShape(status=200, text="The proposal.", content={JSON: _DOCUMENT}),),
    ),
    _make_route(
        "POST",
        _PROPOSAL,
        "acceptProposedAssertion",
        "accepts it: it becomes an assertion of its author. Needs the right `assert`",
        parameters=(_SERIES, _ID),
        answers=(
            AnswerShape(
                status=201,
                text="The annotation.",
                content={_LD_JSON: _DOCUMENT},
                fields=("Location", *_TAGGED),
            ),
            AnswerShape(status=200, text="The assertion.", content={JSON: _DOCUMENT}),
        ),
    ),
    _make_route(
        "DELETE",
        _PROPOSAL,
        "deleteProposedAssertion",
        "deletes it; so can its author",
        parameters=(_SERIES, _ID),
        answers=(AnswerShape(status=204, text="Deleted."),),
    ),
    _make_route(
        "OPTIONS", _PROPOSALS, "askMethodsOfProposals", "the methods", answers=(_PREFLIGHT,)
    ),
    _make_route(
        "OPTIONS",
        _PROPOSAL,
        "askMethodsOfProposal",
        "the methods",
        parameters=(_SERIES, _ID),
        answers=(_PREFLIGHT,),
    ),
)
