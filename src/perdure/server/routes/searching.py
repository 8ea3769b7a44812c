"""The routes of searches."""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import feeds, searching
from perdure.server.routes.model import (
    JSON,
    TEXT,
    AnswerShape,
    Parameter,
    Route,
    Schema,
    Security,
)
from perdure.upkeep.searching.asking import ORDERS

_DAY: Schema = {"type": "string", "pattern": "^([0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?)?$"}
_FOUND: Schema = {
    "type": "object",
    "required": ["query", "count", "more", "next", "index", "facets", "documents"],
    "properties": {
        "query": TEXT,
        "count": {"type": "integer", "minimum": 0},
        "more": {"type": "boolean"},
        "next": {"type": ["string", "null"]},
        "index": {"type": "object"},
        "facets": {"type": "object"},
        "documents": {"type": "array", "items": {"type": "object"}},
    },
}
_PARAMETERS = (
    Parameter(name="q", text="words, phrases in quotation marks, beginnings of words with `*`"),
    Parameter(
        name="in",
        text="`title`, `text` or `metadata`; may be repeated",
        schema={"type": "string", "enum": ["title", "text", "metadata"]},
        repeated=True,
    ),
    Parameter(name="by", text="words in names of people and organisations"),
    Parameter(name="series", text="a series, an interval of days, or the beginning of names"),
    Parameter(name="from", text="first day, month or year", schema=_DAY),
    Parameter(name="to", text="last day, month or year", schema=_DAY),
    Parameter(name="format", text="a format or media type; may be repeated", repeated=True),
    Parameter(
        name="sort",
        text="`new` (the newest first, by default), `old`, or `relevance` (what fits best first)",
        schema={"type": "string", "enum": list(ORDERS)},
    ),
    Parameter(
        name="limit",
        text="documents per page",
        schema={"type": "integer", "minimum": 1, "maximum": searching.MOST},
    ),
    Parameter(
        name="cursor",
        text="the cursor in `next` of the previous page",
        schema={"type": "integer", "minimum": 1, "maximum": searching.LAST_CURSOR},
    ),
)
_PROBLEMS = (
    errors.InvalidRequest,
    errors.MalformedIdentifier,
    errors.UnknownScheme,
    errors.NotFound,
    errors.NotAcceptable,
    errors.Unavailable,
)

SEARCHING = (
    Route(
        methods=("GET", "HEAD"),
        pattern="/search",
        handler=searching.search_documents,
        operation="search",
        text="documents that contain words, and the parts that contain them: "
        "[searching](searching.md)",
        shown="/search?q=<words>",
        section="pages",
        parameters=_PARAMETERS,
        answers=(
            AnswerShape(
                status=200,
                text="The documents, in order.",
                content={JSON: _FOUND, feeds.ATOM: TEXT, "text/html": None},
            ),
            AnswerShape(status=304, text="The client already has it."),
        ),
        problems=_PROBLEMS,
        security=(Security.BEARER,),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern="/search.atom",
        handler=searching.search_documents,
        operation="searchFeed",
        text="the same as an Atom feed",
        shown="/search.atom?q=<words>",
        section="pages",
        parameters=_PARAMETERS,
        answers=(
            AnswerShape(status=200, text="The feed.", content={feeds.ATOM: TEXT}),
            AnswerShape(status=304, text="The client already has it."),
        ),
        problems=_PROBLEMS,
        security=(Security.BEARER,),
    ),
    Route(
        methods=("GET", "HEAD"),
        pattern="/opensearch.xml",
        handler=searching.describe_search,
        operation="describeSearch",
        text="the search as browsers and feed readers read it (OpenSearch 1.1)",
        section="pages",
        answers=(
            AnswerShape(status=200, text="The description.", content={searching.OPENSEARCH: TEXT}),
            AnswerShape(status=304, text="The client already has it."),
        ),
        problems=(errors.NotFound,),
    ),
)
