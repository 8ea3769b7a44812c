"""Errors about parts that cannot be cut out of a document."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from perdure.errors.root import PerdureError, ReasonedError, SubjectNamed, quote


class PartNotFound(PerdureError, LookupError):
    """The resource has no element, name, page or track of this name or number."""

    code = "part-not-found"
    identifier: str
    selector: str
    extent: str
    """A description of the parts that exist, such as `3 pages`."""

    def problem(self) -> str:
        return f"{quote(self.identifier)} has no part {quote(self.selector)}"

    def repair(self) -> str:
        return f"it has {self.extent}"


class AmbiguousQuotation(PartNotFound):
    """The quoted words occur several times: a longer quotation says which are meant."""

    places: tuple[str, ...]
    """The bytes of each occurrence, such as `120-134`: the first, and the one after the last."""
    around: tuple[str, ...]
    """The text before and after each occurrence, one pair after another."""

    def problem(self) -> str:
        return f"{quote(self.selector)} occurs several times in {quote(self.identifier)}"


class PartOutOfRange(PartNotFound):
    """The part is empty, or extends beyond the end of the resource  # ruling: part-range"""

    code = "part-out-of-range"

    def problem(self) -> str:
        return f"part {quote(self.selector)} is empty or extends beyond {quote(self.identifier)}"

    def repair(self) -> str:
        return f"it has {self.extent}"


class PartCheckFailed(PerdureError):
    """The resource fails an integrity check given with the part (RFC 5147 section 2.1.3)."""

    code = "part-check-failed"
    identifier: str
    check: str
    found: str

    def problem(self) -> str:
        return f"{quote(self.identifier)} fails the integrity check {quote(self.check)}"

    def repair(self) -> str:
        return f"it has {self.found}; the part refers to a different text"


class PartNotSupported(PerdureError):
    """This kind of part cannot be cut from this media type on this installation."""

    code = "part-not-supported"
    media_type: str | None = None
    """None if the part was parsed before the document's type was known."""
    selector: str
    offered: tuple[str, ...] | None = None
    """The available kinds of part, as they are written."""

    def problem(self) -> str:
        source = f" from {quote(self.media_type)}" if self.media_type else ""
        return f"part {quote(self.selector)} cannot be cut{source}"

    def repair(self) -> str:
        if self.offered:
            return f"choose one of the available kinds of part: {', '.join(self.offered)}"
        return "request the whole document"


class Undecodable(ReasonedError, ValueError):
    """The bytes do not match their media type, or are damaged.

    Abstract: each reason has a class in `damage`.
    """

    code = "undecodable"
    identifier: str
    media_type: str

    def problem(self) -> str:
        return f"{quote(self.identifier)} cannot be read as {quote(self.media_type)}: {self.reason}"

    def repair(self) -> str:
        return "request the whole document, or a range of bytes"


class UndecodableThere(Undecodable):
    """Another process cannot decode bytes, and says why in its own words."""

    reason: str


class OverBudget(SubjectNamed):
    """The request would exceed the time or memory limit for one request.

    Abstract: each reason has a class in `limits`.
    """

    code = "over-budget"
    computed = ("what", "limit")
    if TYPE_CHECKING:  # at run time each class below has an attribute, a property or a field for it

        @property
        @abstractmethod
        def limit(self) -> str: ...

    def problem(self) -> str:
        return f"{self.what} needs more than {self.limit}"

    def repair(self) -> str:
        return "request less, or download the whole and process it with another program"


class OverBudgetThere(OverBudget):
    """Another process reports a limit, in its own words."""

    what: str
    limit: str
