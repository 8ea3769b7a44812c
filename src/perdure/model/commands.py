"""Writes as values: one `Command` for each operation on a record, and its `Receipt`.

A command names its author (`by`) and, if it matters, the revision that the caller saw (`expect`).
The functions of `perdure.policy` decide how the record changes; `perdure.writing` carries it out.

What must stay true: commands travel between processes as MessagePack (`perdure.writing.peers`), so
every field has a type that msgspec can carry.
"""

from __future__ import annotations

import enum
from itertools import count

import msgspec

from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.about import About, Attachment
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import (
    LOCAL,
    Blank,
    Level,
    Location,
    LocationDrift,
    Representation,
    Token,
    Value,
)

NOWHERE = 0
"""The segment of a representation whose bytes have no place yet."""


class Content(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Incoming bytes, already hashed: in memory, or in a file in `incoming`."""

    format: str
    media_type: str
    charset: str | None = None
    language: str | None = None
    length: int
    sha512: str
    blake3: str
    data: bytes | None = None
    spooled: str | None = None
    """Name of the file in `incoming`, if the bytes are too many for memory."""
    stated: tuple[str, ...] = ()
    """Those of `media_type`, `charset` and `language` that the depositor stated. The others were
    detected, or are unknown."""


def make_representation(
    content: Content, segment: int = NOWHERE, offset: int = 0
) -> Representation:
    """The representation of a content whose bytes are at this place."""
    return Representation(
        format=content.format,
        media_type=content.media_type,
        charset=content.charset,
        language=content.language,
        length=content.length,
        sha512=content.sha512,
        segment=segment,
        offset=offset,
    )


class Command(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """A write, as a value. `by` names its author, for the record and the audit trail."""

    by: str = LOCAL
    once: str | None = None
    """Idempotency key: the same actor and key get the same answer, and the write happens once."""
    bearer: str = ""
    """The name of the token of the request; empty on the machine itself. `by` may be any name."""


class Mint(Command, frozen=True, kw_only=True, tag="mint"):
    """Creates a new identifier, with its first bytes or locations or, for a reservation, neither.

    `authority` is a series, an ARK shoulder (`99999/fk4`) or a naming authority (`IANA:42117`).
    Without `uid` it gets the next serial number (or a new opaque string).
    """

    authority: str
    uid: str | None = None
    """Plain text; it is escaped as its scheme requires."""
    format: str = ""
    """The stated format of a name without bytes. If it is empty, the name is reserved without
    format and version, which it gets with its first bytes (ruling: pdi-reserved-name)."""
    contents: tuple[Content, ...] = ()
    locations: tuple[Location, ...] = ()
    metadata: dict[str, str] = {}
    targets: tuple[Identifier, ...] = ()
    """The identifiers that the content is about, each with its version, format and part."""
    later: tuple[tuple[Content, ...], ...] = ()
    """The contents of version 2 and of all that follow it, if they are known already."""
    about: About | None = None
    """The description of the resource."""
    day: str = ""
    """The past day of the series under which the name is given (`1997/09/01`); empty: today.
    # ruling: pdi-retrospective"""
    delegates: bool = False
    """The document is a delegation that this registry is to follow."""


class Register(Command, frozen=True, kw_only=True, tag="register"):
    """Adds an identifier that was issued elsewhere or earlier to the registry."""

    identifier: Identifier
    contents: tuple[Content, ...] = ()
    locations: tuple[Location, ...] = ()
    metadata: dict[str, str] = {}
    expect: int | None = None
    """The revision that the caller saw, if the identifier is already known."""


class Commit(Command, frozen=True, kw_only=True, tag="commit"):
    """Binds bytes to a known identifier.

    Without `version` they become the next version; with it they add formats to an existing version.
    """

    identifier: Identifier
    contents: tuple[Content, ...]
    version: int | None = None
    expect: int | None = None
    """The revision that the caller saw (`If-Match`)."""


class Correct(Command, frozen=True, kw_only=True, tag="correct"):
    """Corrects the media type, charset or language of bytes, which stay as they are.

    None keeps the present value. Without `version` the newest version is meant; a format is needed
    only if the version has several.
    """

    identifier: Identifier
    media_type: str | None = None
    charset: str | None = None
    language: str | None = None
    reason: str = ""
    version: int | None = None
    format: str | None = None
    expect: int | None = None


class Bind(Command, frozen=True, kw_only=True, tag="bind"):
    """Adds or replaces locations (same URI, version and format) of an identifier."""

    identifier: Identifier
    locations: tuple[Location, ...]
    register: bool = False
    """Add the identifier to the registry if it is not known yet."""
    expect: int | None = None


class Break(Command, frozen=True, kw_only=True, tag="break"):
    """Removes a location whose content changed; the original bytes stay, or are supplied now."""

    identifier: Identifier
    uri: str
    content: Content | None = None
    evidence: LocationDrift | None = None
    """Of a change that was seen; then the original bytes need not be at hand."""
    expect: int | None = None


class Relocate(Command, frozen=True, kw_only=True, tag="relocate"):
    """Moves the locations of many identifiers by rules, in one transaction."""

    moves: tuple[tuple[str, str], ...]
    """Rules of `perdure.policy.moves`: source and target."""
    keys: tuple[tuple[str, int], ...]
    """Key, and revision that the caller saw, of each record to change."""


class Alias(Command, frozen=True, kw_only=True, tag="alias"):
    """States that two identifiers name the same resource."""

    identifier: Identifier
    other: Identifier
    expect: int | None = None


class Describe(Command, frozen=True, kw_only=True, tag="describe"):
    """Describes what its name names: a resource, or only a version, a format or a part of it.

    None keeps the present value; an empty value removes it.  # ruling: version-metadata
    """

    identifier: Identifier
    part: str | None = None
    """The part, if the scheme of the identifier cannot include one. It must exist."""
    about: About | None = None
    patch: bytes | None = None
    """JSON Merge Patch (RFC 7396) of the description, in place of `about`."""
    attached: tuple[Attachment, ...] | None = None
    expect: int | None = None


class Assign(Command, frozen=True, kw_only=True, tag="assign"):
    """Gives a handle exactly these values, and creates the handle if it is unknown.

    None deletes the handle, which an operator can allow for particular prefixes.
    """

    identifier: Identifier
    values: tuple[Value, ...] | None = None
    expect: int | None = None
    """The revision that the caller saw; 0 if there was no record."""


class Withdraw(Command, frozen=True, kw_only=True, tag="withdraw"):
    """Permanently stops serving the bytes of the named version, or else of the whole resource."""

    identifier: Identifier
    reason: str
    version: int | None = None
    expect: int | None = None
    silent: bool = False
    """Show nothing of the metadata that people had given."""
    keep_digest: bool = False
    """Go on showing digests and lengths."""


class Erase(Withdraw, frozen=True, kw_only=True, tag="erase"):
    """Overwrites the bytes of the named version, or of the whole resource, after withdrawing it."""

    blanks: tuple[Blank, ...] = ()
    """Only these stretches, all in the same version."""


class Refuse(Command, frozen=True, kw_only=True, tag="refuse"):
    """Refuses the withdrawal that is proposed for the named version, or the whole resource."""

    identifier: Identifier
    version: int | None = None
    expect: int | None = None


class SaveToken(Command, frozen=True, kw_only=True, tag="token"):
    """Adds a token, or replaces the one of the same name (to revoke it)."""

    token: Token
    new: bool = False
    """Refuse to replace an existing token."""


class Restrict(Command, frozen=True, kw_only=True, tag="restrict"):
    """Sets a reading rule, or lifts the rule about the same subject."""

    rule: ReadingRule


class Claim(Command, frozen=True, kw_only=True, tag="claim"):
    """Uses up a one-time value, such as a signature. The second use is refused."""

    what: str


class CloseDays(Command, frozen=True, kw_only=True, tag="close"):
    """Declares that no further names are given under past days of a series.

    # ruling: pdi-retrospective
    """

    series: str
    first: str
    """First and last day, both included: `1997/01/01`."""
    last: str
    reason: str = ""


class Joining(enum.StrEnum):
    """The way in which the row of a load is joined with a known record."""

    ADD = "add"
    """New data is added; data that contradicts is refused."""
    MERGE = "merge"
    """New data wins, member by member."""
    REPLACE = "replace"
    """The fields that the line gives become exactly what it gives."""
    UPDATE = "update"
    """Only known records change: locations are replaced if the line gives any, all other data is
    merged."""


class LoadRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One identifier of a bulk load: its key, its record in stored form, and any bytes."""

    key: str
    record: bytes
    line: int
    """The line number in the source, for messages."""
    refers: tuple[int, ...] = ()
    """Hashes of everything that refers back to the record, including its bytes."""
    contents: tuple[tuple[int, Content], ...] = ()
    """Contents with their versions. Facts that the record states about a representation, such as
    its commit time, are kept; its place is filled in."""
    given: tuple[str, ...] = ()
    """Fields that the line gives, possibly empty; only for `Joining.REPLACE`."""
    located: tuple[Level, ...] = ()
    """Versions and formats whose locations it gives, if its name names one of them; likewise."""


class LoadColumns(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Rows of consecutive lines, by columns. Each binds a name to one location and says nothing
    else, so each has one reference."""

    first: int
    """The number of the first line."""
    keys: tuple[str, ...]
    records: tuple[str, ...]
    refers: tuple[int, ...]

    def as_rows(self) -> tuple[LoadRow, ...]:
        columns = zip(self.keys, self.records, count(self.first), self.refers, strict=False)
        return tuple(
            [LoadRow(key, record.encode(), line, (hash,)) for key, record, line, hash in columns]
        )

    def split_last(self) -> tuple[LoadColumns, LoadRow]:
        """Return all rows but the last, and the last."""
        last = len(self.keys) - 1
        head = LoadColumns(self.first, self.keys[:last], self.records[:last], self.refers[:last])
        record = self.records[last].encode()
        return head, LoadRow(self.keys[last], record, self.first + last, self.refers[last:])


class Load(Command, frozen=True, kw_only=True, tag="load"):
    """Many identifiers at once, sorted by key, each key once."""

    rows: tuple[LoadRow, ...] = ()
    columns: tuple[LoadColumns, ...] = ()
    """Further rows, whose keys are greater."""
    spilled: str | None = None
    """Instead of rows: the name of a file of rows in `incoming`. Either all are loaded or none."""
    how: Joining = Joining.ADD
    last: bool = False
    """This is the end of the load: make the references findable."""
    expect: int | None = None
    """The revision that the caller saw of the only row; 0 if there was no record."""


class AdoptedRevision(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A revision of a record that was handed over, as the predecessor stored it."""

    key: str
    revision: int
    text: str
    """Its line, without places of bytes."""
    act: str
    """That of the change here."""
    contents: tuple[tuple[int, Content], ...] = ()
    """The contents that it brings, with their versions."""


class Adopt(Command, frozen=True, kw_only=True, tag="adopt"):
    """Takes over records of a predecessor with their history, each revision as it is.

    A revision that is here already is passed over, so the command can be repeated.
    """

    revisions: tuple[AdoptedRevision, ...] = ()
    rules: tuple[ReadingRule, ...] = ()
    """Reading rules of the predecessor. They are set before the revisions."""
    begins: bool = False
    """Afterwards, a new epoch begins: this registry assigns the names from now on."""


class Outcome(enum.StrEnum):
    CREATED = "created"
    """A new identifier, version, format or location."""
    UNCHANGED = "unchanged"
    """The registry already had this state; nothing was written."""
    CHANGED = "changed"
    PROPOSED = "proposed"
    """Stored as a proposal; a second person must make the same request, or refuse it."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a command, given once it is durable."""

    outcome: Outcome
    identifier: str = ""
    """Canonical and, if bytes were committed, fully qualified."""
    revision: int = 0
    replayed: bool = False
    """True if this is the answer to an earlier command with the same idempotency key."""
    left_behind: tuple[str, ...] = ()
    """The formats of the last version that the new version lacks, as full names."""
    copies: tuple[str, ...] = ()
    """After a withdrawal or erasure: other names under which the same bytes are still held."""
    written_about: tuple[str, ...] = ()
    """After a withdrawal or erasure: documents about it that are still served, such as signatures,
    which state its digest."""
    quoted_in: tuple[str, ...] = ()
    """After a withdrawal or erasure: other documents that have passages of it, as far as the index
    of passages knows."""
    unsearched: str = ""
    """Why not all documents were searched for passages of it; empty if they were."""
    is_list_cut: bool = False
    """True if there are more copies, or documents about it, than these lists name."""
    unreached: tuple[str, ...] = ()
    """After an erasure: places on this machine that may still have the bytes."""
    reading_aliases: tuple[str, ...] = ()
    """For a correction: further full names under which the bytes are found from now on."""
    dropped: tuple[str, ...] = ()
    """For a description: members of the record that a description cannot have."""
    undescribed: str = ""
    """After a description of a version, format or part: the resource, if it has no description."""
    rejected: tuple[tuple[int, str], ...] = ()
    """For a bulk load: line numbers and reasons."""
    accepted: int = 0

    @property
    def tells_remaining(self) -> bool:
        """True if it names documents that a withdrawal leaves, or could not search for them."""
        return bool(self.copies or self.written_about or self.quoted_in or self.unsearched)

    @property
    def remarks(self) -> dict[str, tuple[str, ...] | str | bool]:
        """The lists of names and places that are not empty, by the names of their fields."""
        lists = {
            "left_behind": self.left_behind,
            "copies": self.copies,
            "written_about": self.written_about,
            "quoted_in": self.quoted_in,
            "unreached": self.unreached,
            "dropped": self.dropped,
            "reading_aliases": self.reading_aliases,
        }
        named: dict[str, tuple[str, ...] | str | bool] = {
            **lists,
            "undescribed": self.undescribed,
            "unsearched": self.unsearched,
            "is_list_cut": self.is_list_cut,
        }
        return {name: found for name, found in named.items() if found}


Answer = Receipt | PerdureError
"""The answer of the write door to a command."""


def list_contents(command: Command) -> tuple[Content, ...]:
    """The bytes that a command brings along."""
    match command:
        case Mint(later=later) if later:
            return command.contents + tuple(one for some in later for one in some)
        case Mint() | Commit() | Register():
            return command.contents
        case Break(content=Content() as content):
            return (content,)
        case Adopt(revisions=revisions):
            return tuple(content for one in revisions for _, content in one.contents)
    return ()
