"""The interface of every identifier, whatever its scheme.

How it works: the rest of perdure asks an identifier these questions and never looks at its class. A
scheme's value class derives from `perdure.ids.keyed.Keyed`, which has the usual answer to each
question, and overrides the answers that differ in its scheme.

What must stay true: a question belongs here only if it makes sense for every scheme. A question
that only one scheme can answer stays in the module of that scheme.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, Self, runtime_checkable

import msgspec

from perdure.ids.pdi_fragment import PdiFragment

Version = int | Literal["*"]


class ArchivedItem(msgspec.Struct, frozen=True):
    """A resource in a web archive, as an identifier names it."""

    archive: str
    """The id of the archive, such as `archive.org`."""
    time: str
    """The time of archiving in ISO 8601, as precise as the identifier gives it."""
    item: str
    """The archived URL, or the archive's own name for the resource."""


@runtime_checkable
class Identifier(Protocol):
    """The questions that every identifier answers. Values are immutable, hashable and ordered.

    `str()` returns the canonical text, and `==` compares it (folded as its scheme prescribes).
    """

    kind: ClassVar[str]
    """The name of its scheme."""

    # text
    # ----

    @property
    def written(self) -> str:
        """The text as it was received; not compared."""

    @property
    def urn(self) -> str:
        """The same identifier as a URN, or its canonical text if its scheme has no URN form."""

    @property
    def handle(self) -> str:
        """The form used by clients of the Handle System; else the canonical text."""

    @property
    def file_stem(self) -> str:
        """A file name for the resource, without extension; it may contain any characters."""

    @property
    def path(self) -> str:
        """The identifier as part of the path of a URL."""

    @property
    def uri(self) -> str:
        """The identifier as a complete URI."""

    # identity
    # --------

    @property
    def key(self) -> str:
        """Identity and order of the record in the store.

        Two identifiers with the same key share one record. The key of a PDI is that of the generic
        resource, without format, version or part. Keys sort in listing order (PDIs
        chronologically, serial numbers as numbers).
        """

    @property
    def equal_key(self) -> str | None:
        """A text that names with different keys share if they are equal all the same.

        None if names are equal only if their keys are.
        """

    def list_equality_texts(self) -> tuple[str, str]:
        """Return the texts that decide whether two names of the scheme are equal."""

    @property
    def is_spelled_by_key(self) -> bool:
        """True if the key alone determines the resource, in the spelling stored for it."""

    @property
    def whole(self) -> Self:
        """The identifier without part or citation."""

    @property
    def resource(self) -> Self:
        """The identifier that all formats, versions and parts of one resource share."""

    @classmethod
    def from_key(cls, key: str) -> Identifier:
        """Return the identifier that has a key. Raises MalformedIdentifier if none has it."""

    # representations
    # ---------------

    @property
    def format(self) -> str | None:
        """The format that the identifier names; None if it leaves the format open."""

    @property
    def version(self) -> Version | None:
        """The version that the identifier names; None if it leaves the version open."""

    def at(self, *, format: str | None = None, version: Version | None = None) -> Self:
        """Return the resource in a format and version if the scheme can name them, else `whole`."""

    # parts
    # -----

    @property
    def part(self) -> str | None:
        """The part named by the rules of the media type; None if there is no part."""

    @property
    def fragment(self) -> PdiFragment | None:
        """The part named by the rules of the identifier's own scheme; None if there is no part."""

    @property
    def is_citation(self) -> bool:
        """True if the identifier names a place where one document cites another."""

    @property
    def cited(self) -> Identifier | None:
        """The identifier that is cited at the place that a citation names; None for other names."""

    def with_part(self, part: str) -> Self | None:
        """Return the identifier of a part; None if names of this scheme cannot hold a part.

        Raises MalformedIdentifier if `part` is not a part of this scheme.
        """

    # patterns
    # --------

    @property
    def is_pattern(self) -> bool:
        """True if the identifier stands for many identifiers."""

    @property
    def is_interval(self) -> bool:
        """True if the identifier is the common beginning of many identifiers."""

    @property
    def is_divided(self) -> bool:
        """True for an interval that is listed by smaller intervals, as a year is by its months."""

    def member_of(self, key: str) -> Self:
        """Return the next smaller interval that contains a key, such as a month of this year."""

    def next_key(self, name: Identifier) -> str | None:
        """Return the next key after that of `name` that the pattern can match.

        None if the key that directly follows can match.
        """

    @property
    def authority_beginning(self) -> str:
        """The text with which all names of the same authority begin: `hdl:1839/`, `urn:isbn:`."""

    def key_range(self) -> tuple[str, str]:
        """Return the first key and the end (exclusive) of the keys that the identifier names."""

    def list_pattern_keys(self) -> tuple[str, ...]:
        """Return the keys of all patterns that name this resource and others."""

    def matches(self, other: Identifier) -> bool:
        """Return True if this identifier names everything that `other` names."""

    # assignment and content
    # ----------------------

    @property
    def assigned_on(self) -> str | None:
        """The day on which the name was assigned, `2026-11-21`; None if the name does not say."""

    @property
    def assigned_between(self) -> tuple[str, str] | None:
        """The first and the last day on which the names were assigned that it names.

        Days that it leaves open are `00` and `99`; None if its scheme has no dates.
        """

    @property
    def assigned_under(self) -> str:
        """The text that rights are compared with: the authority, or a text that begins with it."""

    @property
    def archived(self) -> ArchivedItem | None:
        """The resource in a web archive that the identifier names; None for other resources."""
