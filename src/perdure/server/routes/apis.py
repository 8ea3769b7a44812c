"""The routes of the programming interfaces: handles, rights, captures and changes.

How it works: the Handle API answers every method itself, errors included, because its clients
expect its own codes (docs/reference/handle-api.md). The others answer errors with problem
documents.
"""

from __future__ import annotations

from functools import partial

from perdure import errors
from perdure.server.apis import (
    batches,
    capturing,
    changes,
    contents,
    delegating,
    granting,
    handle_search,
    handles,
    restricting,
    webmentions,
)
from perdure.server.routes.annotations import ANNOTATIONS
from perdure.server.routes.model import (
    BARE,
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
from perdure.upkeep.mirroring import wire

_ENTITY: Schema = {"type": "object", "additionalProperties": True}
_MENTION: Schema = {
    "type": "object",
    "required": ["source", "target"],
    "properties": {"source": WORD, "target": WORD},
}
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
_BY_TOKEN = (Security.BEARER, Security.SIGNATURE)
_REFUSED = (errors.Unauthenticated, errors.Forbidden)
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
    *_REFUSED,
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
            content={"application/x-www-form-urlencoded": _ENTITY, JSON: _ENTITY},
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

_TOKEN_NAME = Parameter(
    name="name", place="path", text="the name of a token", schema=WORD, required=True
)
_TOKEN: Schema = {"$ref": "#/components/schemas/Token"}


def _list_schema(name: str, items: Schema) -> Schema:
    """The schema of an object with one list."""
    return {
        "type": "object",
        "required": [name],
        "properties": {name: {"type": "array", "items": items}},
    }


_right_route = partial(Route, section="tokens", security=_BY_TOKEN, is_open=False)

RIGHTS = (
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/restrictions",
        handler=restricting.list_restrictions,
        operation="listRestrictions",
        text="reading rules in force that the caller may change; with the right `restrict`",
        parameters=(
            Parameter(
                name="limit",
                text="the largest number of rules",
                schema={"type": "integer", "minimum": 1, "maximum": restricting.MOST},
            ),
            Parameter(
                name="cursor",
                text="the cursor from the previous answer",
                schema={"type": "integer", "minimum": 0, "maximum": restricting.LAST_CURSOR},
            ),
        ),
        answers=(
            AnswerShape(
                status=200,
                text="The rules, the oldest first.",
                content={JSON: _list_schema("restrictions", {"type": "object"})},
            ),
        ),
        problems=(*_REFUSED, errors.InvalidRequest),
    ),
    Route(
        methods=("POST",),
        pattern=f"/{webmentions.PATH}",
        handler=webmentions.take_webmention,
        operation="takeWebmention",
        text="queues the report that a page refers to a name here ([Webmention](citations.md#"
        "reports-from-elsewhere)), if the setting `webmentions` is on",
        section="pages",
        body=BodyShape(
            text="`source` and `target`, two addresses.",
            content={"application/x-www-form-urlencoded": _MENTION},
        ),
        answers=(
            AnswerShape(status=202, text="The page will be fetched.", content={JSON: _ENTITY}),
        ),
        problems=(
            errors.Forbidden,
            errors.InvalidRequest,
            errors.TooLarge,
            errors.Unavailable,
            errors.Incomplete,
        ),
    ),
    _right_route(
        methods=("POST",),
        pattern="/restrictions",
        handler=restricting.restrict_reading,
        operation="restrictReading",
        text='sets a reading rule: `{"about", "access", "part", "until", "by_token", "networks", '
        '"reason"}`, with `match`, `first` and `last` about captures; or lifts it: '
        '`{"about", "lift": true}`; with the right `restrict`',
        body=BodyShape(text="The rule to set.", content={JSON: restricting.Restriction}),
        answers=(
            AnswerShape(status=200, text="The changed rule.", content={JSON: _ENTITY}),
            AnswerShape(status=201, text="The new rule.", content={JSON: _ENTITY}),
        ),
        problems=(
            *_REFUSED,
            errors.MalformedIdentifier,
            errors.InvalidRequest,
            errors.Conflict,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
        ),
    ),
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/delegations",
        handler=delegating.list_delegations,
        operation="listDelegations",
        text="[delegations](delegations.md) to other resolvers that the caller administers, also "
        "those that ended or hold later",
        answers=(
            AnswerShape(
                status=200,
                text="The delegations, the oldest first.",
                content={JSON: _list_schema("delegations", {"type": "object"})},
            ),
        ),
        problems=_REFUSED,
    ),
    _right_route(
        methods=("POST",),
        pattern="/delegations",
        handler=delegating.record_delegation,
        operation="delegateNames",
        text='delegates names: `{"names", "to", "role", "how", "protocol", "subseries", '
        '"first_day", "last_day", "effective", "reason"}`; or ends a delegation: `{"revoke", '
        '"effective", "reason"}`; with the right `administer` for all of the names',
        body=BodyShape(
            text="The delegation, or the name of the one to end.",
            content={JSON: delegating.RequestedDelegation},
        ),
        answers=(
            AnswerShape(
                status=201,
                text="The delegation as it holds now, and the document that says so.",
                content={JSON: _ENTITY},
            ),
        ),
        problems=(
            *_REFUSED,
            errors.MalformedIdentifier,
            errors.InvalidRequest,
            errors.NotFound,
            errors.Conflict,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
        ),
    ),
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/proposals",
        handler=granting.list_proposals,
        operation="listProposals",
        text="withdrawals that are proposed, of names that the caller may withdraw",
        answers=(
            AnswerShape(
                status=200,
                text="The proposals, the oldest first.",
                content={JSON: _list_schema("proposals", {"type": "object"})},
            ),
        ),
        problems=_REFUSED,
    ),
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/tokens",
        handler=granting.manage_tokens,
        operation="listTokens",
        text="tokens that the caller granted or administers",
        answers=(
            AnswerShape(
                status=200,
                text="The tokens.",
                content={JSON: _list_schema("tokens", _TOKEN)},
            ),
        ),
        problems=_REFUSED,
    ),
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/tokens/{name}",
        handler=granting.manage_tokens,
        operation="showToken",
        text="one token, with its history",
        parameters=(_TOKEN_NAME,),
        answers=(AnswerShape(status=200, text="The token.", content={JSON: _TOKEN}),),
        problems=(*_REFUSED, errors.NotFound),
    ),
    _right_route(
        methods=("POST",),
        pattern="/tokens",
        handler=granting.manage_tokens,
        operation="grantToken",
        text='grants a token: `{"name", "operations", "authorities", "first_day", "last_day", '
        '"expires", "key"}`',
        body=BodyShape(text="The token to grant.", content={JSON: granting.Grant}),
        answers=(
            AnswerShape(
                status=201,
                text="The token. Its secret is shown only once, in this answer.",
                content={JSON: _TOKEN},
                fields=("Location",),
            ),
        ),
        problems=(
            *_REFUSED,
            errors.InvalidRequest,
            errors.Conflict,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
        ),
    ),
    _right_route(
        methods=("POST",),
        pattern="/tokens/{name}",
        handler=granting.manage_tokens,
        operation="revokeToken",
        text="revokes it, and all tokens granted from it",
        shown="/tokens/<name>?revoke",
        parameters=(
            _TOKEN_NAME,
            Parameter(
                name="revoke",
                text="revokes the token",
                schema=BARE,
                required=True,
            ),
        ),
        answers=(AnswerShape(status=200, text="The token.", content={JSON: _TOKEN}),),
        problems=(*_REFUSED, errors.NotFound),
    ),
)

CAPTURES = (
    Route(
        methods=("POST",),
        pattern="/captures",
        handler=capturing.capture_page,
        operation="capturePage",
        text="captures a page, if the operator allows it: "
        "[web archives](web-archives.md#capturing)",
        shown="POST /captures?url=<url>",
        section="pages",
        parameters=(Parameter(name="url", text="the page", schema=WORD, required=True),),
        answers=(
            AnswerShape(
                status=201,
                text="The PWID, the resources that were recorded, and those that are missing.",
                content={JSON: _ENTITY},
                fields=("Location",),
            ),
        ),
        problems=(
            *_REFUSED,
            errors.InvalidRequest,
            errors.NotFound,
            errors.Unavailable,
            errors.TooLarge,
            errors.OverBudget,
        ),
        security=_BY_TOKEN,
        is_open=False,
        answers_every_method=True,
    ),
)

CHANGES = (
    Route(
        methods=("GET", "HEAD"),
        pattern="/changes",
        handler=changes.list_changes,
        operation="listChanges",
        text="[numbered changes](changes.md), one row per line. `full` asks for full rows and "
        "needs a token with the right `mirror`; `Prefer: wait=30` waits for the next change",
        shown="/changes?since=<mark>&limit=<n>",
        section="pages",
        parameters=(
            Parameter(
                name="since",
                text="the last change that the client has: `1042`, `3.1042`",
                schema={"type": "string", "pattern": "^([0-9]{1,9}[.])?[0-9]{1,18}$"},
            ),
            Parameter(
                name="limit",
                text="the largest number of rows",
                schema={"type": "integer", "minimum": 1, "maximum": changes.MOST},
            ),
            Parameter(
                name="full",
                text="full rows; `full=stored` without the lines that `perdure import` reads",
            ),
            Parameter(
                name="Prefer",
                place="header",
                text="`wait=30`: the seconds to wait if there is no row yet",
                listed=False,
            ),
        ),
        answers=(AnswerShape(status=200, text="The rows.", content={changes.MEDIA_TYPE: TEXT}),),
        problems=(errors.InvalidRequest, errors.Conflict, *_REFUSED),
        security=(Security.BEARER,),
    ),
    Route(
        methods=("POST",),
        pattern=wire.CONTENTS,
        handler=contents.send_contents,
        operation="sendContents",
        text="bytes for [mirrors](mirrors.md#contents), or proofs that they are here; needs a "
        "token with the right `mirror`",
        shown="POST /contents",
        section="pages",
        body=BodyShape(
            text="A JSON object per line: the key of a record, a version and a format.",
            content={changes.MEDIA_TYPE: TEXT},
        ),
        answers=(
            AnswerShape(
                status=200,
                text="For each, a line of JSON, and then as many bytes as it says.",
                content={wire.MEDIA_TYPE: TEXT},
            ),
        ),
        problems=(
            *_REFUSED,
            errors.InvalidRequest,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
            errors.ContentNotSupported,
        ),
        security=_BY_TOKEN,
        is_open=False,
        only_reads=True,
    ),
)

MENDING = (
    Route(
        methods=("PUT",),
        pattern=wire.CONTENTS,
        handler=contents.mend_contents,
        operation="mendContents",
        text="bytes that are damaged here, from a [mirror](mirrors.md#contents) that has them; "
        "needs a token with the right `mirror`",
        shown="PUT /contents?key=<key>&version=<n>&format=<token>",
        section="pages",
        parameters=(
            Parameter(name="key", text="the key of the record", schema=WORD, required=True),
            Parameter(
                name="version",
                text="the version",
                schema={"type": "integer", "minimum": 1, "maximum": 10**9},
                required=True,
            ),
            Parameter(name="format", text="the format", schema=WORD, required=True),
        ),
        body=BodyShape(text="The bytes.", content={"application/octet-stream": {}}),
        answers=(
            AnswerShape(
                status=200,
                text="Whether the bytes here were damaged, and are mended.",
                content={
                    JSON: {
                        "type": "object",
                        "required": ["mended"],
                        "properties": {"mended": {"type": "boolean"}},
                    }
                },
            ),
        ),
        problems=(
            *_REFUSED,
            errors.NotFound,
            errors.InvalidRequest,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
            errors.ContentNotSupported,
        ),
        security=_BY_TOKEN,
        is_open=False,
        only_reads=True,
    ),
)

BATCHES = (
    Route(
        methods=("POST",),
        pattern="/operations",
        handler=batches.run_batch,
        operation="runBatch",
        shown="POST /operations",
        text="carries out many [operations](#batches), one per line; "
        "the answer has one line for each",
        section="writing",
        body=BodyShape(
            text="A JSON object per line: a target and, if needed, the method, the body, its type, "
            "conditions and an idempotency key.",
            content={batches.MEDIA_TYPE: TEXT},
        ),
        answers=(
            AnswerShape(
                status=200,
                text="A JSON object per line: the status and the body of each answer.",
                content={batches.MEDIA_TYPE: TEXT},
            ),
        ),
        problems=(
            *_REFUSED,
            errors.InvalidRequest,
            errors.TooLarge,
            errors.DigestMismatch,
            errors.Incomplete,
            errors.ContentNotSupported,
        ),
        security=_BY_TOKEN,
        is_open=False,
    ),
)

APIS = (*HANDLES, *RIGHTS, *CAPTURES, *BATCHES, *CHANGES, *MENDING, *ANNOTATIONS)
