"""The routes of the Handle API and of the search for handles.

How it works: the Handle API answers every method itself, errors included, because its clients
expect its own codes (docs/reference/handle-api.md).
"""

from __future__ import annotations

from perdure import errors
from perdure.server.apis import (
    handle_search,
    handles,
)
from perdure.server.routes.model import (
    ENTITY,
    JSON,
    REFUSED,
    TEXT,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Schema,
    Security,
)

_FLAG: Schema = {"type": "string", "enum": ["", "true", "false"]}


_NUMBER: Schema = {"type": "string", "pattern": "^[0-9]{0,9}$"}


_INDEX: Schema = {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"}


_HANDLE_ANSWER: Schema = {"$ref": "#/components/schemas/HandleAnswer"}


_VALUES: Schema = {
    "anyOf": [
        {
            "type": "object",
            "required": ["values"],
            "properties": {"values": {"$ref": "#/components/schemas/HandleValues"}},
        },
        {"$ref": "#/components/schemas/HandleValues"},
    ]
}


_HANDLE = Parameter(
    name="handle",
    place="path",
    text="a handle, or a PDI spelled `pdi/…`, percent-encoded",
    schema=WORD,
    required=True,
    example="21.T14999%2FA",
)


_INDEXES = Parameter(name="index", text="only this value", schema=_INDEX, repeated=True)


_READING = (
    _HANDLE,
    _INDEXES,
    Parameter(name="type", text="only values of this type", repeated=True),
    Parameter(name="auth", text="an answer that may not be cached", schema=_FLAG),
    Parameter(name="pretty", text="indented JSON", schema=_FLAG),
    Parameter(name="callback", text="JSONP: the name of a function"),
)


_TOLD = AnswerShape(
    status=200,
    text="A response code of the Handle protocol, and the values.",
    content={JSON: _HANDLE_ANSWER, "application/javascript": TEXT},
)


_BY_ADMIN = (Security.BEARER, Security.BASIC)


_BY_SIGNED_ADMIN = (Security.BEARER, Security.SIGNATURE, Security.BASIC)


_HANDLE_PROBLEMS = (
    errors.MalformedIdentifier,
    errors.InvalidRequest,
    errors.NotFound,
    errors.Conflict,
    errors.TooLarge,
    errors.Incomplete,
    errors.DigestMismatch,
    errors.Unavailable,
    errors.LegallyUnavailable,
    *REFUSED,
)


def _make_trace(pattern: str, operation: str, parameters: tuple[Parameter, ...] = ()) -> Route:
    return Route(
        methods=("TRACE",),
        pattern=pattern,
        handler=handles.serve_handle,
        operation=operation,
        text="the request as it arrived, without credentials",
        parameters=parameters,
        answers=(AnswerShape(status=200, text="The request.", content={"message/http": TEXT}),),
        answers_every_method=True,
        handle_errors=True,
    )


def _make_options(pattern: str, operation: str, parameters: tuple[Parameter, ...] = ()) -> Route:
    return Route(
        methods=("OPTIONS",),
        pattern=pattern,
        handler=handles.serve_handle,
        operation=operation,
        text="the allowed methods, also for scripts of other sites",
        parameters=parameters,
        answers=(AnswerShape(status=200, text="The methods.", fields=("Allow",)),),
        answers_every_method=True,
        handle_errors=True,
    )


HANDLES = (
    Route(
        methods=("GET", "HEAD"),
        pattern="/api/handles/{handle}",
        handler=handles.serve_handle,
        operation="readHandle",
        text="the values of a handle: the [Handle REST API](handle-api.md)",
        section="pages",
        parameters=_READING,
        answers=(_TOLD,),
        problems=_HANDLE_PROBLEMS,
        security=_BY_ADMIN,
        answers_every_method=True,
        handle_errors=True,
    ),
    Route(
        methods=("POST",),
        pattern="/api/handles/{handle}",
        handler=handles.serve_handle,
        operation="queryHandle",
        text="the same, with the parameters in the body",
        parameters=_READING,
        body=BodyShape(
            text="The parameters.",
            content={"application/x-www-form-urlencoded": ENTITY, JSON: ENTITY},
            required=False,
        ),
        answers=(_TOLD,),
        problems=_HANDLE_PROBLEMS,
        security=_BY_SIGNED_ADMIN,
        answers_every_method=True,
        handle_errors=True,
    ),
    Route(
        methods=("PUT",),
        pattern="/api/handles/{handle}",
        handler=handles.serve_handle,
        operation="writeHandle",
        text="creates a handle, or replaces its values",
        parameters=(
            _HANDLE,
            Parameter(
                name="index",
                text="replaces only these values; `various`: those in the body",
                schema={"type": "string", "pattern": "^([1-9][0-9]{0,8}|various)$"},
                repeated=True,
            ),
            Parameter(
                name="overwrite",
                text="`false`: the request fails if the handle or a value exists",
                schema=_FLAG,
            ),
            Parameter(name="mintNewSuffix", text="appends a UUID to the handle", schema=_FLAG),
        ),
        body=BodyShape(text="The values.", content={JSON: _VALUES}),
        answers=(
            AnswerShape(status=200, text="Written.", content={JSON: _HANDLE_ANSWER}),
            AnswerShape(status=201, text="Created.", content={JSON: _HANDLE_ANSWER}),
        ),
        problems=_HANDLE_PROBLEMS,
        security=_BY_SIGNED_ADMIN,
        is_open=False,
        answers_every_method=True,
        handle_errors=True,
    ),
    Route(
        methods=("DELETE",),
        pattern="/api/handles/{handle}",
        handler=handles.serve_handle,
        operation="deleteHandle",
        text="removes values, or the handle if its prefix allows it",
        parameters=(_HANDLE, _INDEXES),
        answers=(AnswerShape(status=200, text="Removed.", content={JSON: _HANDLE_ANSWER}),),
        problems=_HANDLE_PROBLEMS,
        security=_BY_SIGNED_ADMIN,
        is_open=False,
        answers_every_method=True,
        handle_errors=True,
    ),
    _make_trace("/api/handles/{handle}", "echoHandleRequest", (_HANDLE,)),
    _make_options("/api/handles/{handle}", "askHandleMethods", (_HANDLE,)),
    Route(
        methods=("GET", "HEAD"),
        pattern="/api/handles",
        handler=handles.serve_handle,
        operation="listHandles",
        text="the handles of a prefix",
        shown="/api/handles?prefix=<prefix>",
        section="pages",
        parameters=(
            Parameter(name="prefix", text="the prefix", schema=WORD, required=True),
            Parameter(name="page", text="the number of a page, from 0", schema=_NUMBER),
            Parameter(name="pageSize", text="handles per page", schema=_NUMBER),
            Parameter(name="cursor", text="the cursor from the previous answer"),
        ),
        answers=(AnswerShape(status=200, text="The handles.", content={JSON: _HANDLE_ANSWER}),),
        problems=_HANDLE_PROBLEMS,
        security=_BY_ADMIN,
        is_open=False,
        answers_every_method=True,
        handle_errors=True,
    ),
    _make_trace("/api/handles", "echoListingRequest"),
    _make_options("/api/handles", "askListingMethods"),
    Route(
        methods=("GET", "HEAD"),
        pattern="/hrls/handles/",
        handler=handle_search.search_handles,
        operation="searchHandles",
        text="handles with these values; `*` stands for any characters",
        shown="/hrls/handles/?<type>=<text>",
        section="pages",
        parameters=(
            Parameter(
                name="criteria",
                text="types of values, each with the text to match",
                schema={"type": "object", "additionalProperties": {"type": "string"}},
            ),
            Parameter(name="limit", text="the largest number of handles", schema=_NUMBER),
            Parameter(name="cursor", text="the cursor from the previous answer"),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The handles.",
                content={JSON: {"type": "array", "items": {"type": "string"}}},
            ),
        ),
        problems=_HANDLE_PROBLEMS,
        security=_BY_ADMIN,
        is_open=False,
        handle_errors=True,
    ),
)
