"""What perdure keeps and what it is asked: frozen values, with no behaviour but looking things up.

A `Record` is all that is promised about one identifier. It holds `Version`s, each with its
`Representation`s (immutable bytes in one format), `Location`s elsewhere, aliases and, when it was
withdrawn, a `Tombstone`. A change makes a new revision of the record; the old one goes to the
history. A write is a value too: one of the `Command`s. A read is a `Query`, answered by a `Step`
that `perdure.policy.decide` chooses.

What must stay true: a representation never changes and never leaves its record; the JSON form of
a record is what lies on disk (`perdure.model.stored`), so fields may be added with a default, never
renamed nor removed.
Digests are written in lower-case hexadecimal; times are UTC, `2026-11-21T01:02:03Z`.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.model.about import About, Attachment

LOCAL = "local"
"""Who works on the machine itself, without a token."""


class Stored(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A value that lies on disk as JSON, without the fields that have their default."""


# What is kept
# ------------


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


# Writes
# ------


class Content(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bytes on their way in, hashed already: in memory, or in a file in `incoming`."""

    format: str
    media_type: str
    charset: str | None = None
    language: str | None = None
    length: int
    sha512: str
    blake3: str
    data: bytes | None = None
    spooled: str | None = None
    """Name of the file in `incoming`, where the bytes were too many for memory."""


class Command(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """A write, as a value. `by` names who asks, for the record and the audit trail."""

    by: str = LOCAL
    once: str | None = None
    """Idempotency key: the same actor and key get the same answer, and nothing is done twice."""


class Mint(Command, frozen=True, kw_only=True, tag="mint"):
    """Makes a new identifier, with its first bytes or locations or, for a reservation, neither.

    `authority` is a series, an ARK shoulder (`99999/fk4`) or a naming authority (`IANA:42117`).
    Without `uid` the next serial number (or a fresh opaque string) is taken.
    """

    authority: str
    uid: str | None = None
    """As plain text; it is escaped where its scheme demands it."""
    format: str = "text"
    contents: tuple[Content, ...] = ()
    locations: tuple[Location, ...] = ()
    metadata: dict[str, str] = {}


class Register(Command, frozen=True, kw_only=True, tag="register"):
    """Takes an identifier that was issued elsewhere or earlier into the registry."""

    identifier: Identifier
    contents: tuple[Content, ...] = ()
    locations: tuple[Location, ...] = ()
    metadata: dict[str, str] = {}
    expect: int | None = None
    """The revision that the caller saw, where it is known already."""


class Commit(Command, frozen=True, kw_only=True, tag="commit"):
    """Binds bytes to a known identifier.

    Without `version` they become the next one; with it they add formats to a version that exists.
    """

    identifier: Identifier
    contents: tuple[Content, ...]
    version: int | None = None
    expect: int | None = None
    """The revision that the caller saw (`If-Match`)."""


class Bind(Command, frozen=True, kw_only=True, tag="bind"):
    """Adds or replaces locations (same URI, version and format) of an identifier."""

    identifier: Identifier
    locations: tuple[Location, ...]
    register: bool = False
    """Take an identifier that is not known yet into the registry."""
    expect: int | None = None


class Break(Command, frozen=True, kw_only=True, tag="break"):
    """Removes a location whose content changed; the original bytes stay, or are given now."""

    identifier: Identifier
    uri: str
    content: Content | None = None
    expect: int | None = None


class Relocate(Command, frozen=True, kw_only=True, tag="relocate"):
    """Moves the locations of many identifiers by rules, all of them or none."""

    moves: tuple[tuple[str, str], ...]
    """Rules of `perdure.policy.moves`: source and target."""
    keys: tuple[tuple[str, int], ...]
    """Of each record that is to change: its key, and the revision that the caller saw."""


class Alias(Command, frozen=True, kw_only=True, tag="alias"):
    """Says that two identifiers name the same resource."""

    identifier: Identifier
    other: Identifier
    expect: int | None = None


class Describe(Command, frozen=True, kw_only=True, tag="describe"):
    """Says what a resource is. What is None stays as it is; the empty value takes back."""

    identifier: Identifier
    about: About | None = None
    attached: tuple[Attachment, ...] | None = None
    expect: int | None = None


class Assign(Command, frozen=True, kw_only=True, tag="assign"):
    """Gives a handle exactly these values, and makes it where it is not known.

    None deletes the handle, which only prefixes allow that an operator has set free for that.
    """

    identifier: Identifier
    values: tuple[Value, ...] | None = None
    expect: int | None = None
    """The revision that the caller saw; 0 where there was no record."""


class Withdraw(Command, frozen=True, kw_only=True, tag="withdraw"):
    """Stops serving bytes for ever: of the version that is named, else of the whole resource."""

    identifier: Identifier
    reason: str
    version: int | None = None
    expect: int | None = None


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


class SaveToken(Command, frozen=True, kw_only=True, tag="token"):
    """Adds a token, or replaces the one of the same name (to revoke it)."""

    token: Token
    new: bool = False
    """Refuse to replace one."""


class Claim(Command, frozen=True, kw_only=True, tag="claim"):
    """Uses up something that holds once, such as a signature. Refused the second time."""

    what: str


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One identifier of a bulk load: its key, the stored form of its record, and any bytes."""

    key: str
    record: bytes
    line: int
    """In the source, for messages."""
    refers: tuple[int, ...] = ()
    """Hashes of all that leads back to the record, its bytes among them."""
    contents: tuple[tuple[int, Content], ...] = ()
    """Each with its version. What the record says already of a representation, such as when it was
    committed, stays; its place is filled in."""


class Load(Command, frozen=True, kw_only=True, tag="load"):
    """Many identifiers at once, sorted by key, each key once."""

    rows: tuple[Row, ...] = ()
    spilled: str | None = None
    """Instead of rows: the name of a file of them in `incoming`, all of which are taken or none."""
    last: bool = False
    """The load is over: make the references findable."""


class Outcome(enum.StrEnum):
    CREATED = "created"
    """A new identifier, version, format or location."""
    UNCHANGED = "unchanged"
    """All of it was so already; nothing was written."""
    CHANGED = "changed"
    PROPOSED = "proposed"
    """Kept as a proposal; somebody else must ask for the same."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a command, given once it is durable."""

    outcome: Outcome
    identifier: str = ""
    """Canonical and, where bytes were committed, fully qualified."""
    revision: int = 0
    replayed: bool = False
    """The answer to an earlier command with the same idempotency key."""
    rejected: tuple[tuple[int, str], ...] = ()
    """Of a bulk load: line numbers and why."""
    accepted: int = 0


# Reads
# -----


class Want(enum.StrEnum):
    """The services of RFC 2483 and RFC 2169, by the names of the former."""

    LOCATION = "I2L"
    LOCATIONS = "I2Ls"
    RESOURCE = "I2R"
    RESOURCES = "I2Rs"
    DESCRIPTION = "I2C"
    NAMES = "I2Ns"


class Preference(msgspec.Struct, frozen=True):
    """One range of an Accept or Accept-Language field with its quality, 0 to 1."""

    range: str
    quality: float = 1.0


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reader can ask about one identifier."""

    identifier: Identifier
    want: Want = Want.RESOURCE
    accept: tuple[Preference, ...] = ()
    languages: tuple[Preference, ...] = ()
    region: str | None = None
    """The part of the world that the reader is in, as locations have it."""
    day: str = ""
    """Today (`2026-11-21`, UTC); empty: whenever."""
    dead: frozenset[str] = frozenset()
    """URIs that are known to lead nowhere."""


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """Serve these bytes, held here. `identifier` is fully qualified."""

    identifier: Identifier
    representation: Representation
    pinned: bool
    """The query named this version, so the answer can never change."""
    negotiated: bool = False


class Redirect(msgspec.Struct, frozen=True, kw_only=True):
    """Send the reader to a location."""

    identifier: Identifier
    location: Location
    others: tuple[Location, ...] = ()

    def to(self, uri: str) -> Redirect:
        """The same to another place, of which nothing else is known."""
        return Redirect(identifier=self.identifier, location=Location(uri=uri))


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """Tell what is known."""

    identifier: Identifier
    record: Record


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """Several answers stand side by side: representations held here, then locations."""

    identifier: Identifier
    fetches: tuple[Fetch, ...] = ()
    locations: tuple[Location, ...] = ()


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """It was withdrawn, or its last location broken. To say so is an answer, not an error."""

    identifier: Identifier
    tombstone: Tombstone


Step = Fetch | Redirect | Description | Choices | Gone


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a listing, in listing order. `cursor` asks for the next one; None: that was all."""

    identifiers: tuple[Identifier, ...]
    cursor: str | None = None


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A series, year or month with the years, months or days in it that hold identifiers."""

    pattern: Pdi
    members: tuple[Pdi, ...]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` found about one representation; `problem` is None where it is sound."""

    identifier: str
    segment: int
    offset: int
    length: int
    problem: str | None = None
