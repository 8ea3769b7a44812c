"""The routes of pages: the server's own, THTTP and IIIF.

What must stay true: a page is named by its path alone, so no lead of a route has a colon in it.
"""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import iiif, thttp
from perdure.server.common.metrics import CONTENT_TYPE as METRICS
from perdure.server.pages import own
from perdure.server.routes.archived import ARCHIVED
from perdure.server.routes.model import (
    ANYTHING,
    JSON,
    TEXT,
    WORD,
    AnswerShape,
    Parameter,
    Route,
    Schema,
)

_GET = ("GET", "HEAD")
_PLAIN = "text/plain"
_ENTITY: Schema = {"type": "object", "additionalProperties": True}

OWN = (
    Route(
        methods=_GET,
        pattern="/",
        handler=own.start,
        operation="showStart",
        text="what this resolver is, and what it mints",
        section="pages",
        parameters=(
            Parameter(
                name="identifier",
                text="an identifier from the form of the page; the answer leads to it",
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The software, its series and its schemes.",
                content={JSON: _ENTITY, "text/html": None},
            ),
            AnswerShape(status=303, text="The identifier of the form.", fields=("Location",)),
        ),
        problems=(errors.MalformedIdentifier, errors.UnknownScheme),
    ),
    Route(
        methods=_GET,
        pattern="/healthz",
        handler=own.health,
        operation="checkHealth",
        text="whether the process is alive",
        section="pages",
        answers=(AnswerShape(status=200, text="It is.", content={_PLAIN: TEXT}),),
    ),
    Route(
        methods=_GET,
        pattern="/readyz",
        handler=own.readiness,
        operation="checkReadiness",
        text="whether it can read and, as far as it knows, write",
        section="pages",
        answers=(AnswerShape(status=200, text="It can.", content={_PLAIN: TEXT}),),
        problems=(errors.StorageFailed,),
    ),
    Route(
        methods=_GET,
        pattern="/metrics",
        handler=own.metrics,
        operation="showMetrics",
        text="Prometheus metrics of this worker process",
        section="pages",
        answers=(AnswerShape(status=200, text="The metrics.", content={METRICS: TEXT}),),
    ),
    Route(
        methods=_GET,
        pattern="/problems/{code}",
        handler=own.explanation,
        operation="explainProblem",
        text="what an [error](errors.md) means",
        section="pages",
        parameters=(
            Parameter(
                name="code",
                place="path",
                text="the code of an error",
                schema=WORD,
                required=True,
                example="not-found",
            ),
        ),
        answers=(AnswerShape(status=200, text="A page.", content={"text/html": None}),),
        problems=(errors.NotFound,),
    ),
)

THTTP = (
    Route(
        methods=_GET,
        pattern="/uri-res/{service}",
        handler=thttp.answer,
        operation="askResolutionService",
        text="THTTP, below",
        shown="/uri-res/<service>?<uri>",
        section="pages",
        parameters=(
            Parameter(
                name="service",
                place="path",
                text="a service of RFC 2169 or RFC 2483, in any case of letters",
                schema={"type": "string", "pattern": f"(?i)^(?:{'|'.join(thttp.SERVICES)})$"},
                required=True,
                example="N2L",
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="What the service gives: a list of URIs, a description, or the resource.",
                content={ANYTHING: None},
            ),
            AnswerShape(status=206, text="Ranges of the resource.", content={ANYTHING: None}),
            AnswerShape(status=300, text="Several versions have the part.", content={JSON: None}),
            AnswerShape(status=302, text="N2L to HTTP/1.0 clients; N2R of what lies elsewhere."),
            AnswerShape(status=303, text="N2L: the best URL.", fields=("Location",)),
            AnswerShape(status=304, text="The client has it."),
        ),
        problems=(
            errors.InvalidRequest,
            errors.MalformedIdentifier,
            errors.UnknownScheme,
            errors.NotFound,
            errors.NotAcceptable,
            errors.PartOutOfRange,
            errors.PartCheckFailed,
            errors.PartNotSupported,
            errors.Undecodable,
            errors.ArchiveClosed,
        ),
        extensions={
            "x-query-string": {
                "description": "The whole query is the URI that the service is asked about, "
                "escaped or as it is. Of I=I it is two URIs with %20 between them.",
                "required": True,
                "example": "pdi://oma.eop.gov.us/1997/09/01/1",
            }
        },
    ),
)

_VERSION = Parameter(
    name="version",
    place="path",
    text="the version of the API",
    schema={"type": "string", "enum": ["2", "3"]},
    required=True,
    listed=False,
)
_IMAGE = Parameter(
    name="name",
    place="path",
    text="an identifier, percent-encoded as a whole; without a version it is the highest",
    schema=WORD,
    required=True,
    listed=False,
    example="ark%3A%2F99999%2Ffk4image",
)
_PICTURE = (errors.NotFound, errors.InvalidRequest, errors.PartNotSupported, errors.Undecodable)

IIIF = (
    Route(
        methods=_GET,
        pattern="/iiif/{version}/{name}",
        handler=iiif.answer,
        operation="findImage",
        text="303 to its `info.json`",
        shown="/iiif/<version>/<id>",
        section="iiif",
        parameters=(_VERSION, _IMAGE),
        answers=(AnswerShape(status=303, text="Its info.json.", fields=("Location",)),),
        problems=_PICTURE,
    ),
    Route(
        methods=_GET,
        pattern="/iiif/{version}/{name}/info.json",
        handler=iiif.answer,
        operation="describeImage",
        text="size, limits, tiles; `application/json` (2.1) or `application/ld+json` (3.0), "
        "by `Accept` the other",
        shown="…/<id>/info.json",
        section="iiif",
        parameters=(_VERSION, _IMAGE),
        answers=(
            AnswerShape(
                status=200,
                text="The description.",
                content={JSON: _ENTITY, "application/ld+json": _ENTITY},
            ),
            AnswerShape(status=304, text="The client has it."),
        ),
        problems=_PICTURE,
    ),
    Route(
        methods=_GET,
        pattern="/iiif/{version}/{name}/{region}/{size}/{rotation}/{picture}",
        handler=iiif.answer,
        operation="renderImage",
        text="a picture",
        shown="…/<id>/<region>/<size>/<rotation>/<quality>.<format>",
        section="iiif",
        parameters=(
            _VERSION,
            _IMAGE,
            Parameter(
                name="region",
                place="path",
                text="`full`, `square` (centred), `x,y,w,h`, `pct:x,y,w,h`; cut at the edge",
                schema=WORD,
                required=True,
                example="full",
            ),
            Parameter(
                name="size",
                place="path",
                text="`max`, `w,`, `,h`, `w,h`, `!w,h`, `pct:n`; to enlarge, `^` in front (3.0). "
                "2.1 has `full` and enlarges without a mark",
                schema=WORD,
                required=True,
                example="max",
            ),
            Parameter(
                name="rotation",
                place="path",
                text="any degrees, `!` in front to mirror",
                schema=WORD,
                required=True,
                example="0",
            ),
            Parameter(
                name="picture",
                place="path",
                shown="quality.format",
                text="`default`, `color`, `gray` or `bitonal`; then `jpg`, `png`, `webp`, `tif` or "
                "`gif`",
                schema=WORD,
                required=True,
                example="default.jpg",
            ),
        ),
        answers=(
            AnswerShape(status=200, text="The picture.", content={"image/*": None}),
            AnswerShape(status=304, text="The client has it."),
        ),
        problems=_PICTURE,
    ),
)

PAGES = (*OWN, *THTTP, *IIIF, *ARCHIVED)
