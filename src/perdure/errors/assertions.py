"""Errors about assertions: annotations that are refused."""

from __future__ import annotations

from perdure.errors.invalid import ContentNotSupported, InvalidRequest, UnknownChoice
from perdure.errors.lookup import NotFound
from perdure.errors.rights import Forbidden
from perdure.errors.root import quote
from perdure.errors.stored import TooLarge

PAGE = "docs/reference/assertions.md"


class AssertionMalformed(InvalidRequest):
    """The document is not an annotation of the Web Annotation Data Model."""

    place: str
    """The path to the wrong field, such as `target.source`; empty for the document itself."""
    expected: str
    what = "the assertion"
    rule = PAGE

    @property
    def reason(self) -> str:
        return f"{quote(self.place)} must be {self.expected}" if self.place else self.expected


class ContextUnknown(InvalidRequest):
    """An assertion needs a JSON-LD context that perdure does not know. Contexts are not fetched."""

    context: str
    what = "the assertion"
    rule = PAGE

    @property
    def reason(self) -> str:
        return f"its context {quote(self.context)} is not known, and contexts are not fetched"


class ConjunctionMalformed(InvalidRequest):
    """A conjunction has too few parts, or something that is not one part of one version."""

    part: str
    """As it is written; empty for the conjunction itself."""
    expected: str
    what = "the conjunction"
    rule = PAGE

    @property
    def reason(self) -> str:
        return f"{quote(self.part)} {self.expected}" if self.part else f"it {self.expected}"


class MotivationUnknown(InvalidRequest):
    """A motivation is neither a known word nor an absolute IRI."""

    motivation: str
    known: tuple[str, ...]
    what = "the assertion"
    rule = PAGE

    @property
    def reason(self) -> str:
        known = ", ".join(self.known)
        return (
            f"its motivation {quote(self.motivation)} is not known; use one of {known}, a term "
            "such as cito:disputes, or an absolute IRI"
        )


class RetractionForeign(Forbidden):
    """Only the actor who made an assertion can retract it, or replace it by a further version."""

    identifier: str
    by: str
    """The actor who made it."""

    @property
    def needed(self) -> str:
        return f"to be {quote(self.by)}, who made {quote(self.identifier)}"


class ProposalUnknown(NotFound):
    """There is no such proposal of an assertion: it was accepted, deleted, or has ended."""

    def problem(self) -> str:
        return f"there is no proposal {quote(self.identifier)}"

    def repair(self) -> str:
        return "list the proposals; one that was accepted is an assertion now"


class ProposalsTooMany(TooLarge):
    """There are too many proposals of assertions, of one author or of all."""

    what = "the list of proposed assertions"
    unit = "proposals"


class AssertionTypeUnknown(ContentNotSupported):
    """The body of a request has a media type that assertions do not have."""

    media_type: str
    known: tuple[str, ...]
    rule = PAGE

    @property
    def what(self) -> str:
        return f"the media type {quote(self.media_type)}"

    @property
    def reason(self) -> str:
        return f"send one of {', '.join(self.known)}"


class UnknownScope(UnknownChoice):
    """A question for assertions names an unknown scope."""

    kind = "scope"
    rule = PAGE


class UnknownForm(UnknownChoice):
    """A question for assertions names an unknown form of the answer."""

    kind = "form"
    rule = PAGE


class AssertionTooLong(TooLarge):
    """An assertion is too long."""

    what = "the assertion"
    unit = "bytes"
