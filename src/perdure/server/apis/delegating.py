"""Delegations over HTTP: `/delegations`.

    GET  /delegations   the delegations that the caller administers, the oldest first
    POST /delegations   delegates names to other resolvers, or ends a delegation

How it works: every caller sends a token with the right `administer`, which must cover all names of
the delegation. The same functions as those of the command line then record the document.

What must stay true: a caller neither sees nor changes where names go that the token does not cover.
"""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from urllib.parse import quote

import msgspec

from perdure.errors import Forbidden
from perdure.errors.credentials import RightMissing
from perdure.errors.requests import MalformedBody
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.commands import Receipt
from perdure.model.delegations import Delegation, HeldDelegation, make_delegation, read_resolver
from perdure.model.records import Token
from perdure.policy import rights
from perdure.reading.delegations import describe_delegation
from perdure.server.common import auth
from perdure.server.common.answers import Answer, escape_uri, make_answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource.planning import read_whole_body
from perdure.server.resource.writing import read_idempotency_key
from perdure.upkeep.delegating import delegate_names, find_held, revoke_delegation

RIGHT = "administer"
_JSON = "application/json"
_PRIVATE = (b"cache-control", b"no-store")
_LONGEST_BODY = 64 * 1024  # bytes


class RequestedDelegation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A delegation to record; or, with `revoke`, the name of one to end."""

    names: str = ""
    to: tuple[str, ...] = ()
    """The addresses of the resolvers; the first one is asked first."""
    protocol: str = "http"
    role: str = "resolver"
    how: str = "redirect"
    subseries: bool = False
    first_day: str = ""
    last_day: str = ""
    effective: str = ""
    reason: str = ""
    revoke: str = ""


async def list_delegations(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of `/delegations`. Raises Unauthenticated or Forbidden."""
    chain = _find_chain(service, request)
    shown = await service.read_list(_select_covered, service, chain)
    body = msgspec.json.encode({"delegations": shown})
    return make_answer(HTTPStatus.OK, _JSON, body, _PRIVATE)


def _select_covered(service: Service, chain: tuple[Token, ...]) -> list[dict[str, object]]:
    delegations, shown = service.registry.delegations, []
    for held in delegations.list_all():
        with suppress(Forbidden):
            _check_covered(service, chain, held.delegation)
            shown.append(describe_delegation(held, delegations.today))
    return shown


async def record_delegation(service: Service, request: Request) -> Answer:
    """Answer POST to `/delegations`.

    Raises Unauthenticated, Forbidden, InvalidRequest, and the errors of `delegate_names` and
    `revoke_delegation`.
    """
    chain = _find_chain(service, request)
    body = await read_whole_body(request, _LONGEST_BODY)
    try:
        asked = msgspec.json.decode(body, type=RequestedDelegation)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedBody(body="the delegation", fault=str(error)) from error
    once = read_idempotency_key(request)
    work = _end_delegation if asked.revoke else _add_delegation
    receipt, held = await service.read_list(work, service, chain, asked, once)
    service.metrics.count_write("delegate", receipt.outcome)
    shown = describe_delegation(held, service.registry.delegations.today)
    shown |= {"document": receipt.identifier, "outcome": receipt.outcome}
    place = escape_uri(f"{request.base_url}/{quote(receipt.identifier, safe=':/')}")
    return make_answer(
        HTTPStatus.CREATED, _JSON, msgspec.json.encode(shown), _PRIVATE, (b"location", place)
    )


def _add_delegation(
    service: Service, chain: tuple[Token, ...], asked: RequestedDelegation, once: str | None
) -> tuple[Receipt, HeldDelegation]:
    made = make_delegation(
        read_set(asked.names),
        tuple(
            read_resolver(url, kind=asked.protocol, priority=place * 10)
            for place, url in enumerate(asked.to, 1)
        ),
        role=asked.role,
        how=asked.how,
        has_subseries=asked.subseries,
        first_day=asked.first_day,
        last_day=asked.last_day,
        effective=asked.effective,
        reason=asked.reason,
    )
    _check_covered(service, chain, made)
    receipt = delegate_names(service.registry, made, by=chain[0].name, once=once)
    return receipt, find_held(service.registry, parse(receipt.identifier))


def _end_delegation(
    service: Service, chain: tuple[Token, ...], asked: RequestedDelegation, once: str | None
) -> tuple[Receipt, HeldDelegation]:
    held = find_held(service.registry, parse(asked.revoke))
    _check_covered(service, chain, held.delegation)
    receipt = revoke_delegation(
        service.registry,
        held.identifier,
        effective=asked.effective,
        first_day=asked.first_day,
        reason=asked.reason,
        by=chain[0].name,
        once=once,
    )
    return receipt, find_held(service.registry, held.identifier)


def _find_chain(service: Service, request: Request) -> tuple[Token, ...]:
    """The token of a request and those from which it was granted, all with the right."""
    chain = tuple(service.bearers.trace_chain(auth.find_bearer(service, request)))
    for one in chain:
        rights.check_valid(one, auth.current_time(service))
        if RIGHT not in one.operations:
            raise RightMissing(who=one.name, needed=RIGHT)
    return chain


def _check_covered(service: Service, chain: tuple[Token, ...], said: Delegation) -> None:
    """Raise Forbidden unless the tokens cover all names of a delegation."""
    now = auth.current_time(service)
    rights.check_scope(chain, RIGHT, str(said.names), now)
    if said.has_subseries:
        rights.check_scope(chain, RIGHT, f"*.{said.names.example.assigned_under}", now)
