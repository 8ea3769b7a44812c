"""The request that the rules forbid: the abstract class of all reasons, and what they share.

`InvalidRequest` itself is abstract: each reason has a class of its own in the module of its area.
All of them share its code, and clients see `what`, `reason` and `rule`, computed from the fields of
the class.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from perdure.errors.root import PerdureError, quote


class InvalidRequest(PerdureError, ValueError):
    """A request that is well-formed and yet asks for what the rules forbid."""

    code = "invalid-request"
    computed = ("what", "reason", "rule")
    if TYPE_CHECKING:  # at run time each class below has attributes, properties or fields for them

        @property
        @abstractmethod
        def what(self) -> str: ...

        @property
        @abstractmethod
        def reason(self) -> str: ...

        @property
        def rule(self) -> str | None:
            """The section of a specification, the ruling or the page that says so."""

    else:
        rule = None

    def problem(self) -> str:
        return f"{self.what} refused: {self.reason}"

    def repair(self) -> str:
        return f"see {self.rule}" if self.rule else ""


class RefusedThere(InvalidRequest):
    """Another server or process refuses it, in its own words."""

    what: str
    reason: str
    rule: str | None = None


class UnknownChoice(InvalidRequest):
    """A word is unknown. Each kind of word has a class below."""

    kind: ClassVar[str] = "word"
    text: str
    known: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"{self.kind} {quote(self.text)}"

    @property
    def reason(self) -> str:
        return f"known are {', '.join(self.known)}"
