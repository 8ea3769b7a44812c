"""Errors about hand-overs: names that go from one registry to another, with all that they name."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.rights import Conflict
from perdure.errors.root import FaultQuoted, IdentifierQuoted, quote

PAGE = "docs/reference/hand-overs.md"


_FLAWS = {
    "directory": "it is not a directory",
    "declaration": "it does not declare BagIt 1.0 in UTF-8",
    "oxum": "its Payload-Oxum must be {}",
    "digest": "it does not have the promised digest",
    "kind": "it is not a plain file",
    "crowded": "it has more than {} files",
    "missing": "it is missing",
    "unlisted": "it is not in the manifest",
    "foreign": "it does not belong in a package",
    "long": "it is longer than {} bytes",
    "path": "it does not name a file of the package: {}",
    "twice": "it lists {} twice",
    "act": "it must have one line, or two",
    "other": "it is not the document that its line names",
    "signature": "it is the signature of another document",
    "key": "it was made with another key: {}",
    "line": "it has an endless line",
    "head": "its chain does not end at the signed head",
    "chain": "change {} does not continue the chain",
    "change": "change {} did not write what it says",
    "unreadable": "change {} cannot be read",
    "scope": "{} was not handed over",
    "own": "{} is not handed over, and its series is minted here",
    "delegation": "it lacks the delegation {}",
    "content": "it lacks the bytes of {}",
}


class PackageRefused(InvalidRequest):
    """A hand-over package is not whole, or not what its maker signed. Nothing of it was kept.
    Abstract: each reason has a class."""

    place: str
    """The file in the package, or empty for the package itself."""
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the package ({quote(self.place)})" if self.place else "the package"


class PackageUnreadable(FaultQuoted, PackageRefused):
    """A file of a hand-over package cannot be read."""


class PackageFlawed(PackageRefused):
    """A file of a hand-over package is not as it must be."""

    flaw: str
    """A word: `digest`, `missing`, `path`, `scope`…"""
    subject: str = ""

    @property
    def reason(self) -> str:
        return _FLAWS.get(self.flaw, self.flaw).format(quote(self.subject))


class HandOverUnsigned(InvalidRequest):
    """A hand-over has no signature, and the operator has not allowed that."""

    what = "the hand-over"
    reason = "it is not signed; ask the predecessor to sign it, or add --unsigned if you trust it"
    rule = PAGE


class HandOverElsewhere(InvalidRequest):
    """The names were handed over to another resolver."""

    what = "the hand-over"
    successors: tuple[str, ...]
    own: str
    """The address of this resolver."""
    rule = PAGE

    @property
    def reason(self) -> str:
        there = ", ".join(map(quote, self.successors))
        return f"its names go to {there}, and the base_url of this registry is {quote(self.own)}"


class NoHandOver(InvalidRequest):
    """A registry has handed nothing over to this one."""

    what = "the take-over"
    source: str
    own: str
    rule = PAGE

    @property
    def reason(self) -> str:
        return (
            f"{quote(self.source)} has handed nothing over to {quote(self.own)}; run "
            "'perdure hand-over' there first"
        )


class HandOverFinal(IdentifierQuoted, InvalidRequest):
    """A delegation cannot be ended, because its names were handed over."""

    reason = (
        "its names were handed over, and the successor may have given out more of them; to get "
        "them back, the successor hands them over to you; if it never took them over, add --abandon"
    )
    rule = PAGE


class RevisionUnreadable(IdentifierQuoted, FaultQuoted, InvalidRequest):
    """A revision that was handed over is not one of its record."""

    rule = PAGE


class RecordContradicted(Conflict):
    """A name that was handed over has another record here."""

    revision: int
    """The first revision that differs."""

    @property
    def reason(self) -> str:
        return (
            f"{quote(self.identifier)} has another record here, which differs in revision "
            f"{self.revision}; nothing of the hand-over was taken over"
        )


class PackageExists(InvalidRequest):
    """A package would be written over something."""

    path: str
    reason = "it exists already; name another place"

    @property
    def what(self) -> str:
        return quote(self.path)


class HandOverOutdated(Conflict):
    """The predecessor changed what it hands over after it had said what that is."""

    reason = "the names changed after they were handed over; run 'perdure hand-over' there again"
