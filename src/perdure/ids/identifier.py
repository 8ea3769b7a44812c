"""The interface of every identifier, whatever its scheme.

How it works: the rest of perdure asks an identifier these questions and never asks which class it
is of. A scheme's value class derives from `perdure.ids.keyed.Keyed`, which gives the usual answer
to each of them, and overrides those that its scheme answers in another way.

What must stay true: a question belongs here only if it makes sense for every scheme. What one
scheme alone can answer stays in the module of that scheme.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, Self, runtime_checkable

import msgspec

from perdure.ids.pdi_fragment import Fragment

Version = int | Literal["*"]


class ArchivedItem(msgspec.Struct, frozen=True):
    """A thing in a web archive, as an identifier names it."""

    archive: str
    """The id of the archive, such as `archive.org`."""
    time: str
    """The time of archiving in ISO 8601, as precise as the identifier gives it."""
    item: str
    """The archived address, or the archive's own name for the thing."""


@runtime_checkable
class Identifier(Protocol):
    """The questions that every identifier answers. Values are immutable, hashable and ordered.

    `str()` is the canonical text, and `==` compares it (with the folding its scheme prescribes).
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
        """How clients of the Handle System write the identifier; else its canonical text."""

    @property
    def file_stem(self) -> str:
        """The name of a file with the resource, without extension and in any characters."""

    @property
    def path(self) -> str:
        """How the identifier is written in the path of a URL: a piece of a URI."""

    @property
    def uri(self) -> str:
        """The identifier as a URI of its own."""

    # identity
    # --------

    @property
    def key(self) -> str:
        """Identity and order of the record in the store: two identifiers with the same key share
        one record. For a PDI that is the generic resource, without format, version or part.
        Keys sort in listing order (PDIs chronologically, serial numbers as numbers)."""

    @property
    def is_spelled_by_key(self) -> bool:
        """Whether the key alone gives the resource, in the spelling that is kept for it."""

    @property
    def whole(self) -> Self:
        """The identifier without part or citation."""

    @property
    def resource(self) -> Self:
        """The identifier that all formats, versions and parts of one resource share."""

    @classmethod
    def from_key(cls, key: str) -> Identifier:
        """The identifier that has a key. Raises MalformedIdentifier if no identifier has it."""

    # representations
    # ---------------

    @property
    def format(self) -> str | None:
        """The format that the identifier names; None if it leaves the format open."""

    @property
    def version(self) -> Version | None:
        """The version that the identifier names; None if it leaves the version open."""

    def at(self, *, format: str | None = None, version: Version | None = None) -> Self:
        """The same resource in a format and version, if the scheme can name them; else `whole`."""

    # parts
    # -----

    @property
    def part(self) -> str | None:
        """The part that the identifier names by the rules of the media type; None for no part."""

    @property
    def fragment(self) -> Fragment | None:
        """The part that the identifier names by rules of its own scheme; None for no part."""

    @property
    def is_citation(self) -> bool:
        """Whether the identifier names a place where one document cites another."""

    def with_part(self, part: str) -> Self | None:
        """The identifier of a part; None if names of this scheme cannot hold a part.

        Raises MalformedIdentifier if `part` is not a part of this scheme.
        """

    # patterns
    # --------

    @property
    def is_pattern(self) -> bool:
        """Whether the identifier stands for many identifiers."""

    @property
    def is_interval(self) -> bool:
        """Whether the identifier is the beginning that many identifiers have in common."""

    @property
    def is_divided(self) -> bool:
        """Whether an interval is listed by smaller intervals, as a year is by its months."""

    def member_of(self, key: str) -> Self:
        """The next smaller interval in which a key lies, such as a month of this year."""

    def next_key(self, name: Identifier) -> str | None:
        """The next key after that of `name` that the pattern can match; None if the key that
        follows is one."""

    def authority_range(self) -> tuple[str, str]:
        """The range of keys of all identifiers of the same authority, as `key_range`."""

    def key_range(self) -> tuple[str, str]:
        """The first key, and the end (exclusive), of the keys of all that the identifier names."""

    def matches(self, other: Identifier) -> bool:
        """Whether all that `other` names is among what this identifier names."""

    # assignment and content
    # ----------------------

    @property
    def assigned_on(self) -> str | None:
        """The day on which the name was assigned, `2026-11-21`; None if the name does not say."""

    @property
    def assigned_under(self) -> str:
        """The text that rights are compared with: the authority, or a text that begins with it."""

    @property
    def archived(self) -> ArchivedItem | None:
        """The thing in a web archive that the identifier names; None for any other thing."""
