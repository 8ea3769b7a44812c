"""Who may write over HTTP: the bearer of a token whose scope covers it.

How it works: a signed request has its token already (`perdure.server.common.signatures`). Otherwise
the secret of `Authorization: Bearer perdure_…` is hashed and looked up. What the token found may be
used for, `perdure.policy.rights` decides.

What must stay true: this happens before a byte of a body is read; a secret reaches neither log nor
answer.
"""

from __future__ import annotations

from datetime import UTC

from perdure.errors import Unauthenticated, UnknownAuthority
from perdure.ids import Identifier
from perdure.model.records import Token
from perdure.policy import rights, tokens
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.writing.registrar import timestamp


def bearer(service: Service, request: Request) -> Token:
    """The token of a request. Raises Unauthenticated where there is none that we know."""
    if request.signer is not None:
        return request.signer
    scheme, _, secret = request.text(b"authorization").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer":
        raise Unauthenticated(reason="no bearer token was sent")
    if not tokens.is_token(secret):
        raise Unauthenticated(reason="what was sent is not spelled like a token of perdure")
    return known(service, tokens.digest(secret))


def known(service: Service, digest: str) -> Token:
    """The token with this SHA-256. Raises Unauthenticated where there is none."""
    token = service.bearers.find(digest)
    if token is None:
        raise Unauthenticated(reason="the token is not known here")
    return token


def check(service: Service, token: Token, operation: str, identifier: Identifier) -> None:
    """Raises Unauthenticated or Forbidden where the token does not cover this."""
    _check(service, token, operation, rights.about(identifier), now(service))


def check_minting(service: Service, token: Token, authority: str) -> None:
    """The same for a name that will be made, under today's date."""
    moment = now(service)
    day = moment[:10]
    owned = service.settings.find_authority(authority)
    if owned is None:
        known = tuple(one.name for one in service.settings.owned)
        raise UnknownAuthority(authority=authority, known=known)
    _check(service, token, "mint", rights.about_new(owned, day), moment)


def _check(
    service: Service, token: Token, operation: str, what: rights.Object, moment: str
) -> None:
    chain = service.bearers.chain(token) if token.granted_by else (token,)
    rights.check(chain, operation, what, moment)


def now(service: Service) -> str:
    """The time as everything is dated."""
    moment = service.registry.clock()
    return timestamp(moment if moment.tzinfo is UTC else moment.astimezone(UTC))
