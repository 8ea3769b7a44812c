"""Answers of the Handle REST API: a response code, its HTTP status, and JSON.

How it works: every answer has a `responseCode` of the Handle protocol. `STATUS` maps it to the
HTTP status that Handle.Net's servers send, and `_OF_ERRORS` maps our errors to codes. The JSON is
written plain, indented (`?pretty`), or as a call (`?callback=`).

What must stay true: the name of a callback is a plain JavaScript identifier, so that no part of a
request is run. The `message` of an error is the text of `perdure.errors`.
"""

from __future__ import annotations

import enum
import re
from http import HTTPStatus
from typing import Any

import msgspec

from perdure import errors
from perdure.errors import PerdureError
from perdure.errors.requests import MalformedCallback
from perdure.server.common import problems
from perdure.server.common.answers import Answer, Fields, make_answer

_encode = msgspec.json.Encoder().encode
_CALLBACK = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.]{0,99}", re.ASCII)
_LARGEST_PRETTY = 1 << 16  # bytes; indenting deeply nested JSON makes it much larger
ANYBODY = (b"access-control-allow-origin", b"*")
_NOT_STORED = (b"cache-control", b"no-store")
_CHALLENGES = (
    (b"www-authenticate", b'Basic realm="handle"'),
    (b"www-authenticate", b'Bearer realm="perdure"'),
)


class HandleCode(enum.IntEnum):
    """Response codes (RFC 3652 section 2.2.2.3, and Handle.Net's)."""

    SUCCESS = 1
    ERROR = 2
    TOO_BUSY = 3
    PROTOCOL_ERROR = 4
    NOT_SUPPORTED = 5
    NOT_FOUND = 100
    ALREADY_EXISTS = 101
    INVALID_HANDLE = 102
    VALUES_NOT_FOUND = 200
    VALUE_EXISTS = 201
    INVALID_VALUE = 202
    NOT_HOME = 301
    FORBIDDEN = 401
    AUTHENTICATION_NEEDED = 402


STATUS: dict[HandleCode, HTTPStatus] = {
    HandleCode.SUCCESS: HTTPStatus.OK,
    HandleCode.ERROR: HTTPStatus.INTERNAL_SERVER_ERROR,
    HandleCode.TOO_BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    HandleCode.PROTOCOL_ERROR: HTTPStatus.BAD_REQUEST,
    HandleCode.NOT_SUPPORTED: HTTPStatus.NOT_IMPLEMENTED,
    HandleCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    HandleCode.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    HandleCode.INVALID_HANDLE: HTTPStatus.BAD_REQUEST,
    HandleCode.VALUES_NOT_FOUND: HTTPStatus.BAD_REQUEST,  # 200 in answers to GET and POST
    HandleCode.VALUE_EXISTS: HTTPStatus.CONFLICT,
    HandleCode.INVALID_VALUE: HTTPStatus.BAD_REQUEST,
    HandleCode.NOT_HOME: HTTPStatus.BAD_REQUEST,
    HandleCode.FORBIDDEN: HTTPStatus.FORBIDDEN,
    HandleCode.AUTHENTICATION_NEEDED: HTTPStatus.UNAUTHORIZED,
}

_KEPT = (b"retry-after", b"ratelimit", b"ratelimit-policy", b"accept-encoding")
"""Header fields that say when a client may ask again, or how."""
_OF_ERRORS: dict[type[PerdureError], HandleCode] = {
    PerdureError: HandleCode.ERROR,
    errors.MalformedIdentifier: HandleCode.INVALID_HANDLE,
    errors.UnknownScheme: HandleCode.INVALID_HANDLE,
    errors.InvalidRequest: HandleCode.INVALID_VALUE,
    errors.OverBudget: HandleCode.INVALID_HANDLE,  # of templates, for this handle
    errors.TooLarge: HandleCode.INVALID_VALUE,
    errors.Incomplete: HandleCode.PROTOCOL_ERROR,
    errors.NotFound: HandleCode.NOT_FOUND,
    errors.NotAcceptable: HandleCode.NOT_FOUND,
    errors.Unavailable: HandleCode.TOO_BUSY,
    errors.Unauthenticated: HandleCode.AUTHENTICATION_NEEDED,
    errors.Forbidden: HandleCode.FORBIDDEN,
    errors.Conflict: HandleCode.NOT_SUPPORTED,
    errors.PreconditionFailed: HandleCode.TOO_BUSY,  # others kept changing the handle
}


class AnswerForm(msgspec.Struct, frozen=True):
    """The form in which to write an answer."""

    pretty: bool = False
    callback: str | None = None


PLAIN = AnswerForm()


def read_form(*, pretty: bool, callback: str | None) -> AnswerForm:
    """Check and return the form. Raises InvalidRequest if the callback is not a name."""
    if callback is not None and not _CALLBACK.fullmatch(callback):
        raise MalformedCallback(callback=callback)
    return AnswerForm(pretty, callback)


def write_body(code: HandleCode, members: dict[str, Any]) -> bytes:
    """Write the JSON of an answer with this code."""
    return _encode({"responseCode": code, **members})


def write_answer(
    code: HandleCode,
    handle: str | None = None,
    *more: tuple[bytes, bytes],
    form: AnswerForm = PLAIN,
    status: HTTPStatus | None = None,
    message: str = "",
    **members: Any,
) -> Answer:
    """Write an answer with this code. `members` follow it in the JSON."""
    found = {} if handle is None else {"handle": handle}
    if message:
        found["message"] = message
    body = write_body(code, found | members)
    if form.pretty and len(body) <= _LARGEST_PRETTY:
        body = msgspec.json.format(body, indent=2)
    kind = "application/json;charset=UTF-8"
    fields: Fields = [ANYBODY, *more]
    if form.callback is not None:
        body = b"/**/%s(%s);" % (form.callback.encode(), body)
        kind = "application/javascript;charset=UTF-8"
        fields.append((b"x-content-type-options", b"nosniff"))
    status = STATUS[code] if status is None else status
    if code not in (HandleCode.SUCCESS, HandleCode.VALUES_NOT_FOUND):
        fields.append(_NOT_STORED)
    if status == HTTPStatus.UNAUTHORIZED:
        fields += _CHALLENGES
    return make_answer(status, kind, body, *fields)


def find_code(error: PerdureError) -> HandleCode:
    """Return the response code of an error."""
    return next(_OF_ERRORS[kind] for kind in type(error).__mro__ if kind in _OF_ERRORS)


def answer_error(
    error: PerdureError, handle: str | None, method: str, form: AnswerForm = PLAIN
) -> Answer:
    """Answer with an error, and log it if it concerns the operator."""
    problem = problems.log_problem(error, method)
    code = find_code(error)
    status = STATUS[code]
    if code in (HandleCode.NOT_SUPPORTED, HandleCode.INVALID_VALUE, HandleCode.ERROR):
        status = problem.status  # more specific: 409, 413
    if isinstance(error, (errors.ShareUsedUp, errors.LegallyUnavailable)):
        status = problem.status  # 429, 451
    kept = [one for one in problem.fields if one[0] in _KEPT]
    return write_answer(code, handle, *kept, form=form, status=status, message=str(error))
