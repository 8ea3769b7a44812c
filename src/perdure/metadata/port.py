"""What an adapter of a metadata format is given and what it offers.

How it works: a `Described` is everything that can be written of one resource: its identifier in
both forms, what is said about it, and what the registry knows by itself. A `Format` is one way to
write it, and perhaps to read it; each lies in a file of its own and is listed in
`perdure.metadata`.

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


def wrong(format: str, reason: object, line: int | None = None) -> InvalidMetadata:
    """What to raise for bytes that are no record of a format."""
    return InvalidMetadata(format=format, line=line, reason=" ".join(str(reason).split()))
