"""Proposals that wait for a decision, in a browser: `/desk/proposals`.

    GET  /desk/proposals   proposed withdrawals and assertions, and citations reported elsewhere
    POST /desk/proposals   accepts or deletes a proposed assertion or a reported citation

How it works: each list is that of its own interface. A proposed withdrawal leads to the page on
which it is confirmed or refused (`perdure.server.desk.withdrawing`). The right to make an assertion
accepts a proposed one; the right `assert` for a cited name accepts the report of the citation.

What must stay true: a person sees only what that person may decide. Lists have a bound.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from itertools import islice
from urllib.parse import quote

import msgspec

from perdure.errors import Forbidden, PerdureError
from perdure.errors.assertions import ProposalUnknown
from perdure.errors.citing import NoSuchReport
from perdure.errors.requests import FormFieldMalformed
from perdure.ids import parse
from perdure.model.parameters import Parameters
from perdure.model.records import Token
from perdure.server.apis.granting import list_confirmable
from perdure.server.apis.proposing import accept_proposal, may_accept
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.desk.menu import lead_to, show_desk_page
from perdure.server.desk.signing_in import read_posted_form, require_depositor
from perdure.server.pages.trail import find_page_of
from perdure.upkeep import proposing
from perdure.upkeep.citations.received import (
    FILE,
    MOST_WAITING,
    CitationReported,
    ReceivedCitations,
)
from perdure.upkeep.proposing import ProposedAssertion

PLACE = "/desk/proposals"
_SHOWN = 50
_WAITING = "waiting"
_LONGEST_DOCUMENT = 4000  # characters that are shown


class _ShownAssertion(msgspec.Struct, frozen=True):
    """A proposed assertion as the page shows it."""

    proposal: ProposedAssertion
    about: tuple[str, ...]
    text: str
    """The document, indented and cut."""


async def show_proposals(service: Service, request: Request) -> Answer:
    """Show what waits for the decision of the caller, or decide it.

    Raises Unauthenticated, Forbidden, NotFound, or the errors of an assertion.
    """
    token = await require_depositor(service, request)
    if isinstance(token, Answer):
        return token
    if request.method == "POST":
        form = await read_posted_form(request)
        if form.get("kind") == "assertion":
            await _decide_assertion(service, token, form)
        else:
            await asyncio.to_thread(_decide_report, service, token, form)
        return lead_to(PLACE)
    withdrawals = await asyncio.to_thread(list_confirmable, service, token)
    assertions = await asyncio.to_thread(_list_assertions, service, token)
    reports = await asyncio.to_thread(_list_reports, service, token)
    return show_desk_page(
        request,
        token,
        "proposals.html",
        withdrawals=[
            (str(row.identifier), row.record.proposal, quote(str(row.identifier), safe=""))
            for row in withdrawals[:_SHOWN]
        ],
        assertions=assertions[:_SHOWN],
        reports=[(one, find_page_of(one.target)) for one in reports[:_SHOWN]],
        has_more=max(len(withdrawals), len(assertions), len(reports)) > _SHOWN,
        shown=_SHOWN,
    )


# assertions
# ----------


def _list_assertions(service: Service, token: Token) -> list[_ShownAssertion]:
    acceptable = (
        one for one in proposing.list_proposals(service.registry) if may_accept(service, token, one)
    )
    return [_show_assertion(one) for one in islice(acceptable, _SHOWN + 1)]


def _show_assertion(proposal: ProposedAssertion) -> _ShownAssertion:
    document = msgspec.json.format(proposal.document.encode(), indent=2).decode("utf-8", "replace")
    about: tuple[str, ...] = ()
    with suppress(PerdureError):  # of another release
        about = tuple(str(one) for one in proposal.assertion.about)
    return _ShownAssertion(proposal, about, document[:_LONGEST_DOCUMENT])


async def _decide_assertion(service: Service, token: Token, form: Parameters) -> None:
    id = form.get("id") or ""
    found: ProposedAssertion = await service.run_cutter(
        proposing.read_proposal, service.registry, id
    )
    if not may_accept(service, token, found):
        raise ProposalUnknown(identifier=id)
    if _is_accepted(form):
        await accept_proposal(service, token, id)
    else:
        await service.run_cutter(proposing.delete_proposal, service.registry, id)


# reported citations
# ------------------


def _list_reports(service: Service, token: Token) -> list[CitationReported]:
    if not (service.registry.root / FILE).exists():
        return []
    with closing(ReceivedCitations(service.registry)) as received:
        waiting = received.list_reports(_WAITING, limit=MOST_WAITING)
    decidable = (one for one in waiting if _may_decide(service, token, one))
    return list(islice(decidable, _SHOWN + 1))


def _may_decide(service: Service, token: Token, report: CitationReported) -> bool:
    with suppress(Forbidden, PerdureError):
        auth.check_right(service, token, "assert", parse(report.target))
        return True
    return False


def _decide_report(service: Service, token: Token, form: Parameters) -> None:
    number = form.get("id") or ""
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise NoSuchReport(identifier=number[:40])
    if not (service.registry.root / FILE).exists():
        raise NoSuchReport(identifier=number)
    with closing(ReceivedCitations(service.registry)) as received:
        found = received.list_reports(_WAITING, after=int(number) - 1, limit=1)
        is_this = bool(found) and found[0].number == int(number)
        if not is_this or not _may_decide(service, token, found[0]):
            raise NoSuchReport(identifier=number)
        if _is_accepted(form):
            received.decide_report(found[0].number, "accepted")
        else:
            received.delete_report(found[0].number)


def _is_accepted(form: Parameters) -> bool:
    """Return True to accept, False to delete. Raises FormFieldMalformed."""
    act = form.get("act") or ""
    if act not in ("accept", "delete"):
        raise FormFieldMalformed(field="act", value=act[:40])
    return act == "accept"
