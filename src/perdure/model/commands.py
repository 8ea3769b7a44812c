"""Writes as values: one `Command` for each thing that can be done to a record, and its `Receipt`.

A command says who asks (`by`) and, where it matters, which revision the caller saw (`expect`). The
functions of `perdure.policy` say what becomes of the record; `perdure.writing` carries it out.

What must stay true: commands travel between processes as MessagePack (`perdure.writing.peers`), so
every field has a type that msgspec can carry.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.ids import Identifier
from perdure.model.about import About, Attachment
from perdure.model.records import LOCAL, Location, Token, Value


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
