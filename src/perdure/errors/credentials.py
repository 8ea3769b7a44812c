"""Errors about credentials that are not accepted, and about rights that they do not give."""

from __future__ import annotations

from typing import Literal

from perdure.errors.rights import Forbidden, Unauthenticated
from perdure.errors.root import quote

# tokens
# ------


class NoCredential(Unauthenticated):
    """The request has no bearer token."""

    reason = "no bearer token was sent"


class CredentialMalformed(Unauthenticated):
    """The credential is not a token of perdure."""

    reason = "the text sent is not a perdure token"


class TokenUnknown(Unauthenticated):
    """This server does not know the token."""

    reason = "this server does not know the token"


class TokenNamed(Unauthenticated):
    """A known token is not valid. Abstract: each reason has a class."""

    token: str
    """The name of the token."""


class TokenRevoked(TokenNamed):
    """The token was revoked."""

    revoked: str

    @property
    def reason(self) -> str:
        return f"token {self.token} was revoked at {self.revoked}"


class TokenExpired(TokenNamed):
    """The token has expired."""

    expires: str

    @property
    def reason(self) -> str:
        return f"token {self.token} expired at {self.expires}"


class GrantorUnknown(TokenNamed):
    """The token was granted from a token that this server does not know."""

    @property
    def reason(self) -> str:
        return f"the grantor of token {self.token} is unknown"


# signatures
# ----------


class SignatureRefused(Unauthenticated):
    """The signature of a request is not accepted. Abstract: each reason has a class."""

    def repair(self) -> str:
        return "sign the request as docs/how-to/give-rights.md says, or send a bearer token"


class SignatureTooLong(SignatureRefused):
    """The fields of a signature are too long."""

    reason = "the signature is too long"


class SignatureInvalid(SignatureRefused):
    """A signature does not match the request; `fault` quotes the library, or is empty."""

    fault: str

    @property
    def reason(self) -> str:
        fault = self.fault or "it was made with another key or for another request"
        return f"the signature is not valid: {fault}"


class OneSignatureNeeded(SignatureRefused):
    """The request has several signatures, or none by a known key."""

    reason = "exactly one signature is needed"


class SignatureUndated(SignatureRefused):
    """The signature has no time of creation."""

    reason = "the signature does not say when it was made"


class SignatureUncovering(SignatureRefused):
    """The signature does not cover a component of the request that it must cover."""

    components: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"the signature must cover {' and '.join(self.components)}"


class BodyNotCovered(SignatureRefused):
    """The request has a body, but the signature covers no digest of it."""

    algorithms: tuple[str, ...]

    @property
    def reason(self) -> str:
        known = " or ".join(self.algorithms)
        return f"the signature must cover content-digest, with {known}, if there is a body"


class SignatureNeedsAddress(SignatureRefused):
    """A registry without a public address cannot check which registry a signature is for."""

    reason = "signed requests are accepted only by a registry with the setting base_url"

    def repair(self) -> str:
        return "send a bearer token, or ask the operator to set base_url"


class SignatureReused(SignatureRefused):
    """The signature was used in an earlier request."""

    reason = "the signature was used before; sign each request with a new nonce"


# passwords
# ---------


class PasswordNeedsHttps(Unauthenticated):
    """A password was sent without https, or passwords are switched off."""

    reason = "passwords are accepted over https only"


class PasswordNotBase64(Unauthenticated):
    """The user and the password are not in Base64."""

    reason = "the credentials are not in Base64"


class UserMalformed(Unauthenticated):
    """The name of a user of the Handle System is malformed."""

    user: str

    @property
    def reason(self) -> str:
        return f"{quote(self.user)} is not INDEX:HANDLE, such as 300:21.T14999/ADMIN"


class PasswordWrong(Unauthenticated):
    """The user is unknown, or the password is wrong."""

    reason = "the user is unknown, or the password is wrong"


class SessionEnded(Unauthenticated):
    """A session is not valid, or not any more."""

    reason = "the session has ended; log in again"


# rights
# ------


class OriginForeign(Forbidden):
    """A form was sent by a page of another server, or by a program that names no page."""

    who: str = "a page of another server"
    origin: str
    expected: str

    @property
    def needed(self) -> str:
        return f"a form of this server, opened at {self.expected}"


class RightMissing(Forbidden):
    """The caller does not have a right; `needed` is the right, as tokens write it."""

    needed: str


class DelegationLost(Forbidden):
    """A token was granted by one that may not delegate any more."""

    granted_by: str

    @property
    def needed(self) -> str:
        return f"delegate, which {self.granted_by} no longer has"


GrantLimit = Literal["chain", "scope", "first-day", "last-day", "expiry"]
"""The limits that a token keeps when it grants another one."""


class GrantTooWide(Forbidden):
    """A token would grant more than it has itself."""

    limit: GrantLimit
    bound: str
    """The number of delegations, the scope, the day or the time that is the limit."""

    @property
    def needed(self) -> str:
        says: dict[str, str] = {
            "chain": f"fewer delegations before it than {self.bound}",
            "scope": f"a scope that includes {self.bound}",
            "first-day": f"dates before {self.bound}",
            "last-day": f"dates after {self.bound}",
            "expiry": f"validity beyond {self.bound}",
        }
        return says[self.limit]


class ValueNotWritable(Forbidden):
    """A value of a handle cannot be written by clients."""

    index: int

    @property
    def needed(self) -> str:
        return f"a writable value {self.index}"


class ReadingNotAllowed(Forbidden):
    """The caller may not read a resource."""

    identifier: str
    stated: str = ""
    """The reason that the owner of the resource states."""

    @property
    def needed(self) -> str:
        return f"the right to read {self.identifier}"

    def problem(self) -> str:
        stated = f": {quote(self.stated)}" if self.stated else ""
        return f"{quote(self.who)} may not read {quote(self.identifier)}{stated}"


class ReadingOnPremises(ReadingNotAllowed):
    """The resource can be read only in certain networks, and the caller is not in one of them."""

    needed = "access from a network in which it may be read"

    def problem(self) -> str:
        stated = f": {quote(self.stated)}" if self.stated else ""
        return f"{quote(self.identifier)} can be read only in certain networks{stated}"


class ReadingNeedsToken(Unauthenticated):
    """The resource can be read only with a token, and the request has none."""

    identifier: str
    stated: str = ""
    """The reason that the owner of the resource states."""

    @property
    def reason(self) -> str:
        stated = f": {quote(self.stated)}" if self.stated else ""
        return f"{quote(self.identifier)} can be read only with a token{stated}"

    def repair(self) -> str:
        return "send 'Authorization: Bearer TOKEN' with a token that has the right read"
