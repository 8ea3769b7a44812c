"""Errors about other servers, and about bytes held elsewhere: try again later."""

from __future__ import annotations

from perdure.errors.root import quote
from perdure.errors.unavailable import Unavailable


class ServerRefused(Unavailable):
    """Another server answered with an error or an unexpected status."""

    url: str
    answered: int
    """The status of its answer."""
    phrase: str = ""

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return f"it answered {self.answered} {self.phrase}".rstrip()


class ServerUnreachable(Unavailable):
    """Another server cannot be reached; `fault` quotes the system."""

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
    """Another server's answer exceeds a limit of length or time."""

    url: str
    limit: str

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return f"its answer exceeded a limit ({self.limit})"


class EndlessRedirects(Unavailable):
    """Another server redirects too many times."""

    url: str
    reason = "it redirects too many times"

    @property
    def what(self) -> str:
        return quote(self.url)


class ForeignAnswer(Unavailable):
    """Another server sent an answer that perdure cannot interpret."""

    url: str
    found: str

    @property
    def what(self) -> str:
        return quote(self.url)

    @property
    def reason(self) -> str:
        return f"its answer {quote(self.found)} was not understood"


class TransferBroken(Unavailable):
    """A transfer ended before all bytes arrived."""

    identifier: str
    received: int
    expected: int

    @property
    def what(self) -> str:
        return quote(self.identifier)

    @property
    def reason(self) -> str:
        return f"the transfer ended after {self.received} of {self.expected} bytes"


class NothingHeld(Unavailable):
    """The identifier is known, but has neither bytes nor locations."""

    identifier: str
    reason = "only its name is registered: it has neither bytes nor locations"

    @property
    def what(self) -> str:
        return quote(self.identifier)


class BytesElsewhere(Unavailable):
    """The bytes of the identifier are not held here, but it may have a location."""

    identifier: str
    reason = "its bytes are not held here"

    @property
    def what(self) -> str:
        return quote(self.identifier)
