"""The public record: everything that a registry says to everyone about one identifier.

How it works: `perdure.policy.public_records` makes it from the record that the read door shows to
the public. `perdure.metadata.public_xml` writes and reads it.

What must stay true: no field has the name of a person who wrote here, a secret, or a place on disk.
The names of the fields are those of published XML, so a field may be added with a default, but
never renamed or removed.
"""

from __future__ import annotations

import msgspec

from perdure.model.about import About, Attachment
from perdure.model.records import Location, LocationDrift, NarrowDescription, Reading


class _Public(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A part of a public record."""


class NamedText(_Public, frozen=True, kw_only=True):
    """A plain name and its value."""

    name: str
    value: str


class PublicEnding(_Public, frozen=True, kw_only=True):
    """Why something is no longer served or bound."""

    reason: str
    at: str


class PublicCorrection(_Public, frozen=True, kw_only=True):
    """A correction of how bytes are read."""

    before: Reading
    after: Reading
    at: str
    reason: str = ""


class PublicErasure(_Public, frozen=True, kw_only=True):
    """A stretch of bytes that was erased: from `start` to before `end`."""

    start: int
    end: int


class PublicFormat(_Public, frozen=True, kw_only=True):
    """The bytes of one version in one format."""

    url: str
    """The address of the bytes; empty if they are not served."""
    format: str
    media_type: str
    charset: str | None = None
    language: str | None = None
    length: int | None = None
    """Bytes; None if it is hidden."""
    sha512: str = ""
    """Hexadecimal; empty if it is hidden."""
    at: str
    """When they were committed."""
    corrections: tuple[PublicCorrection, ...] = ()
    erased: str = ""
    """When they were erased."""
    erasures: tuple[PublicErasure, ...] = ()
    """The stretches that were erased. If it is empty, all bytes were erased."""
    original: str = ""
    """The SHA-512 before the erasure."""


class PublicVersion(_Public, frozen=True, kw_only=True):
    """One version, in all its formats."""

    number: int
    at: str
    formats: tuple[PublicFormat, ...] = ()
    withdrawn: PublicEnding | None = None
    broken: PublicEnding | None = None


class PublicValue(_Public, frozen=True, kw_only=True):
    """A value of a handle (RFC 3651 section 3.1)."""

    index: int
    type: str
    format: str = "string"
    data: str
    ttl: int = 86400
    at: str = ""
    permissions: str = "1110"


class PublicRecord(_Public, frozen=True, kw_only=True):
    """One identifier, as everyone may know it."""

    identifier: str
    """Canonical text of the resource."""
    url: str
    """The address that resolves it."""
    at: str
    """The time of its last revision."""
    minted: str = ""
    """The format that it was minted with, if no bytes show it."""
    aliases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """What its content is about."""
    versions: tuple[PublicVersion, ...] = ()
    locations: tuple[Location, ...] = ()
    broken: PublicEnding | None = None
    drifts: tuple[LocationDrift, ...] = ()
    values: tuple[PublicValue, ...] = ()
    pairs: tuple[NamedText, ...] = ()
    about: About | None = None
    attachments: tuple[Attachment, ...] = ()
    descriptions: tuple[NarrowDescription, ...] = ()
    """Those of single versions, formats and parts."""
