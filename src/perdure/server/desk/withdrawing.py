"""Withdrawing in a browser: `/desk/withdraw?of=NAME`.

    GET  /desk/withdraw?of=NAME   what would be withdrawn, or the withdrawal that is proposed
    POST /desk/withdraw           withdraws or proposes it, confirms what is proposed, or refuses it

How it works: the form makes the same commands as `POST /<identifier>?withdraw` and `?refuse`. If a
withdrawal needs two persons, the first request is a proposal. The second person reads its reason
and confirms it; the form repeats the reason word for word.  # ruling: two-persons
The page lists the documents that contain a copy, have passages of what is withdrawn, or are about
it, before and after.

What must stay true: the form names the revision that its reader has seen, so nothing is withdrawn
or confirmed that was changed meanwhile.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from perdure.errors import NotFound, PerdureError
from perdure.errors.requests import FormFieldMalformed
from perdure.ids import Identifier
from perdure.model.commands import Command, Erase, Outcome, Receipt, Refuse, Withdraw
from perdure.model.parameters import Parameters
from perdure.model.records import Proposal, Record, Token
from perdure.policy.proposals import find_standing
from perdure.policy.remaining import MOST_LISTED, list_remaining
from perdure.policy.showing import find_withdrawal
from perdure.policy.versions import list_versions
from perdure.reading.targets import read_identifier
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.desk.menu import lead_to, show_desk_page
from perdure.server.desk.signing_in import read_posted_form, require_depositor
from perdure.server.pages.trail import find_page_of
from perdure.upkeep.withdrawing import QuotingDocuments

PLACE = "/desk/withdraw"
_LONGEST_NUMBER = 18  # digits


async def withdraw_document(service: Service, request: Request) -> Answer:
    """Show what would be withdrawn, or do what the form says.

    Raises Unauthenticated, Forbidden, NotFound, MalformedIdentifier, or the errors of the command.
    """
    token = await require_depositor(service, request)
    if isinstance(token, Answer):
        return token
    form = await read_posted_form(request) if request.method == "POST" else request.parameters
    name = read_identifier((form.get("of") or "").strip()[:8192]).whole.resource
    record = service.find_record(name)
    if record is None:
        raise NotFound(identifier=str(name))
    auth.check_right(service, token, "withdraw", name)
    standing = find_standing(record, auth.current_time(service))
    if request.method != "POST":
        return await _show(service, request, token, name, record, standing, typed=form)
    try:
        command = _make_command(token, name, form, standing)
        if isinstance(command, Erase):
            auth.check_right(service, token, "erase", name)
        receipt = await service.submit_command(command, token.name)
    except PerdureError as error:
        return await _show(service, request, token, name, record, standing, error, form)
    service.metrics.count_write(type(command).__name__.lower(), receipt.outcome)
    if receipt.outcome is Outcome.PROPOSED or isinstance(command, Refuse):
        return lead_to(f"{PLACE}?of={quote(str(name), safe='')}")
    if receipt.quoted_in:  # no one can search for them afterwards
        record = service.find_record(name) or record
        return await _show(service, request, token, name, record, None, typed=form, done=receipt)
    if receipt.tells_remaining:
        version = getattr(command, "version", None)
        chosen = f"&version={version}" if version else ""
        return lead_to(f"{PLACE}?of={quote(str(name), safe='')}{chosen}")
    return lead_to(find_page_of(str(name)))


def _make_command(
    token: Token, name: Identifier, form: Parameters, standing: Proposal | None
) -> Command:
    act, expect = form.get("act") or "", _read_number(form, "revision")
    if act == "refuse":
        version = standing.version if standing else None
        return Refuse(by=token.name, identifier=name, version=version, expect=expect)
    reason = _read_lines(form.get("reason") or "")
    if act == "confirm" and standing is not None:
        return _confirm(token, name, standing, reason, expect)
    number = _read_number(form, "version") if form.get("version") else None
    return Withdraw(
        by=token.name,
        identifier=name,
        reason=reason,
        version=number,
        silent=form.get("silent") == "yes",
        keep_digest=form.get("digest") == "yes",
        expect=expect,
    )


def _confirm(
    token: Token, name: Identifier, standing: Proposal, reason: str, expect: int
) -> Withdraw:
    """Make the command that repeats a proposal, with the reason that the form had."""
    is_repeated = reason == _read_lines(standing.reason)
    command = Withdraw(
        by=token.name,
        identifier=name,
        reason=standing.reason if is_repeated else reason,
        version=standing.version,
        silent=standing.silent,
        keep_digest=standing.keeps_digest,
        expect=expect,
    )
    if standing.act != "erase":
        return command
    fields = {field: getattr(command, field) for field in command.__struct_fields__}
    return Erase(**fields, blanks=standing.blanks)


def _read_lines(text: str) -> str:
    """Return a text with the line breaks that a form may have changed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_version(form: Parameters | None) -> int | None:
    """The version that a form is about, or None for all."""
    text = (form.get("version") or "") if form else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else None


def _read_number(form: Parameters, field: str) -> int:
    text = form.get(field) or ""
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
        raise FormFieldMalformed(field=field, value=text[:40])
    return int(text)


async def _show(
    service: Service,
    request: Request,
    token: Token,
    name: Identifier,
    record: Record,
    standing: Proposal | None,
    error: PerdureError | None = None,
    typed: Parameters | None = None,
    done: Receipt | None = None,
) -> Answer:
    """Show the form, or that it was withdrawn; after an error, with what was typed.

    `done` is the receipt, if it was withdrawn just now.
    """
    gone = {one.number for one in record.versions if one.tombstone is not None}
    version = standing.version if standing else _read_version(typed)
    records = service.listings.records
    remaining = await service.run_cutter(list_remaining, records, name, record, version)
    quoting = QuotingDocuments()
    is_gone = find_withdrawal(name, record) is not None
    if done is not None:
        quoting = QuotingDocuments(done.quoted_in, done.unsearched)
    elif not is_gone:
        asked = Withdraw(by=token.name, identifier=name, reason="", version=version)
        quoting = await service.find_quoting(asked, token.name)
    return show_desk_page(
        request,
        token,
        "withdraw.html",
        status=HTTPStatus.CONFLICT if error else HTTPStatus.OK,
        document=str(name),
        page=find_page_of(str(name)),
        revision=record.revision,
        versions=[one for one in list_versions(record) if one not in gone],
        is_gone=is_gone,
        persons=service.settings.withdrawal_persons,
        standing=standing,
        is_own=standing is not None and standing.by == token.name,
        copies=[(one, find_page_of(one)) for one in remaining.copies],
        about=[(one, find_page_of(one)) for one in remaining.written_about],
        quoting=[(one, find_page_of(one)) for one in quoting.names[:MOST_LISTED]],
        is_unsearched=bool(quoting.unsearched),
        is_cut=remaining.is_cut or len(quoting.names) > MOST_LISTED,
        error=str(error) if error else "",
        typed=typed or {},
    )
