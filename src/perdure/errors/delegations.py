"""Errors about delegations: names for which other resolvers answer."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.lookup import NotFound
from perdure.errors.rights import Forbidden
from perdure.errors.root import quote

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
        return f"{quote(self.identifier)} is delegated to {quote(self.resolvers[0])}"

    def repair(self) -> str:
        return f"ask there; the delegation is {self.delegation}"
