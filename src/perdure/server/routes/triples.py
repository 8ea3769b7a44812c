"""The routes of queries in SPARQL."""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import triples
from perdure.server.routes.model import (
    TEXT,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
)
from perdure.upkeep.triples.querying import FORMS

_ANSWERS = (
    AnswerShape(
        status=200,
        text="The answer.",
        content={form.media_type: None for form in FORMS},
    ),
)
_PROBLEMS = (
    errors.InvalidRequest,
    errors.NotFound,
    errors.NotAcceptable,
    errors.TooLarge,
    errors.Incomplete,
    errors.DigestMismatch,
)
_TEXT = (
    "the answer to a query in SPARQL about the assertions that everyone may read "
    "([triples](triples.md)), if the setting `sparql` is on"
)

_GRAPHS = (
    Parameter(
        name="default-graph-uri",
        text="an assertion that the query is about, instead of those of FROM",
        repeated=True,
    ),
    Parameter(
        name="named-graph-uri",
        text="an assertion that is a graph of the query, instead of those of FROM NAMED",
        repeated=True,
    ),
)

TRIPLES = (
    Route(
        methods=("GET", "HEAD"),
        pattern=f"/{triples.PATH}",
        handler=triples.answer_sparql,
        operation="queryTriples",
        text=_TEXT,
        shown=f"/{triples.PATH}?query=<query>",
        section="pages",
        parameters=(Parameter(name="query", text="the query", schema=WORD), *_GRAPHS),
        answers=_ANSWERS,
        problems=_PROBLEMS,
    ),
    Route(
        methods=("POST",),
        pattern=f"/{triples.PATH}",
        handler=triples.answer_sparql,
        operation="queryTriplesByPost",
        text=f"{_TEXT}; the query is the body, or the field `query` of a form",
        section="pages",
        parameters=_GRAPHS,
        body=BodyShape(text="The query.", content={triples.QUERY: TEXT, triples.FORM: TEXT}),
        answers=_ANSWERS,
        problems=_PROBLEMS,
    ),
)
