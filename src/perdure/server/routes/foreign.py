"""The routes of interfaces that clients of EZID and DataCite use."""

from __future__ import annotations

from http import HTTPStatus

from perdure.server.apis import datacite_api, ezid_api
from perdure.server.routes.model import (
    TEXT,
    WORD,
    AnswerShape,
    BodyShape,
    Parameter,
    Route,
    Schema,
    Security,
)

_PLAIN = "text/plain"
_PROBLEM = "application/problem+json"
_ANY: Schema = {}
_OBJECT: Schema = {"type": "object"}
_ACCOUNT = (Security.BEARER, Security.SIGNATURE, Security.BASIC)
_FAILED = (400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 422, 429, 431, 500, 501, 503)


def _list_failures(media_type: str, schema: Schema) -> tuple[AnswerShape, ...]:
    """The answers to requests that fail, in the words of the interface or, before it, of HTTP."""
    return tuple(
        AnswerShape(
            status=status,
            text=f"{HTTPStatus(status).phrase}.",
            content={media_type: schema, _PROBLEM: _ANY},
        )
        for status in _FAILED
    )


# EZID
# ----

_IDENTIFIER = Parameter(
    name="identifier",
    place="path",
    text="an identifier as EZID writes it, such as `ark:/99999/fk4gt78tq`",
    schema=WORD,
    required=True,
    example="ark:%2F99999%2Ffk4gt78tq",
)
_SHOULDER = Parameter(
    name="shoulder",
    place="path",
    text="a shoulder that is minted here, such as `ark:/99999/fk4`, or the beginning of DOIs",
    schema=WORD,
    required=True,
    example="ark:%2F99999%2Ffk4",
)
_ELEMENTS = BodyShape(text="Elements in ANVL.", content={_PLAIN: TEXT}, required=False)
_EZID_FAILED = _list_failures(_PLAIN, TEXT)
_FLAG: Schema = {"type": "string", "enum": ["yes", "no"]}
_HANDLERS = {
    "/id/{identifier}": ezid_api.serve_identifier,
    "/shoulder/{shoulder}": ezid_api.mint_identifier,
    "/login": ezid_api.log_in,
    "/logout": ezid_api.log_out,
    "/status": ezid_api.show_status,
}


def _make_ezid(
    method: str,
    pattern: str,
    operation: str,
    text: str,
    *,
    parameters: tuple[Parameter, ...] = (),
    body: BodyShape | None = None,
    is_open: bool = False,
) -> Route:
    done = (200,) if method in ("GET", "DELETE") else (200, 201)
    return Route(
        methods=("GET", "HEAD") if method == "GET" else (method,),
        pattern=pattern,
        handler=_HANDLERS[pattern],
        operation=operation,
        text=text,
        section="foreign",
        parameters=parameters,
        body=body,
        answers=(
            *(
                AnswerShape(status=one, text="The status line.", content={_PLAIN: TEXT})
                for one in done
            ),
            *_EZID_FAILED,
        ),
        security=_ACCOUNT if pattern not in ("/logout", "/status") else (),
        is_open=is_open,
    )


EZID = (
    _make_ezid(
        "GET",
        "/id/{identifier}",
        "viewEzidIdentifier",
        "the elements of an identifier, in ANVL",
        parameters=(
            _IDENTIFIER,
            Parameter(
                name="prefix_match",
                text="`yes`: the longest identifier with which it begins",
                schema=_FLAG,
            ),
        ),
        is_open=True,
    ),
    _make_ezid(
        "PUT",
        "/id/{identifier}",
        "createEzidIdentifier",
        "creates an identifier",
        parameters=(
            _IDENTIFIER,
            Parameter(name="update_if_exists", text="`yes`: changes one that exists", schema=_FLAG),
        ),
        body=_ELEMENTS,
    ),
    _make_ezid(
        "POST",
        "/id/{identifier}",
        "updateEzidIdentifier",
        "sets elements; an empty one is removed",
        parameters=(_IDENTIFIER,),
        body=_ELEMENTS,
    ),
    _make_ezid(
        "DELETE",
        "/id/{identifier}",
        "deleteEzidIdentifier",
        "deletes an identifier, under `mutable_prefixes` only",
        parameters=(_IDENTIFIER,),
    ),
    _make_ezid(
        "POST",
        "/shoulder/{shoulder}",
        "mintEzidIdentifier",
        "mints an identifier",
        parameters=(_SHOULDER,),
        body=_ELEMENTS,
    ),
    _make_ezid("GET", "/login", "logIn", "a session, as the cookie `sessionid`"),
    _make_ezid("GET", "/logout", "logOut", "ends the session of the client", is_open=True),
    _make_ezid(
        "GET",
        "/status",
        "showEzidStatus",
        "`success: EZID is up`",
        parameters=(
            Parameter(name="subsystems", text="`*`, or names of subsystems with commas"),
            Parameter(name="detailed", text="is accepted and changes nothing"),
        ),
        is_open=True,
    ),
)


# DataCite
# --------

_DOI = Parameter(
    name="doi",
    place="path",
    text="a DOI, such as `10.5072/x`",
    schema=WORD,
    required=True,
    example="10.5072%2Fx",
)
_ATTRIBUTES = BodyShape(
    text="A DOI with its attributes, as JSON:API.",
    content={datacite_api.MEDIA_TYPE: _OBJECT, "application/json": _OBJECT},
)
_DATACITE_FAILED = _list_failures(datacite_api.MEDIA_TYPE, _OBJECT)


def _make_datacite(
    methods: tuple[str, ...],
    pattern: str,
    operation: str,
    text: str,
    *statuses: int,
    parameters: tuple[Parameter, ...] = (),
    body: BodyShape | None = None,
    is_open: bool = False,
) -> Route:
    content = {datacite_api.MEDIA_TYPE: _OBJECT}
    return Route(
        methods=methods,
        pattern=pattern,
        handler=datacite_api.serve_dois,
        operation=operation,
        text=text,
        section="foreign",
        parameters=parameters,
        body=body,
        answers=(
            *(
                AnswerShape(status=one, text="The DOI.", content={} if one == 204 else content)
                for one in statuses
            ),
            *_DATACITE_FAILED,
        ),
        security=_ACCOUNT,
        is_open=is_open,
    )


DATACITE = (
    _make_datacite(
        ("GET", "HEAD"),
        "/dois",
        "listDois",
        "the DOIs of a prefix that are not drafts",
        200,
        parameters=(
            Parameter(name="prefix", text="the prefix, which is needed without `query`: `10.5072`"),
            Parameter(
                name="query", text="a search in the syntax of DataCite: `titles.title:names`"
            ),
            Parameter(name="page[size]", text="the most DOIs of a page; 25 by default"),
            Parameter(name="page[cursor]", text="where the page begins: from `links.next`"),
        ),
        is_open=True,
    ),
    _make_datacite(
        ("POST",),
        "/dois",
        "createDoi",
        "creates a DOI, or a random one of a prefix",
        201,
        body=_ATTRIBUTES,
    ),
    _make_datacite(
        ("GET", "HEAD"),
        "/dois/{doi}",
        "showDoi",
        "a DOI with its attributes",
        200,
        parameters=(_DOI,),
        is_open=True,
    ),
    _make_datacite(
        ("PUT",),
        "/dois/{doi}",
        "changeDoi",
        "changes attributes, or the state by an `event`: `publish`, `register`, `hide`",
        200,
        201,
        parameters=(_DOI,),
        body=_ATTRIBUTES,
    ),
    _make_datacite(
        ("DELETE",),
        "/dois/{doi}",
        "deleteDoi",
        "deletes a draft, under `mutable_prefixes` only",
        204,
        parameters=(_DOI,),
    ),
)

FOREIGN = (*EZID, *DATACITE)
