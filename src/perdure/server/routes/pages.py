"""The routes of pages: the server's own, THTTP and IIIF.

What must stay true: a page is named by its path alone, so no lead of a route contains a colon.
"""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import iiif, thttp
from perdure.server.common.metrics import CONTENT_TYPE as METRICS
from perdure.server.pages import about, documentation, own
from perdure.server.pages.languages import LANGUAGES
from perdure.server.routes.archived import ARCHIVED
from perdure.server.routes.embedding import EMBEDDING
from perdure.server.routes.harvesting import HARVESTING
from perdure.server.routes.model import (
    ANYTHING,
    JSON,
    TEXT,
    WORD,
    AnswerShape,
    Parameter,
    Route,
    Schema,
    Security,
)
from perdure.server.routes.well_known import WELL_KNOWN

_GET = ("GET", "HEAD")
_PLAIN = "text/plain"
_ENTITY: Schema = {"type": "object", "additionalProperties": True}

_REFUSED = (errors.Unauthenticated, errors.Forbidden, errors.LegallyUnavailable)
"""Errors by which reading rules refuse a reader."""

OWN = (
    Route(
        methods=_GET,
        pattern="/",
        handler=own.show_start,
        operation="showStart",
        text="a description of this resolver: its software, schemes, and the series that are "
        "resolved (`series`) and minted (`minted`) here, with [what is complete or delegated]"
        "(delegations.md#how-a-delegated-name-is-answered) (`resolved`)",
        section="pages",
        parameters=(
            Parameter(
                name="identifier",
                text="an identifier from the form on the page; the answer redirects to it",
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The software, its series and its schemes.",
                content={JSON: _ENTITY, "text/html": None},
            ),
            AnswerShape(status=303, text="The identifier from the form.", fields=("Location",)),
        ),
        problems=(errors.MalformedIdentifier, errors.UnknownScheme),
    ),
    Route(
        methods=_GET,
        pattern="/authorities",
        handler=own.list_authorities,
        operation="listAuthorities",
        text="the authorities of all schemes whose identifiers are known here, each as a set that "
        "can be listed (`pdi://<series>/`, `hdl:<prefix>/`); `cursor` and `limit` as for listings",
        section="pages",
        parameters=(
            Parameter(name="cursor", text="the cursor in `next` of the previous page"),
            Parameter(
                name="limit",
                schema={"type": "string", "pattern": "^[1-9][0-9]{0,8}$"},
                text="authorities per page",
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The authorities.",
                content={"text/uri-list": TEXT, _PLAIN: TEXT, "text/html": None, JSON: _ENTITY},
            ),
        ),
        problems=(errors.InvalidRequest, errors.NotAcceptable),
    ),
    Route(
        methods=_GET,
        pattern="/healthz",
        handler=own.report_health,
        operation="checkHealth",
        text="200 if the process is alive",
        section="pages",
        answers=(AnswerShape(status=200, text="It is alive.", content={_PLAIN: TEXT}),),
    ),
    Route(
        methods=_GET,
        pattern="/readyz",
        handler=own.report_readiness,
        operation="checkReadiness",
        text="200 if the process can read and, as far as it knows, write; otherwise 503",
        section="pages",
        answers=(AnswerShape(status=200, text="It is ready.", content={_PLAIN: TEXT}),),
        problems=(errors.StorageFailed,),
    ),
    Route(
        methods=_GET,
        pattern="/metrics",
        handler=own.report_metrics,
        operation="showMetrics",
        text="Prometheus metrics of this worker process, and gauges of the registry",
        section="pages",
        answers=(AnswerShape(status=200, text="The metrics.", content={METRICS: TEXT}),),
    ),
    Route(
        methods=_GET,
        pattern="/assets/{digest}/{file}",
        handler=own.serve_asset,
        operation="readAsset",
        text="the style sheet and the logo of the pages, for ever the same at one address",
        shown="/assets/<digest>/<file>",
        section="pages",
        parameters=(
            Parameter(
                name="digest",
                place="path",
                text="the first digits of the SHA-256 of the file",
                schema={"type": "string", "pattern": "^[0-9a-f]{16}$"},
                required=True,
                listed=False,
            ),
            Parameter(
                name="file",
                place="path",
                text="the name of the file",
                schema=WORD,
                required=True,
                listed=False,
                example="style.css",
            ),
        ),
        answers=(AnswerShape(status=200, text="The file.", content={ANYTHING: None}),),
        problems=(errors.NotFound,),
    ),
    Route(
        methods=_GET,
        pattern="/language/{language}",
        handler=own.set_language,
        operation="setLanguage",
        text="remembers in a cookie the language that a reader has chosen for pages, and leads "
        "back to the page `to`",
        section="pages",
        parameters=(
            Parameter(
                name="language",
                place="path",
                text="a language of pages",
                schema={"type": "string", "enum": list(LANGUAGES)},
                required=True,
            ),
            Parameter(name="to", text="the path and the query of the page to show next"),
        ),
        answers=(
            AnswerShape(
                status=303, text="The page, in this language.", fields=("Location", "Set-Cookie")
            ),
        ),
        problems=(errors.NotFound,),
    ),
    Route(
        methods=_GET,
        pattern="/patterns",
        handler=own.show_patterns,
        operation="showPatterns",
        text="each component of the pages, with the colour, the logo and the language in use",
        section="pages",
        answers=(AnswerShape(status=200, text="A page.", content={"text/html": None}),),
    ),
    Route(
        methods=_GET,
        pattern="/problems/{code}",
        handler=own.explain_code,
        operation="explainProblem",
        text="the meaning of an [error](errors.md)",
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

INFORMATION = (
    Route(
        methods=_GET,
        pattern="/about",
        handler=about.show_about,
        operation="showAbout",
        text="who runs this resolver, its series and schemes, and its feeds",
        section="pages",
        answers=(
            AnswerShape(
                status=200, text="The description.", content={JSON: _ENTITY, "text/html": None}
            ),
        ),
    ),
    Route(
        methods=_GET,
        pattern="/docs",
        handler=documentation.show_documentation,
        operation="listDocumentation",
        text="the documentation of the running version",
        section="pages",
        answers=(AnswerShape(status=200, text="A page.", content={"text/html": None}),),
    ),
    Route(
        methods=_GET,
        pattern="/docs/{page}",
        handler=documentation.show_documentation,
        operation="readDocumentation",
        text="a page of the documentation, such as `reference/http`; with `.md`, its source",
        shown="/docs/<page>",
        section="pages",
        parameters=(
            Parameter(
                name="page",
                place="path",
                text="the path of a page",
                schema=WORD,
                required=True,
                listed=False,
                example="reference/http",
            ),
        ),
        answers=(
            AnswerShape(
                status=200, text="The page.", content={"text/html": None, "text/markdown": TEXT}
            ),
        ),
        problems=(errors.NotFound,),
    ),
)

THTTP = (
    Route(
        methods=_GET,
        pattern="/uri-res/{service}",
        handler=thttp.ask_service,
        operation="askResolutionService",
        text="THTTP, below",
        shown="/uri-res/<service>?<uri>",
        section="pages",
        parameters=(
            Parameter(
                name="service",
                place="path",
                text="a service of RFC 2169 or RFC 2483, in upper or lower case",
                schema={"type": "string", "pattern": f"(?i)^(?:{'|'.join(thttp.SERVICES)})$"},
                required=True,
                example="N2L",
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The answer of the service: a list of URIs, a description, or the resource.",
                content={ANYTHING: None},
            ),
            AnswerShape(status=206, text="Ranges of the resource.", content={ANYTHING: None}),
            AnswerShape(status=300, text="Several versions have the part.", content={JSON: None}),
            AnswerShape(
                status=302, text="N2L to HTTP/1.0 clients; N2R of a resource held elsewhere."
            ),
            AnswerShape(status=303, text="N2L: the best URL.", fields=("Location",)),
            AnswerShape(status=304, text="The client already has it."),
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
            errors.MissingLibrary,
            errors.Undecodable,
            errors.ArchiveClosed,
            *_REFUSED,
        ),
        security=(Security.BEARER,),
        extensions={
            "x-query-string": {
                "description": "The complete query is the URI to look up, escaped or as it is. "
                "For I=I it is two URIs with %20 between them.",
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
    text="an identifier, completely percent-encoded; without a version it means the highest",
    schema=WORD,
    required=True,
    listed=False,
    example="ark%3A%2F99999%2Ffk4image",
)
_PICTURE = (
    errors.NotFound,
    errors.InvalidRequest,
    errors.PartNotSupported,
    errors.MissingLibrary,
    errors.Undecodable,
    *_REFUSED,
)

IIIF = (
    Route(
        methods=_GET,
        pattern="/iiif/{version}/{name}",
        handler=iiif.serve_image,
        operation="findImage",
        text="303 to the `info.json` of the image",
        shown="/iiif/<version>/<id>",
        section="iiif",
        parameters=(_VERSION, _IMAGE),
        answers=(
            AnswerShape(status=303, text="The info.json of the image.", fields=("Location",)),
        ),
        problems=_PICTURE,
        security=(Security.BEARER,),
    ),
    Route(
        methods=_GET,
        pattern="/iiif/{version}/{name}/info.json",
        handler=iiif.serve_image,
        operation="describeImage",
        text="size, limits, tiles; by default `application/json` (2.1) or `application/ld+json` "
        "(3.0), with `Accept` the other",
        shown="…/<id>/info.json",
        section="iiif",
        parameters=(_VERSION, _IMAGE),
        answers=(
            AnswerShape(
                status=200,
                text="The description.",
                content={JSON: _ENTITY, "application/ld+json": _ENTITY},
            ),
            AnswerShape(status=304, text="The client already has it."),
        ),
        problems=_PICTURE,
        security=(Security.BEARER,),
    ),
    Route(
        methods=_GET,
        pattern="/iiif/{version}/{name}/{region}/{size}/{rotation}/{picture}",
        handler=iiif.serve_image,
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
                text="`full`, `square` (centred), `x,y,w,h`, `pct:x,y,w,h`; cropped at the edge",
                schema=WORD,
                required=True,
                example="full",
            ),
            Parameter(
                name="size",
                place="path",
                text="`max`, `w,`, `,h`, `w,h`, `!w,h`, `pct:n`; a prefix `^` allows enlarging "
                "(3.0). 2.1 also has `full`, and enlarges without `^`",
                schema=WORD,
                required=True,
                example="max",
            ),
            Parameter(
                name="rotation",
                place="path",
                text="any number of degrees; a prefix `!` mirrors",
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
            AnswerShape(status=304, text="The client already has it."),
        ),
        problems=_PICTURE,
        security=(Security.BEARER,),
    ),
)

PAGES = (*OWN, *INFORMATION, *THTTP, *IIIF, *ARCHIVED, *EMBEDDING, *HARVESTING, *WELL_KNOWN)
