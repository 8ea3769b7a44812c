"""What an adapter of a metadata format is given and what it offers.

How it works: a `Described` is everything that can be written of one resource: its identifier in
both forms, what is said about it, and what the registry knows by itself. A `Format` is one way to
write it, and perhaps to read it. Each lies in a file of its own and is an entry point in the group
`perdure.metadata`:

    marc = "perdure_marc.marcxml:FORMAT"

What must stay true: an adapter is pure; it opens nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from perdure.errors import InvalidMetadata
from perdure.ids import Identifier
from perdure.model.about import About
from perdure.parts import Selector

LARGEST = 1 << 20
"""Bytes of a metadata record that is read, in any format."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A resource, or a part of one, with what is said about it."""

    identifier: Identifier
    about: About
    url: str
    """The actionable form of the identifier: what a browser can follow."""
    at: str = ""
    """When the resource came into the registry; stands in where no date is said."""
    media_type: str = ""
    length: int | None = None
    """Bytes, where one representation is meant."""
    sha512: str = ""
    version: int | None = None
    part: Selector | None = None
    """What part of the resource is meant."""


HEAD = 4096
"""Bytes at the beginning of a record in which XML declares its namespaces."""


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """How records of a format are recognised."""

    opening: tuple[bytes, ...] = (b"",)
    """What a record may begin with, after white space."""
    marks: tuple[bytes, ...] = (b"",)
    """One of these stands in it."""
    reach: int = HEAD
    """Bytes in which a mark may stand."""
    generality: int = 0
    """0: no other record has such a mark. A higher number: records of other formats may have it
    too (Dublin Core inside CMDI), so they are tried first."""

    def matches(self, data: bytes) -> bool:
        """Whether a record has this signature."""
        record = data.lstrip(b"\xef\xbb\xbf \t\r\n") if data[:1] in _BLANK else data
        return record.startswith(self.opening) and any(
            record.find(mark, 0, self.reach) >= 0 for mark in self.marks
        )


_BLANK = frozenset((b"\xef", b" ", b"\t", b"\r", b"\n"))


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format of metadata."""

    name: str
    """As it stands in `?metadata=`."""
    title: str
    media_types: tuple[str, ...]
    """The first is what answers are labelled with, all are understood in Accept and sent by PUT."""
    write: Callable[[Described], bytes]
    read: Callable[[bytes], About] | None = None
    """Raises InvalidMetadata or TooLarge."""
    schema: str = ""
    """The URI of the schema that is declared."""
    aliases: tuple[str, ...] = ()
    """Other names that `?metadata=` takes."""
    signature: Signature | None = None
    """How a record is recognised; None if it is not, and the reader must be told the format."""
    is_text: bool = False
    """Whether its media type needs the parameter `charset`, which is UTF-8."""
    is_slow: bool = False
    """Whether writing a record takes milliseconds."""
    place: int = 100
    """Where lists show it: lower numbers come first, equal ones by name."""


def wrong(format: str, reason: object, line: int | None = None) -> InvalidMetadata:
    """What to raise for bytes that are no record of a format."""
    return InvalidMetadata(format=format, line=line, reason=" ".join(str(reason).split()))
