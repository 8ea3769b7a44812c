"""Errors about finding the resolver of a name, and about writing it into a zone."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.lookup import NotFound
from perdure.errors.root import quote
from perdure.errors.unavailable import Unavailable


class ResolverNotFound(NotFound):
    """No resolver of this name was found: not in the settings, nor in DNS, nor at its host."""

    def problem(self) -> str:
        return f"no resolver was found for {quote(self.identifier)}"

    def repair(self) -> str:
        return (
            "'perdure discover' shows each step; name the resolver with --resolver, or in the "
            "setting 'resolvers'"
        )


class DiscoveryFailed(Unavailable):
    """The name servers gave no answer, or one that must not be used; try again later."""

    identifier: str
    fault: str

    @property
    def what(self) -> str:
        return f"the resolver of {quote(self.identifier)}"

    @property
    def reason(self) -> str:
        return self.fault


class AddressNotForZone(InvalidRequest):
    """The address of a resolver cannot be written into a zone: it is not one of the web."""

    base: str
    rule = "docs/reference/other-resolvers.md"
    reason = "it is not an address of the web"

    @property
    def what(self) -> str:
        return f"the address {quote(self.base)}"


class AddressNotEnclosed(AddressNotForZone):
    """The address of a resolver contains every mark that could enclose it in a record."""

    reason = "it contains every mark that could enclose it in a record, or a backslash"


class AddressTooLong(AddressNotForZone):
    """The address of a resolver is too long for a record."""

    reason = "it is too long for a record"


class PointerMalformed(InvalidRequest):
    """The expression of a NAPTR record is not of the form of RFC 3402 section 3.2."""

    text: str
    reason = "it is not of the form !expression!replacement!flags"
    rule = "RFC 3402 section 3.2"

    @property
    def what(self) -> str:
        return f"the expression {quote(self.text)}"


class ResolverMalformed(InvalidRequest):
    """An entry of a list of resolvers is not of the form `SERIES = ADDRESS`."""

    text: str
    rule = "docs/reference/other-resolvers.md"

    @property
    def what(self) -> str:
        return f"the resolver {quote(self.text)}"

    @property
    def reason(self) -> str:
        return "it is not of the form 'oma.eop.gov.us = https://pid.example.org'"
