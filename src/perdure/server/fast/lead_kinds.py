"""Answers for names without one of their own, as `perdure.server.fast.leads` finds them."""

from __future__ import annotations

from typing import NamedTuple

from perdure.server.common.answers import escape_uri
from perdure.server.fast.proxied import ReadyDocument

PDI = "pdi:"


class Lead(NamedTuple):
    """The redirect of a name without an answer of its own."""

    head: bytes
    """The answer, or the beginning of it, up to the public address of this resolver."""
    rest: bytes | None
    """The answer after the public address, or None if `head` is complete."""
    changes: int | None
    """The count of changes before the look-ups; None if the answer rests on no missing record."""
    is_away: bool = False
    """True if it leads to another resolver, unless the request has come from there."""

    def write_answer(self, base: str | None) -> bytes | None:
        """Write the answer for a public address; None if it needs one that is not known."""
        if self.rest is None:
            return self.head
        return None if base is None else b"".join((self.head, escape_uri(base), self.rest))


class ProxiedLead(NamedTuple):
    """A delegated name whose document is kept here."""

    document: ReadyDocument
    changes: int
    """The count of changes before the look-ups."""
    today: str
    """The day on which the delegation was in force."""
