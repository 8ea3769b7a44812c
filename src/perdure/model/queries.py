"""Reads as values: a `Query`, and the `Step` that answers it.

`perdure.policy.decide` chooses the step; an interface (HTTP, THTTP, command line …) only prints it.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.errors import Corrupt, MalformedIdentifier
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.records import (
    LOCAL,
    IdentifiedRecord,
    Location,
    Record,
    Representation,
    Token,
    Tombstone,
)


class Want(enum.StrEnum):
    """The services of RFC 2483 and RFC 2169, with the names from RFC 2483."""

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


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """The reader who sends a query. A reader without a name is the public."""

    name: str = ""
    """The name of the reader's token; `local` on the machine itself."""
    tokens: tuple[Token, ...] = ()
    """The reader's token, then the token from which it was granted, and so on."""
    address: str = ""
    """The network address of the reader, if it is known."""


PUBLIC_READER = Reader()
LOCAL_READER = Reader(name=LOCAL)
"""A person on the machine itself, or a program that this person runs."""


class LocationAttribute(msgspec.Struct, frozen=True):
    """An attribute of a location, such as `id:1`."""

    name: str
    text: str


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reader can ask about one identifier."""

    identifier: Identifier
    part: str | None = None
    """The part, if it was given separately from the identifier."""
    delimiter: str = "?part="
    """The text between the identifier and the part."""
    names: NameSet | None = None
    """The requested set of names, if its text is not an identifier (`hdl:1839/`)."""
    doubt: MalformedIdentifier | None = None
    """The error to raise if the identifier is not known (`perdure.ids.named_parts.Name`)."""
    reader: Reader = PUBLIC_READER
    want: Want = Want.RESOURCE
    follow_aliases: bool = True
    """Resolve a handle with an HS_ALIAS value as the handle that it names."""
    indexes: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    """The values of a handle that may redirect, by their indexes or types; all, if both are empty.
    Other schemes have no values."""
    attributes: tuple[LocationAttribute, ...] = ()
    """The attributes of the locations of a handle that may redirect; all, if there are none."""
    accept: tuple[Preference, ...] = ()
    languages: tuple[Preference, ...] = ()
    region: str | None = None
    """The reader's region, as named in locations."""
    day: str = ""
    """Today (`2026-11-21`, UTC); empty for any day."""
    dead: frozenset[str] = frozenset()
    """URIs that are known to be dead links."""
    accepts_elsewhere: bool = False
    """True if other resolvers are an answer about a name that is unknown here; otherwise, such a
    name is not found."""


class VersionNeighbours(msgspec.Struct, frozen=True, kw_only=True):
    """The versions around one, each by a full name, or None."""

    predecessor: Identifier | None = None
    successor: Identifier | None = None
    latest: Identifier | None = None
    """The highest version, if it is different."""


NO_NEIGHBOURS = VersionNeighbours()


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """Serve these bytes, which are held here. `identifier` is fully qualified."""

    identifier: Identifier
    representation: Representation
    pinned: bool
    """True if the query named this version, so that the answer never changes."""
    negotiated: bool = False
    neighbours: VersionNeighbours = NO_NEIGHBOURS
    """The versions before and after it."""


class Redirect(msgspec.Struct, frozen=True, kw_only=True):
    """Send the reader to a location."""

    identifier: Identifier
    location: Location
    others: tuple[Location, ...] = ()
    ttl: int | None = None
    """The seconds for which the location may be cached, if a value of a handle says so."""

    def redirect_to(self, uri: str) -> Redirect:
        """Return the same redirect to another URI, about which nothing else is known."""
        return Redirect(identifier=self.identifier, location=Location(uri=uri), ttl=self.ttl)


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """Return the description."""

    identifier: Identifier
    record: Record


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """Offer several answers: representations held here, then locations."""

    identifier: Identifier
    fetches: tuple[Fetch, ...] = ()
    locations: tuple[Location, ...] = ()


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """It was withdrawn, or its last location was broken. This is an answer, not an error."""

    identifier: Identifier
    tombstone: Tombstone


Step = Fetch | Redirect | Description | Choices | Gone


class OtherResolver(msgspec.Struct, frozen=True, kw_only=True):
    """A resolver that may know a name."""

    name: str
    """What people call it."""
    address: str
    """The address of the name there."""
    values: str = ""
    """The address of the values of a handle there (Handle REST API), if it has any."""
    is_official: bool = True
    """False for a service that knows many names of a namespace, but does not speak for it."""


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """A name that is unknown here, and the resolvers that may know it, the best first."""

    identifier: Identifier
    resolvers: tuple[OtherResolver, ...]
    is_followed: bool = False
    """True if readers are redirected to the first resolver; otherwise they choose."""

    def answer(self, want: Want) -> Step | None:
        """Return the step that answers a question; None if only the other resolver knows it."""
        if want in (Want.DESCRIPTION, Want.NAMES):
            return None
        places = tuple(Location(uri=one.address) for one in self.resolvers)
        if self.is_followed and want in (Want.RESOURCE, Want.LOCATION):
            first, *others = places
            return Redirect(identifier=self.identifier, location=first, others=tuple(others))
        return Choices(identifier=self.identifier, locations=places)


class ListingPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a listing, in order. `cursor` requests the next page; None for the last page."""

    identifiers: tuple[Identifier, ...]
    also: dict[str, tuple[Identifier, ...]] = {}
    """By the text of an identifier: the other names of the same thing, if it has any."""
    records: tuple[IdentifiedRecord, ...] = ()
    """The records of the identifiers, each once."""
    cursor: str | None = None
    damaged: tuple[Corrupt, ...] = ()
    """Records that cannot be read; they may match, too."""


class ListingInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A series, year or month, and the years, months or days in it that contain identifiers."""

    pattern: Identifier
    members: tuple[Identifier, ...]


class IntegrityFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `verify` for one representation; `problem` is None if it is intact."""

    identifier: str
    segment: int
    offset: int
    length: int
    problem: str | None = None
    erased: str = ""
    """The time when all or some of its bytes were erased."""
