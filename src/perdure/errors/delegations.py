"""Errors about delegations: names for which other resolvers answer."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.lookup import NotFound
from perdure.errors.rights import Forbidden
from perdure.errors.root import FaultQuoted, UrlQuoted, quote
from perdure.errors.unavailable import Unavailable

PAGE = "docs/reference/delegations.md"


class DelegationMalformed(InvalidRequest):
    """A delegation is not as perdure writes it, or says something that no resolver can do."""

    place: str
    """The field: `resolver`, `first-day`, `names`…; empty for the document itself."""
    expected: str
    what = "the delegation"
    rule = PAGE

    @property
    def reason(self) -> str:
        return f"{quote(self.place)} must be {self.expected}" if self.place else self.expected


class DelegationUnsigned(Forbidden):
    """The names have a list of allowed signers, and the delegation is not signed by one of them."""

    identifier: str
    who: str = "an unsigned delegation"

    @property
    def needed(self) -> str:
        return f"a key in the list of allowed signers for {quote(self.identifier)}"


class NotADelegation(NotFound):
    """The name is not that of a delegation of this registry."""

    def problem(self) -> str:
        return f"{quote(self.identifier)} is not a delegation of this registry"

    def repair(self) -> str:
        return "list the delegations to find its name"


class AnsweredElsewhere(NotFound):
    """Other resolvers answer for this identifier: a delegation says so."""

    code = "answered-elsewhere"
    resolvers: tuple[str, ...]
    """The addresses of the resolvers, the first one to be asked first."""
    delegation: str
    """The identifier of the delegation."""
    how: str = "redirect"
    """What the delegation says: `redirect`, `proxy` or `refer`."""
    role: str = "resolver"

    def problem(self) -> str:
        there = ", ".join(map(quote, self.resolvers[:1])) or "another resolver"
        return f"{quote(self.identifier)} is delegated to {there}"

    def repair(self) -> str:
        return f"ask there; the delegation is {self.delegation}"


class ResolverUnreachable(FaultQuoted, UrlQuoted, Unavailable):
    """A resolver to which the name is delegated cannot be reached, or does not speak HTTP."""

    code = "resolver-unreachable"
    cause: str
    """`name`, `connection`, `tls`, `protocol`, `time` or `forbidden`."""
    mend: str | None = None


class ResolverTimedOut(ResolverUnreachable):
    """A resolver to which the name is delegated does not answer in time."""

    code = "resolver-timed-out"


class ResolverContradicted(UrlQuoted, Unavailable):
    """A resolver sent other bytes than were promised for a name whose bytes never change."""

    code = "resolver-contradicted"
    identifier: str
    promised: str
    """The SHA-512 that the bytes must have, in hexadecimal."""
    found: str
    """The SHA-512 of the bytes that came, or that the resolver now promises."""
    mend = "tell the operator of that resolver"

    @property
    def reason(self) -> str:
        return (
            f"for {quote(self.identifier)} the SHA-512 {self.promised} was promised, and "
            f"{self.found} came"
        )
