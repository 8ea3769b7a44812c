"""Reading rules over HTTP: `/restrictions`.

    GET  /restrictions   the rules in force that the caller may change, page by page; for a mirror,
                         those about something that it may have
    POST /restrictions   sets the rule about a name or a scope, or lifts it

How it works: every caller sends a token with the right `restrict`, which must cover the complete
name or scope that the rule is about. For a rule about captures it must cover all names of captures
in this registry's own archive, `pwid:<archive>:*`.

What must stay true: a caller sees no rule about anything that the token does not cover.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec.structs import replace

from perdure.errors import Forbidden
from perdure.errors.credentials import RightMissing
from perdure.errors.requests import MalformedBody
from perdure.ids import parse
from perdure.model.commands import Outcome, Restrict
from perdure.model.parameters import read_number
from perdure.model.reading_rules import Access, ReadingRule, RequestedRule
from perdure.model.records import Token
from perdure.policy import rights
from perdure.policy.reading_rules import (
    RuleSubject,
    check_captures,
    read_rule,
    select_in_force,
)
from perdure.server.common import auth, mirrors
from perdure.server.common.answers import Answer, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.server.resource.writing import read_idempotency_key

RIGHT = "restrict"
LIMIT, MOST = 1000, 10_000
LAST_CURSOR = 10**9
_JSON = "application/json"
_PRIVATE = (b"cache-control", b"no-store")
_LONGEST_BODY = 64 * 1024  # bytes


class Restriction(RequestedRule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule to set. With `lift`, the rule about the same subject is removed instead."""

    lift: bool = False


async def list_restrictions(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/restrictions`. Raises Unauthenticated, Forbidden, InvalidRequest."""
    covers = _find_covered(service, request)
    asked = request.parameters
    limit = read_number("limit", asked.get("limit", str(LIMIT)), 1, MOST)
    cursor = read_number("cursor", asked.get("cursor", "0"), 0, LAST_CURSOR)
    found = await service.read_list(_select_covered, service, covers, cursor, limit + 1)
    body: dict[str, Any] = {"restrictions": [_show_rule(one) for one in found[:limit]]}
    if len(found) > limit:
        body["cursor"] = str(found[limit - 1].number)
    return make_answer(HTTPStatus.OK, _JSON, msgspec.json.encode(body), _PRIVATE)


def _find_covered(service: Service, request: Request) -> Callable[[ReadingRule], bool]:
    """Return the function that says which rules the caller may see."""
    token = auth.find_bearer(service, request)
    if RIGHT not in token.operations and mirrors.RIGHT in token.operations:
        return mirrors.check_mirror(service, request).may_see_rule
    chain, now = _find_chain(service, request), auth.current_time(service)

    def covers(rule: ReadingRule) -> bool:
        with suppress(Forbidden):
            _check_subject(service, chain, read_rule(rule), now)
            return True
        return False

    return covers


def _select_covered(
    service: Service, covers: Callable[[ReadingRule], bool], after: int, limit: int
) -> list[ReadingRule]:
    """Return the first rules in force behind a number that the caller may see."""
    records = service.registry.records
    found: list[ReadingRule] = []
    # only a newer rule replaces another one, so those behind the number decide alone
    for rule in select_in_force(records.list_rules(after, limit=records.find_last_rule() or 1)):
        if covers(rule):
            found.append(rule)
        if len(found) == limit:
            break
    return found


async def restrict_reading(service: Service, request: Request) -> Answer:
    """Answer POST to `/restrictions`. Raises Unauthenticated, Forbidden or InvalidRequest."""
    chain = _find_chain(service, request)
    body = await read_whole_body(request, _LONGEST_BODY)
    try:
        asked = msgspec.json.decode(body, type=Restriction)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedBody(body="the rule", fault=str(error)) from error
    fields = msgspec.structs.asdict(asked)
    lifted = fields.pop("lift")
    rule = ReadingRule(**fields, lifted=lifted)
    if lifted:
        rule = replace(rule, access=Access.OPEN)
    subject = read_rule(check_captures(rule) if rule.match else rule)
    _check_subject(service, chain, subject, auth.current_time(service))
    command = Restrict(by=chain[0].name, rule=rule, once=read_idempotency_key(request))
    receipt = await service.submit_command(command, chain[0].name)
    service.metrics.count_write(RIGHT, receipt.outcome)
    shown = {"about": receipt.identifier, "outcome": receipt.outcome, "number": receipt.revision}
    status = HTTPStatus.CREATED if receipt.outcome is Outcome.CREATED else HTTPStatus.OK
    return make_answer(status, _JSON, msgspec.json.encode(shown), _PRIVATE)


def _find_chain(service: Service, request: Request) -> tuple[Token, ...]:
    """The token of a request and those from which it was granted, all with the right."""
    token = auth.find_bearer(service, request)
    chain = tuple(service.bearers.trace_chain(token))
    for one in chain:
        rights.check_valid(one, auth.current_time(service))
        if RIGHT not in one.operations:
            raise RightMissing(who=one.name, needed=RIGHT)
    return chain


def _check_subject(
    service: Service, chain: tuple[Token, ...], subject: RuleSubject, now: str
) -> None:
    """Raise Forbidden if the tokens do not cover a subject.

    A rule about captures needs the right to all names of captures in the registry's own archive.
    """
    if subject.captures is not None:
        own = service.settings.archive_id
        rights.check_scope(chain, RIGHT, f"pwid:{own}:*" if own else "*", now)
    elif subject.is_scope:
        rights.check_scope(chain, RIGHT, subject.about, now)
    else:
        rights.check_right(chain, RIGHT, rights.make_object(parse(subject.about)), now)


def _show_rule(rule: ReadingRule) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(rule)
    return fields | {"number": rule.number}
