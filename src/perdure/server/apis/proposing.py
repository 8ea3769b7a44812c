"""Proposed assertions over HTTP: `/annotations/<series>/proposals`.

    GET    /annotations/<series>/proposals        those that the caller may accept, or made
    GET    /annotations/<series>/proposals/<id>   one of them
    POST   /annotations/<series>/proposals/<id>   accepts it: it becomes an assertion of its author
    DELETE /annotations/<series>/proposals/<id>   deletes it

What must stay true: no one else learns that a proposal exists; only the right `assert` for the
series and for all names of this registry that it is about accepts one.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from http import HTTPStatus

import msgspec

from perdure.errors import Forbidden, PerdureError
from perdure.errors.assertions import ProposalUnknown
from perdure.ids import parse
from perdure.model.commands import Receipt
from perdure.model.queries import PUBLIC_READER
from perdure.model.records import Token
from perdure.reading.annotation_pages import find_container
from perdure.reading.assertions import HeldAssertion
from perdure.server.apis.annotation_answers import make_annotation_answer
from perdure.server.common import auth, problems
from perdure.server.common.answers import Answer, escape_uri, make_answer, make_empty_answer
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep import proposing
from perdure.upkeep.asserting import check_assertion
from perdure.upkeep.proposing import ProposedAssertion, describe_proposal

WORD = "proposals"
_JSON = "application/json"
_PRIVATE = (b"cache-control", b"no-store")
_OF_LIST, _OF_ONE = b"GET, HEAD, OPTIONS", b"GET, HEAD, OPTIONS, POST, DELETE"


async def propose_annotation(
    service: Service, request: Request, token: Token, series: str, data: bytes
) -> Answer:
    """Keep an assertion of a caller without the right to make it, and answer 202.

    Raises the errors of `check_assertion` and `propose_assertion`.
    """
    reader = find_reader(service, request)
    await service.run_cutter(check_assertion, service.registry, data, reader)
    keep = partial(proposing.propose_assertion, series=series, by=token.name)
    proposal = await service.run_cutter(keep, service.registry, data)
    address = escape_uri(_find_address(request, proposal))
    body = msgspec.json.encode(describe_proposal(proposal))
    return make_answer(HTTPStatus.ACCEPTED, _JSON, body, (b"location", address), _PRIVATE)


def _find_address(request: Request, proposal: ProposedAssertion) -> str:
    return f"{find_container(request.base_url, proposal.series)}{WORD}/{proposal.id}"


async def answer_proposals(service: Service, request: Request, series: str, id: str) -> Answer:
    """Answer every request for the proposals of a series.

    Raises Unauthenticated, Forbidden, ProposalUnknown, and the errors of `check_assertion`.
    """
    allow = _OF_ONE if id else _OF_LIST
    if request.method == "OPTIONS":
        return make_empty_answer(
            HTTPStatus.OK, (b"allow", allow), (b"access-control-allow-methods", allow)
        )
    if request.method not in allow.decode().split(", "):
        return problems.answer_problem(problems.not_allowed(request.method, allow), request)
    token = auth.find_bearer(service, request)
    if not id:
        return await _list_proposals(service, token, series)
    found: ProposedAssertion = await service.run_cutter(
        proposing.read_proposal, service.registry, id
    )
    is_acceptable = may_accept(service, token, found)
    if found.series != series or not (is_acceptable or found.by == token.name):
        raise ProposalUnknown(identifier=id)
    if request.method in ("GET", "HEAD"):
        return _show(describe_proposal(found))
    if request.method == "DELETE":
        await service.run_cutter(proposing.delete_proposal, service.registry, id)
        return make_empty_answer(HTTPStatus.NO_CONTENT)
    if not is_acceptable:
        auth.check_asserting(service, token, series, found.assertion.about)
    receipt = await accept_proposal(service, token, id)
    held: HeldAssertion | None = await service.run_cutter(
        service.registry.assertions.find_assertion, parse(receipt.identifier), PUBLIC_READER
    )
    if held is None:  # about something closed
        return _show({"identifier": receipt.identifier})
    return make_annotation_answer(request, held, HTTPStatus.CREATED)


async def accept_proposal(service: Service, token: Token, id: str) -> Receipt:
    """Accept a proposal, whose right was checked. Raises the errors of `check_assertion`."""
    accept = partial(proposing.accept_proposal, by=token.name)
    receipt: Receipt = await service.run_cutter(accept, service.registry, id)
    service.metrics.count_write("assert", receipt.outcome)
    return receipt


async def _list_proposals(service: Service, token: Token, series: str) -> Answer:
    found = await service.run_cutter(_select_visible, service, token, series)
    return _show({"proposals": [describe_proposal(one) for one in found]})


def _select_visible(service: Service, token: Token, series: str) -> list[ProposedAssertion]:
    return [
        one
        for one in proposing.list_proposals(service.registry, series)
        if one.by == token.name or may_accept(service, token, one)
    ]


def may_accept(service: Service, token: Token, proposal: ProposedAssertion) -> bool:
    """Return whether a caller has the right to make the assertion that is proposed."""
    with suppress(Forbidden):
        try:
            about = proposal.assertion.about
        except PerdureError:  # of another release
            about = ()
        auth.check_asserting(service, token, proposal.series, about)
        return True
    return False


def _show(body: object) -> Answer:
    return make_answer(HTTPStatus.OK, _JSON, msgspec.json.encode(body), _PRIVATE)
