"""The values that perdure stores: frozen, with no behaviour except look-ups.

A `Record` contains every promise about one identifier. It has `Version`s, each with its
`Representation`s (immutable bytes in one format), `Location`s elsewhere, aliases and, after a
withdrawal, a `Tombstone`. A change creates a new revision of the record; the old one moves to the
history.

What must stay true: a representation never leaves its record, and its bytes and its format never
change; a correction of its media type, charset or language keeps the earlier ones. The JSON
form of a record is stored on disk (`perdure.model.stored`), so fields may be added with a default,
but never renamed or removed. Digests are in lower-case hexadecimal; times are UTC,
`2026-11-21T01:02:03Z`.
"""

from __future__ import annotations

import msgspec

from perdure.ids import Identifier
from perdure.model.about import About, Attachment

LOCAL = "local"
"""The name of users on the machine itself, who need no token."""


class StoredValue(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A value stored on disk as JSON, without the fields that have their default."""


class Tombstone(StoredValue, frozen=True, kw_only=True):
    """The reason why something is no longer served. The identifier is permanent."""

    reason: str
    """As it was typed."""
    at: str
    by: str
    silent: bool = False
    """Nothing is shown of the metadata that people had given."""
    keeps_digest: bool = False
    """Digests and lengths of the bytes are still shown."""
    erased: str = ""
    """The time when all bytes that it is about were erased."""
    erased_by: str = ""


class Blank(StoredValue, frozen=True, kw_only=True):
    """Bytes to erase: a stretch of one representation."""

    version: int
    format: str
    start: int
    end: int


class Proposal(StoredValue, frozen=True, kw_only=True):
    """A withdrawal that one person requested and a second person must confirm."""

    act: str = "withdraw"
    """`withdraw` or `erase`."""
    reason: str
    at: str
    by: str
    version: int | None = None
    silent: bool = False
    keeps_digest: bool = False
    blanks: tuple[Blank, ...] = ()
    """The bytes to erase, if they are not all of them."""
    bearer: str = ""
    """The name of the token of the request; empty if it was made on the machine itself."""
    until: str = ""
    """The time when it ends. Proposals of older registries have none, and are void."""
    revision: int = 0
    """The revision of the record that its author saw."""
    highest: int = 0
    """The highest version that its author saw; 0 if there was none."""


class Reading(StoredValue, frozen=True, kw_only=True):
    """The facts that decide how bytes are read, and so what their parts mean."""

    media_type: str
    charset: str | None = None
    language: str | None = None


class Correction(StoredValue, frozen=True, kw_only=True):
    """A correction of the reading of a representation. Its bytes and its name stay."""

    before: Reading
    after: Reading
    at: str
    by: str
    reason: str = ""


class Representation(StoredValue, frozen=True, kw_only=True):
    """The bytes of one version in one format; `segment` and `offset` are their place on disk."""

    format: str
    media_type: str
    charset: str | None = None
    language: str | None = None
    length: int
    """Bytes."""
    sha512: str
    segment: int
    offset: int
    """Offset of the first content byte in the segment file."""
    at: str = ""
    """The time of its commit, if that was later than the commit of its version."""
    corrections: tuple[Correction, ...] = ()
    """Corrections of its media type, charset and language, the first one first."""
    erased: str = ""
    """The time when its bytes were erased. Its digest is that of the remaining bytes."""
    blanks: tuple[Blank, ...] = ()
    """The stretches that were erased. If it is empty, all bytes were erased."""
    original: str = ""
    """The SHA-512 before the erasure, if it was kept on purpose."""

    @property
    def reading(self) -> Reading:
        return Reading(media_type=self.media_type, charset=self.charset, language=self.language)

    @property
    def is_shown(self) -> bool:
        """False if digest and length are hidden, because the bytes were withdrawn."""
        return bool(self.sha512)

    @property
    def is_erased(self) -> bool:
        """True if all of its bytes were erased."""
        return bool(self.erased) and not self.blanks


class Version(StoredValue, frozen=True, kw_only=True):
    """One version of a resource, in all its formats."""

    number: int
    at: str
    representations: tuple[Representation, ...] = ()
    tombstone: Tombstone | None = None
    broken: Tombstone | None = None
    """The reason why its last location was broken, if nothing else was bound to it."""

    def find_representation(self, format: str) -> Representation | None:
        """Return the representation in exactly this format, or None."""
        return next((held for held in self.representations if held.format == format), None)


class Location(StoredValue, frozen=True, kw_only=True):
    """A URI at which the resource is available.

    `version` and `format` describe its content (None: the newest, any). A location that promises
    not to change has the `sha512` of its content (section 3.6.2).
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
    """Size in bytes, if known; link checks compare the location with it."""
    valid_from: str | None = None
    valid_until: str | None = None
    """First and last day (`2026-11-21`, UTC) on which readers are redirected there."""

    @property
    def place(self) -> tuple[str, int | None, str | None]:
        """Address, version and format, which no two locations of a record share."""
        return self.uri, self.version, self.format

    def is_valid(self, day: str) -> bool:
        """Return True if readers are redirected there on this day; always, if no day is given."""
        return not day or (self.valid_from or "") <= day <= (self.valid_until or "9999-12-31")


class LocationDrift(StoredValue, frozen=True, kw_only=True):
    """Evidence that the content of a location was no longer the one that was bound.

    The location was broken for it; its promise stays.  # ruling: drift
    """

    uri: str
    version: int | None = None
    format: str | None = None
    sha512: str | None = None
    """The digest that was promised."""
    size: int | None = None
    """The size that was bound, in bytes."""
    found_sha512: str | None = None
    """The digest of the content that the server sent, if it was read completely."""
    found_size: int | None = None
    status: int | None = None
    """The status of the answer of the server."""
    at: str = ""
    """The time of the check."""

    @property
    def is_proven(self) -> bool:
        """True if the content that was found contradicts what was bound."""
        return (
            None not in (self.sha512, self.found_sha512) and self.sha512 != self.found_sha512
        ) or (None not in (self.size, self.found_size) and self.size != self.found_size)


class Value(StoredValue, frozen=True, kw_only=True):
    """One value of a handle (RFC 3651 section 3.1)."""

    index: int
    type: str
    format: str = "string"
    data: str
    """Text; JSON for a format with a structure, such as `admin`."""
    ttl: int = 86400
    """Maximum time in a cache, in seconds."""
    at: str = ""
    """The time when it was written."""
    permissions: str = "1110"
    """Rights: administrators may read, administrators may write, all may read, all may write."""
    granted_by: str = ""
    """For a secret: the name of the token by which it was written; empty if an operator wrote it.
    The rights of its bearer end with those of the token."""


class Level(StoredValue, frozen=True, kw_only=True):
    """The subject of a description: a version, a format, a format of a version, or a part.

    Every field has its default if the subject is the whole resource.  # ruling: version-metadata
    """

    version: int | None = None
    """None: all versions."""
    format: str | None = None
    """None: all formats."""
    part: str = ""
    """The text of a part; empty for the whole document."""


WHOLE_RESOURCE = Level()


class NarrowDescription(Level, frozen=True, kw_only=True):
    """The description of one level, beside that of the resource."""

    about: About | None = None
    attached: tuple[Attachment, ...] = ()

    @property
    def level(self) -> Level:
        return Level(version=self.version, format=self.format, part=self.part)

    @property
    def is_empty(self) -> bool:
        """True if it says nothing."""
        return self.about is None and not self.attached


class Record(StoredValue, frozen=True, kw_only=True):
    """Every promise about one identifier."""

    name: str = ""
    """Canonical text, if the key alone does not spell it."""
    revision: int = 1
    at: str = ""
    """The time of this revision."""
    by: str = LOCAL
    """The author of this revision; omitted if it was a local user, as nearly always."""
    minted: str = ""
    """The format that the identifier was minted with, if no bytes show it."""
    versions: tuple[Version, ...] = ()
    locations: tuple[Location, ...] = ()
    aliases: tuple[str, ...] = ()
    """Canonical texts of identifiers that name the same resource, according to their owner."""
    targets: tuple[str, ...] = ()
    """Canonical texts of the identifiers that its content is about, as a signature is about the
    document that was signed. By their keys the record is found."""
    metadata: dict[str, str] = {}
    tombstone: Tombstone | None = None
    about: About | None = None
    """The description of the resource, if it is more than plain names and values."""
    attached: tuple[Attachment, ...] = ()
    """Records about the same resource in other communities' formats, byte for byte."""
    narrower: tuple[NarrowDescription, ...] = ()
    """The descriptions of single versions, formats and parts, each level once, sorted."""
    drifted: tuple[LocationDrift, ...] = ()
    """Locations that were broken because their content had changed, with the evidence."""
    values: tuple[Value, ...] = ()
    """Its values as a handle (`perdure.policy.handles`). Locations are also in `locations`."""
    proposal: Proposal | None = None
    broken: Tombstone | None = None
    """The reason why the last location of no particular version was broken, if nothing else was
    bound."""
    delegates: bool = False
    """Its document is a delegation, or ends one, and this registry follows it: the rights of its
    author were checked (`perdure.model.delegations`)."""

    def version(self, number: int) -> Version | None:
        return next((held for held in self.versions if held.number == number), None)

    def is_bound(self, number: int | None) -> bool:
        """Return True if a version or, for None, anything is bound to bytes or a location."""
        return any(
            one.representations for one in self.versions if number in (None, one.number)
        ) or any(number in (None, one.version) for one in self.locations)

    def unbound(self, number: int | None) -> Tombstone | None:
        """Return the reason why a version or, for None, the whole is no longer bound, or None."""
        one = self if number is None else self.version(number)
        return None if one is None or self.is_bound(number) else one.broken

    @property
    def newest(self) -> Version | None:
        """The highest version with stored bytes that was not withdrawn."""
        held = (one for one in reversed(self.versions) if one.representations)
        return next((one for one in held if one.tombstone is None), None)


class IdentifiedRecord(msgspec.Struct, frozen=True):
    """A record together with the identifier of its resource."""

    identifier: Identifier
    record: Record


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of a writer. Only the hash of its secret is stored."""

    name: str
    digest: str
    """SHA-256 of the secret, hexadecimal; for a key, of the name followed by its 32 bytes."""
    operations: tuple[str, ...]
    authorities: tuple[str, ...]
    """Scopes (`perdure.policy.rights`): series, shoulders, prefixes, identifiers; `*`."""
    key: str = ""
    """Ed25519 public key in base64, if requests are signed instead of bearing a secret."""
    granted_by: str = ""
    """Name of the token that granted this one; empty if an operator made it."""
    first_day: str | None = None
    last_day: str | None = None
    """First and last date (`2026-11-21`) of the identifiers on which it may be used, inclusive."""
    created: str = ""
    expires: str | None = None
    revoked: str | None = None
