"""Accounts of clients of EZID and DataCite: their tokens, as Bearer, password or session.

How it works: these clients send a user and a password (Basic). The password is the secret of a
token, and the user may be any text. EZID's clients can log in and send a session afterwards
(`perdure.server.common.sessions`), which ends with the token.

What must stay true: a password is read only if it came over TLS, unless the operator allows
otherwise; a token that was revoked ends its sessions; no secret is in a session.
"""

from __future__ import annotations

import re

from perdure.errors.credentials import (
    PasswordWrong,
    SessionEnded,
)
from perdure.model.records import Token
from perdure.policy import rights, tokens
from perdure.server.common import auth
from perdure.server.common.request import Request
from perdure.server.common.service import Service

COOKIE = "sessionid"
LASTING = 24 * 3600  # seconds
_SESSION = re.compile(rf"(?:^|;\s*){COOKIE}=([A-Za-z0-9_.-]{{1,600}})")


def find_account(service: Service, request: Request) -> Token:
    """Return the token of a request. Raises Unauthenticated."""
    scheme, _, credentials = request.read_field(b"authorization").partition(" ")
    if scheme.lower() == "basic":
        token = _check_password(service, request, credentials.strip())
    elif not scheme and request.signer is None and (cookie := request.read_field(b"cookie")):
        token = _read_session(service, cookie)
    else:
        token = auth.find_bearer(service, request)
    for one in service.bearers.trace_chain(token):
        rights.check_valid(one, auth.current_time(service))
    return token


def has_account(request: Request) -> bool:
    """Return True if a request carries anything that can name an account."""
    return (
        request.signer is not None
        or b"authorization" in request.fields
        or f"{COOKIE}=" in request.read_field(b"cookie")
    )


def _check_password(service: Service, request: Request, credentials: str) -> Token:
    _, password = auth.read_password(service, request, credentials)
    if not tokens.is_token(password):
        raise PasswordWrong()
    return auth.find_known_token(service, tokens.digest_secret(password))


def make_session(service: Service, token: Token) -> str:
    """Make a session for a token."""
    return service.sessions.make_session(token, _read_clock(service) + LASTING)


def _read_session(service: Service, cookie: str) -> Token:
    """Return the token of a session. Raises SessionEnded."""
    found = _SESSION.search(cookie)
    if found is None:
        raise SessionEnded()
    find_named, now = service.bearers.find_named, _read_clock(service)
    return service.sessions.find_token(found[1], find_named, now)


def _read_clock(service: Service) -> int:
    return int(service.registry.clock().timestamp())
