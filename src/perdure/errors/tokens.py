"""Errors of tokens and of the rights that they are to give."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import quote


class MalformedPublicKey(InvalidRequest):
    """The text is not a public key of Ed25519."""

    text: str
    reason = "32 bytes in base64 are needed"
    rule = "RFC 8032"

    @property
    def what(self) -> str:
        return f"key {quote(self.text)}"


class UnknownOperation(InvalidRequest):
    """A token is to allow an operation that does not exist."""

    operation: str
    known: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"operation {quote(self.operation)}"

    @property
    def reason(self) -> str:
        return f"one of {', '.join(self.known)}"


class EmptyGrant(InvalidRequest):
    """A token is to allow nothing."""

    what = "the grant"
    reason = "at least one operation and one scope are needed"


class MalformedScope(InvalidRequest):
    """The scope of a token has a star elsewhere than at its ends."""

    scope: str
    reason = "a * stands at its end, or first as '*.'"

    @property
    def what(self) -> str:
        return f"scope {quote(self.scope)}"


class MalformedTokenName(InvalidRequest):
    """The name of a token cannot be shown."""

    name: str
    reason = "1 to 100 printable characters are needed"

    @property
    def what(self) -> str:
        return f"name {quote(self.name)}"


class ReservedTokenName(InvalidRequest):
    """The name of a token is that of the local user."""

    name: str
    reason = "histories call so who works on this machine"

    @property
    def what(self) -> str:
        return f"name {quote(self.name)}"


class ValidityReversed(InvalidRequest):
    """The first day of a grant lies after its last."""

    first_day: str
    last_day: str

    @property
    def what(self) -> str:
        return f"first day {quote(self.first_day)}"

    @property
    def reason(self) -> str:
        return f"its first day lies after its last, {self.last_day}"
