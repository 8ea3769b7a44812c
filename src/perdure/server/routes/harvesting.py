"""The routes for harvesters and readers of feeds: OAI-PMH, Atom.

How it works: GET and POST have the same arguments (section 3.1.1 of OAI-PMH 2.0), so both have one
handler. The protocol answers every request with status 200, and its errors are part of the answer.
So the schemas here let everything pass; `x-oai-pmh` says what the protocol allows.
"""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import feeds, sitemaps, sync_dumps, sync_packages, sync_xml
from perdure.server.apis.oai import harvesting
from perdure.server.apis.oai.requests import VERBS
from perdure.server.routes.model import (
    ANYTHING,
    TEXT,
    AnswerShape,
    BodyShape,
    Handler,
    Parameter,
    Route,
    Schema,
)

_PROTOCOL = {
    "x-oai-pmh": {"verbs": list(VERBS), "metadataPrefixes": list(harvesting.PREFIXES)},
}
_ANSWER = AnswerShape(
    status=200, text="The answer, or an error of the protocol.", content={"text/xml": TEXT}
)

_PART = Parameter(
    name="part",
    text="a part of a list that has several",
    schema={"type": "string", "pattern": "^[0-9]{1,5}$"},
    listed=False,
)

_TIME: Schema = {"type": "string", "pattern": f"^{sync_dumps.TIME}$"}


def _make_list_route(pattern: str, handler: Handler, operation: str, text: str) -> Route:
    """Make the route of a list in the form of sitemaps."""
    has_parts = handler in (sitemaps.show_sitemap, sitemaps.show_resources, sync_dumps.show_dump)
    return Route(
        methods=("GET", "HEAD"),
        pattern=pattern,
        handler=handler,
        operation=operation,
        text=text,
        section="pages",
        parameters=(_PART,) if has_parts else (),
        answers=(AnswerShape(status=200, text="The list.", content={sync_xml.XML: TEXT}),),
        problems=(errors.InvalidRequest,) if has_parts else (),
    )


def _make_package_route(
    shown: str, handler: Handler, operation: str, text: str, *parameters: Parameter
) -> Route:
    """Make the route of a package of a dump."""
    return Route(
        methods=("GET", "HEAD"),
        pattern=shown.partition("?")[0],
        handler=handler,
        operation=operation,
        text=text,
        shown=shown,
        section="pages",
        parameters=parameters,
        answers=(AnswerShape(status=200, text="The package.", content={sync_packages.ZIP: None}),),
        problems=(errors.InvalidRequest, errors.MalformedIdentifier, errors.UnknownScheme),
    )


HARVESTING = (
    Route(
        methods=("GET", "HEAD"),
        pattern=sitemaps.ROBOTS,
        handler=sitemaps.show_robots,
        operation="showRobots",
        text="the rules for crawlers (RFC 9309)",
        section="pages",
        answers=(AnswerShape(status=200, text="The rules.", content={"text/plain": TEXT}),),
    ),
    _make_list_route(
        sitemaps.SITEMAP, sitemaps.show_sitemap, "showSitemap", "all names, for search engines"
    ),
    _make_list_route(
        sitemaps.SOURCE,
        sitemaps.show_capabilities,
        "showSyncSource",
        "the beginning of [ResourceSync](harvesting.md#resourcesync)",
    ),
    _make_list_route(
        sitemaps.CAPABILITIES,
        sitemaps.show_capabilities,
        "showSyncCapabilities",
        "the lists of ResourceSync",
    ),
    _make_list_route(
        sitemaps.RESOURCES,
        sitemaps.show_resources,
        "listSyncResources",
        "all documents that are held here, with their digests",
    ),
    _make_list_route(
        sitemaps.CHANGES,
        sitemaps.show_changes,
        "listSyncChanges",
        "the documents that changed last, the deleted ones among them",
    ),
    _make_list_route(
        sitemaps.DUMP,
        sync_dumps.show_dump,
        "listSyncDump",
        "packages with all documents that are held here",
    ),
    _make_package_route(
        f"{sync_dumps.DOCUMENTS}?first=<name>",
        sync_dumps.send_documents,
        "sendSyncDocuments",
        "one of these packages",
        Parameter(name="first", text="the identifier of the first record", required=True),
        Parameter(name="last", text="the identifier of the last record", required=True),
    ),
    _make_list_route(
        sitemaps.CHANGE_DUMP,
        sync_dumps.show_change_dump,
        "listSyncChangeDump",
        "packages with the documents that changed last",
    ),
    _make_package_route(
        f"{sync_dumps.CHANGES}?from=<time>",
        sync_dumps.send_changes,
        "sendSyncChanges",
        "one of these packages",
        Parameter(name="from", text="the time of the first change", schema=_TIME, required=True),
        Parameter(name="until", text="the time of the last change", schema=_TIME, required=True),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern=harvesting.PAGE,
        handler=harvesting.answer_harvester,
        operation="harvest",
        text="the records in the order of their last change, for harvesters: OAI-PMH 2.0",
        shown="/oai?verb=<verb>",
        section="pages",
        parameters=(
            Parameter(name="verb", text="one of six verbs"),
            Parameter(name="identifier", text="the identifier of a record", listed=False),
            Parameter(name="metadataPrefix", text="a format of metadata", listed=False),
            Parameter(name="from", text="the earliest date", listed=False),
            Parameter(name="until", text="the latest date", listed=False),
            Parameter(name="set", text="a set, such as `pdi:oma.eop.gov.us`", listed=False),
            Parameter(name="resumptionToken", text="the token of the page before", listed=False),
        ),
        answers=(_ANSWER,),
        extensions=_PROTOCOL,
        problems=(errors.Unavailable,),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern=harvesting.SCHEMA,
        handler=harvesting.show_schema,
        operation="showRecordSchema",
        text="the XML Schema of the format `perdure` of metadata",
        section="pages",
        answers=(AnswerShape(status=200, text="The schema.", content={"application/xml": TEXT}),),
    ),
    Route(
        methods=("POST",),
        pattern=harvesting.PAGE,
        handler=harvesting.answer_harvester,
        operation="harvestByForm",
        text="the same, with the arguments in the body",
        body=BodyShape(
            text="The arguments, as `application/x-www-form-urlencoded`.",
            content={ANYTHING: {}},
            required=False,
        ),
        answers=(_ANSWER,),
        extensions=_PROTOCOL,
        problems=(errors.TooLarge, errors.DigestMismatch, errors.Incomplete, errors.Unavailable),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern=feeds.PAGE,
        handler=feeds.answer_feed,
        operation="followChanges",
        text="the latest changes in a set of names, for feed readers (Atom)",
        shown="/feed.atom?about=<set>",
        section="pages",
        parameters=(
            Parameter(
                name="about", text="a series, an interval, a pattern or a beginning of names"
            ),
            Parameter(
                name="limit",
                text="the largest number of entries",
                schema={"type": "integer", "minimum": 1, "maximum": feeds.MOST},
                listed=False,
            ),
        ),
        answers=(AnswerShape(status=200, text="The feed.", content={feeds.ATOM: TEXT}),),
        problems=(errors.MalformedIdentifier, errors.UnknownScheme, errors.InvalidRequest),
    ),
)
