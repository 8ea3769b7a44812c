"""Errors about other servers, and about bytes held elsewhere: try again later."""

from __future__ import annotations

from perdure.errors.root import FaultQuoted, IdentifierQuoted, UrlQuoted, describe_received, quote
from perdure.errors.unavailable import Unavailable


class ServerRefused(UrlQuoted, Unavailable):
    """Another server answered with an error or an unexpected status."""

    answered: int
    """The status of its answer."""
    phrase: str = ""

    @property
    def reason(self) -> str:
        return f"it answered {self.answered} {self.phrase}".rstrip()


class ServerUnreachable(FaultQuoted, UrlQuoted, Unavailable):
    """Another server cannot be reached; `fault` quotes the system."""

    mend: str | None = None


class AnswerCut(UrlQuoted, Unavailable):
    """Another server's answer exceeds a limit of length or time."""

    limit: str

    @property
    def reason(self) -> str:
        return f"its answer exceeded a limit ({self.limit})"


class EndlessRedirects(UrlQuoted, Unavailable):
    """Another server redirects too many times."""

    reason = "it redirects too many times"


class ForeignAnswer(UrlQuoted, Unavailable):
    """Another server sent an answer that perdure cannot interpret."""

    found: str

    @property
    def reason(self) -> str:
        return f"its answer {quote(self.found)} was not understood"


class TypeNotDeclared(UrlQuoted, Unavailable):
    """Another server does not say which media type a resource has."""

    reason = "its answer declares no media type"
    mend = "state the type"


class TransferBroken(IdentifierQuoted, Unavailable):
    """A transfer ended before all bytes arrived."""

    received: int
    expected: int | None
    """None if the length is unknown."""

    @property
    def reason(self) -> str:
        return f"the transfer ended after {describe_received(self.received, self.expected)}"


class NothingHeld(IdentifierQuoted, Unavailable):
    """The identifier is known, but has neither bytes nor locations."""

    reason = "only its name is registered: it has neither bytes nor locations"
    mend = "add bytes with 'perdure commit', or a location with 'perdure bind'"


class BytesElsewhere(IdentifierQuoted, Unavailable):
    """The bytes of the identifier are not held here, but it may have a location."""

    reason = "its bytes are not held here"
    mend = "request it from its location, if it has one ('perdure resolve' shows it)"


class SearchUnfinished(Unavailable):
    """A harvester asked for a set with few records among very many changes.

    The search stopped after a share of them, and the same request goes on from there.
    """

    set: str
    mend = "repeat the request: it goes on where this one stopped"
    reason = "more changes had to be searched than one request may"

    @property
    def what(self) -> str:
        return f"the list of the set {quote(self.set)}" if self.set else "the list"
