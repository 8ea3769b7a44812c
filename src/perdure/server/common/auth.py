"""Rights to write over HTTP: a write needs a token whose scope covers it.

How it works: a signed request has its token already (`perdure.server.common.signatures`). Otherwise
the secret of `Authorization: Bearer perdure_…` is hashed and looked up. `perdure.policy.rights`
decides what the token allows.

What must stay true: this happens before a byte of a body is read; a secret never gets into a log or
an answer.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from datetime import UTC

from perdure.errors import UnknownAuthority
from perdure.errors.credentials import (
    CredentialMalformed,
    NoCredential,
    PasswordNeedsHttps,
    PasswordNotBase64,
    TokenUnknown,
)
from perdure.errors.quotas import MintsUsedUp
from perdure.ids import Identifier
from perdure.model.commands import Content
from perdure.model.records import Token
from perdure.model.timestamps import format_timestamp
from perdure.policy import rights, tokens
from perdure.policy.rules import check_past_day, check_series
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep.asserting import is_kept_here
from perdure.writing.content_targets import find_asserted, may_assert


def find_bearer(service: Service, request: Request) -> Token:
    """Return the token of a request. Raises Unauthenticated if there is no known token."""
    if request.signer is not None:
        return request.signer
    scheme, _, secret = request.read_field(b"authorization").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer":
        raise NoCredential()
    if not tokens.is_token(secret):
        raise CredentialMalformed()
    return find_known_token(service, tokens.digest_secret(secret))


def read_password(service: Service, request: Request, credentials: str) -> tuple[str, str]:
    """Read the user and the password of `Authorization: Basic` (RFC 7617).

    Raises PasswordNeedsHttps if the settings refuse passwords over this connection, or
    PasswordNotBase64.
    """
    allowed = service.settings.basic_authentication
    if allowed == "never" or (allowed == "https" and request.scope["scheme"] != "https"):
        raise PasswordNeedsHttps()
    try:
        text = base64.b64decode(credentials, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise PasswordNotBase64() from None
    user, _, password = text.partition(":")  # a colon in the user is escaped
    return user, password


def find_known_token(service: Service, digest: str) -> Token:
    """Return the token with this SHA-256. Raises Unauthenticated if there is none."""
    token = service.bearers.find_token(digest)
    if token is None:
        raise TokenUnknown()
    return token


def check_right(service: Service, token: Token, operation: str, identifier: Identifier) -> None:
    """Check that the token covers an operation. Raises Unauthenticated or Forbidden."""
    _check_chain(service, token, operation, rights.make_object(identifier), current_time(service))


def check_minting(service: Service, token: Token, authority: str, operation: str = "mint") -> None:
    """Check that the token covers minting a name under today's date.

    `operation` is `assert` for the name of a statement about something. Raises Unauthenticated,
    Forbidden, or UnknownAuthority.
    """
    moment = current_time(service)
    day = moment[:10]
    owned = service.settings.find_authority(authority)
    if owned is None:
        known = tuple(one.name for one in service.settings.owned_authorities)
        raise UnknownAuthority(authority=authority, known=known)
    _check_chain(service, token, operation, rights.make_new_object(owned, day), moment)


def check_retrospection(service: Service, token: Token, authority: str, day: str) -> str:
    """Check that the token covers minting under a past day, and return the day (`1997/09/01`).

    Raises Unauthenticated, Forbidden, MalformedIdentifier, InvalidRequest, or UnknownAuthority if
    the names of this authority have no days.  # ruling: pdi-retrospective
    """
    moment = current_time(service)
    check_series(authority, service.settings.series)
    past = check_past_day(authority, day, moment[:10].replace("-", "/"))
    owned = service.settings.find_authority(authority)
    if owned is not None:
        for operation in ("mint", "retrospect"):
            what = rights.make_new_object(owned, past.replace("/", "-"))
            _check_chain(service, token, operation, what, moment)
    return past


def check_asserting(
    service: Service, token: Token, series: str, about: Sequence[Identifier]
) -> None:
    """Check that the token covers asserting something about names, under today's date in a series.

    Names of other registries need no right. Raises Unauthenticated, Forbidden, or UnknownAuthority.
    """
    moment = current_time(service)
    owned = service.settings.find_authority(series)
    if owned is None:
        known = tuple(one.name for one in service.settings.owned_authorities)
        raise UnknownAuthority(authority=series, known=known)
    new = rights.make_new_object(owned, moment[:10])
    _check_chain(service, token, "assert", new, moment)
    check_asserting_about(service, token, about)


async def check_contents(
    service: Service, token: Token, authority: str, contents: Iterable[Content]
) -> None:
    """Check the right `assert` of a token that brings documents under names of an authority.

    It is needed for assertions and for signed statements, whatever way they come. Raises as
    `check_asserting`.
    """
    for content in contents:
        if may_assert(content.media_type, content.data):
            about = await service.run_cutter(find_asserted, content)
            if about is not None:
                check_asserting(service, token, authority, about)


def check_asserting_about(service: Service, token: Token, about: Sequence[Identifier]) -> None:
    """Check that the token covers asserting something about the names that are kept here."""
    ours = [name for name in about if is_kept_here(service.registry, name)]
    chain = service.bearers.trace_chain(token)
    rights.check_asserting(chain, ours, current_time(service))


def check_operating(service: Service, token: Token) -> None:
    """Check that the token may see what operators see: `administer` on everything.

    Raises Unauthenticated or Forbidden.
    """
    chain = service.bearers.trace_chain(token)
    rights.check_scope(chain, "administer", "*", current_time(service))


def check_share(service: Service, request: Request, token: Token) -> None:
    """Raise MintsUsedUp if the writer would refuse a name to the token, after the body was sent.

    A request with an idempotency key may repeat one that was carried out, and then gets its
    receipt: only the write door knows whether the key was used.
    """
    wait = service.limits.find_mint_wait(token.name)
    if wait and not request.read_field(b"idempotency-key"):
        service.limits.note_refusal(token.name, wait)
        raise MintsUsedUp(token=token.name, limit=service.settings.mints_per_day, wait=wait)


def _check_chain(
    service: Service, token: Token, operation: str, what: rights.Object, moment: str
) -> None:
    chain = service.bearers.trace_chain(token) if token.granted_by else (token,)
    rights.check_right(chain, operation, what, moment)


def current_time(service: Service) -> str:
    """Return the current time in the form of all timestamps."""
    moment = service.registry.clock()
    return format_timestamp(moment if moment.tzinfo is UTC else moment.astimezone(UTC))
