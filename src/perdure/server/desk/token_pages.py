"""Tokens in a browser: `/desk/tokens`.

    GET  /desk/tokens   the tokens that the caller has granted or administers, and a form for more
    POST /desk/tokens   grants some of the caller's rights, or ends a token

How it works: the form makes what `POST /tokens` makes of JSON (`perdure.server.apis.granting`). The
answer to the form has the new secret; no other page, address or log has it.

What must stay true: a secret is shown once, to the person who made it, on a page that is not
stored. If the page is loaded again, the name is taken, and nothing is shown.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.errors import PerdureError
from perdure.model.parameters import Parameters
from perdure.model.records import Token
from perdure.policy.operations import OPERATIONS
from perdure.server.apis.granting import Grant, grant_token, list_managed, revoke_token
from perdure.server.common import auth
from perdure.server.common.answers import Answer
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.desk.menu import lead_to, show_desk_page
from perdure.server.desk.signing_in import read_posted_form, require_depositor

PLACE = "/desk/tokens"
_SHOWN = 50


async def show_tokens(service: Service, request: Request) -> Answer:
    """List tokens, or grant or end one. Raises Unauthenticated."""
    token = await require_depositor(service, request)
    if isinstance(token, Answer):
        return token
    if request.method != "POST":
        return _show(service, request, token, after=request.parameters.get("after") or "")
    form = await read_posted_form(request)
    try:
        if form.get("act") == "end":
            await revoke_token(service, token, form.get("name") or "")
            return lead_to(PLACE)
        granted, secret = await grant_token(service, token, _read_grant(form))
    except PerdureError as error:
        return _show(service, request, token, error=error, typed=form)
    return show_desk_page(
        request, token, "token.html", status=HTTPStatus.CREATED, granted=granted, secret=secret
    )


def _read_grant(form: Parameters) -> Grant:
    """Read the form. A day of expiry is read as its end (UTC)."""
    ends = (form.get("ends") or "").strip()
    return Grant(
        name=(form.get("name") or "").strip(),
        operations=tuple(one for one in OPERATIONS if form.get(f"may-{one}") == "yes"),
        authorities=tuple((form.get("scopes") or "").split()),
        first_day=(form.get("first") or "").strip() or None,
        last_day=(form.get("last") or "").strip() or None,
        expires=f"{ends}T23:59:59Z" if ends else None,
        key=(form.get("key") or "").strip(),
    )


def _show(
    service: Service,
    request: Request,
    token: Token,
    *,
    after: str = "",
    error: PerdureError | None = None,
    typed: Parameters | None = None,
) -> Answer:
    """Show the list and the form; after an error, with what was typed."""
    now = auth.current_time(service)
    managed = sorted(list_managed(service, token), key=lambda one: one.name)
    rest = [one for one in managed if one.name > after]
    return show_desk_page(
        request,
        token,
        "tokens.html",
        status=HTTPStatus.CONFLICT if error else HTTPStatus.OK,
        rows=[(one, _describe_state(one, now)) for one in rest[:_SHOWN]],
        following=rest[_SHOWN - 1].name if len(rest) > _SHOWN else "",
        may_grant="delegate" in token.operations,
        own=token,
        operations=[one for one in OPERATIONS if one in token.operations],
        error=str(error) if error else "",
        typed=typed or {},
    )


def _describe_state(token: Token, now: str) -> str:
    if token.revoked:
        return "ended"
    return "expired" if token.expires and token.expires <= now else "valid"
