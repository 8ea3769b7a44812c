"""Accounts of clients of EZID and DataCite: their tokens, as Bearer, password or session.

How it works: these clients send a user and a password (Basic). The password is the secret of a
token, and the user may be any text. EZID's clients can log in and send a session afterwards. A
session is the name of the token and the time when it ends, signed with the token's digest, so that
every server process can read it, and it ends with the token.

What must stay true: a password is read only if it came over TLS, unless the operator allows
otherwise; a token that was revoked ends its sessions; no secret is in a session.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re

from perdure.errors.credentials import (
    PasswordNeedsHttps,
    PasswordNotBase64,
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
_SESSION = re.compile(
    rf"(?:^|;\s*){COOKIE}=([A-Za-z0-9_-]{{1,400}})\.([0-9]{{1,12}})\.([0-9a-f]{{64}})"
)


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
    allowed = service.settings.basic_authentication
    if allowed == "never" or (allowed == "https" and request.scope["scheme"] != "https"):
        raise PasswordNeedsHttps()
    try:
        text = base64.b64decode(credentials, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise PasswordNotBase64() from None
    _, _, password = text.partition(":")
    if not tokens.is_token(password):
        raise PasswordWrong()
    return auth.find_known_token(service, tokens.digest_secret(password))


# Sessions
# --------


def make_session(service: Service, token: Token) -> str:
    """Make a session for a token."""
    name = base64.urlsafe_b64encode(token.name.encode()).decode().rstrip("=")
    ends = int(service.registry.clock().timestamp()) + LASTING
    return f"{name}.{ends}.{_sign(token, name, str(ends))}"


def _sign(token: Token, name: str, ends: str) -> str:
    key = bytes.fromhex(token.digest)
    return hmac.new(key, f"session {name} {ends}".encode(), hashlib.sha256).hexdigest()


def _read_session(service: Service, cookie: str) -> Token:
    """Return the token of a session. Raises SessionEnded."""
    found = _SESSION.search(cookie)
    if found is None:
        raise SessionEnded()
    name, ends, signature = found.groups()
    try:
        text = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise SessionEnded() from None
    token = service.bearers.find_named(text)
    if token is None or not hmac.compare_digest(_sign(token, name, ends), signature):
        raise SessionEnded()
    if int(ends) < service.registry.clock().timestamp():
        raise SessionEnded()
    return token
