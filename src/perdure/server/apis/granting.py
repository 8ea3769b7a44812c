"""Granting and revoking rights over HTTP: `/tokens`.

    GET  /tokens                 the tokens that the caller has granted, or administers
    GET  /tokens/<name>          one of them, with its history
    POST /tokens                 grants some of the caller's rights; the secret is shown once
    POST /tokens/<name>?revoke   revokes one of them, at once and permanently
    GET  /proposals              the proposed withdrawals that the caller may confirm or refuse

How it works: every caller sends a token. A token with the right `delegate` can grant.
`perdure.policy.rights` decides which rights it can grant, and which tokens the caller may see and
revoke.

What must stay true: the secret of a new token is shown once, to the caller who made it; no other
secret and no digest of a secret is ever shown. A token that the caller does not manage gets the
same answer as one that does not exist.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from perdure.errors import Forbidden, NoSuchToken
from perdure.errors.requests import MalformedBody
from perdure.model.commands import SaveToken
from perdure.model.parameters import decode_names
from perdure.model.records import IdentifiedRecord, Token
from perdure.policy import rights, tokens
from perdure.policy.proposals import show_proposal
from perdure.server.common import auth, problems
from perdure.server.common.answers import Answer, escape_uri, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource.planning import read_whole_body

_JSON = "application/json"
_PRIVATE = (b"cache-control", b"no-store")
_LONGEST_BODY = 64 * 1024  # bytes
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The token to grant. With a `key`, its requests are signed and it has no secret."""

    name: str
    operations: tuple[str, ...]
    authorities: tuple[str, ...]
    first_day: str | None = None
    last_day: str | None = None
    expires: str | None = None
    key: str = ""


async def manage_tokens(service: Service, request: Request) -> Answer:
    """Answer any request for `/tokens`."""
    caller = auth.find_bearer(service, request)
    for one in service.bearers.trace_chain(caller):
        rights.check_valid(one, auth.current_time(service))
    name = unquote(request.target.text.partition("/")[2])
    question = request.target.question
    word = None if question is None else decode_names(question).removesuffix("=")  # ?revoke=
    match request.method, word, bool(name):
        case (("GET" | "HEAD"), None, False):
            managed = list_managed(service, caller)
            return _write_answer(HTTPStatus.OK, {"tokens": [_show_token(one) for one in managed]})
        case (("GET" | "HEAD"), None, True):
            found = _find_managed(service, caller, name)
            return _write_answer(
                HTTPStatus.OK, _show_token(found) | {"history": _list_history(service, name)}
            )
        case "POST", None, False:
            return await _grant_token(service, request, caller)
        case "POST", "revoke", True:
            return await _revoke_token(service, caller, name)
    return problems.answer_problem(
        problems.not_allowed(request.method, request.allow[TargetKind.PAGE]), request
    )


async def list_proposals(service: Service, request: Request) -> Answer:
    """Answer with the proposed withdrawals that the caller may confirm or refuse."""
    caller = auth.find_bearer(service, request)
    for one in service.bearers.trace_chain(caller):
        rights.check_valid(one, auth.current_time(service))
    shown = [show_proposal(row) for row in list_confirmable(service, caller)]
    return _write_answer(HTTPStatus.OK, {"proposals": shown})


def list_confirmable(service: Service, caller: Token) -> list[IdentifiedRecord]:
    """Return the records with a proposed withdrawal that the caller may confirm or refuse."""
    found = []
    for row in service.registry.listings.list_proposals(auth.current_time(service)):
        proposal = row.record.proposal
        act = proposal.act if proposal else "withdraw"
        with suppress(Forbidden):
            auth.check_right(service, caller, act, row.identifier)
            found.append(row)
    return found


async def _grant_token(service: Service, request: Request, caller: Token) -> Answer:
    body = await read_whole_body(request, _LONGEST_BODY)
    try:
        asked = msgspec.json.decode(body, type=Grant)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedBody(body="the grant", fault=str(error)) from error
    granted, secret = await grant_token(service, caller, asked)
    shown = _show_token(granted) | ({"token": secret} if secret else {})
    place = escape_uri(f"{request.base_url}/tokens/{quote(granted.name, safe='')}")
    return _write_answer(HTTPStatus.CREATED, shown, (b"location", place))


async def grant_token(service: Service, caller: Token, asked: Grant) -> tuple[Token, str]:
    """Make a token with some of the caller's rights. Return it with its secret, to be shown once.

    The secret is empty if the token has a key. Raises InvalidRequest, Unauthenticated, Forbidden,
    or Conflict if the name is taken.
    """
    try:
        digest, secret = _make_credential(asked.name, asked.key)
        _check_days(asked)
    except ValueError as error:
        raise MalformedBody(body="the grant", fault=str(error)) from error
    moment = auth.current_time(service)
    granted = Token(
        name=asked.name,
        digest=digest,
        operations=asked.operations,
        authorities=asked.authorities,
        key=asked.key,
        granted_by=caller.name,
        first_day=asked.first_day,
        last_day=asked.last_day,
        created=moment,
        expires=asked.expires,
    )
    rights.check_shape(granted)
    for giver in (chain := service.bearers.trace_chain(caller)):
        rights.check_grant(giver, granted, len(chain), moment)
    await service.submit_command(SaveToken(by=caller.name, token=granted, new=True), caller.name)
    return granted, secret


def _make_credential(name: str, key: str) -> tuple[str, str]:
    """The digest to keep, and the secret to show. Raises InvalidRequest if `key` is not a key."""
    if not key:
        secret, digest = tokens.make_token()
        return digest, secret
    return tokens.digest_key(name, tokens.read_key(key)), ""


def _check_days(asked: Grant) -> None:
    """Raise ValueError if a date or time is not in the form that perdure uses."""
    for day in (asked.first_day, asked.last_day):
        if day is not None:
            if not _DAY.fullmatch(day):
                raise ValueError(f"{day[:40]!a} is not a date; write it like 2026-11-21")
            date.fromisoformat(day)
    if asked.expires is not None:
        if not _TIME.fullmatch(asked.expires):
            raise ValueError(
                f"{asked.expires[:40]!a} is not a time; write it like 2026-11-21T12:00:00Z"
            )
        datetime.fromisoformat(asked.expires)


async def _revoke_token(service: Service, caller: Token, name: str) -> Answer:
    return _write_answer(HTTPStatus.OK, _show_token(await revoke_token(service, caller, name)))


async def revoke_token(service: Service, caller: Token, name: str) -> Token:
    """Revoke a token that the caller manages, at once and permanently. Raises NoSuchToken."""
    found = _find_managed(service, caller, name)
    if not found.revoked:
        found = msgspec.structs.replace(found, revoked=auth.current_time(service))
        await service.submit_command(SaveToken(by=caller.name, token=found), caller.name)
    return found


def list_managed(service: Service, caller: Token) -> list[Token]:
    """Return the tokens that the caller has granted, or administers."""
    tokens_known = service.registry.records.list_tokens()
    return [one for one in tokens_known if rights.manages_token(caller, one)]


def _find_managed(service: Service, caller: Token, name: str) -> Token:
    found = service.registry.records.find_token_named(name)
    if found is None or not rights.manages_token(caller, found):
        raise NoSuchToken(identifier=name)
    return found


def _list_history(service: Service, name: str) -> list[dict[str, Any]]:
    return [
        {
            "at": at,
            "by": by,
            "before": None if before is None else msgspec.json.decode(before),
            "after": msgspec.json.decode(after),
        }
        for at, by, before, after in service.registry.records.list_token_changes(name)
    ]


def _show_token(token: Token) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(token)
    del fields["digest"]
    return fields


def _write_answer(status: int, body: object, *fields: tuple[bytes, bytes]) -> Answer:
    return make_answer(status, _JSON, msgspec.json.encode(body), _PRIVATE, *fields)
