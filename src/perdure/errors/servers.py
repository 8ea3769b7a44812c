"""Errors of other servers, and of bytes that are elsewhere: try again later."""

from __future__ import annotations

from perdure.errors.root import quote
from perdure.errors.unavailable import Unavailable


class ServerRefused(Unavailable):
    """Another server answers with a status that is of no use."""

    url: str
    answered: int
    """The status of its answer."""
    phrase: str = ""

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return f"it answers {self.answered} {self.phrase}".rstrip()


class ServerUnreachable(Unavailable):
    """Another server cannot be asked; the fault is in the words of the system."""

    url: str
    fault: str
    mend: str | None = None

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return self.fault


class AnswerCut(Unavailable):
    """Another server's answer is cut off at a limit of length or time."""

    url: str
    limit: str

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return f"its answer is cut off ({self.limit})"


class EndlessRedirects(Unavailable):
    """Another server's redirects have no end."""

    url: str
    reason = "its redirects go on and on"

    @property
    def what(self) -> str:
        return quote(self.url)


class ForeignAnswer(Unavailable):
    """Another server answers with something that is not understood."""

    url: str
    found: str

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return f"it answers {quote(self.found)}"


class TransferBroken(Unavailable):
    """The bytes broke off."""

    identifier: str
    received: int
    expected: int

    @property
    def what(self) -> str:
        return quote(self.identifier)

    @property
    def reason(self) -> str:
        return f"it broke off after {self.received} of {self.expected} bytes"


class NothingHeld(Unavailable):
    """The identifier is known by name only."""

    identifier: str
    reason = "it is known by name only: no bytes are held, and no location is bound"

    @property
    def what(self) -> str:
        return quote(self.identifier)


class BytesElsewhere(Unavailable):
    """The bytes of the identifier are not held here, though it may have a location."""

    identifier: str
    reason = "no bytes of it are held here"

    @property
    def what(self) -> str:
        return quote(self.identifier)
