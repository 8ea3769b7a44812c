"""Who may write over HTTP: the bearer of a token whose scope covers it.

How it works: the secret of `Authorization: Bearer perdure_…` is hashed and looked up; what the
token found may be used for, `perdure.rules.check_token` decides.

What must stay true: this happens before a byte of a body is read; a secret reaches neither log nor
answer.
"""

from __future__ import annotations

from datetime import UTC

from perdure import rules, tokens
from perdure.errors import Unauthenticated
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.model import Token
from perdure.registrar import timestamp
from perdure.server.request import Request
from perdure.server.service import Service


def bearer(service: Service, request: Request) -> Token:
    """The token of a request. Raises Unauthenticated where there is none that we know."""
    scheme, _, secret = request.text(b"authorization").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not tokens.is_token(secret):
        raise Unauthenticated(reason="no bearer token was sent")
    return known(service, tokens.digest(secret))


def known(service: Service, digest: str) -> Token:
    """The token with this SHA-256. Raises Unauthenticated where there is none."""
    token = service.bearers.find(digest)
    if token is None:
        raise Unauthenticated(reason="the token is not known here")
    return token


def check(service: Service, token: Token, operation: str, identifier: Identifier) -> None:
    """Raises Unauthenticated or Forbidden where the token does not cover this."""
    day = None
    if isinstance(identifier, Pdi) and identifier.calendar_day is not None:
        day = identifier.calendar_day.isoformat()
    authority = rules.authority_of(identifier)
    rules.check_token(token, operation=operation, authority=authority, day=day, now=_now(service))


def check_minting(service: Service, token: Token, authority: str) -> None:
    """The same for a name that will be made, under today's date."""
    now = _now(service)
    rules.check_token(token, operation="mint", authority=authority, day=now[:10], now=now)


def _now(service: Service) -> str:
    return timestamp(service.registry.clock().astimezone(UTC))
