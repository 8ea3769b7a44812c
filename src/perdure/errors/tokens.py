"""Errors about tokens and the rights they grant."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote


class MalformedPublicKey(InvalidRequest):
    """The text is not an Ed25519 public key."""

    text: str
    reason = "it must be 32 bytes in base64"
    rule = "RFC 8032"

    @property
    def what(self) -> str:
        return f"key {quote(self.text)}"


class UnknownOperation(InvalidRequest):
    """A token names an operation that does not exist."""

    operation: str
    known: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"operation {quote(self.operation)}"

    @property
    def reason(self) -> str:
        return f"it must be one of {', '.join(self.known)}"


class EmptyGrant(InvalidRequest):
    """A token grants no rights."""

    what = "the grant"
    reason = "it needs at least one operation and one scope"


class MalformedScope(InvalidRequest):
    """The scope of a token has an asterisk in the middle."""

    scope: str
    reason = "it may have a * only at its end, or as '*.' at its beginning"

    @property
    def what(self) -> str:
        return f"scope {quote(self.scope)}"


class MalformedTokenName(InvalidRequest):
    """The name of a token is too long or not printable."""

    name: str
    reason = "it must have 1 to 100 printable characters"

    @property
    def what(self) -> str:
        return f"name {quote(self.name)}"


class ReservedTokenName(InvalidRequest):
    """The name of a token is reserved for the local user."""

    name: str
    reason = "it is reserved for local users in the history of changes; choose another name"

    @property
    def what(self) -> str:
        return f"name {quote(self.name)}"


class ValidityReversed(InvalidRequest):
    """The first day of a grant is after its last day."""

    first_day: str
    last_day: str

    @property
    def what(self) -> str:
        return f"first day {quote(self.first_day)}"

    @property
    def reason(self) -> str:
        return f"it is after the last day, {self.last_day}"
