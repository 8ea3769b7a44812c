"""What perdure keeps: frozen values, with no behaviour but looking things up.

A `Record` is all that is promised about one identifier. It holds `Version`s, each with its
`Representation`s (immutable bytes in one format), `Location`s elsewhere, aliases and, when it was
withdrawn, a `Tombstone`. A change makes a new revision of the record; the old one goes to the
history.

What must stay true: a representation never changes and never leaves its record; the JSON form of
a record is what lies on disk (`perdure.model.stored`), so fields may be added with a default, never
renamed nor removed.
Digests are written in lower-case hexadecimal; times are UTC, `2026-11-21T01:02:03Z`.
"""

from __future__ import annotations

import msgspec

from perdure.ids import Identifier
from perdure.model.about import About, Attachment

LOCAL = "local"
"""Who works on the machine itself, without a token."""


class Stored(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A value that lies on disk as JSON, without the fields that have their default."""


class Tombstone(Stored, frozen=True, kw_only=True):
    """Why something is no longer served. The identifier stays for ever."""

    reason: str
    at: str
    by: str


class Proposal(Stored, frozen=True, kw_only=True):
    """A withdrawal that somebody asked for, and somebody else must ask for, too."""

    reason: str
    at: str
    by: str
    version: int | None = None


class Representation(Stored, frozen=True, kw_only=True):
    """The bytes of one version in one format. `segment` and `offset` say where they lie here."""

    format: str
    media_type: str
    charset: str | None = None
    language: str | None = None
    length: int
    """Bytes."""
    sha512: str
    segment: int
    offset: int
    """Of the first content byte in the segment file."""
    at: str = ""
    """When it was committed, where that was later than its version."""


class Version(Stored, frozen=True, kw_only=True):
    """One version of a resource, in all its formats."""

    number: int
    at: str
    representations: tuple[Representation, ...] = ()
    tombstone: Tombstone | None = None
    broken: Tombstone | None = None
    """How the last location of it was broken, when nothing else was bound to it."""

    def find(self, format: str) -> Representation | None:
        """The representation in exactly this format."""
        return next((held for held in self.representations if held.format == format), None)


class Location(Stored, frozen=True, kw_only=True):
    """A URI where the thing can be had.

    `version` and `format` say what it holds (None: the newest, any). A location that promises not
    to change carries the `sha512` of its content (section 3.6.2).
    """

    uri: str
    version: int | None = None
    format: str | None = None
    sha512: str | None = None
    language: str | None = None
    region: str | None = None
    role: str | None = None
    weight: int = 1
    size: int | None = None
    """Bytes, where that was said; a check of links holds the location to it."""
    valid_from: str | None = None
    valid_until: str | None = None
    """First and last day (`2026-11-21`, UTC) on which readers are sent there."""

    def is_valid(self, day: str) -> bool:
        """Whether readers are sent there on this day; always, where no day is given."""
        return not day or (self.valid_from or "") <= day <= (self.valid_until or "9999-12-31")


class Value(Stored, frozen=True, kw_only=True):
    """One value of a handle (RFC 3651 section 3.1)."""

    index: int
    type: str
    format: str = "string"
    data: str
    """Text; of a format that has a structure, such as `admin`, its JSON."""
    ttl: int = 86400
    """Seconds that it may be cached."""
    at: str = ""
    """When it was written."""
    permissions: str = "1110"
    """Who may: administrators read, write, everybody read, write."""


class Record(Stored, frozen=True, kw_only=True):
    """All that is promised about one identifier."""

    name: str = ""
    """Canonical text, where the key alone does not spell it."""
    revision: int = 1
    at: str = ""
    """When this revision was made."""
    by: str = LOCAL
    """Who made it; not written where it was somebody on this machine, as nearly always."""
    minted: str = ""
    """The format that the identifier was minted with, where no bytes say so."""
    versions: tuple[Version, ...] = ()
    locations: tuple[Location, ...] = ()
    aliases: tuple[str, ...] = ()
    """Canonical texts of identifiers that name the same resource, as their owner says."""
    metadata: dict[str, str] = {}
    tombstone: Tombstone | None = None
    about: About | None = None
    """What is said about the resource, where more than plain names and values is."""
    attached: tuple[Attachment, ...] = ()
    """Records of other communities about the same resource, byte for byte."""
    values: tuple[Value, ...] = ()
    """As a handle (`perdure.policy.handles`). Those that are locations lie in `locations`, too."""
    proposal: Proposal | None = None
    broken: Tombstone | None = None
    """How the last location of no certain version was broken, when nothing else was bound."""

    def version(self, number: int) -> Version | None:
        return next((held for held in self.versions if held.number == number), None)

    def is_bound(self, number: int | None) -> bool:
        """Whether a version or, for None, anything at all is bound to bytes or to a location."""
        return any(
            one.representations for one in self.versions if number in (None, one.number)
        ) or any(number in (None, one.version) for one in self.locations)

    def unbound(self, number: int | None) -> Tombstone | None:
        """Why a version or, for None, the whole is bound to nothing any more, where that is so."""
        one = self if number is None else self.version(number)
        return None if one is None or self.is_bound(number) else one.broken

    @property
    def newest(self) -> Version | None:
        """The highest version of which bytes are held that were not withdrawn."""
        held = (one for one in reversed(self.versions) if one.representations)
        return next((one for one in held if one.tombstone is None), None)


class Entry(msgspec.Struct, frozen=True):
    """A record together with the identifier of the resource that it is about."""

    identifier: Identifier
    record: Record


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """Who may write what, kept with the hash of the secret only."""

    name: str
    digest: str
    """SHA-256 of the secret, hexadecimal; of a key, of its 32 bytes behind the name."""
    operations: tuple[str, ...]
    authorities: tuple[str, ...]
    """Scopes (`perdure.policy.rights`): series, shoulders, prefixes, identifiers; `*`."""
    key: str = ""
    """Ed25519 public key in base64, where requests are signed instead of bearing a secret."""
    granted_by: str = ""
    """Name of the token that this one was granted from; none where an operator made it."""
    first_day: str | None = None
    last_day: str | None = None
    """Dates of identifiers (`2026-11-21`) that it may be used on, both included."""
    created: str = ""
    expires: str | None = None
    revoked: str | None = None
