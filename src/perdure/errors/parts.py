"""Errors of parts of a document that cannot be cut."""

from __future__ import annotations

from perdure.errors.root import PerdureError, quote


class PartNotFound(PerdureError, LookupError):
    """The resource has no element, name, page or track of this name or number."""

    code = "part-not-found"
    identifier: str
    selector: str
    extent: str
    """What there is instead, in words."""

    def problem(self) -> str:
        return f"{quote(self.identifier)} has no part {quote(self.selector)}"

    def repair(self) -> str:
        return f"there is {self.extent}"


class PartOutOfRange(PartNotFound):
    """The part lies beyond the resource, wholly or partly, or is empty  # ruling: part-range"""

    code = "part-out-of-range"

    def problem(self) -> str:
        return f"part {quote(self.selector)} is empty or beyond {quote(self.identifier)}"

    def repair(self) -> str:
        return f"it extends over {self.extent}"


class PartCheckFailed(PerdureError):
    """A check that came with the part does not hold of the resource (RFC 5147 section 2.1.3)."""

    code = "part-check-failed"
    identifier: str
    check: str
    found: str

    def problem(self) -> str:
        return f"{quote(self.identifier)} does not pass the check {quote(self.check)}"

    def repair(self) -> str:
        return f"it has {self.found}: the part was made of another text"


class PartNotSupported(PerdureError):
    """Parts of this kind cannot be cut from this media type here."""

    code = "part-not-supported"
    media_type: str | None = None
    """None if the text was read without knowing the type of the document."""
    selector: str
    install: str | None = None
    """The package that makes it possible."""
    offered: tuple[str, ...] | None = None
    """The kinds of part that there are here, as they are written."""

    def problem(self) -> str:
        source = f" from {quote(self.media_type)}" if self.media_type else ""
        return f"no part {quote(self.selector)} can be cut{source}"

    def repair(self) -> str:
        if self.install:
            return f"install {self.install}"
        if self.offered:
            return f"it has parts of the kinds {', '.join(self.offered)}"
        return "ask for the whole document"


class Undecodable(PerdureError, ValueError):
    """The bytes are not what their media type says, or are damaged."""

    code = "undecodable"
    identifier: str
    media_type: str
    reason: str

    def problem(self) -> str:
        return (
            f"{quote(self.identifier)} cannot be read as {quote(self.media_type)}: "
            f"{quote(self.reason)}"
        )

    def repair(self) -> str:
        return "ask for the whole document, or for a part in octets"


class OverBudget(PerdureError):
    """It would take more time or memory than one request is given."""

    code = "over-budget"
    what: str
    limit: str

    def problem(self) -> str:
        return f"{self.what} takes more than {self.limit}"

    def repair(self) -> str:
        return "ask for less, or take the whole to a program that has no such bound"
