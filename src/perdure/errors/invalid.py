"""Requests that the rules forbid: the abstract class of all reasons, and what they share.

`InvalidRequest` itself is abstract: each reason has its own class in the module of its area. All
share its code. Clients see `what`, `reason` and `rule`, computed from the fields of the class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from perdure.errors.root import ReasonedError, SubjectNamed, quote


class InvalidRequest(SubjectNamed, ReasonedError, ValueError):
    """The request is well-formed, but the rules forbid it."""

    code = "invalid-request"
    computed = ("what", "reason", "rule")
    if TYPE_CHECKING:  # at run time a class below may have an attribute, a property or a field

        @property
        def rule(self) -> str | None:
            """The section of a specification, the ruling, or the page that states the rule."""

    else:
        rule = None

    def problem(self) -> str:
        return f"{self.what} refused: {self.reason}"

    def repair(self) -> str:
        return f"see {self.rule}" if self.rule else ""


class ContentNotSupported(InvalidRequest):
    """The body of a request has a media type or a content coding that perdure does not read there.
    Abstract: each reason has a class."""

    code = "content-not-supported"


class RefusedThere(InvalidRequest):
    """Another server or process refuses the request, in its own words."""

    what: str
    reason: str
    rule: str | None = None


class ContentNotSupportedThere(RefusedThere, ContentNotSupported):
    """Another server does not read this kind of content, in its own words."""


class UnknownChoice(InvalidRequest):
    """A word is not one of the known words. Each kind of word has a subclass."""

    kind: ClassVar[str] = "word"
    text: str
    known: tuple[str, ...]

    @property
    def what(self) -> str:
        return f"{self.kind} {quote(self.text)}"

    @property
    def reason(self) -> str:
        return f"choose one of {', '.join(self.known)}"
