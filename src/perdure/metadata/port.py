"""The interface between perdure and an adapter of a metadata format.

How it works: a `DescribedResource` holds everything that a record can say about one resource: its
identifier in both forms, its description, and the facts that the registry knows by itself. A
`Format` writes it in one format, and may also read that format. Each format has a file of its own
and is an entry point in the group `perdure.metadata`:

    marc = "perdure_marc.marcxml:FORMAT"

What must stay true: an adapter is pure; it opens no file and no connection.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.ids import Identifier
from perdure.model.about import About
from perdure.parts import Selector

LARGEST = 1 << 20
"""Largest metadata record that is read, in any format, in bytes."""


class HeldFile(msgspec.Struct, frozen=True, kw_only=True):
    """A representation that is held here."""

    url: str
    media_type: str
    length: int
    """In bytes."""
    sha512: str
    version: int
    language: str = ""


class CollectedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a collection."""

    number: int
    identifier: str
    url: str = ""
    title: str = ""


MOST_MEMBERS = 1000
"""Members of a collection that its description names; the list of members has all."""


class DescribedResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource, or a part of one, with its description."""

    identifier: Identifier
    about: About
    url: str
    """Actionable form of the identifier, which a browser can follow."""
    at: str = ""
    """When its first bytes were deposited here; empty if there are none. This is not the date of
    publication, which only a description can state."""
    media_type: str = ""
    length: int | None = None
    """In bytes, if the identifier means a single representation."""
    sha512: str = ""
    version: int | None = None
    files: tuple[HeldFile, ...] = ()
    """All formats of the version that the identifier means."""
    members: tuple[CollectedMember, ...] = ()
    """The first members, if it is a collection."""
    whole: str = ""
    """For a part: the URL of the complete resource."""
    part: Selector | None = None
    """The part of the resource that is meant; None for the complete resource."""


HEAD = 4096
"""Number of bytes at the beginning of a record in which XML declares its namespaces."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The marks by which records of a format are recognised."""

    opening: tuple[bytes, ...] = (b"",)
    """Possible beginnings of a record, after white space."""
    marks: tuple[bytes, ...] = (b"",)
    """A record contains at least one of these."""
    reach: int = HEAD
    """Number of bytes at the beginning that are searched for a mark."""
    generality: int = 0
    """0 if no other format has such a mark. Higher if records of other formats may contain it
    too (Dublin Core inside CMDI): those formats are then tried first."""

    def matches_record(self, data: bytes) -> bool:
        """Return True if a record has this signature."""
        record = data.lstrip(b"\xef\xbb\xbf \t\r\n") if data[:1] in _BLANK else data
        return record.startswith(self.opening) and any(
            record.find(mark, 0, self.reach) >= 0 for mark in self.marks
        )


_BLANK = frozenset((b"\xef", b" ", b"\t", b"\r", b"\n"))


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format of metadata."""

    name: str
    """Value of `?metadata=`."""
    title: str
    media_types: tuple[str, ...]
    """The first labels answers. All are understood in Accept, and in a PUT."""
    write: Callable[[DescribedResource], bytes]
    read: Callable[[bytes], About] | None = None
    """Raises InvalidMetadata or TooLarge."""
    list_unread: Callable[[bytes], tuple[str, ...]] | None = None
    """Lists the members of a record that `read` does not keep. Raises as `read`."""
    schema: str = ""
    """URI of the schema that records declare."""
    aliases: tuple[str, ...] = ()
    """Other names that `?metadata=` accepts."""
    signature: Signature | None = None
    """Recognises a record; None if the caller has to name the format."""
    is_text: bool = False
    """True if its media type needs the parameter `charset`, which is UTF-8."""
    is_slow: bool = False
    """True if writing a record takes milliseconds."""
    place: int = 100
    """Position in lists: lower numbers come first, equal ones by name."""
