"""The routes of rights: tokens, reading rules, delegations, and proposals of withdrawals."""

from __future__ import annotations

from functools import partial

from perdure import errors
from perdure.server.apis import (
    delegating,
    granting,
    restricting,
    webmentions,
)
from perdure.server.routes.model import (
    BARE,
    BY_TOKEN,
    ENTITY,
    JSON,
    REFUSED,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Schema,
)

_MENTION: Schema = {
    "type": "object",
    "required": ["source", "target"],
    "properties": {"source": WORD, "target": WORD},
}


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


_right_route = partial(Route, section="tokens", security=BY_TOKEN, is_open=False)


RIGHTS = (
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/restrictions",
        handler=restricting.list_restrictions,
        operation="listRestrictions",
        text="reading rules in force that the token covers; right `restrict` or `mirror`",
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
        problems=(*REFUSED, errors.InvalidRequest),
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
            AnswerShape(status=202, text="The page will be fetched.", content={JSON: ENTITY}),
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
            AnswerShape(status=200, text="The changed rule.", content={JSON: ENTITY}),
            AnswerShape(status=201, text="The new rule.", content={JSON: ENTITY}),
        ),
        problems=(
            *REFUSED,
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
        problems=REFUSED,
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
                content={JSON: ENTITY},
            ),
        ),
        problems=(
            *REFUSED,
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
        problems=REFUSED,
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
        problems=REFUSED,
    ),
    _right_route(
        methods=("GET", "HEAD"),
        pattern="/tokens/{name}",
        handler=granting.manage_tokens,
        operation="showToken",
        text="one token, with its history",
        parameters=(_TOKEN_NAME,),
        answers=(AnswerShape(status=200, text="The token.", content={JSON: _TOKEN}),),
        problems=(*REFUSED, errors.NotFound),
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
            *REFUSED,
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
        problems=(*REFUSED, errors.NotFound),
    ),
)
